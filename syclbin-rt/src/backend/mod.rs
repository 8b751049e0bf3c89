// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver backends, which make all driver calls.
//!
//! Each concept (device, context, queue, memory, program, kernel, event) is a trait that `opencl` and `cuda`
//! implement. The rest of the crate uses these traits, so it does not depend on driver handles or error codes. Images
//! and samplers are concrete types, because only OpenCL supports them.
#![allow(
    unsafe_code,
    reason = "drivers have C interfaces, and calling them is unsafe"
)]
#![cfg_attr(
    not(all(feature = "cuda", target_os = "linux")),
    allow(dead_code, reason = "some items are only for CUDA or for Linux")
)]

/// Declares an enum with a variant for each driver. The enum dereferences to the trait that both drivers' types
/// implement.
macro_rules! either {
    ($(#[$meta:meta])* $name:ident: dyn $api:ident, $owner:ident<$opencl:ty, $cuda:ty>) => {
        $(#[$meta])*
        pub(crate) enum $name {
            OpenCl($owner<$opencl>),
            #[cfg(feature = "cuda")]
            Cuda($owner<$cuda>),
        }

        #[allow(dead_code, reason = "not every type is downcast for every driver")]
        impl $name {
            #[inline(always)]
            pub(crate) fn opencl(&self) -> Result<&$owner<$opencl>, crate::backend::failure::Failure> {
                match self {
                    Self::OpenCl(value) => Ok(value),
                    #[cfg(feature = "cuda")]
                    Self::Cuda(_) => Err(crate::backend::failure::Failure::FOREIGN),
                }
            }

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
                    Self::OpenCl(value) => value as &$opencl,
                    #[cfg(feature = "cuda")]
                    Self::Cuda(value) => value as &$cuda,
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

/// A driver's handle. It may be sent to and shared with any thread, because the functions of both drivers are
/// thread-safe (OpenCL 3.0, appendix A.2; CUDA driver API). The exceptions, such as `clSetKernelArg`, are called through
/// `&mut` references or under a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Raw<P>(pub(crate) P);

// SAFETY: see above; a handle refers to a driver object, which does not belong to a thread.
unsafe impl<T> Send for Raw<*mut T> {}
// SAFETY: as for `Send`.
unsafe impl<T> Sync for Raw<*mut T> {}

/// Unwraps function types that are declared as `Option`s, such as those in `opencl-sys`.
pub(crate) trait EntryPoint {
    type Function;
}

impl<F> EntryPoint for Option<F> {
    type Function = F;
}

/// Declares a table of functions in a driver's library.
macro_rules! functions {
    (
        $(#[$meta:meta])* $table:ident
        required { $($name:ident: $type:ty,)* }
        $(optional { $($since:ident: $since_type:ty,)* })?
    ) => {
        $(#[$meta])*
        pub(crate) struct $table {
            $(pub(crate) $name: Gated<<$type as EntryPoint>::Function>,)*
            $($(pub(crate) $since: Option<Gated<<$since_type as EntryPoint>::Function>>,)*)?
        }

        impl $table {
            /// Looks up every function with `find`, which receives the NUL-terminated name.
            ///
            /// # Safety
            ///
            /// `find` must return the address of the function with the given name, and the address must stay valid. The
            /// declared types must match the driver's headers.
            pub(crate) unsafe fn load<E>(
                find: impl Fn(&'static str) -> Result<std::ptr::NonNull<std::ffi::c_void>, E>,
            ) -> Result<Self, E> {
                // SAFETY: the caller guarantees this.
                unsafe {
                    Ok(Self {
                        $($name: Gated::at(find(concat!(stringify!($name), "\0"))?),)*
                        $($($since: find(concat!(stringify!($since), "\0"))
                            .ok()
                            .map(|address| Gated::at(address)),)*)?
                    })
                }
            }
        }
    };
}

/// The `$owner` of an [`either`] enum whose variants store their values directly rather than in an `Arc`.
type Owned<T> = T;

#[cfg(feature = "cuda")]
mod cuda;
mod opencl;

pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod facts;
pub(crate) mod failure;
pub(crate) mod gate;
pub(crate) mod guard;
pub(crate) mod host;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod native;
#[cfg(target_os = "linux")]
pub(crate) mod order;
pub(crate) mod program;
pub(crate) mod queue;
pub(crate) mod range;
pub(crate) mod slice;
mod wakers;

pub(crate) use device::*;
pub(crate) use event::*;
pub(crate) use facts::*;
pub(crate) use failure::*;
pub(crate) use gate::*;
pub(crate) use host::{Direction, PendingCopy};
pub use host::{Mapped, MappedMut};
pub(crate) use kernel::*;
pub(crate) use memory::*;
pub(crate) use native::*;
#[cfg(test)]
pub(crate) use opencl::event::UserEvent;
pub use opencl::image::{Addressing, Filtering};
pub(crate) use opencl::image::{Image, Order, Sampler, Shape, Storage};
pub(crate) use program::*;
pub(crate) use queue::*;
pub(crate) use range::*;
pub use slice::DevicePointer;
pub(crate) use slice::*;
pub(crate) use wakers::Waiter;
