// SPDX-License-Identifier: MIT OR Apache-2.0
//! One loaded OpenCL library: loaded at most once per name, never unloaded.

use std::ffi::OsStr;
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::backend::library_error::LibraryError;
use crate::backend::opencl::driver::sys::Functions;
use crate::backend::process::gate::{self, Passage, Stage};
use crate::backend::process::loader;

/// An OpenCL loader or driver.
pub(crate) struct Library {
    name: String,
    pub(in crate::backend::opencl) functions: Functions,
    /// Filled by [`Library::devices`]: a device must stay the same value however often it is
    /// asked for.
    pub(in crate::backend::opencl) devices:
        OnceLock<Vec<crate::backend::opencl::device::DriverDevice>>,
}

/// All libraries loaded so far.
static LOADED: Mutex<Vec<&'static Library>> = Mutex::new(Vec::new());

impl Library {
    /// Loads the library called `name` (a path, or a file name for the system to find).
    ///
    /// # Errors
    ///
    /// When it does not load or is not an OpenCL library. A failure is not remembered: the library
    /// may be installed later.
    pub(crate) fn load(name: &OsStr) -> Result<&'static Self, LibraryError> {
        let display = name.to_string_lossy();
        let _passage = Passage::new();
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = loaded.iter().find(|library| library.name == display) {
            return Ok(library);
        }
        // SAFETY: loading runs the initializers of the library, and the OpenCL functions then have
        // the types of the OpenCL headers. Both are taken on trust from what named the library:
        // the system, the user's environment, or an installed component.
        let library = unsafe { loader::load(name) }?;
        // SAFETY: as above.
        let functions = unsafe { Functions::load(library) }
            .map_err(|error| LibraryError::NotOpenCl(loader::reason(&display, &error)))?;
        gate::close_at_exit(&raw const *library, Stage::Loaded);
        let library = Box::leak(Box::new(Self {
            name: display.into_owned(),
            functions,
            devices: OnceLock::new(),
        }));
        loaded.push(library);
        Ok(library)
    }

    /// Returns the name it was loaded by.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }
}

impl PartialEq for Library {
    /// By identity: every library is loaded once.
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
