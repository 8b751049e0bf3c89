// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Error`]: why a report could not be written. A failed step is not an error; the report records it.

use std::path::{Path, PathBuf};

/// The reason why nothing ran, or why no report was written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: {source}; unpack the pack again", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file has unexpected contents.
    #[error("cannot read {}: {source}; it was written by another version", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// A file or directory cannot be written.
    #[error("cannot write {}: {source}; choose a writable directory with --out", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// No step has the requested name.
    #[error("no step has a name that begins with `{prefix}`; the pack contains: {names}")]
    NoStep {
        /// The prefix.
        prefix: String,
        /// The names of all steps.
        names: String,
    },
}

/// A result with this crate's [`Error`].
pub type Result<T> = std::result::Result<T, Error>;

/// Replaces a file in one step, so that a killed process does not leave half of it.
pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    let new = path.with_extension("new");
    let written = std::fs::write(&new, bytes).and_then(|()| std::fs::rename(&new, path));
    written.map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}

pub(crate) fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T> {
    let bytes = std::fs::read(path).map_err(|source| Error::Read {
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_slice(&bytes).map_err(|source| Error::Content {
        path: path.to_owned(),
        source,
    })
}
