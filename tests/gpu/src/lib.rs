// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a *pack* on a device and reports what became of each test, example and benchmark.
//!
//! `cargo xtask gpu pack` builds a pack: a directory of executables, the files they read, and a
//! [`Plan`] of steps in `pack.json`. Its `run.sh` starts the program of this crate, which needs
//! nothing but glibc and the device's driver.
//!
//! - [`plan`]: the steps, as `pack.json` has them,
//! - [`run`]: runs them one after the other and writes the report,
//! - `program`, `suite`: one step, and one step that is a test executable,
//! - `process`: one process with a time limit; `libtest`: what a test executable prints,
//! - [`device`], [`machine`]: where it ran,
//! - [`report`]: what became of it, by `schema/report.schema.json`; `markdown`: the same for people.
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
