// SPDX-License-Identifier: MIT OR Apache-2.0
//! The drivers a program can run on: all unsafe code is in here.
//!
//! A backend wraps a driver interface in two layers: `sys` with the foreign spelling, and safe wrappers that
//! own their handles. The types of this module are the types of the device's backend. The modules above know
//! neither handles nor error numbers.
#![allow(
    unsafe_code,
    reason = "drivers have interfaces of C; what is unsafe of a backend is passed on by the types above it"
)]

#[cfg(feature = "cuda")]
pub(crate) mod cuda;
#[cfg(not(feature = "cuda"))]
pub(crate) mod cuda_absent;
#[cfg(not(feature = "cuda"))]
pub(crate) use cuda_absent as cuda;
pub(crate) mod opencl;

pub(crate) mod argument;
pub(crate) mod dispatch;
pub(crate) mod failure;
pub(crate) mod library_error;
pub(crate) mod mapping;
pub(crate) mod native;
pub(crate) mod pattern;
pub(crate) mod pointer;
pub(crate) mod process;
pub(crate) mod reach;
pub(crate) mod slice;
pub(crate) mod slot;
pub(crate) mod source;
pub(crate) mod times;
pub(crate) mod transfer;

pub(crate) use dispatch::context::Context;
pub(crate) use dispatch::event::Event;
pub(crate) use dispatch::image::Image;
pub(crate) use dispatch::kernel::Kernel;
pub(crate) use dispatch::queue::Queue;
#[cfg(test)]
pub(crate) use dispatch::queue::pending_event;
pub(crate) use dispatch::sampler::Sampler;
pub use mapping::{Mapped, MappedMut};
#[cfg(test)]
pub(crate) use opencl::UserEvent;
pub use pointer::DevicePointer;
