// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL: a table of functions per library ([`functions`]), and owners of the handles they return.
//!
//! Types, constants and the names of errors come from `opencl3` and `opencl-sys`. Their calls are not used:
//! `cl3` holds one library for the whole process and lets an environment variable choose it. A fallback to the
//! installed CPU driver would have to set that variable while other threads read it. A GPU of the system and
//! that CPU device could never be used side by side. `cl3` also calls C functions through pointers of the Rust
//! ABI.
//!
//! So every library is loaded here, with a separate table of functions.

#[macro_use]
mod functions;

mod context;
mod copy;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod image;
pub(crate) mod kernel;
pub(crate) mod kernel_object;
pub(crate) mod memory;
mod partition;
mod program;
pub(crate) mod queue;
mod quirks;
mod variable;

pub(crate) use device::*;
pub(crate) use event::*;
pub(crate) use functions::*;
pub(crate) use kernel_object::*;
pub(crate) use memory::*;
pub(crate) use partition::*;
pub(crate) use program::*;
pub(crate) use queue::*;
pub(crate) use quirks::*;
pub(crate) use variable::*;

// What the files of this directory use. These names mean the OpenCL types, and `Any...` those of both drivers.
pub(crate) use context::Context;
pub(crate) use device::DriverDevice;
pub(crate) use event::Event;
pub(crate) use image::{Image, Sampler};
pub(crate) use kernel::Kernel;
pub(crate) use kernel_object::KernelObject;
pub(crate) use memory::Memory;
pub(crate) use program::Program;
pub(crate) use queue::Queue;

use opencl3::types::cl_int;

use crate::backend::*;
use crate::backend::{
    Context as AnyContext, Event as AnyEvent, Kernel as AnyKernel, KernelObject as AnyKernelObject,
    Memory as AnyMemory, Program as AnyProgram, Queue as AnyQueue,
};

/// Turns the status that a call returned into a result.
#[inline]
fn check(call: &'static str, status: cl_int) -> Result<()> {
    if status == opencl3::error_codes::CL_SUCCESS {
        Ok(())
    } else {
        Err(Failure::opencl(call, status))
    }
}

/// Turns the handle and the status of a call into a result. Such a call returns a handle and writes its status
/// elsewhere.
///
/// A null handle with a good status would break every later call, so it counts as a failure.
fn check_handle<T>(call: &'static str, handle: *mut T, status: cl_int) -> Result<*mut T> {
    check(call, status)?;
    if handle.is_null() {
        return Err(invalid(call));
    }
    Ok(handle)
}

/// Returns the failure of a call that answers with a value that it must not return.
fn invalid(call: &'static str) -> Failure {
    Failure::opencl(call, opencl3::error_codes::CL_INVALID_VALUE)
}
