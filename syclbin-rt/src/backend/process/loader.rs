// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loads driver libraries, which stay loaded until the process ends.

use std::error::Error;
use std::ffi::OsStr;

use libloading::Library;

use crate::backend::library_error::LibraryError;

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
pub(in crate::backend) unsafe fn load(name: &OsStr) -> Result<&'static Library, LibraryError> {
    // SAFETY: the caller vouches for the initializers.
    match unsafe { Library::new(name) } {
        Ok(library) => Ok(Box::leak(Box::new(library))),
        Err(error) => Err(LibraryError::NotLoaded(reason(
            &name.to_string_lossy(),
            &error,
        ))),
    }
}

/// Returns the system loader's reason, without the name it begins with: callers print the name themselves.
pub(in crate::backend) fn reason(name: &str, error: &libloading::Error) -> String {
    // `libloading` itself says only that it failed.
    let reason = match error.source() {
        Some(source) => source.to_string(),
        None => error.to_string(),
    };
    let rest = reason.strip_prefix(name);
    match rest.and_then(|rest| rest.strip_prefix(": ")) {
        Some(rest) => rest.to_owned(),
        None => reason,
    }
}
