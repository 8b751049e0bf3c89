// SPDX-License-Identifier: MIT OR Apache-2.0
//! Driver libraries, which stay loaded until the process ends.

use std::error::Error;
use std::ffi::OsStr;

use crate::backend::failure::Failure;

/// The reason why a driver library cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LibraryError {
    /// The system's loader refused it, for this reason.
    #[error("{0}")]
    NotLoaded(String),
    /// It lacks a function of OpenCL; the system's loader gave this reason.
    #[error("not an OpenCL library: {0}")]
    NotOpenCl(String),
    /// NVIDIA's driver does not load.
    #[cfg(feature = "cuda")]
    #[error("cannot load {name}: {reason}; it comes with NVIDIA's driver")]
    NoCudaDriver { name: &'static str, reason: String },
    /// NVIDIA's driver lacks functions that are required.
    #[cfg(feature = "cuda")]
    #[error("the driver is too old: it has no {}; install a newer one", .0.join(", "))]
    TooOld(Vec<&'static str>),
    /// The program has no backend for CUDA.
    #[cfg(not(feature = "cuda"))]
    #[error("this program is built without feature `cuda` of syclbin-rt")]
    WithoutCuda,
    /// The driver did not start.
    #[error(transparent)]
    Driver(#[from] Failure),
}

/// Loads the library called `name` (a path, or a file name for the system to find).
///
/// It is never unloaded: drivers have their own threads that run its code.
///
/// # Errors
///
/// Returns the system loader's reason.
///
/// # Safety
///
/// The initializers of the library must be sound to run.
pub(crate) unsafe fn load(name: &OsStr) -> Result<&'static libloading::Library, LibraryError> {
    // SAFETY: the caller vouches for the initializers.
    let library = unsafe { libloading::Library::new(name) };
    let library = library.map_err(|error| LibraryError::NotLoaded(reason(name, &error)))?;
    Ok(Box::leak(Box::new(library)))
}

/// Returns the system loader's reason, without the name it begins with: callers print the name themselves.
pub(crate) fn reason(name: &OsStr, error: &libloading::Error) -> String {
    // `libloading` itself says only that it failed.
    let reason = error
        .source()
        .map_or(error.to_string(), ToString::to_string);
    let rest = reason.strip_prefix(&*name.to_string_lossy());
    match rest.and_then(|rest| rest.strip_prefix(": ")) {
        Some(rest) => rest.to_owned(),
        None => reason,
    }
}
