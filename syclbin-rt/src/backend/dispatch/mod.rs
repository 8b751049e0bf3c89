//! Types over all drivers: each is of whichever driver a device has, and nothing above knows which.
//!
//! Both backends have the same types with the same methods, so nearly all that stands here is a list. Where a call
//! takes things of two drivers it fails; those above have seen to it that this does not happen.

pub(crate) mod context;
pub(crate) mod device;
pub(crate) mod event;
pub(crate) mod host_view;
pub(crate) mod kernel;
pub(crate) mod memory;
pub(crate) mod program;
pub(crate) mod queue;
pub(crate) mod recording;
pub(crate) mod sampler;

/// An enumeration of one type of each backend, and the ways there and back.
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

/// What is of one backend, if it is. With [`either`], the way back.
macro_rules! narrow {
    ($name:ident: $opencl:ty, $cuda:ty) => {
        impl $name {
            /// That of OpenCL, if it is.
            #[inline]
            pub(in crate::backend) fn opencl(&self) -> Option<&$opencl> {
                match self {
                    Self::OpenCl(inner) => Some(inner),
                    Self::Cuda(_) => None,
                }
            }

            /// That of CUDA, if it is.
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

/// The same of whichever backend `$of` is.
macro_rules! each {
    ($name:ident, $of:expr, $inner:ident => $same:expr) => {
        match $of {
            $name::OpenCl($inner) => $same,
            $name::Cuda($inner) => $same,
        }
    };
}
use each;

/// The same where both are of one backend.
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
