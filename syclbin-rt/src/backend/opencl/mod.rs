// SPDX-License-Identifier: MIT OR Apache-2.0
//! The OpenCL backend: a table of functions for each library ([`mod@functions`]), and types that own the handles that
//! the libraries return.
//!
//! Types, constants and error names come from `opencl3` and `opencl-sys`. The wrapper functions of `opencl3` are not
//! used: they are based on `cl3`, which supports a single library per process, selected by an environment variable.
//! Falling back to the installed CPU driver would mean setting that variable while other threads read it, and a system
//! GPU could never be used alongside that CPU device. `cl3` also calls C functions through pointers with the Rust ABI.
//!
//! So this module loads every library itself, with a separate table of functions for each.

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

pub(crate) use functions::*;
pub(crate) use partition::*;
pub(crate) use quirks::*;
pub(crate) use variable::*;

// Imports shared by the files in this directory. Plain names are OpenCL types; `Any...` names cover both drivers.
pub(crate) use context::Context;
pub(crate) use device::{DriverDevice, version_at_least};
pub(crate) use event::{Event, Handles};
pub(crate) use kernel::Kernel;
pub(crate) use kernel_object::{GuardedObject, KernelObject, bytes_of};
pub(crate) use memory::{Handle, Memory};
pub(crate) use program::{BINDLESS_IMAGES, Program};
pub(crate) use queue::{OwnedQueue, Queue};

use opencl3::types::cl_int;

use crate::backend::*;
use crate::backend::{
    Context as AnyContext, Event as AnyEvent, Kernel as AnyKernel, KernelObject as AnyKernelObject,
    Memory as AnyMemory, Program as AnyProgram, Queue as AnyQueue,
};

#[inline]
fn check(call: &'static str, status: cl_int) -> Result<()> {
    if status == opencl3::error_codes::CL_SUCCESS {
        Ok(())
    } else {
        Err(Failure::opencl(call, status))
    }
}

/// Returns the handle, or fails if `status` is an error.
///
/// A null handle with a success status would break every later call, so it counts as a failure.
fn check_handle<T>(call: &'static str, handle: *mut T, status: cl_int) -> Result<*mut T> {
    check(call, status)?;
    if handle.is_null() {
        return Err(invalid(call));
    }
    Ok(handle)
}

/// Creates the failure for a call that returned an invalid value.
fn invalid(call: &'static str) -> Failure {
    Failure::opencl(call, opencl3::error_codes::CL_INVALID_VALUE)
}
