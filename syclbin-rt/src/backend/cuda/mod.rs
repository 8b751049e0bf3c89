//! CUDA: the functions of NVIDIA's driver ([`sys`]), and owners of the handles they return.
//!
//! A launch costs what the driver's own call costs: see [`queue::stream`].
//!
//! All calls are made with the context of what they are about ([`Context::enter`]). One that a kernel
//! has ended makes no calls any more.
#![allow(
    unsafe_code,
    reason = "CUDA is a C interface; its wrappers are the only unsafe code of this crate"
)]

mod context;
mod device;
mod errors;
mod kernel;
mod library;
mod memory;
mod program;
mod queue;
mod sys;
#[cfg(test)]
mod tests;

pub(crate) use context::Context;
pub(crate) use device::Found;
pub(crate) use errors::{error_name, is_sticky};
pub(crate) use kernel::Kernel;
pub(crate) use kernel::object::KernelObject;
pub(crate) use library::Library;
pub(crate) use memory::Memory;
pub(crate) use program::{Kind, Module, Program};
pub(crate) use queue::Queue;
pub(crate) use queue::command_buffer::CommandBuffer;
pub(crate) use queue::end::End;
pub(crate) use queue::event::Event;
pub(crate) use queue::wait_list::WaitList;

use super::slice::Place;
use super::{Argument, Arguments, BuildError, Failure, QueueAbilities, Reach, Slot, Times};

/// The memory of a place.
///
/// # Errors
///
/// When it is of another driver.
#[inline]
fn memory_of<'p>(call: &'static str, place: &'p Place<[()]>) -> Result<&'p Memory, Failure> {
    let code = errors::INVALID_CONTEXT;
    place.memory.cuda().ok_or(Failure { call, code })
}
