// SPDX-License-Identifier: MIT OR Apache-2.0
//! The locations that are searched for driver libraries, and the outcome for each.
//!
//! The system's libraries come first: NVIDIA's driver, the OpenCL libraries listed in `OPENCL_DYLIB_PATH`, and the
//! platform's OpenCL loader. The CPU driver installed by `cargo syclbin toolchain install` comes last. It is loaded
//! only if needed, because it is large.

use std::env;
use std::ffi::OsString;
use std::path::PathBuf;

use syclbin_toolchain::trust::is_trusted;
use syclbin_toolchain::{Component, HOME_VARIABLE, Home, INSTALL_COMMAND};

use crate::backend::Library;

/// The environment variable that lists OpenCL libraries, separated by `;`. The crate `cl3` reads the same variable.
const PATH_VARIABLE: &str = "OPENCL_DYLIB_PATH";

/// The name of NVIDIA's driver in messages.
pub(crate) const CUDA: &str = "NVIDIA's driver";

/// The name of the CPU driver in messages, if no usable CPU driver is installed.
pub(crate) const INSTALLED: &str = "the cpu-device component";

#[cfg(windows)]
const LOADERS: &[&str] = &["OpenCL.dll"];
#[cfg(target_os = "macos")]
const LOADERS: &[&str] = &["/System/Library/Frameworks/OpenCL.framework/OpenCL"];
#[cfg(not(any(windows, target_os = "macos")))]
const LOADERS: &[&str] = &["libOpenCL.so.1", "libOpenCL.so"];

/// The toolchain home that this crate was built with.
///
/// A program that was built with a custom home finds the CPU driver installed there even if `SYCLBIN_HOME` is not set
/// at run time, just as a RUNPATH locates shared libraries. On Windows, this is `None`, because the directory's owner
/// cannot be checked.
const BUILT_WITH: Option<&str> = if cfg!(unix) {
    option_env!("SYCLBIN_HOME")
} else {
    None
};

/// The outcome of looking for a library in one location.
pub(crate) struct LibraryLookup {
    /// The name of the library, or the location where a library was expected.
    pub(crate) name: String,
    pub(crate) library: Result<Library, String>,
}

impl LibraryLookup {
    fn load(name: impl Into<OsString>) -> Self {
        let name = name.into();
        Self {
            name: name.to_string_lossy().into_owned(),
            library: Library::opencl(&name).map_err(|error| error.to_string()),
        }
    }
}

/// Returns the system's libraries. NVIDIA's CUDA driver comes first, because NVIDIA's OpenCL driver does not accept
/// SPIR-V, so it cannot run kernels.
pub(crate) fn system() -> Vec<LibraryLookup> {
    let mut lookups: Vec<LibraryLookup> = Vec::new();
    #[cfg(feature = "cuda")]
    lookups.push(LibraryLookup {
        name: CUDA.to_owned(),
        library: Library::cuda().map_err(|error| error.to_string()),
    });
    if let Some(paths) = env::var_os(PATH_VARIABLE) {
        // The separator is `;` on every platform, so `env::split_paths` cannot be used.
        let paths = paths.to_string_lossy();
        let paths = paths.split(';').map(str::trim);
        let paths = paths.filter(|path| !path.is_empty());
        lookups.extend(paths.map(LibraryLookup::load));
    }
    for name in LOADERS {
        let lookup = LibraryLookup::load(name);
        let found = lookup.library.is_ok();
        lookups.push(lookup);
        if found {
            // The other names link to the same loader.
            break;
        }
    }
    lookups
}

pub(crate) fn installed() -> LibraryLookup {
    let path = found_path().and_then(|path| {
        let checked = Component::CpuDevice.check_directory(&path);
        checked.map_err(|unsuitable| unsuitable.to_string())?;
        Ok(path)
    });
    match path {
        Ok(path) => LibraryLookup::load(path),
        Err(reason) => LibraryLookup {
            name: INSTALLED.to_owned(),
            library: Err(reason),
        },
    }
}

fn found_path() -> Result<PathBuf, String> {
    let explicit = env::var_os(HOME_VARIABLE).filter(|home| !home.is_empty());
    let missing = match Home::locate(explicit.as_deref()) {
        Ok(home) => match home.newest(Component::CpuDevice) {
            Some(device) => return Ok(device.entry()),
            None => format!("not installed in {}", home.path().display()),
        },
        Err(no_home) => no_home.to_string(),
    };
    let built_with = BUILT_WITH.filter(|home| explicit.is_none() && !home.is_empty());
    let Some(built_with) = built_with else {
        return Err(missing);
    };
    let home = Home::locate(Some(built_with.as_ref())).map_err(|no_home| no_home.to_string())?;
    let Some(device) = home.newest(Component::CpuDevice) else {
        return Err(format!(
            "{missing}, nor in {built_with}, which was the toolchain directory when this program was built"
        ));
    };
    let entry = device.entry();
    // The environment did not name this directory, and the compiled-in path may belong to another user by now. Code
    // loaded from it must be as trustworthy as the program.
    let up_to_home = entry.ancestors();
    let mut up_to_home = up_to_home.take_while(|path| path.starts_with(built_with));
    if let Some(path) = up_to_home.find(|path| !is_trusted(path)) {
        return Err(format!(
            "{missing}; {} is ignored because other users can write to it: set {HOME_VARIABLE} to use it anyway, or \
             run `{INSTALL_COMMAND}`",
            path.display()
        ));
    }
    Ok(entry)
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_missing_library_is_reported() {
        let lookup = LibraryLookup::load("/nowhere/libOpenCL.so");
        assert_eq!(lookup.name, "/nowhere/libOpenCL.so");
        let reason = lookup.library.map(|_| ()).unwrap_err();
        assert!(reason.contains("No such file"), "{reason}");
    }

    #[test]
    fn cpu_driver_is_searched_in_the_requested_directory() {
        /// Set in the child.
        const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";
        const TEST: &str = "cpu_driver_is_searched_in_the_requested_directory";
        if env::var_os(CHILD).is_some() {
            let home = env::var(HOME_VARIABLE).unwrap();
            let lookup = installed();
            assert_eq!(lookup.name, INSTALLED);
            let reason = lookup.library.map(|_| ()).unwrap_err();
            assert_eq!(reason, format!("not installed in {home}"));
            return;
        }
        let home = tempfile::tempdir().unwrap();
        let mut child = crate::common::child(module_path!(), TEST);
        let output = child.env(CHILD, "1").env(HOME_VARIABLE, home.path());
        let output = output.output().unwrap();
        let printed = String::from_utf8_lossy(&output.stdout);
        let passed = output.status.success() && printed.contains("1 passed");
        assert!(passed, "{output:?}");
    }
}
