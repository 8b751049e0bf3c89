// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin doctor`: reports whether this machine can compile and run kernels, and what is missing.
//! `cargo syclbin doctor FILE` is in [`mod@file`].
//!
//! The report depends only on the gathered facts, so a test can simulate any machine.

mod child;
mod facts;
pub mod file;
mod intel_gpu;
mod report;
mod trial;

use std::path::PathBuf;

use clap::Args;

pub use facts::{DEVICE_VARIABLE, has_compiler};
pub use trial::{KERNEL, Ran, VALUE};

use crate::error::Result;
use crate::ui::{self, Format};

/// Options of `cargo syclbin doctor`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// Load this SYCLBIN file instead of examining the machine; `-` is standard input
    ///
    /// The driver builds each module and creates each kernel in a separate process, but no kernel is run. Exits with
    /// 1 if a kernel cannot be used, or if the driver crashes or hangs.
    pub file: Option<PathBuf>,
    /// The device to load the file on, as a value of SYCLBIN_DEVICE [default: the device that a program would get]
    #[arg(long, value_name = "DEVICE", requires = "file")]
    pub device: Option<String>,
    /// The time limit for the driver to build a module or a kernel
    #[arg(long, value_name = "SECONDS", default_value_t = 120, requires = "file")]
    pub timeout: u32,
    /// The output format
    #[arg(long, value_enum, default_value_t, requires = "file")]
    pub format: Format,
    /// Internal: run the trial kernel in the file on standard input; a driver may crash this process
    #[arg(long, hide = true)]
    pub trial: bool,
    /// Internal: load the file on standard input, starting at this module and kernel
    #[arg(long, hide = true, num_args = 2)]
    pub probe: Vec<usize>,
}

/// Prints a report on this machine or on a file. Returns whether kernels can be compiled and run, or whether all
/// kernels of the file are usable.
///
/// # Errors
///
/// Fails if the file cannot be read or is not a SYCLBIN file, or if no child process can be started.
pub fn run(options: &Options) -> Result<bool> {
    if let Some(path) = &options.file {
        return file::run(path, options);
    }
    let report = report::Report::of(&facts::Facts::gather());
    ui::answer(&report.to_string())?;
    Ok(report.compiles && report.runs)
}
