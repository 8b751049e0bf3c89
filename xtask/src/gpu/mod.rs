// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask gpu`: tests for any GPU machine, as one directory, one command and one report.
//!
//! - [`pack`]: builds the directory. [`mod@cargo`] builds the executables, [`zig`] links them for an old glibc, and
//!   [`elf`] checks them. [`plan`] lists the steps,
//! - [`mod@check`]: runs the pack isolated from this machine,
//! - [`record`]: adds a report to the guide and the benchmarks.
//!
//! The runner in the pack is the crate `gpu-report`.

mod cargo;
mod check;
mod elf;
mod pack;
mod plan;
mod record;
mod zig;

use std::path::{Path, PathBuf};
use std::process::Command;

pub(crate) use check::{cpu as check_cpu, run as check, run_pack};
pub(crate) use elf::check as check_executables;
pub(crate) use plan::{FAILING_CALLS, INTEL_GPUS, KERNELS};

use crate::simulated_cuda;
use crate::steps::{Result, step, target_folder};

const USAGE: &str = "\
usage: cargo xtask gpu pack [-o DIR]     build a directory that runs on any machine with a GPU
       cargo xtask gpu run [OPTIONS]     build it and run it here; `run --help` shows its options
       cargo xtask gpu check [DIR]       run it, or one of unoptimized programs, on the CPU device and on simulated CUDA
       cargo xtask gpu record REPORT     add a report.json to the guide and the benchmarks";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match words[..] {
        ["pack"] => pack::build(&default_directory()?),
        ["pack", "-o", directory] => pack::build(Path::new(directory)),
        ["run", ..] => {
            let directory = build()?;
            let mut command = Command::new(directory.join(pack::SCRIPT));
            step("the pack", command.args(&arguments[1..]))
        }
        ["check"] => check_alone(&build()?),
        ["check", directory] => check_alone(Path::new(directory)),
        ["record", report] => record::run(Path::new(report)),
        _ => Err(USAGE.to_owned()),
    }
}

fn check_alone(directory: &Path) -> Result<()> {
    simulated_cuda::build()?;
    check(directory).map(drop)
}

/// Builds a pack from the programs of `cargo xtask test`, for machines like this one. Returns its directory.
pub(crate) fn build() -> Result<PathBuf> {
    let directory = target_folder()?.join("gpu-pack-here");
    pack::build_here(&directory)?;
    Ok(directory)
}

fn default_directory() -> Result<PathBuf> {
    Ok(target_folder()?.join("gpu-pack"))
}

fn at(path: &Path, error: impl std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}
