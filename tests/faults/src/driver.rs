// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library that calls are passed on to.

use std::ffi::c_void;
use std::io::Write as _;
use std::sync::OnceLock;

use libloading::Library;

/// What the library exports under this name, or null.
pub(crate) fn symbol(name: &str) -> *mut c_void {
    static DRIVER: OnceLock<Option<Library>> = OnceLock::new();
    let Some(driver) = DRIVER.get_or_init(load) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the symbol is only looked up here; the caller knows its type by its name.
    let symbol = unsafe { driver.get::<*mut c_void>(name.as_bytes()) };
    symbol.map_or(std::ptr::null_mut(), |symbol| *symbol)
}

fn load() -> Option<Library> {
    let failed = |reason: &str| {
        let _ = writeln!(
            std::io::stderr(),
            "faults: {}: {reason}",
            crate::DRIVER_VARIABLE
        );
        None
    };
    let Some(path) = std::env::var_os(crate::DRIVER_VARIABLE) else {
        return failed("not set; it names the OpenCL library to pass calls on to");
    };
    // SAFETY: loading runs the initializers of the library, which is taken on trust from the
    // user who set the variable.
    match unsafe { Library::new(&path) } {
        Ok(library) => Some(library),
        Err(error) => failed(&format!("{}: {error}", path.to_string_lossy())),
    }
}
