// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds and reads the files that the tests of several crates share. `PROVENANCE.md` says where each file comes from.
//!
//! All functions panic when a file is missing, with its path.

#![allow(
    clippy::missing_panics_doc,
    clippy::panic,
    reason = "a test without its files fails, as the first lines say"
)]

mod declared;

use std::path::{Path, PathBuf};

pub use declared::{Declared, parse as declaration};

/// Returns the directory of the files: this package, or `SYCLBIN_TESTFILES` on a machine without the repository.
pub fn directory() -> PathBuf {
    match std::env::var_os("SYCLBIN_TESTFILES") {
        Some(directory) => directory.into(),
        None => Path::new(env!("CARGO_MANIFEST_DIR")).to_owned(),
    }
}

/// Returns the path of a file, such as `nvidia/plain.fatbin`.
pub fn path(name: &str) -> PathBuf {
    directory().join(name)
}

/// Reads a file.
pub fn read(name: &str) -> Vec<u8> {
    read_path(&path(name))
}

/// Reads a file into memory that is never freed, for tests whose values borrow it.
pub fn bytes(name: &str) -> &'static [u8] {
    read(name).leak()
}

/// Returns the files directly in `subdirectory` whose names end in `ending`, sorted by name, with their bytes.
///
/// A name is relative to [`directory`]. `""` is that directory itself.
pub fn all(subdirectory: &str, ending: &str) -> Vec<(String, Vec<u8>)> {
    let directory = path(subdirectory);
    let entries = std::fs::read_dir(&directory);
    let entries = entries.unwrap_or_else(|error| panic!("{}: {error}", directory.display()));
    let mut files: Vec<_> = entries
        .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
        .filter(|name| name.ends_with(ending) && directory.join(name).is_file())
        .map(|name| {
            let bytes = read_path(&directory.join(&name));
            let name = Path::new(subdirectory).join(name);
            (name.display().to_string(), bytes)
        })
        .collect();
    assert!(
        !files.is_empty(),
        "no file ends in {ending} in {}",
        directory.display()
    );
    files.sort();
    files
}

/// Returns the SYCLBIN files of the reference runtime, sorted by name, with their bytes.
pub fn reference() -> Vec<(String, Vec<u8>)> {
    let files = all("", ".syclbin");
    assert!(files.len() >= 14, "{} files are left", files.len());
    files
}

fn read_path(path: &Path) -> Vec<u8> {
    std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
