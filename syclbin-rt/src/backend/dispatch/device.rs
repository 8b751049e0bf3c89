// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices, and the libraries that offer them.

use std::ffi::OsStr;

use crate::backend::dispatch::{each, either};
use crate::backend::failure::Failure;
use crate::backend::library_error::LibraryError;
use crate::backend::{cuda, opencl};
use crate::device::facts::Facts;
use crate::device::partition::{PartPosition, Partition};

either! {
    /// A loaded library of a driver.
    #[derive(Clone, Copy)]
    Library: &'static opencl::Library, &'static cuda::Library
}

either! {
    /// A device of a loaded library. It lives as long as the process.
    #[derive(Clone, Copy)]
    DriverDevice: &'static opencl::DriverDevice, &'static cuda::DriverDevice
}

impl Library {
    /// Loads the OpenCL library called `name` (a path, or a file name for the system to find).
    ///
    /// # Errors
    ///
    /// When it does not load or is not an OpenCL library.
    pub(crate) fn opencl(name: &OsStr) -> Result<Self, LibraryError> {
        opencl::Library::load(name).map(Self::OpenCl)
    }

    /// Loads the library of NVIDIA's driver.
    ///
    /// # Errors
    ///
    /// When there is none, and when it is too old.
    pub(crate) fn cuda() -> Result<Self, LibraryError> {
        cuda::Library::load().map(Self::Cuda)
    }

    /// Returns its devices.
    pub(crate) fn devices(self) -> Result<Vec<DriverDevice>, Failure> {
        each!(Self, self, library => Ok(library.devices()?.iter().map(DriverDevice::from).collect()))
    }
}

impl DriverDevice {
    /// Returns the driver's answers about the device.
    pub(crate) fn facts(self) -> &'static Facts {
        each!(Self, self, device => device.facts())
    }

    /// Returns the name of the library that offers it.
    pub(crate) fn library(self) -> &'static str {
        each!(Self, self, device => device.library())
    }

    /// Returns an address that no other device has. It never changes.
    pub(crate) fn address(self) -> usize {
        each!(Self, self, device => std::ptr::from_ref(device).addr())
    }

    /// Returns the device that it is a part of, and its number.
    pub(crate) fn part(self) -> Option<PartPosition<Self>> {
        each!(Self, self, device => device.part().map(|part| PartPosition {
            parent: part.parent.into(),
            index: part.index,
            of: part.of,
        }))
    }

    /// Returns its parts.
    pub(crate) fn partition(self, how: Partition<'_>) -> Result<Vec<Self>, Failure> {
        each!(Self, self, device => Ok(device.partition(how)?.iter().map(Self::from).collect()))
    }
}
