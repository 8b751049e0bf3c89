// SPDX-License-Identifier: MIT OR Apache-2.0
//! Inputs: sources to compile, and SYCLBIN files to join.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use syclbin_toolchain::file;

use crate::{Result, own};

/// An input file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// A source.
    Source(PathBuf),
    /// A SYCLBIN file.
    Syclbin(PathBuf),
}

/// The first bytes of SYCLBIN files: wrapped, and bare.
const MAGIC: [&[u8; 4]; 2] = [b"\x10\xff\x10\xad", b"IBYS"];
/// Suffixes of files that are neither. Compiling them as sources would produce a wall of errors.
const OTHERS: [&str; 9] = ["o", "obj", "a", "so", "spv", "bc", "ll", "s", "ptx"];

impl Input {
    /// Determines the kind of the file at `path`.
    ///
    /// # Errors
    ///
    /// When the file cannot be read, or is neither a source nor a SYCLBIN file.
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        if path == Path::new("-") {
            return own("standard input is not read; write the source to a file and name that");
        }
        let head = read_head(&path).or_else(|error| {
            own(format!(
                "input '{}' cannot be read: {error}",
                path.display()
            ))
        })?;
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        if suffix == Some("syclbin") || MAGIC.iter().any(|magic| head == **magic) {
            return Ok(Self::Syclbin(path));
        }
        match suffix {
            Some(suffix) if OTHERS.contains(&suffix) => own(format!(
                "input '{}' is neither a source nor a SYCLBIN file (by its suffix .{suffix}); name those \
                 alone",
                path.display()
            )),
            _ => Ok(Self::Source(path)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Source(path) | Self::Syclbin(path) => path,
        }
    }

    pub(crate) fn is_source(&self) -> bool {
        matches!(self, Self::Source(_))
    }
}

impl fmt::Display for Input {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.path().display().fmt(f)
    }
}

/// Reads up to four bytes.
fn read_head(path: &Path) -> std::io::Result<Vec<u8>> {
    let mut head = Vec::new();
    file::open(path)?.take(4).read_to_end(&mut head)?;
    Ok(head)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Failure;

    #[test]
    fn files_are_recognized_by_content_then_suffix() {
        let folder = tempfile::tempdir().unwrap();
        let open = |name: &str, content: &[u8]| {
            let path = folder.path().join(name);
            std::fs::write(&path, content).unwrap();
            Input::open(path)
        };
        assert!(open("k.cpp", b"int x;").unwrap().is_source());
        assert!(open("empty.cpp", b"").unwrap().is_source());
        assert!(open("no_suffix", b"int").unwrap().is_source());
        assert!(
            !open("wrapped.bin", b"\x10\xff\x10\xad...")
                .unwrap()
                .is_source()
        );
        assert!(!open("bare.o", b"IBYS...").unwrap().is_source());
        assert!(!open("damaged.syclbin", b"text").unwrap().is_source());
        let Err(Failure::Own(text)) = open("k.o", b"\x7fELF") else {
            panic!("an object was taken");
        };
        assert!(text.contains("k.o' is neither a source"), "{text}");
        let Err(Failure::Own(text)) = Input::open(folder.path().join("none.cpp")) else {
            panic!("it is not there");
        };
        assert!(text.contains("none.cpp' cannot be read"), "{text}");
        assert!(Input::open(folder.path().to_owned()).is_err());
        assert!(Input::open("-".into()).is_err());
    }
}
