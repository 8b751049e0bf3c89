// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a *pack* on a device, and reports the outcome of each test, example and benchmark.
//!
//! `cargo xtask gpu pack` builds a pack: a directory of executables, the files they read, and a [`Plan`] of steps in
//! `pack.json`. Its `run.sh` starts the program of this crate, which requires only glibc and the device's driver.
//!
//! - [`plan`]: the steps in `pack.json`,
//! - [`run`]: runs the steps in order and writes the report,
//! - `program`, `suite`: a step that is a program, and a step that is a test executable,
//! - `process`: a process with a time limit; `libtest`: the output of a test executable,
//! - [`device`], [`machine`]: the device and the machine of a run,
//! - [`report`]: the outcomes, as `schema/report.schema.json` describes them; `markdown`: the same as text.
//!
//! A step that fails, crashes or hangs is recorded, and the others still run.
#![forbid(unsafe_code)]

pub mod device;
mod error;
mod libtest;
pub mod machine;
mod markdown;
pub mod plan;
mod process;
mod program;
pub mod report;
pub mod run;
mod suite;

pub use device::Device;
pub use error::{Error, Result};
pub use markdown::figures_table;
pub use plan::Plan;
pub use report::Report;
