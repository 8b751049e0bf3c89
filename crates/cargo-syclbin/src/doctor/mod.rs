// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin doctor`: reports whether this machine can compile and run kernels, and what is missing.
//! `cargo syclbin doctor FILE` is in [`mod@file`].
//!
//! Facts are gathered from the machine. The report uses only these facts, so a test can simulate any machine.

mod child;
mod facts;
pub mod file;
mod intel_gpu;
mod report;
mod trial;

pub use facts::has_compiler;
pub use trial::{KERNEL, Ran, VALUE};

use crate::error::Result;

/// Prints the report on this machine, and returns whether kernels can be compiled and run here.
///
/// # Errors
///
/// Fails if standard output cannot be written.
pub fn run() -> Result<bool> {
    let report = report::Report::of(&facts::Facts::gather());
    crate::ui::answer(&report.to_string())?;
    Ok(report.compiles && report.runs)
}
