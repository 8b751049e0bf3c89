//! Devices, and the libraries that they are found through.

use std::ffi::OsStr;

use crate::backend::dispatch::{each, either};
use crate::backend::failure::Failure;
use crate::backend::{cuda, opencl};
use crate::device::facts::Facts;
use crate::device::partition::{Part, Partition};

either! {
    /// A loaded library of a driver.
    #[derive(Clone, Copy)]
    Library: &'static opencl::Library, &'static cuda::Library
}

either! {
    /// A device of a loaded library. It lives as long as the process.
    #[derive(Clone, Copy)]
    Found: &'static opencl::Found, &'static cuda::Found
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
    pub(crate) fn cuda() -> Result<Self, String> {
        cuda::Library::load().map(Self::Cuda)
    }

    /// Its devices.
    pub(crate) fn devices(self) -> Result<Vec<Found>, Failure> {
        each!(Self, self, library => Ok(library.devices()?.iter().map(Found::from).collect()))
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
    pub(crate) fn part(self) -> Option<Part<Self>> {
        each!(Self, self, found => found.part().map(|part| Part {
            parent: part.parent.into(),
            index: part.index,
            of: part.of,
        }))
    }

    /// Its parts.
    pub(crate) fn partition(self, how: Partition<'_>) -> Result<Vec<Self>, Failure> {
        each!(Self, self, found => Ok(found.partition(how)?.iter().map(Self::from).collect()))
    }
}
