// SPDX-License-Identifier: MIT OR Apache-2.0
//! A change to a crate that happens as a whole, or not at all.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};

/// New files and edited files. Unless it is kept, dropping it removes the new files and restores the others.
#[derive(Default)]
pub(super) struct Change {
    created: Vec<PathBuf>,
    /// The bytes from before; `None` where there was no file.
    edited: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Change {
    /// Remembers the bytes of a file that is edited or created next.
    pub(super) fn will_edit(&mut self, file: &Path) -> Result<()> {
        let before = match fs::read(file) {
            Ok(bytes) => Some(bytes),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => {
                let file = file.to_owned();
                return Err(Error::Read { file, cause });
            }
        };
        self.edited.push((file.to_owned(), before));
        Ok(())
    }

    /// Writes a file that does not exist, and creates the directories above it.
    pub(super) fn write(&mut self, file: &Path, text: &str) -> Result<()> {
        let above: Vec<_> = file.ancestors().skip(1).collect();
        for directory in above.into_iter().rev().filter(|one| !one.exists()) {
            fs::create_dir(directory).map_err(|cause| failed(directory, cause))?;
            self.created.push(directory.to_owned());
        }
        let mut open = OpenOptions::new();
        let opened = open.write(true).create_new(true).open(file);
        let mut opened = opened.map_err(|cause| failed(file, cause))?;
        self.created.push(file.to_owned());
        let written = opened.write_all(text.as_bytes());
        written.map_err(|cause| failed(file, cause))
    }

    /// Makes the change last.
    pub(super) fn keep(mut self) {
        self.created.clear();
        self.edited.clear();
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        // The error that led here is reported. A directory with files of others stays.
        for path in self.created.iter().rev() {
            let _ = fs::remove_file(path).or_else(|_| fs::remove_dir(path));
        }
        for (file, before) in &self.edited {
            let _ = match before {
                Some(bytes) => fs::write(file, bytes),
                None => fs::remove_file(file),
            };
        }
    }
}

fn failed(file: &Path, cause: io::Error) -> Error {
    Error::Save {
        file: file.to_owned(),
        cause,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_change_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let manifest = root.path().join("Cargo.toml");
        let lock = root.path().join("Cargo.lock");
        fs::write(&manifest, "before").unwrap();
        for keeps in [false, true] {
            let mut change = Change::default();
            for file in [&manifest, &lock] {
                change.will_edit(file).unwrap();
                fs::write(file, "after").unwrap();
            }
            change.write(&root.path().join("a/b/c"), "text").unwrap();
            if keeps {
                change.keep();
            } else {
                drop(change);
            }
            assert_eq!(root.path().join("a").exists(), keeps);
            assert_eq!(lock.exists(), keeps);
            let expected = if keeps { "after" } else { "before" };
            assert_eq!(fs::read_to_string(&manifest).unwrap(), expected);
        }
        let mut change = Change::default();
        assert!(change.write(&root.path().join("a/b/c"), "other").is_err());
        drop(change);
        let text = fs::read_to_string(root.path().join("a/b/c")).unwrap();
        assert_eq!(text, "text");
    }
}
