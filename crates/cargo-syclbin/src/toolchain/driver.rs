// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler files that come from this package, not from a wheel: the headers `<syclbin/...>`, and the driver
//! `syclbin-clang`, which Cargo installs beside `cargo-syclbin`.
//!
//! After an update of this package, `toolchain install` replaces these files in the compiler's directory, without a
//! download.

use std::fs;
use std::path::{Path, PathBuf};

use syclbin_build::headers::ALL;
use syclbin_toolchain::Component;

use super::manifest::Manifest;
use super::staging::Staging;
use crate::error::{Error, Result};

/// The path of the `syclbin-clang` beside a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver(PathBuf);

impl Driver {
    /// Returns the driver beside `program`, whether or not the file exists.
    pub fn beside(program: &Path) -> Self {
        let name = format!("syclbin-clang{}", std::env::consts::EXE_SUFFIX);
        Self(program.with_file_name(name))
    }

    /// Returns the path of the driver, if the file exists.
    ///
    /// # Errors
    ///
    /// Fails if the file does not exist. The error explains how to install it.
    pub fn path(&self) -> Result<&Path> {
        let driver = Some(self.0.as_path()).filter(|path| path.is_file());
        driver.ok_or_else(|| Error::NoDriver(self.0.clone()))
    }

    /// Returns the size of the driver in bytes, or zero if the file does not exist.
    pub fn size(&self) -> u64 {
        self.0.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Returns whether the compiler's directory and its manifest match this driver and the headers of this program.
    /// If the driver does not exist, any installed driver fits.
    pub(super) fn fits(&self, folder: &Path, manifest: &Manifest) -> bool {
        if self.path().is_err() {
            return folder.join(ENTRY).is_file();
        }
        let same = |path: &str, bytes: &[u8]| {
            manifest.files.get(path) == Some(&(bytes.len() as u64))
                && fs::read(folder.join(path)).is_ok_and(|old| old == bytes)
        };
        let mut headers = ALL.iter();
        let recorded = manifest.files.keys().filter(|path| is_own(path));
        recorded.count() == 1 + ALL.len()
            && fs::read(&self.0).is_ok_and(|driver| same(ENTRY, &driver))
            && headers.all(|(path, text)| same(&format!("include/{path}"), text.as_bytes()))
    }

    /// Replaces the driver and the headers in the compiler's directory, each with a rename, and records their sizes in
    /// `manifest`. The caller writes the manifest to the disk.
    pub(super) fn write(
        &self,
        folder: &Path,
        manifest: &mut Manifest,
        staging: &Staging<'_>,
    ) -> Result<()> {
        manifest.files.retain(|path, _| !is_own(path));
        let driver = self.path()?;
        let size = staging.replace(&folder.join(ENTRY), |new| fs::copy(driver, new).map(drop))?;
        manifest.files.insert(ENTRY.to_owned(), size);
        for (path, text) in ALL {
            let path = format!("include/{path}");
            let size = staging.replace(&folder.join(&path), |new| fs::write(new, text))?;
            manifest.files.insert(path, size);
        }
        Ok(())
    }
}

const ENTRY: &str = Component::Compiler.entry();

/// Returns whether a path in the compiler's manifest refers to a file that comes from this package.
pub(super) fn is_own(path: &str) -> bool {
    path == ENTRY || path.starts_with("include/syclbin/")
}
