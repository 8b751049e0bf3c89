// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the input file of a command, and suggests a remedy if the file has the wrong format.
//!
//! Files are read, not mapped, because another program may change a mapped file while it is examined.

use std::borrow::Cow;
use std::io::Read as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};
use syclbin::__private::{OFFLOAD_BINARY_MAGIC, SYCLBIN_MAGIC};
use syclbin::read::File;
use syclbin::{Content, ErrorKind, Syclbin, offload};
use syclbin_toolchain::file;
use syclbin_toolchain::store::hex;
use syclbin_tools::extract;

use crate::error::{Error, Result};

const STDIN: &str = "-";

/// A file and its bytes.
#[derive(Clone, Debug)]
pub struct Input {
    /// The path as given; `-` is standard input.
    pub path: PathBuf,
    /// The complete contents.
    pub bytes: Vec<u8>,
}

impl Input {
    /// Reads the SYCLBIN file at `path`, or standard input for `-`. Decompresses a compressed OffloadBinary.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or decompressed.
    pub fn read(path: &Path) -> Result<Self> {
        let mut input = Self::container(path)?;
        let unpacked = offload::unpack(&input.bytes).map_err(Error::format(path))?;
        if let Cow::Owned(unpacked) = unpacked {
            input.bytes = unpacked;
        }
        Ok(input)
    }

    /// Reads a file that may contain device images, or standard input for `-`. For other formats, reads only the first
    /// bytes of the file, which suffice for the error message.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn container(path: &Path) -> Result<Self> {
        Self::read_if(path, extract::is_known)
    }

    /// Reads any file, or standard input for `-`.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read.
    pub fn any(path: &Path) -> Result<Self> {
        Self::read_if(path, |_| true)
    }

    fn read_if(path: &Path, wanted: impl FnOnce(&[u8]) -> bool) -> Result<Self> {
        let bytes = if path == Path::new(STDIN) {
            let mut bytes = Vec::new();
            let read = std::io::stdin().lock().read_to_end(&mut bytes);
            read.map(|_| bytes)
        } else {
            file::read_if(path, wanted)
        };
        let bytes = bytes.map_err(|cause| Error::Read(path.into(), cause))?;
        let path = path.to_owned();
        Ok(Self { path, bytes })
    }

    /// Returns the path as text. Invalid Unicode is replaced.
    pub fn name(&self) -> String {
        self.path.to_string_lossy().into_owned()
    }

    /// Parses the file as SYCLBIN, and returns both a view of its records and the model of its contents.
    ///
    /// # Errors
    ///
    /// Fails if the file is damaged or in a different format. The error suggests a remedy.
    pub fn syclbin(&self) -> Result<(File<'_>, Syclbin<'_>)> {
        let refused = |cause| self.not_syclbin(cause);
        let file = File::parse(&self.bytes).map_err(refused)?;
        let model = file.to_model().map_err(refused)?;
        Ok((file, model))
    }

    /// Returns the error for a file that does not parse as SYCLBIN.
    pub fn not_syclbin(&self, cause: syclbin::Error) -> Error {
        let remedy = self.remedy(cause.kind());
        Error::NotSyclbin(self.path.clone(), cause.into(), remedy)
    }

    /// Suggests what to do with a file that does not parse as SYCLBIN.
    fn remedy(&self, cause: &ErrorKind) -> String {
        let path = self.path.display();
        let extract = format!("run `cargo syclbin extract {path}` to extract its device code");
        match Content::of(&self.bytes) {
            Content::OffloadBinary if matches!(cause, ErrorKind::ImageKind(_)) => extract,
            Content::Syclbin | Content::OffloadBinary => {
                format!("run `cargo syclbin verify {path}` to list all of its errors")
            }
            Content::Unknown if self.bytes.starts_with(b"MZ") => {
                format!("it looks like a Windows executable; {extract}")
            }
            Content::Empty | Content::Unknown => {
                let [bare, wrapped] = [SYCLBIN_MAGIC, OFFLOAD_BINARY_MAGIC].map(hex);
                format!("a SYCLBIN file begins with the bytes {wrapped} or {bare}")
            }
            content => format!("the detected content is {content}; {extract}"),
        }
    }
}

/// Returns the SHA-256 of `bytes` in lowercase hexadecimal.
pub fn sha256(bytes: &[u8]) -> String {
    hex(Sha256::digest(bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the result of `act`, and fails the test if `act` hangs.
    #[cfg(unix)]
    fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(act()));
        let patience = std::time::Duration::from_secs(20);
        receiver.recv_timeout(patience).expect("it waits for ever")
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("fifo");
        let made = std::process::Command::new("mkfifo").arg(&path).status();
        assert!(made.unwrap().success());
        let error = soon(move || Input::read(&path).unwrap_err().to_string());
        assert!(
            error.contains("it is not a regular file, but a FIFO, a device or another special file; use a regular file instead"),
            "{error}"
        );
    }

    #[test]
    fn a_huge_unknown_file_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        std::fs::File::create(&path)
            .unwrap()
            .set_len(1 << 40)
            .unwrap();
        let error = Input::read(&path).unwrap().syclbin().unwrap_err();
        assert!(
            error.to_string().contains("a SYCLBIN file begins with"),
            "{error}"
        );
    }

    #[test]
    fn other_formats_are_refused_with_a_remedy() {
        let remedy = |bytes: &[u8]| {
            let path = PathBuf::from("a.o");
            let bytes = bytes.to_vec();
            Input { path, bytes }.syclbin().unwrap_err().to_string()
        };
        let elf = remedy(b"\x7fELF\x02\x01");
        assert!(elf.contains("cargo syclbin extract a.o"), "{elf}");
        let cut = remedy(&SYCLBIN_MAGIC);
        assert!(cut.contains("cargo syclbin verify a.o"), "{cut}");
        assert!(remedy(b"").contains("it is empty"), "{}", remedy(b""));
        let program = remedy(b"MZ\x90\0");
        assert!(program.contains("like a Windows executable"), "{program}");
    }
}
