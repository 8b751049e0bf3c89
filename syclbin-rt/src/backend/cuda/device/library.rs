// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CUDA driver: loaded once, never unloaded.

use std::ffi::{OsStr, c_int};
use std::sync::{Mutex, OnceLock, PoisonError};

use crate::backend::cuda::check;
use crate::backend::cuda::device::DriverDevice;
use crate::backend::cuda::errors::NO_DEVICE;
use crate::backend::cuda::sys::Functions;
use crate::backend::library_error::LibraryError;
use crate::backend::process::gate::{self, Passage, Stage};
use crate::backend::process::loader;

/// File names of the library, in the order they are tried. The driver installs the first. On Linux the
/// second can also be a stub of the CUDA toolkit, whose functions only return errors.
const NAMES: &[&str] = if cfg!(windows) {
    &["nvcuda.dll"]
} else {
    &["libcuda.so.1", "libcuda.so"]
};

/// The driver.
pub(crate) struct Library {
    /// The file name it was found by.
    pub(in crate::backend::cuda) name: &'static str,
    pub(in crate::backend::cuda) functions: Functions,
    /// The CUDA version that it supports: 12040 is CUDA 12.4.
    pub(in crate::backend::cuda) version: c_int,
    /// Whether it reports a device.
    pub(in crate::backend::cuda) has_devices: bool,
    /// Filled by [`Library::devices`]: a device must stay the same value however often it is asked
    /// for.
    pub(in crate::backend::cuda) devices: OnceLock<Vec<DriverDevice>>,
}

static LOADED: Mutex<Option<&'static Library>> = Mutex::new(None);

impl Library {
    /// Loads the driver of this machine.
    ///
    /// # Errors
    ///
    /// When the driver is missing, or this crate cannot use it. The failure is not remembered: a
    /// driver may be installed later.
    pub(crate) fn load() -> Result<&'static Self, LibraryError> {
        let _passage = Passage::new();
        let mut loaded = LOADED.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(library) = *loaded {
            return Ok(library);
        }
        let (name, library) = find()?;
        // SAFETY: its functions have the types of CUDA's header: the system vouches that a library of
        // this name is NVIDIA's driver.
        let functions = unsafe { Functions::load(library) }.map_err(LibraryError::TooOld)?;
        // SAFETY: 0 is the only flag there is.
        let has_devices = match unsafe { (functions.cuInit.pass())(0) } {
            NO_DEVICE => false,
            code => check("cuInit", code).map(|()| true)?,
        };
        gate::close_at_exit(std::ptr::null::<Self>(), Stage::Loaded);
        let mut version = 0;
        // SAFETY: one number is written.
        let code = unsafe { (functions.cuDriverGetVersion.pass())(&raw mut version) };
        check("cuDriverGetVersion", code)?;
        let library: &'static Self = Box::leak(Box::new(Self {
            name,
            functions,
            version,
            has_devices,
            devices: OnceLock::new(),
        }));
        *loaded = Some(library);
        Ok(library)
    }
}

/// Loads the library, and returns the name it was found by.
///
/// # Errors
///
/// When it does not load by any name.
fn find() -> Result<(&'static str, &'static libloading::Library), LibraryError> {
    let mut first = None;
    for name in NAMES {
        // SAFETY: loading runs the initializers of the library. That it is NVIDIA's driver is taken
        // on trust from the system.
        match unsafe { loader::load(OsStr::new(name)) } {
            Ok(library) => return Ok((name, library)),
            Err(error) => first.get_or_insert((*name, error.to_string())),
        };
    }
    // The driver installs the first name, so that problem is the one to solve.
    let (name, reason) = first.unwrap_or_default();
    Err(LibraryError::NoCudaDriver { name, reason })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_driver_error_names_missing_functions() {
        assert_eq!(
            LibraryError::TooOld(vec!["cuGraphCreate", "cuGraphLaunch"]).to_string(),
            "the driver is too old: it has no cuGraphCreate, cuGraphLaunch; install a newer one"
        );
    }

    #[test]
    fn driver_loads_once_or_says_why_not() {
        match Library::load() {
            Ok(library) => {
                assert!(library.version > 0);
                assert!(std::ptr::eq(library, Library::load().unwrap()));
            }
            Err(error) => {
                let reason = error.to_string();
                assert!(!reason.is_empty() && !reason.ends_with('.'), "{reason}");
            }
        }
    }
}
