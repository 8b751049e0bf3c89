//! The drivers a program can run on: everything unsafe stays in here.
//!
//! A backend wraps one driver interface in two layers: `sys` with the foreign spelling, and safe
//! wrappers that own their handles. The types of this module are those of whichever backend a device
//! is of. The rooms above know neither handles nor error numbers.
#![allow(
    unsafe_code,
    reason = "drivers have interfaces of C; what is unsafe of a backend is passed on by the types above it"
)]

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
pub(crate) mod opencl;

mod argument;
pub(crate) mod dispatch;
mod failure;
mod gate;
mod loader;
mod mapping;
mod pointer;
pub(crate) mod slice;
mod transfer;
mod wakers;

pub(crate) use argument::{Argument, Arguments, Values};
pub(crate) use dispatch::context::Context;
pub(crate) use dispatch::device::{Found, Library};
#[cfg(test)]
pub(crate) use dispatch::event::held;
pub(crate) use dispatch::event::{End, Event, Times, WaitList};
pub(crate) use dispatch::kernel::{Kernel, KernelObject, Slot};
pub(crate) use dispatch::memory::{Held, Memory, Reach};
pub(crate) use dispatch::program::{BuildError, Program};
pub(crate) use dispatch::queue::{Queue, QueueAbilities};
pub(crate) use dispatch::recording::{CommandBuffer, pattern};
pub(crate) use failure::{Failure, ends_context};
pub(crate) use gate::Passage;
pub(crate) use mapping::NoView;
pub use mapping::{Mapped, MappedMut};
pub use pointer::DevicePointer;
pub(crate) use transfer::{Lent, Unstarted};

/// What a command answers that is given things of two backends: `CL_INVALID_CONTEXT`, whichever they
/// are. Those above have seen to it that this does not happen.
const FOREIGN: i32 = opencl3::error_codes::CL_INVALID_CONTEXT;

/// What a view answers that is not aligned for its elements: `CL_INVALID_OPERATION`.
const UNALIGNED: i32 = opencl3::error_codes::CL_INVALID_OPERATION;

/// The same of whichever backend `$of` is.
macro_rules! each {
    ($name:ident, $of:expr, $inner:ident => $same:expr) => {
        match $of {
            $name::OpenCl($inner) => $same,
            #[cfg(feature = "cuda")]
            $name::Cuda($inner) => $same,
        }
    };
}
use each;
