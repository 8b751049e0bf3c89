// SPDX-License-Identifier: MIT OR Apache-2.0
//! The manifest of an installation: what was installed, and what must still be there.
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
//! except the manifest. Paths are relative to the component's directory and use `/`. The manifest is written last
//! and completes the installation.
//!
//! Sizes reveal a file that was cut short, replaced or deleted. Hashing some 300 MB for that would delay the answer
//! "already installed" too much.

use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;

use syclbin_toolchain::{Component, MANIFEST};

use super::pins::ComponentPin;
use super::staging::Staging;
use crate::error::Result;

const HEADER: &str = "syclbin manifest 1";

/// The content of one installation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Manifest {
    /// The component.
    pub component: Component,
    /// Its version.
    pub version: String,
    /// The wheels that it came from.
    pub wheels: Vec<Wheel>,
    /// Its files, without the manifest itself.
    pub files: Vec<Entry>,
}

/// A wheel that files came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wheel {
    /// Its SHA-256, in lower-case hexadecimal.
    pub sha256: String,
    /// Its file name.
    pub file: String,
    /// The licence it came under.
    pub licence: String,
}

/// An installed file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Its path relative to the component's directory.
    pub path: String,
    /// Its size in bytes.
    pub size: u64,
}

impl Manifest {
    /// Creates the manifest of `pin`, with no files yet.
    #[must_use]
    pub fn of(pin: &ComponentPin) -> Self {
        Self {
            component: pin.component,
            version: pin.version.to_owned(),
            wheels: pin
                .wheels
                .iter()
                .map(|wheel| Wheel {
                    sha256: wheel.sha256.to_owned(),
                    file: wheel.file.to_owned(),
                    licence: wheel.licence.to_owned(),
                })
                .collect(),
            files: Vec::new(),
        }
    }

    /// Reads the manifest in the directory of a component.
    ///
    /// # Errors
    ///
    /// Fails if the file is missing, unreadable or not a manifest. The error is the reason.
    pub fn read(folder: &Path) -> std::result::Result<Self, String> {
        let text = std::fs::read_to_string(folder.join(MANIFEST))
            .map_err(|cause| format!("{MANIFEST} cannot be read: {cause}"))?;
        Self::parse(&text).ok_or_else(|| format!("{MANIFEST} is not a manifest"))
    }

    /// Reads the manifest of a complete installation.
    ///
    /// # Errors
    ///
    /// Fails if the file is missing or not a manifest, or when a file of the component differs from its record.
    pub fn read_complete(folder: &Path) -> std::result::Result<Self, String> {
        let manifest = Self::read(folder)?;
        match manifest.damage(folder, |_| false) {
            None => Ok(manifest),
            Some(problem) => Err(problem),
        }
    }

    /// Writes the manifest into a directory and flushes it to the disk.
    ///
    /// # Errors
    ///
    /// Fails if it cannot be written.
    pub fn write(&self, folder: &Path, staging: &Staging) -> Result<()> {
        let path = folder.join(MANIFEST);
        std::fs::File::create(&path)
            .and_then(|mut file| {
                file.write_all(self.text().as_bytes())?;
                file.sync_all()
            })
            .map_err(|cause| staging.failed(&path, cause))
    }

    /// Returns the size of all files in bytes.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.files.iter().map(|entry| entry.size).sum()
    }

    /// Returns the licences of the wheels, without duplicates.
    #[must_use]
    pub fn licences(&self) -> Vec<&str> {
        let mut licences: Vec<&str> = Vec::new();
        for wheel in &self.wheels {
            if !licences.contains(&wheel.licence.as_str()) {
                licences.push(&wheel.licence);
            }
        }
        licences
    }

    /// Returns the recorded size of the file at `path`.
    #[must_use]
    pub fn recorded(&self, path: &str) -> Option<u64> {
        let entry = self.files.iter().find(|entry| entry.path == path)?;
        Some(entry.size)
    }

    /// Records that the file at `path` has `size` bytes.
    pub fn record(&mut self, path: &str, size: u64) {
        match self.files.iter_mut().find(|entry| entry.path == path) {
            Some(entry) => entry.size = size,
            None => self.files.push(Entry {
                path: path.to_owned(),
                size,
            }),
        }
    }

    /// Returns a description of the first file in a directory that differs from its record, or `None` if all match.
    /// Files for which `besides` returns true are not checked.
    #[must_use]
    pub fn damage(&self, folder: &Path, besides: impl Fn(&str) -> bool) -> Option<String> {
        let checked = self.files.iter().filter(|entry| !besides(&entry.path));
        checked.into_iter().find_map(|entry| {
            let path = &entry.path;
            match std::fs::metadata(folder.join(path)) {
                Err(cause) => Some(format!("{path}: {cause}")),
                Ok(found) if found.len() == entry.size => None,
                Ok(found) => Some(format!(
                    "{path} has {} bytes, but was installed with {}",
                    found.len(),
                    entry.size
                )),
            }
        })
    }

    /// Returns why an installation with this manifest does not match `pin`, or `None` if it does.
    #[must_use]
    pub fn mismatch(&self, pin: &ComponentPin) -> Option<String> {
        let wanted = Self::of(pin);
        if (self.component, &self.version) != (wanted.component, &wanted.version)
            || self.wheels != wanted.wheels
        {
            return Some(format!("{MANIFEST} lists other wheels"));
        }
        pin.wheels
            .iter()
            .flat_map(|wheel| wheel.members.iter().map(|m| (wheel.target(m), m.size)))
            .find(|(path, size)| self.recorded(path) != Some(*size))
            .map(|(path, _)| format!("{MANIFEST} does not list {path}"))
    }

    fn text(&self) -> String {
        let mut text = format!(
            "{HEADER}\ncomponent {}\nversion {}\n",
            self.component.name(),
            self.version
        );
        // Writing to a string cannot fail.
        for wheel in &self.wheels {
            let _ = writeln!(
                text,
                "wheel {} {} {}",
                wheel.sha256, wheel.file, wheel.licence
            );
        }
        for entry in &self.files {
            let _ = writeln!(text, "file {} {}", entry.size, entry.path);
        }
        text
    }

    fn parse(text: &str) -> Option<Self> {
        let mut lines = text.lines();
        if lines.next()? != HEADER {
            return None;
        }
        let mut manifest = Self {
            component: Component::from_name(lines.next()?.strip_prefix("component ")?)?,
            version: lines.next()?.strip_prefix("version ")?.to_owned(),
            wheels: Vec::new(),
            files: Vec::new(),
        };
        for line in lines {
            match line.split_once(' ')? {
                ("wheel", rest) => {
                    let mut fields = rest.splitn(3, ' ').map(str::to_owned);
                    manifest.wheels.push(Wheel {
                        sha256: fields.next()?,
                        file: fields.next()?,
                        licence: fields.next()?,
                    });
                }
                ("file", rest) => {
                    let (size, path) = rest.split_once(' ')?;
                    manifest.files.push(Entry {
                        path: path.to_owned(),
                        size: size.parse().ok()?,
                    });
                }
                _ => return None,
            }
        }
        Some(manifest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::toolchain::pins::{COMPILER, CPU_DEVICE, NVIDIA};

    fn complete(pin: &ComponentPin) -> Manifest {
        let mut manifest = Manifest::of(pin);
        for wheel in pin.wheels {
            for member in wheel.members {
                manifest.record(&wheel.target(member), member.size);
            }
        }
        manifest
    }

    #[test]
    fn a_manifest_reads_back_as_it_was_written() {
        for pin in [COMPILER, CPU_DEVICE, NVIDIA] {
            let manifest = complete(&pin);
            assert_eq!(Manifest::parse(&manifest.text()), Some(manifest.clone()));
            assert_eq!(manifest.mismatch(&pin), None);
            assert_eq!(manifest.size(), pin.unpacked_size());
        }
    }

    #[test]
    fn a_manifest_of_other_pins_does_not_match() {
        let mut manifest = complete(&COMPILER);
        assert!(manifest.mismatch(&CPU_DEVICE).is_some());
        manifest.files.pop();
        assert!(
            manifest
                .mismatch(&COMPILER)
                .unwrap()
                .contains("LICENSE.txt")
        );
        manifest.wheels[0].sha256 = "0".repeat(64);
        assert!(
            manifest
                .mismatch(&COMPILER)
                .unwrap()
                .contains("other wheels")
        );
    }

    #[test]
    fn what_is_no_manifest_is_refused() {
        let text = complete(&COMPILER).text();
        for broken in [
            "",
            "syclbin manifest 2\n",
            &text[..40],
            &text.replace("file ", "fil "),
            &text.replace("250467448", "many"),
            &text.replace("compiler\n", "linker\n"),
        ] {
            assert_eq!(Manifest::parse(broken), None, "{broken}");
        }
    }

    #[test]
    fn a_licence_is_named_once() {
        assert_eq!(Manifest::of(&COMPILER).licences().len(), 1);
        assert_eq!(Manifest::of(&CPU_DEVICE).licences().len(), 2);
    }
}
