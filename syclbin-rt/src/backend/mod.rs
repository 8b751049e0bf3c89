// SPDX-License-Identifier: MIT OR Apache-2.0
//! The drivers a program can run on, with all unsafe code of this crate.
//!
//! Each concept (device, context, queue, memory, program, kernel, event) is a trait that `opencl` and `cuda` implement.
//! The modules above use these traits and know neither handles nor error numbers. This module uses none of them.
#![allow(
    unsafe_code,
    reason = "drivers have C interfaces; their wrappers are the only unsafe code of this crate"
)]

/// Declares a value of one of the drivers, which dereferences to the trait that the types of both drivers implement.
macro_rules! either {
    ($(#[$meta:meta])* $name:ident: dyn $api:ident, $owner:ident<$opencl:ty, $cuda:ty>) => {
        $(#[$meta])*
        pub(crate) enum $name {
            OpenCl($owner<$opencl>),
            #[cfg(feature = "cuda")]
            Cuda($owner<$cuda>),
        }

        #[allow(dead_code, reason = "not every driver narrows every type")]
        impl $name {
            /// Returns the OpenCL value.
            #[inline(always)]
            pub(crate) fn opencl(&self) -> Result<&$owner<$opencl>, crate::backend::failure::Failure> {
                match self {
                    Self::OpenCl(value) => Ok(value),
                    #[cfg(feature = "cuda")]
                    Self::Cuda(_) => Err(crate::backend::failure::Failure::FOREIGN),
                }
            }

            /// Returns the CUDA value.
            #[cfg(feature = "cuda")]
            #[inline(always)]
            pub(crate) fn cuda(&self) -> Result<&$owner<$cuda>, crate::backend::failure::Failure> {
                match self {
                    Self::OpenCl(_) => Err(crate::backend::failure::Failure::FOREIGN),
                    Self::Cuda(value) => Ok(value),
                }
            }
        }

        impl std::ops::Deref for $name {
            type Target = dyn $api;

            #[inline]
            fn deref(&self) -> &Self::Target {
                match self {
                    Self::OpenCl(value) => {
                        let value: &$opencl = value;
                        value
                    }
                    #[cfg(feature = "cuda")]
                    Self::Cuda(value) => {
                        let value: &$cuda = value;
                        value
                    }
                }
            }
        }

        impl From<$owner<$opencl>> for $name {
            #[inline]
            fn from(value: $owner<$opencl>) -> Self {
                Self::OpenCl(value)
            }
        }

        #[cfg(feature = "cuda")]
        impl From<$owner<$cuda>> for $name {
            #[inline]
            fn from(value: $owner<$cuda>) -> Self {
                Self::Cuda(value)
            }
        }
    };
}

/// The owner of a value that is not shared, for [`either`].
type Owned<T> = T;

#[cfg(feature = "cuda")]
mod cuda;
mod opencl;

pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod failure;
pub(crate) mod gate;
pub(crate) mod kernel;
mod library;
pub(crate) mod mapping;
pub(crate) mod memory;
pub(crate) mod native;
pub(crate) mod program;
pub(crate) mod queue;
pub(crate) mod slice;
mod transfer;
mod wakers;

pub(crate) use device::{Context, Device, Library};
pub(crate) use event::{Event, WaitList};
pub(crate) use kernel::{Kernel, KernelObject};
pub(crate) use library::LibraryError;
pub use mapping::{Mapped, MappedMut};
pub(crate) use memory::{Memory, MemoryUse, UsmKind};
#[cfg(test)]
pub(crate) use opencl::event::UserEvent;
pub(crate) use opencl::image::{Image, Sampler};
pub(crate) use program::{Program, Source, WeakProgram};
pub(crate) use queue::{Graph, Queue};
pub use slice::DevicePointer;
pub(crate) use transfer::PendingCopy;
