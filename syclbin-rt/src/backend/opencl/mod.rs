// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL: a table of functions per library ([`driver::sys`]), and owners of the handles they return.
//!
//! Types, constants and the names of errors come from `opencl3` and `opencl-sys`. Their calls are not used:
//! `cl3` holds one library for the whole process and lets an environment variable choose it. A fallback to the
//! installed CPU driver would have to set that variable while other threads read it. A GPU of the system and
//! that CPU device could never be used side by side. `cl3` also calls C functions through pointers of the Rust
//! ABI.
//!
//! So every library is loaded here, with a separate table of functions.
#![allow(
    unsafe_code,
    reason = "OpenCL is a C interface; its wrappers are the only unsafe code of this crate"
)]

mod context;
mod device;
mod driver;
mod kernel;
mod memory;
mod program;
mod queue;
pub(in crate::backend) mod quirks;

pub(crate) use context::Context;
pub(crate) use device::DriverDevice;
pub(crate) use device::library::Library;
pub(crate) use kernel::Kernel;
pub(crate) use kernel::object::KernelObject;
pub(crate) use kernel::sampler::Sampler;
pub(crate) use memory::Memory;
pub(crate) use memory::image::Image;
pub(crate) use memory::mapping::HostView;
pub(crate) use program::Program;
pub(crate) use queue::Queue;
pub(crate) use queue::end::End;
pub(crate) use queue::event::Event;
#[cfg(test)]
pub(crate) use queue::user_event::UserEvent;
pub(crate) use queue::wait_list::WaitList;

use opencl3::types::cl_int;

use crate::backend::failure::Failure;

/// Turns the status that a call returned into a result.
fn check(call: &'static str, code: cl_int) -> Result<(), Failure> {
    if code == opencl3::error_codes::CL_SUCCESS {
        Ok(())
    } else {
        Err(Failure::opencl(call, code))
    }
}

/// Turns the handle and the status of a call into a result. Such a call returns a handle and writes its status
/// elsewhere.
///
/// A null handle with a good status would break every later call, so it counts as a failure.
fn check_handle<T>(call: &'static str, handle: *mut T, code: cl_int) -> Result<*mut T, Failure> {
    check(call, code)?;
    if handle.is_null() {
        let code = opencl3::error_codes::CL_INVALID_VALUE;
        return Err(Failure::opencl(call, code));
    }
    Ok(handle)
}
