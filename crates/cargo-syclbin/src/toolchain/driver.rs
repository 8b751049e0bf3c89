//! The compiler driver, `syclbin-clang`: built with this program, copied into the compiler.
//!
//! It comes from no wheel. `cargo install` and `cargo build` put it beside `cargo-syclbin`, and the
//! copy in the compiler's folder follows it: a newer one replaces it without any download.

use std::fs::File;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};

use super::staging::Staging;
use crate::error::{Error, Result};

/// The driver that lies beside a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Driver(PathBuf);

impl Driver {
    /// The driver beside `program`, be it there or not.
    #[must_use]
    pub fn beside(program: &Path) -> Self {
        let name = format!("syclbin-clang{}", std::env::consts::EXE_SUFFIX);
        Self(program.with_file_name(name))
    }

    /// The driver beside the running program.
    ///
    /// # Errors
    ///
    /// When the system does not say where this program lies.
    pub fn beside_this_program() -> Result<Self> {
        match std::env::current_exe() {
            Ok(program) => Ok(Self::beside(&program)),
            Err(cause) => Err(Error::NoProgram { cause }),
        }
    }

    /// Its path, if it is there.
    ///
    /// # Errors
    ///
    /// When it is not, with how to get it.
    pub fn path(&self) -> Result<&Path> {
        if self.0.is_file() {
            return Ok(&self.0);
        }
        Err(Error::NoDriver {
            looked: self.0.clone(),
        })
    }

    /// Its size in bytes; none when it is not there.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.0.metadata().map_or(0, |metadata| metadata.len())
    }

    /// Whether `copy` has the same content. A copy that cannot be read has not.
    #[must_use]
    pub fn is_same_as(&self, copy: &Path) -> bool {
        let sizes = (self.0.metadata(), copy.metadata());
        let (Ok(mine), Ok(theirs)) = sizes else {
            return false;
        };
        mine.len() == theirs.len() && same_content(&self.0, copy).unwrap_or(false)
    }

    /// Copies it to `target`, executable, and gives its size in bytes.
    ///
    /// # Errors
    ///
    /// When it is not there, or cannot be copied.
    pub fn copy_to(&self, target: &Path, staging: &Staging) -> Result<u64> {
        std::fs::copy(self.path()?, target)
            .and_then(|size| File::open(target)?.sync_all().map(|()| size))
            .map_err(|cause| staging.failed(target, cause))
    }
}

fn same_content(a: &Path, b: &Path) -> io::Result<bool> {
    let mut a = BufReader::with_capacity(1 << 16, File::open(a)?);
    let mut b = BufReader::with_capacity(1 << 16, File::open(b)?);
    loop {
        let (left, right) = (a.fill_buf()?, b.fill_buf()?);
        let common = left.len().min(right.len());
        if common == 0 {
            return Ok(left.is_empty() && right.is_empty());
        }
        if left[..common] != right[..common] {
            return Ok(false);
        }
        a.consume(common);
        b.consume(common);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_copy_is_the_same_only_byte_for_byte() {
        let folder = tempfile::tempdir().unwrap();
        let driver = Driver::beside(&folder.path().join("cargo-syclbin"));
        let copy = folder.path().join("copy");
        assert!(driver.path().is_err() && !driver.is_same_as(&copy));
        let content = vec![7u8; 200_000];
        std::fs::write(&driver.0, &content).unwrap();
        for (other, same) in [
            (content.clone(), true),
            (content[1..].to_vec(), false),
            ([&content[1..], b"x"].concat(), false),
        ] {
            std::fs::write(&copy, other).unwrap();
            assert_eq!(driver.is_same_as(&copy), same);
        }
    }
}
