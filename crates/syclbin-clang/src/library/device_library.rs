// SPDX-License-Identifier: MIT OR Apache-2.0
//! Provides the device library for NVIDIA GPUs to the compiler library.
//!
//! The compiler library contains all its files and reads them from memory, with one exception. When it compiles to PTX,
//! it opens the library of SYCL's built-in functions by an absolute path in a system directory. No option changes that
//! path, and users should not have to install a file there.
//!
//! So this program defines its own function `open64`, which the build script of `cargo-syclbin` exports. The dynamic
//! linker binds the compiler library to this function instead of the C library's. After [`serve`], opening that path
//! yields the device library, which is extracted from the compiler library. All other calls are forwarded.
//!
//! A test in `tests/end-to-end/tests/it/compiler/nvidia` fails as soon as a compiler library no longer needs this
//! workaround.
#![allow(unsafe_code)] // defines a C function that C code calls

use crate::Result;
use crate::library::{embedded, find};

/// The device library's position inside version [`crate::library::VERSION`] of the compiler library.
const OFFSET: u64 = 81_726_032;
const SIZE: u64 = 7_397_336;
const SHA256: &str = "bfe4d8c2a11a5dfe03e8bf1c891c31dcaf00e71224db414c9a5e972238fcfd0c";

/// Redirects the path that the compiler library opens to the embedded file, for the whole process.
///
/// # Errors
///
/// Fails if the embedded file cannot be read or copied to memory, or if this system is not x86-64 Linux with glibc.
pub(crate) fn serve() -> Result<()> {
    imp::serve(&embedded(&find()?, OFFSET, SIZE, SHA256)?)
}

#[cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
mod imp {
    use std::ffi::{CStr, c_char, c_int};
    use std::fs::File;
    use std::io::Write as _;
    use std::os::fd::{AsRawFd as _, IntoRawFd};
    use std::sync::OnceLock;

    use crate::{Result, context};

    /// The path that the compiler library opens.
    const PATH: &str = "/lib/clang/23/lib/nvptx64-nvidia-cuda/libspirv.l64.signed_char.bc";

    /// An in-memory copy of the embedded file, which exists until the process ends.
    static SERVED: OnceLock<File> = OnceLock::new();

    pub(super) fn serve(content: &[u8]) -> Result<()> {
        let made = || {
            let flags = rustix::fs::MemfdFlags::CLOEXEC;
            let mut file = File::from(rustix::fs::memfd_create("libspirv", flags)?);
            file.write_all(content).map(|()| file)
        };
        let file = made().map_err(context(
            "cannot allocate memory for NVIDIA's device library",
        ))?;
        // `set` fails on later calls, which is harmless: the first file has the same content.
        let _ = SERVED.set(file);
        Ok(())
    }

    /// Opens the embedded file if `path` is [`PATH`]. Each descriptor has its own position.
    fn served(path: &CStr) -> Option<c_int> {
        let file = SERVED.get()?;
        if path.to_bytes() != PATH.as_bytes() {
            return None;
        }
        let name = format!("/proc/self/fd/{}", file.as_raw_fd());
        let flags = rustix::fs::OFlags::RDONLY | rustix::fs::OFlags::CLOEXEC;
        let opened = rustix::fs::open(name, flags, rustix::fs::Mode::empty());
        // Without access to `/proc`, all descriptors share a position. That is harmless, because LLVM maps the file and
        // does not move the position.
        let opened = opened.or_else(|_| rustix::io::fcntl_dupfd_cloexec(file, 3));
        opened.ok().map(IntoRawFd::into_raw_fd)
    }

    unsafe extern "C" {
        fn openat(folder: c_int, path: *const c_char, flags: c_int, mode: c_int) -> c_int;
    }

    /// `AT_FDCWD`: [`openat`] resolves relative paths against the current directory.
    const CURRENT_FOLDER: c_int = -100;

    /// Replaces the C library's `open64` in the whole process, including Rust's standard library. Must not panic, and
    /// allocates memory only for the embedded file.
    ///
    /// # Safety
    ///
    /// As for C's `open64`: `path` is null or a C string.
    // SAFETY: the function behaves like the C library's function of the same name, on which callers rely. In C, the
    // mode is optional. Callers pass it when it matters, and on x86-64 an extra or missing argument does no harm.
    #[unsafe(no_mangle)]
    unsafe extern "C" fn open64(path: *const c_char, flags: c_int, mode: c_int) -> c_int {
        if !path.is_null() {
            // SAFETY: `path` is not null, so by the caller's contract it is a C string.
            let path = unsafe { CStr::from_ptr(path) };
            if let Some(served) = served(path) {
                return served;
            }
        }
        // SAFETY: the caller's contract for `open64` covers these arguments, and `openat` accepts the same ones. On
        // x86-64, file offsets are always 64 bits wide.
        unsafe { openat(CURRENT_FOLDER, path, flags, mode) }
    }

    #[cfg(test)]
    mod tests {
        use super::*;

        #[test]
        fn only_the_served_path_is_redirected() {
            assert!(File::open(PATH).is_err(), "the path must not exist");
            serve(b"bitcode").unwrap();
            for _ in 0..2 {
                assert_eq!(std::fs::read(PATH).unwrap(), b"bitcode");
            }
            let error = File::open("/no/such/file").unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("new");
            std::fs::write(&path, "text").unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), "text");
        }
    }
}

#[cfg(not(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu")))]
mod imp {
    use crate::{Result, own};

    pub(super) fn serve(_: &[u8]) -> Result<()> {
        own(
            "target nvptx64-nvidia-cuda: this compiler generates code for NVIDIA GPUs only on x86-64 Linux \
             with glibc; use a DPC++ clang++ (SYCLBIN_CLANG)",
        )
    }
}
