// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference SYCL runtime as a judge of this project: files we write are loaded and run by it,
//! and files it writes are read and run by us.
//!
//! - `runtime`: libsycl and its headers, fetched once,
//! - `program`: C++ programs over it, compiled here,
//! - `judge`: the one that loads and runs a file, `programs/judge.cpp`,
//! - `submit`: the one that benchmarks start, `programs/submit.cpp`,
//! - `kernels`: what is judged, and files made of it,
//! - `cases`: which files, and what must become of each,
//! - `content`: what the runtime wrote, read back,
//! - `checks`: the outcome of each,
//! - `wheels`: fetches the wheels that the runtime is a part of.

mod cases;
mod checks;
mod content;
mod judge;
mod kernels;
mod program;
mod runtime;
mod submit;
pub mod wheels;

use std::path::Path;
use std::time::Instant;

use cases::Bench;
use checks::Checks;
use judge::Judge;
use runtime::Runtime;
pub use submit::submit;
use wheels::at;

/// A value, or the sentence that says what failed.
pub type Result<T> = std::result::Result<T, String>;

/// Runs all checks. `target` is Cargo's target directory.
///
/// # Errors
///
/// When something is missing on this machine, and when a check fails.
pub fn run(target: &Path) -> Result<()> {
    let start = Instant::now();
    let oracle = target.join("oracle");
    std::fs::create_dir_all(&oracle).map_err(|error| at(&oracle, &error))?;
    let runtime = Runtime::get(&oracle)?;
    let files = oracle.join("files");
    let judge = Judge::build(&runtime, files.clone())?;
    let [executables, objects] = kernels::compile(&runtime, &files)?;
    let natives = kernels::compile_native(&runtime, &files)?;
    let bench = Bench {
        judge,
        executables,
        objects,
        natives,
    };
    let mut checks = Checks::default();
    bench.as_compiled(&mut checks)?;
    bench.merged(&mut checks)?;
    bench.specialized(&mut checks)?;
    bench.declared(&mut checks)?;
    bench.images(&mut checks)?;
    bench.saved(&mut checks)?;
    bench.native(&mut checks)?;
    bench.containers(&mut checks)?;
    bench.nvidia(&mut checks)?;
    checks.finish()?;
    eprintln!("in {:.0?}", start.elapsed());
    Ok(())
}
