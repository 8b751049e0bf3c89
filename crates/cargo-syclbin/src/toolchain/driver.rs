// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler driver `syclbin-clang`, which is built with this program and copied into the compiler.
//!
//! It comes from this package, not from a wheel: `cargo install` and `cargo build` put it beside `cargo-syclbin`. A
//! newer driver replaces the copy in the compiler's directory without a download.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use syclbin_build::headers::ALL;

use super::manifest::Manifest;
use super::staging::Staging;
use crate::error::{Error, Result};

/// The driver beside a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver(PathBuf);

impl Driver {
    /// Returns the driver beside `program`, whether or not the file exists.
    #[must_use]
    pub fn beside(program: &Path) -> Self {
        let name = format!("syclbin-clang{}", std::env::consts::EXE_SUFFIX);
        Self(program.with_file_name(name))
    }

    /// Returns the driver beside the running program.
    ///
    /// # Errors
    ///
    /// Fails if the system does not report where this program is.
    pub fn beside_this_program() -> Result<Self> {
        let program = std::env::current_exe().map_err(Error::NoProgram)?;
        Ok(Self::beside(&program))
    }

    /// Returns its path, if the file exists.
    ///
    /// # Errors
    ///
    /// Fails if the file does not exist. The error says how to get it.
    pub fn path(&self) -> Result<&Path> {
        if self.0.is_file() {
            return Ok(&self.0);
        }
        Err(Error::NoDriver(self.0.clone()))
    }

    /// Returns its size in bytes, or zero when it does not exist.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.0.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Returns whether `copy` has the same content. An unreadable copy does not.
    #[must_use]
    pub fn is_same_as(&self, copy: &Path) -> bool {
        let sizes = (self.0.metadata(), copy.metadata());
        let (Ok(mine), Ok(theirs)) = sizes else {
            return false;
        };
        mine.len() == theirs.len() && same_content(&self.0, copy).unwrap_or(false)
    }

    /// Copies it to `target`, makes the copy executable, and returns its size in bytes.
    ///
    /// # Errors
    ///
    /// Fails if it does not exist, or cannot be copied.
    pub fn copy_to(&self, target: &Path, staging: &Staging) -> Result<u64> {
        std::fs::copy(self.path()?, target)
            .and_then(|size| File::open(target)?.sync_all().map(|()| size))
            .map_err(|cause| staging.failed(target, cause))
    }
}

fn same_content(a: &Path, b: &Path) -> io::Result<bool> {
    Ok(std::fs::read(a)? == std::fs::read(b)?)
}

/// The include directory, relative to the compiler's directory.
const FOLDER: &str = "include";

/// Returns whether a path in a manifest names one of the headers `<syclbin/...>`. They are installed beside the compiler
/// like `syclbin-clang`, come from this program, and are updated with it.
pub(super) fn is_header(path: &str) -> bool {
    path.strip_prefix("include/")
        .is_some_and(|path| path.starts_with("syclbin/"))
}

/// Returns whether the compiler's directory holds exactly these headers, and the manifest records no others.
pub(super) fn headers_fit(folder: &Path, manifest: &Manifest) -> bool {
    let recorded = manifest.files.keys().filter(|path| is_header(path));
    let same = ALL.iter().all(|(path, text)| {
        let path = format!("{FOLDER}/{path}");
        manifest.files.get(&path) == Some(&(text.len() as u64))
            && std::fs::read(folder.join(path)).is_ok_and(|old| old == text.as_bytes())
    });
    same && recorded.count() == ALL.len()
}

/// Writes the headers into the compiler's directory, each by a rename, and records them in its manifest.
pub(super) fn write_headers(
    folder: &Path,
    manifest: &mut Manifest,
    staging: &Staging,
) -> Result<()> {
    staging.create_folder(&folder.join(FOLDER).join("syclbin"))?;
    manifest.files.retain(|path, _| !is_header(path));
    for (path, text) in ALL {
        let path = format!("{FOLDER}/{path}");
        let target = folder.join(&path);
        syclbin_build::file::replace(&target, text.as_bytes())
            .map_err(|cause| staging.failed(&target, cause))?;
        manifest.record(&path, text.len() as u64);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_are_compared_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let driver = Driver::beside(&folder.path().join("cargo-syclbin"));
        let copy = folder.path().join("copy");
        assert!(driver.path().is_err() && !driver.is_same_as(&copy));
        let content = vec![7u8; 200_000];
        std::fs::write(&driver.0, &content).unwrap();
        for (other, same) in [
            (content.clone(), true),
            (content[1..].to_vec(), false),
            ([&content[1..], b"x"].concat(), false),
        ] {
            std::fs::write(&copy, other).unwrap();
            assert_eq!(driver.is_same_as(&copy), same);
        }
    }
}
