// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA: the functions of NVIDIA's driver ([`sys`]), and owners of the handles they return.
//!
//! A launch costs what the driver's own call costs: see [`context::stream`].
//!
//! All calls are made with the context of what they are about ([`Context::enter`]). One that a kernel
//! has ended makes no calls any more.
#![allow(
    unsafe_code,
    reason = "CUDA is a C interface; its wrappers are the only unsafe code of this crate"
)]

mod context;
mod device;
pub(in crate::backend) mod errors;
mod kernel;
mod memory;
mod program;
mod queue;
mod sys;
#[cfg(test)]
mod tests;

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
pub(crate) use queue::graph::Graph;
pub(crate) use queue::wait_list::WaitList;

use std::ffi::c_int;

use crate::backend::cuda::errors::SUCCESS;
use crate::backend::failure::Failure;

/// Turns the number that a call returned into a result.
fn check(call: &'static str, code: c_int) -> Result<(), Failure> {
    match code {
        SUCCESS => Ok(()),
        code => Err(Failure::cuda(call, code)),
    }
}
