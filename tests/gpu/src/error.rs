// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Error`]: why a report could not be made. The outcome of a step is not an error: the report has it.

use std::path::{Path, PathBuf};

/// Why nothing was run, or why the report was not written.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file cannot be read.
    #[error("cannot read {}: {source}; unpack the pack again", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// A file holds something else than expected.
    #[error("cannot read {}: {source}; it was written by another version", path.display())]
    Content {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// A file or directory cannot be written.
    #[error("cannot write {}: {source}; choose a writable directory with --out", path.display())]
    Write {
        /// The file or directory.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// The result of what cannot go on without a file.
pub type Result<T> = std::result::Result<T, Error>;

pub(crate) fn write(path: &Path, bytes: impl AsRef<[u8]>) -> Result<()> {
    std::fs::write(path, bytes).map_err(|source| Error::Write {
        path: path.to_owned(),
        source,
    })
}

/// Reads a JSON file.
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
