// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes manifests. The manifest of an installation lists its wheels and files, so that damage is
//! detected.
//!
//! A manifest is a JSON object:
//!
//! ```text
//! {
//!   "version": "2026.2.0",
//!   "wheels": [[SHA-256, FILE, LICENCE], ...],
//!   "files": { PATH: SIZE, ... }
//! }
//! ```
//!
//! The wheels are in the order of the pins. `files` contains all files of the component except the manifest. Paths are
//! relative to the manifest's directory and use `/`. The manifest is written last and completes the installation.
//!
//! Sizes reveal truncated, replaced and deleted files. Hashing some 300 MB instead would delay the answer "already
//! installed" too much.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::{Deserialize, Serialize};
use syclbin_toolchain::MANIFEST;

use super::pins::ComponentPin;
use super::staging::Staging;
use crate::error::Result;

/// The wheels and files of one installation.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Manifest {
    version: String,
    /// The SHA-256, the file name and the licence of each wheel.
    wheels: Vec<[String; 3]>,
    /// The size of each installed file except the manifest, in bytes. Paths are relative to the manifest's directory.
    pub files: BTreeMap<String, u64>,
}

impl Manifest {
    /// Creates the manifest for `pin`, which lists the files from its wheels.
    pub fn of(pin: &ComponentPin) -> Self {
        let files = pin.wheels.iter().flat_map(|wheel| {
            let members = wheel.members.iter();
            members.map(|(path, size)| (wheel.target(path), *size))
        });
        let wheels = pin.wheels.iter();
        let wheels =
            wheels.map(|wheel| [wheel.sha256, wheel.file, wheel.licence].map(str::to_owned));
        Self {
            version: pin.version.to_owned(),
            wheels: wheels.collect(),
            files: files.collect(),
        }
    }

    /// Reads the manifest in an installation's directory.
    ///
    /// # Errors
    ///
    /// Returns the reason if the file is missing, unreadable or malformed.
    pub fn read(folder: &Path) -> std::result::Result<Self, String> {
        let text = std::fs::read_to_string(folder.join(MANIFEST))
            .map_err(|cause| format!("{MANIFEST} cannot be read: {cause}"))?;
        Self::parse(&text)
    }

    fn parse(text: &str) -> std::result::Result<Self, String> {
        let manifest = serde_json::from_str::<Self>(text);
        let manifest = manifest.map_err(|cause| format!("{MANIFEST} is malformed: {cause}"))?;
        if manifest.files.is_empty() {
            return Err(format!("{MANIFEST} lists no files"));
        }
        Ok(manifest)
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
        let write = |new: &Path| std::fs::write(new, serde_json::to_vec_pretty(self)?);
        staging.replace(&folder.join(MANIFEST), write).map(drop)
    }

    /// Returns the total size of the files in bytes.
    pub fn size(&self) -> u64 {
        self.files.values().sum()
    }

    /// Returns the licences of the wheels, without duplicates.
    pub fn licences(&self) -> Vec<&str> {
        let licences = self.wheels.iter().map(|[.., licence]| &**licence);
        licences.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Returns a description of the first file in a directory that differs from its record, or `None` if all match.
    /// Files for which `besides` returns true are not checked.
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
    pub fn mismatch(&self, pin: &ComponentPin) -> Option<String> {
        let wanted = Self::of(pin);
        if self.version != wanted.version || self.wheels != wanted.wheels {
            return Some(format!("{MANIFEST} lists different wheels"));
        }
        let mut files = wanted.files.iter();
        let lacking = files.find(|(path, size)| self.files.get(*path) != Some(size));
        lacking.map(|(path, size)| format!("{MANIFEST} does not list {path} with {size} bytes"))
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
            let text = serde_json::to_string_pretty(&manifest).unwrap();
            assert_eq!(Manifest::parse(&text), Ok(manifest.clone()));
            assert_eq!(manifest.mismatch(pin), None);
            assert_eq!(manifest.size(), pin.unpacked_size());
        }
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        let text = serde_json::to_string_pretty(&Manifest::of(&ALL[0])).unwrap();
        for (broken, reason) in [
            ("", "EOF"),
            ("syclbin manifest 1\n", "expected value"),
            (&text[..40], "EOF"),
            (&text.replace("\"files\"", "\"fil\""), "unknown field `fil`"),
            (&text.replace("250467448", "\"many\""), "expected u64"),
            (
                r#"{"version":"1","wheels":[],"files":{}}"#,
                "lists no files",
            ),
        ] {
            let error = Manifest::parse(broken).unwrap_err();
            assert!(error.contains(reason), "{broken}: {error}");
        }
    }

    #[test]
    fn a_manifest_of_other_pins_does_not_match() {
        let mut manifest = Manifest::of(&ALL[0]);
        assert!(manifest.mismatch(&ALL[1]).is_some());
        manifest.files.pop_last();
        let mismatch = |manifest: &Manifest| manifest.mismatch(&ALL[0]).unwrap();
        assert!(mismatch(&manifest).contains("LICENSE.txt"));
        manifest.wheels[0][0].push('0');
        assert!(mismatch(&manifest).contains("different wheels"));
    }

    #[test]
    fn a_licence_is_named_once() {
        assert_eq!(Manifest::of(&ALL[0]).licences().len(), 1);
        assert_eq!(Manifest::of(&ALL[1]).licences().len(), 2);
    }
}
