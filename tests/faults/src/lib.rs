// SPDX-License-Identifier: MIT OR Apache-2.0
//! An OpenCL library that passes every call on to another one, and fails where it is told to.
//!
//! Programs load it in place of a driver (`OPENCL_DYLIB_PATH`). [`DRIVER_VARIABLE`] names the
//! library that it passes calls on to, [`FAULT_VARIABLE`] the call to fail, as [`Plan`] says. It
//! counts the calls of each function and the objects that live, so that a test can tell that
//! nothing is left of what failed. A program that is to fail at one call after another tells it
//! through [`Control`].
//!
//! The functions are in [`standard`] and [`extensions`], a line each. A test fails when `syclbin-rt`
//! uses one that is not there.
#![allow(
    unsafe_code,
    reason = "it takes the place of a C library, and calls another one"
)]

pub mod control;
mod driver;
mod events;
pub mod extensions;
mod functions;
mod gpu;
mod live;
mod pass;
mod plan;
mod slot;
pub mod standard;

pub use control::{Control, Report};
pub use gpu::LIMIT as GPU_LIMIT;
pub use live::Kind;
pub use plan::{How, Plan, PlanError};

/// Names the library that calls are passed on to, by its path.
pub const DRIVER_VARIABLE: &str = "SYCLBIN_FAULTS_DRIVER";
/// The call that fails: a [`Plan`]. Empty or unset: none.
pub const FAULT_VARIABLE: &str = "SYCLBIN_FAULT";
/// Names a file. The device then says that it is an Intel GPU with buffers of at most [`GPU_LIMIT`] bytes. The
/// sizes of its buffers and its build options are appended to the file.
pub const GPU_VARIABLE: &str = "SYCLBIN_FAULTS_GPU";

/// Returns the names of all functions that it can fail.
pub fn names() -> impl Iterator<Item = &'static str> {
    slot::all().map(|entry| entry.slot.name())
}

/// Returns whether a function of this name gives an object.
#[must_use]
pub fn gives_handle(name: &str) -> bool {
    name.starts_with("clCreate") || name == "clLinkProgram" || name.contains("MemAllocINTEL")
}
