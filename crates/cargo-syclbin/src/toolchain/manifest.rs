// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes manifests. The manifest of an installation lists its wheels and files, so that damage is
//! detected.
//!
//! A manifest is text with one record per line. The last field runs to the end of the line:
//!
//! ```text
//! syclbin manifest 1
//! component compiler
//! version 2026.2.0
//! wheel SHA-256 FILE LICENCE
//! file SIZE PATH
//! ```
//!
//! There is one `wheel` line per wheel, in the order of the pins, and one `file` line per file of the component,
//! except the manifest. Paths are relative to the manifest's directory and use `/`. The manifest is written last
//! and completes the installation.
//!
//! Sizes reveal truncated, replaced and deleted files. Hashing some 300 MB instead would delay the answer "already
//! installed" too much.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::Path;

use syclbin_toolchain::MANIFEST;

use super::pins::ComponentPin;
use super::staging::Staging;
use crate::error::Result;

const HEADER: &str = "syclbin manifest 1";

/// The wheels and files of one installation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Manifest {
    /// The `component`, `version` and `wheel` lines.
    origin: String,
    /// The size of each installed file except the manifest, in bytes. Paths are relative to the manifest's directory.
    pub files: BTreeMap<String, u64>,
}

impl Manifest {
    /// Creates the manifest for `pin`, which lists the files from its wheels.
    #[must_use]
    pub fn of(pin: &ComponentPin) -> Self {
        let name = pin.component.name();
        let mut manifest = Self {
            origin: format!("component {name}\nversion {}\n", pin.version),
            files: BTreeMap::new(),
        };
        for wheel in &pin.wheels {
            let (sha256, file, licence) = (wheel.sha256, wheel.file, wheel.licence);
            // Writing to a string cannot fail.
            let _ = writeln!(manifest.origin, "wheel {sha256} {file} {licence}");
            let members = wheel.members.iter();
            let files = members.map(|(path, size)| (wheel.target(path), *size));
            manifest.files.extend(files);
        }
        manifest
    }

    /// Reads the manifest in an installation's directory.
    ///
    /// # Errors
    ///
    /// Returns the reason if the file is missing, unreadable or malformed.
    pub fn read(folder: &Path) -> std::result::Result<Self, String> {
        let text = std::fs::read_to_string(folder.join(MANIFEST))
            .map_err(|cause| format!("{MANIFEST} cannot be read: {cause}"))?;
        Self::parse(&text).ok_or_else(|| format!("{MANIFEST} is malformed"))
    }

    /// Reads the manifest of a complete installation.
    ///
    /// # Errors
    ///
    /// Returns the reason if the manifest is missing, unreadable or malformed, or if a file of the component differs
    /// from its record.
    pub fn read_complete(folder: &Path) -> std::result::Result<Self, String> {
        let manifest = Self::read(folder)?;
        let damage = manifest.damage(folder, |_| false);
        damage.map_or(Ok(manifest), Err)
    }

    /// Writes the manifest into a directory with a rename, and flushes it to the disk.
    ///
    /// # Errors
    ///
    /// Fails if the manifest cannot be written.
    pub fn write(&self, folder: &Path, staging: &Staging<'_>) -> Result<()> {
        let write = |new: &Path| std::fs::write(new, self.text());
        staging.replace(&folder.join(MANIFEST), write).map(drop)
    }

    /// Returns the total size of the files in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.files.values().sum()
    }

    /// Returns the licences of the wheels, without duplicates.
    #[must_use]
    pub fn licences(&self) -> Vec<&str> {
        let wheels = (self.origin.lines()).filter(|line| line.starts_with("wheel "));
        let licences = wheels.filter_map(|wheel| wheel.splitn(4, ' ').nth(3));
        licences.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns a description of the first file in a directory that differs from its record, or `None` if all match.
    /// Files for which `besides` returns true are not checked.
    #[must_use]
    pub fn damage(&self, folder: &Path, besides: impl Fn(&str) -> bool) -> Option<String> {
        let mut checked = self.files.iter().filter(|(path, _)| !besides(path));
        checked.find_map(|(path, size)| match std::fs::metadata(folder.join(path)) {
            Err(cause) => Some(format!("{path}: {cause}")),
            Ok(found) if found.len() == *size => None,
            Ok(found) => Some(format!(
                "{path} is {} bytes long, but was {size} bytes long when it was installed",
                found.len()
            )),
        })
    }

    /// Returns why an installation with this manifest does not match `pin`, or `None` if it does.
    #[must_use]
    pub fn mismatch(&self, pin: &ComponentPin) -> Option<String> {
        let wanted = Self::of(pin);
        if self.origin != wanted.origin {
            return Some(format!("{MANIFEST} lists different wheels"));
        }
        let mut files = wanted.files.iter();
        let lacking = files.find(|(path, size)| self.files.get(*path) != Some(size));
        lacking.map(|(path, size)| format!("{MANIFEST} does not list {path} with {size} bytes"))
    }

    fn text(&self) -> String {
        let mut text = format!("{HEADER}\n{}", self.origin);
        for (path, size) in &self.files {
            let _ = writeln!(text, "file {size} {path}");
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut manifest = Self::default();
        for line in text.strip_prefix(HEADER)?.trim_start().lines() {
            match line.split_once(' ')? {
                ("component" | "version" | "wheel", _) => manifest.origin += &format!("{line}\n"),
                ("file", rest) => {
                    let (size, path) = rest.split_once(' ')?;
                    manifest.files.insert(path.into(), size.parse().ok()?);
                }
                _ => return None,
            }
        }
        (!manifest.files.is_empty()).then_some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::pins::ALL;

    #[test]
    fn a_manifest_reads_back_as_it_was_written() {
        for pin in ALL.iter() {
            let manifest = Manifest::of(pin);
            assert_eq!(Manifest::parse(&manifest.text()), Some(manifest.clone()));
            assert_eq!(manifest.mismatch(pin), None);
            assert_eq!(manifest.size(), pin.unpacked_size());
        }
    }

    #[test]
    fn a_manifest_of_other_pins_does_not_match() {
        let mut manifest = Manifest::of(&ALL[0]);
        assert!(manifest.mismatch(&ALL[1]).is_some());
        manifest.files.pop_last();
        assert!(manifest.mismatch(&ALL[0]).unwrap().contains("LICENSE.txt"));
        manifest.origin = manifest.origin.replace("wheel ", "wheel 0");
        assert!(
            manifest
                .mismatch(&ALL[0])
                .unwrap()
                .contains("different wheels")
        );
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        let text = Manifest::of(&ALL[0]).text();
        for broken in [
            "",
            "syclbin manifest 2\n",
            &text[..40],
            &text.replace("file ", "fil "),
            &text.replace("250467448", "many"),
        ] {
            assert_eq!(Manifest::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_licence_is_named_once() {
        assert_eq!(Manifest::of(&ALL[0]).licences().len(), 1);
        assert_eq!(Manifest::of(&ALL[1]).licences().len(), 2);
    }
}
