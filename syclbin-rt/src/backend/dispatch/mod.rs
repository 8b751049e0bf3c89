// SPDX-License-Identifier: MIT OR Apache-2.0
//! Types over all drivers: each wraps the type of the device's driver, and callers do not know which.
//!
//! Both backends have the same types with the same methods, so nearly everything here is a list. A call with
//! objects of two drivers fails; the callers prevent this.

pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod host_view;
pub(crate) mod image;
pub(crate) mod kernel;
pub(crate) mod memory;
mod native;
pub(crate) mod program;
pub(crate) mod queue;
pub(crate) mod recording;
pub(crate) mod sampler;

/// Declares an enumeration of a type of each backend, and the conversions.
macro_rules! either {
    ($(#[$meta:meta])* $name:ident: $opencl:ty, $cuda:ty) => {
        $(#[$meta])*
        pub(crate) enum $name {
            OpenCl($opencl),
            Cuda($cuda),
        }

        impl From<$opencl> for $name {
            #[inline]
            fn from(inner: $opencl) -> Self {
                Self::OpenCl(inner)
            }
        }

        impl From<$cuda> for $name {
            #[inline]
            fn from(inner: $cuda) -> Self {
                Self::Cuda(inner)
            }
        }
    };
}
use either;

/// Returns the inner value of a backend, if it is of that backend. With [`either`], the way back.
macro_rules! narrow {
    ($name:ident: $opencl:ty, $cuda:ty) => {
        impl $name {
            /// Returns the OpenCL value, if it is of OpenCL.
            #[inline]
            pub(in crate::backend) fn opencl(&self) -> Option<&$opencl> {
                match self {
                    Self::OpenCl(inner) => Some(inner),
                    Self::Cuda(_) => None,
                }
            }

            /// Returns the CUDA value, if it is of CUDA.
            #[cfg_attr(not(feature = "cuda"), allow(dead_code, reason = "no backend asks"))]
            #[inline]
            pub(in crate::backend) fn cuda(&self) -> Option<&$cuda> {
                match self {
                    Self::OpenCl(_) => None,
                    Self::Cuda(inner) => Some(inner),
                }
            }
        }
    };
}
use narrow;

/// Evaluates `$same` with the inner value of `$of`, whatever its backend is.
macro_rules! each {
    ($name:ident, $of:expr, $inner:ident => $same:expr) => {
        match $of {
            $name::OpenCl($inner) => $same,
            $name::Cuda($inner) => $same,
        }
    };
}
use each;

/// Evaluates `$same` with both inner values where they are of the same backend, else `$foreign`.
macro_rules! both {
    ($one:ident $of:expr, $other:ident $with:expr; $a:ident, $b:ident => $same:expr, else $foreign:expr) => {
        match ($of, $with) {
            ($one::OpenCl($a), $other::OpenCl($b)) => $same,
            ($one::Cuda($a), $other::Cuda($b)) => $same,
            _ => $foreign,
        }
    };
}
use both;
