// SPDX-License-Identifier: MIT OR Apache-2.0
//! Classifies input files: sources to compile, SYCLBIN files to join, and objects with device code.

use std::fmt;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use syclbin::Content;
use syclbin_toolchain::file;
use syclbin_tools::extract;

use crate::{Result, own};

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    Source(PathBuf),
    Syclbin(PathBuf),
    /// An object, a static library, or a file of LLVM bitcode or SPIR-V.
    Object(PathBuf),
}

/// Suffixes of files that are not sources. Compiling such a file as a source would only produce a wall of errors.
const OTHERS: [&str; 9] = ["o", "obj", "a", "so", "spv", "bc", "ll", "s", "ptx"];
/// The number of leading bytes that determine the kind of a file.
const HEAD: u64 = 64;

impl Input {
    /// Determines the kind of the file at `path`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read, or is neither a source, a SYCLBIN file nor an object.
    pub(crate) fn open(path: PathBuf) -> Result<Self> {
        if path == Path::new("-") {
            return own(
                "cannot compile standard input; write the source to a file and pass that file",
            );
        }
        let mut head = Vec::new();
        file::open(&path)
            .and_then(|file| file.take(HEAD).read_to_end(&mut head))
            .or_else(|error| own(format!("cannot read input '{}': {error}", path.display())))?;
        let suffix = path.extension().and_then(|suffix| suffix.to_str());
        let other = suffix.filter(|suffix| OTHERS.contains(suffix));
        let is_object = match Content::of(&head) {
            _ if suffix == Some("syclbin") => return Ok(Self::Syclbin(path)),
            Content::Syclbin | Content::OffloadBinary => return Ok(Self::Syclbin(path)),
            Content::Elf { .. } | Content::LlvmBitcode | Content::Archive | Content::SpirV => true,
            _ => false,
        };
        // Text files have no magic number, so PTX and text bundles are recognized by their suffixes.
        if is_object || other.is_some() && extract::is_known(&head) {
            return Ok(Self::Object(path));
        }
        match other {
            Some(suffix) => own(format!(
                "input '{}' is neither a source, a SYCLBIN file nor an object with device code (judging by its suffix \
                 .{suffix}); pass only files of these kinds",
                path.display()
            )),
            None => Ok(Self::Source(path)),
        }
    }

    pub(crate) fn path(&self) -> &Path {
        match self {
            Self::Source(path) | Self::Syclbin(path) | Self::Object(path) => path,
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
        let elf = [&b"\x7fELF\x02\x01\x01"[..], &[0; 57]].concat();
        for (name, content) in [
            ("k.o", &elf[..]),
            ("k.a", b"!<arch>\n"),
            ("k", b"BC\xc0\xde"),
        ] {
            let input = open(name, content).unwrap();
            assert!(matches!(input, Input::Object(_)), "{input:?}");
        }
        let Err(Failure::Own(text)) = open("k.ll", b"define") else {
            panic!("assembly was accepted");
        };
        assert!(text.contains("k.ll' is neither a source"), "{text}");
        let Err(Failure::Own(text)) = Input::open(folder.path().join("none.cpp")) else {
            panic!("a missing file was opened");
        };
        assert!(text.contains("none.cpp': "), "{text}");
        assert!(Input::open(folder.path().to_owned()).is_err());
        assert!(Input::open("-".into()).is_err());
    }
}
