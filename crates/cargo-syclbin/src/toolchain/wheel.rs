// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks a local wheel against its pin, and unpacks it member by member.
//!
//! A wheel is unpacked only if its size and SHA-256 match the pin. Only pinned members are read, and a member whose
//! unpacked size differs from the pin is rejected.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use syclbin_toolchain::store::hex;
use zip::ZipArchive;

use super::pins::{WheelPin, is_program};
use super::staging::Staging;
use crate::error::{Error, Result};
use crate::ui::Progress;

/// A wheel whose content matches its pin.
#[derive(Debug)]
pub struct Wheel<'a> {
    pub(super) pin: &'a WheelPin,
    path: PathBuf,
    archive: ZipArchive<BufReader<File>>,
}

impl<'a> Wheel<'a> {
    /// Opens the wheel in a directory and checks its size and hash.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be read or is not the pinned wheel.
    pub fn open(pin: &'a WheelPin, folder: &Path, progress: &dyn Progress) -> Result<Self> {
        let path = folder.join(pin.file);
        let unreadable = |cause| Error::Read(path.clone(), cause);
        let mut file = File::open(&path).map_err(unreadable)?;
        let mut hash = Sha256::new();
        let source = &mut file;
        let size = io::copy(&mut Watched { source, progress }, &mut hash).map_err(unreadable)?;
        let described = |size: u64, hash: &str| format!("{size} bytes with SHA-256 {hash}");
        let found = described(size, &hex(hash.finalize()));
        let expected = described(pin.size, pin.sha256);
        if found != expected {
            return Err(Error::WrongWheel {
                file: path,
                expected,
                found,
            });
        }
        // Unpack the open file that was hashed, because the path may now refer to another file.
        file.rewind().map_err(unreadable)?;
        let archive = ZipArchive::new(BufReader::new(file))
            .map_err(|error| Error::WheelContent(path.clone(), error.to_string()))?;
        Ok(Self { pin, path, archive })
    }

    /// Unpacks the pinned members into a directory.
    ///
    /// # Errors
    ///
    /// Fails if a member is missing, differs from the pin, or cannot be written.
    pub fn unpack(&mut self, folder: &Path, staging: &Staging<'_>) -> Result<()> {
        let mut members = self.pin.members.iter();
        members.try_for_each(|(member, size)| self.unpack_member(member, *size, folder, staging))
    }

    fn unpack_member(
        &mut self,
        member: &str,
        size: u64,
        folder: &Path,
        staging: &Staging<'_>,
    ) -> Result<()> {
        let name = self.pin.source(member);
        let target = folder.join(self.pin.target(member));
        let path = &self.path;
        let content = |problem| Error::WheelContent(path.clone(), format!("{name}{problem}"));
        let failed = |cause| staging.failed(&target, cause);
        let source = self.archive.by_name(&name);
        let source = source.map_err(|error| content(format!(": {error}")))?;
        staging.create_parent(&target)?;
        // `create_new` fails on a second member with the same path, which would be a mistake in the pins.
        let mut file = File::create_new(&target).map_err(failed)?;
        // Limit the read, because a member may claim one size and unpack to another.
        let (source, progress) = (source.take(size + 1), staging.progress);
        let mut source = Watched { source, progress };
        let written = io::copy(&mut source, &mut file).map_err(failed)?;
        if written != size {
            let relation = if written < size { "only" } else { "at least" };
            return Err(content(format!(
                " unpacks to {relation} {written} bytes, but the pin specifies {size}"
            )));
        }
        if is_program(member) {
            make_executable(&file).map_err(failed)?;
        }
        file.sync_all().map_err(failed)
    }
}

/// Makes a program executable, as pip would.
fn make_executable(file: &File) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mut permissions = file.metadata()?.permissions();
        permissions.set_mode(permissions.mode() | 0o111);
        file.set_permissions(permissions)?;
    }
    let _ = file;
    Ok(())
}

struct Watched<'a, R> {
    source: R,
    progress: &'a dyn Progress,
}

impl<R: Read> Read for Watched<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let count = self.source.read(buffer)?;
        self.progress.advance(count as u64);
        Ok(count)
    }
}
