//! Devices, and the libraries that they are found through.

use std::ffi::OsStr;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{Failure, each, opencl};
use crate::device::Facts;
use crate::device::partition::Partition;

/// A loaded library of a driver.
#[derive(Clone, Copy)]
pub(crate) enum Library {
    OpenCl(&'static opencl::Library),
    #[cfg(feature = "cuda")]
    Cuda(&'static cuda::Library),
}

/// A device of a loaded library. It lives as long as the process.
#[derive(Clone, Copy)]
pub(crate) enum Found {
    OpenCl(&'static opencl::Found),
    #[cfg(feature = "cuda")]
    Cuda(&'static cuda::Found),
}

/// Whose part a device is.
#[derive(Clone, Copy)]
pub(crate) struct Part {
    pub(crate) parent: Found,
    pub(crate) index: usize,
    pub(crate) of: usize,
}

impl Library {
    /// The OpenCL library called `name` (a path, or a file name for the system to find).
    ///
    /// # Errors
    ///
    /// In words, when it does not load or is no OpenCL library.
    pub(crate) fn opencl(name: &OsStr) -> Result<Self, String> {
        opencl::Library::load(name).map(Self::OpenCl)
    }

    /// The library of NVIDIA's driver.
    ///
    /// # Errors
    ///
    /// In words, when there is none, or it is too old.
    #[cfg(feature = "cuda")]
    pub(crate) fn cuda() -> Result<Self, String> {
        cuda::Library::load().map(Self::Cuda)
    }

    /// Its devices.
    pub(crate) fn devices(self) -> Result<Vec<Found>, Failure> {
        match self {
            Self::OpenCl(library) => Ok(library.devices()?.iter().map(Found::OpenCl).collect()),
            #[cfg(feature = "cuda")]
            Self::Cuda(library) => Ok(library.devices()?.iter().map(Found::Cuda).collect()),
        }
    }
}

impl Found {
    /// What the driver says of the device.
    pub(crate) fn facts(self) -> &'static Facts {
        each!(Self, self, found => found.facts())
    }

    /// The name of the library it was found through.
    pub(crate) fn library(self) -> &'static str {
        each!(Self, self, found => found.library())
    }

    /// What tells it from all others: it stays the same value however often it is asked for.
    pub(crate) fn address(self) -> usize {
        each!(Self, self, found => std::ptr::from_ref(found).addr())
    }

    /// Whose part it is.
    pub(crate) fn part(self) -> Option<Part> {
        match self {
            Self::OpenCl(found) => found.part().map(|part| Part {
                parent: Self::OpenCl(part.parent),
                index: part.index,
                of: part.of,
            }),
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => None,
        }
    }

    /// Its parts.
    pub(crate) fn partition(self, how: Partition<'_>) -> Result<Vec<Self>, Failure> {
        match self {
            Self::OpenCl(found) => Ok(found.partition(how)?.iter().map(Self::OpenCl).collect()),
            // Its facts say that it has none.
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => Ok(Vec::new()),
        }
    }
}
