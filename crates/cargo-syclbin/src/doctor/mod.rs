// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin doctor`: what this machine has, and what it lacks to compile and run kernels.
//! `cargo syclbin doctor FILE` is in [`mod@file`].
//!
//! [`Facts`] are gathered from the machine. The [`Report`] uses only these facts, so a test can simulate any
//! machine.

mod child;
mod devices;
mod facts;
pub mod file;
mod report;
mod trial;

pub use devices::{Device, Devices};
pub use facts::{Compiler, Compilers, Cpp, CpuDevice, Facts, Taken, Tool, has_compiler};
pub use report::{Item, Mark, Report, Section};
pub use trial::{Compiled, KERNEL, Ran, VALUE};
