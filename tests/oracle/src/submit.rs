// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reference runtime's part of `cargo bench -p syclbin-rt`: built here, started there.

use std::path::Path;

use crate::Result;
use crate::program;
use crate::runtime::Runtime;
use crate::wheels::at;

/// Builds `programs/submit.cpp`, and prints its path and then what its environment has to have, a
/// `NAME=VALUE` a line. `target` is Cargo's target directory.
///
/// # Errors
///
/// When something is missing on this machine.
pub fn submit(target: &Path) -> Result<()> {
    let oracle = target.join("oracle");
    std::fs::create_dir_all(&oracle).map_err(|error| at(&oracle, &error))?;
    let runtime = Runtime::get(&oracle)?;
    let program = program::compile(&runtime, "submit", include_str!("../programs/submit.cpp"))?;
    #[allow(clippy::print_stdout, reason = "this is the answer")]
    {
        println!("{}", program.display());
        for (name, value) in runtime.environment()? {
            println!("{name}={}", value.display());
        }
    }
    Ok(())
}
