// SPDX-License-Identifier: MIT OR Apache-2.0
//! Listing: a note in `OUT_DIR` names the sources of each file, for `cargo syclbin list`.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use crate::file;

/// The prefix of the names of notes; the name of the file follows.
const PREFIX: &str = ".sources-";

/// Returns the directory of our files in `OUT_DIR`.
pub(crate) fn folder(out_dir: &Path) -> PathBuf {
    out_dir.join("syclbin")
}

/// Returns the path of the file called `name`.
#[must_use]
pub fn file(out_dir: &Path, name: &str) -> PathBuf {
    file_in(&folder(out_dir), name)
}

/// Returns the path of the file called `name`, in the directory of our files.
pub(crate) fn file_in(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{name}.syclbin"))
}

/// Returns the path of the note for the file called `name`.
pub(crate) fn note(folder: &Path, name: &str) -> PathBuf {
    folder.join(format!("{PREFIX}{name}"))
}

/// Writes a note with the sources of the file called `name`.
pub(crate) fn write(out_dir: &Path, name: &str, sources: &[PathBuf]) -> io::Result<()> {
    let sources: Vec<_> = sources.iter().map(|path| path.to_string_lossy()).collect();
    file::replace(&note(&folder(out_dir), name), sources.join("\0").as_bytes())
}

/// Reads the names of all files, and their sources relative to the directory of the package.
///
/// # Errors
///
/// Fails if the notes cannot be read.
pub fn read(out_dir: &Path) -> io::Result<BTreeMap<String, Vec<PathBuf>>> {
    let folder = folder(out_dir);
    let each = names(&folder)?.into_iter().map(|name| {
        let text = std::fs::read_to_string(note(&folder, &name))?;
        Ok((name, text.split('\0').map(PathBuf::from).collect()))
    });
    each.collect()
}

/// Returns the names that have a note in a directory of our files.
pub(crate) fn names(folder: &Path) -> io::Result<Vec<String>> {
    let entries = match std::fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let mut names = Vec::new();
    for entry in entries {
        let name = entry?.file_name();
        names.extend(
            name.to_string_lossy()
                .strip_prefix(PREFIX)
                .map(str::to_owned),
        );
    }
    Ok(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_read_by_name() {
        let out = tempfile::tempdir().unwrap();
        assert!(read(out.path()).unwrap().is_empty());
        std::fs::create_dir(folder(out.path())).unwrap();
        let sources = ["k/a b.cpp", "c.cpp"].map(PathBuf::from);
        write(out.path(), "a", &sources).unwrap();
        write(out.path(), "b", &sources[1..]).unwrap();
        std::fs::write(file(out.path(), "old"), "").unwrap();
        let found = read(out.path()).unwrap();
        let found: Vec<_> = found.iter().map(|(name, of)| (&**name, &**of)).collect();
        assert_eq!(found, [("a", &sources[..]), ("b", &sources[1..])]);
    }
}
