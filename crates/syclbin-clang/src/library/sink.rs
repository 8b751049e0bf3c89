// SPDX-License-Identifier: MIT OR Apache-2.0
//! Receives the additional files that the library writes, such as the depfile.

use crate::{Result, own};

/// A file that the library writes in addition to the code, such as the depfile. The library terminates the process if
/// it cannot write the file, so it must not write to the user's path. On Linux, the file is in memory, where a full
/// disk does not matter. On other systems, it is a temporary file.
pub(crate) struct Sink {
    pub(crate) path: String,
    /// Keeps the file alive until it has been read.
    #[cfg(target_os = "linux")]
    _file: std::fs::File,
    #[cfg(not(target_os = "linux"))]
    _file: tempfile::TempPath,
}

impl Sink {
    #[cfg(target_os = "linux")]
    pub(crate) fn new() -> Result<Self> {
        let file = rustix::fs::memfd_create("syclbin-clang", rustix::fs::MemfdFlags::CLOEXEC)
            .or_else(|error| {
                own(format!(
                    "cannot allocate memory for a temporary file: {error}"
                ))
            })?;
        let descriptor = std::os::fd::AsRawFd::as_raw_fd(&file);
        Ok(Self {
            path: format!("/proc/self/fd/{descriptor}"),
            _file: file.into(),
        })
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn new() -> Result<Self> {
        let file = tempfile::NamedTempFile::new()
            .or_else(|error| own(format!("cannot create a temporary file: {error}")))?
            .into_temp_path();
        let path = file.display().to_string();
        Ok(Self { path, _file: file })
    }

    pub(crate) fn finish(self) -> Result<String> {
        let bytes = std::fs::read(&self.path).or_else(|error| {
            own(format!(
                "cannot read a file that the compiler library wrote: {error}"
            ))
        })?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }
}
