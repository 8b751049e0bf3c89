// SPDX-License-Identifier: MIT OR Apache-2.0
//! A wheel on this machine, which is checked against its pin and then unpacked member by member.
//!
//! A file is unpacked only if its size and SHA-256 are the pinned ones. Only the pinned members are unpacked;
//! others are never read. A path stays below its directory, and a member ends at its pinned size.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Component as Step, Path, PathBuf};

use sha2::{Digest, Sha256};
use syclbin_toolchain::store::hex;
use zip::ZipArchive;

use super::manifest::Manifest;
use super::pins::{Member, MemberKind, WheelPin};
use super::staging::Staging;
use crate::error::{Error, Result};
use crate::ui::Progress;

const CHUNK: usize = 1 << 18;

/// A wheel whose content matches its pin.
#[derive(Debug)]
pub struct Wheel<'a> {
    pin: &'a WheelPin,
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
        let found = file.metadata().map_err(unreadable)?.len();
        if found != pin.size {
            return Err(Error::WheelSize {
                file: path,
                expected: pin.size,
                found,
            });
        }
        let found = sha256(&mut file, progress).map_err(unreadable)?;
        if found != pin.sha256 {
            return Err(Error::WheelHash {
                file: path,
                expected: pin.sha256.to_owned(),
                found,
            });
        }
        // Unpacks the same open file that was hashed, even if its name now points elsewhere.
        file.rewind().map_err(unreadable)?;
        let archive = ZipArchive::new(BufReader::new(file))
            .map_err(|error| Error::WheelContent(path.clone(), error.to_string()))?;
        Ok(Self { pin, path, archive })
    }

    /// Returns the pin that it was checked against.
    #[must_use]
    pub fn pin(&self) -> &'a WheelPin {
        self.pin
    }

    /// Unpacks the pinned members into a directory and records them.
    ///
    /// # Errors
    ///
    /// Fails if a member is missing, differs from the pin, or cannot be written.
    pub fn unpack(
        &mut self,
        folder: &Path,
        manifest: &mut Manifest,
        staging: &Staging,
        progress: &dyn Progress,
    ) -> Result<()> {
        let pin = self.pin;
        for member in pin.members {
            let target = pin.target(member);
            if !stays_below(Path::new(&target)) {
                return Err(self.content(format!("the path {target} points outside its directory")));
            }
            self.unpack_member(member, &folder.join(&target), staging, progress)?;
            manifest.record(&target, member.size);
        }
        Ok(())
    }

    fn unpack_member(
        &mut self,
        member: &Member,
        target: &Path,
        staging: &Staging,
        progress: &dyn Progress,
    ) -> Result<()> {
        let name = self.pin.source(member);
        let path = self.path.clone();
        let content = |problem| Error::WheelContent(path.clone(), problem);
        let mut source = self
            .archive
            .by_name(&name)
            .map_err(|error| content(format!("{name}: {error}")))?;
        if !source.is_file() {
            return Err(content(format!("{name} is not a regular file")));
        }
        if let Some(parent) = target.parent() {
            staging.create_folder(parent)?;
        }
        // `create_new` fails on a second member with the same path, which would be a mistake in the pins.
        let mut file = File::create_new(target).map_err(|cause| staging.failed(target, cause))?;
        let mut buffer = vec![0; CHUNK];
        let mut written = 0;
        loop {
            let count = read_some(&mut source, &mut buffer)
                .map_err(|error| content(format!("{name}: {error}")))?;
            written += count as u64;
            // The check comes before the write: a member may claim one size and unpack to another.
            if written > member.size || (count == 0 && written < member.size) {
                let relation = if count == 0 { "only" } else { "at least" };
                return Err(content(format!(
                    "{name} unpacks to {relation} {written} bytes, but the pin specifies {}",
                    member.size
                )));
            }
            if count == 0 {
                break;
            }
            file.write_all(&buffer[..count])
                .map_err(|cause| staging.failed(target, cause))?;
            progress.advance(count as u64);
        }
        if member.kind == MemberKind::CudaProgram {
            make_executable(&file).map_err(|cause| staging.failed(target, cause))?;
        }
        file.sync_all()
            .map_err(|cause| staging.failed(target, cause))
    }

    fn content(&self, problem: String) -> Error {
        Error::WheelContent(self.path.clone(), problem)
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

/// Returns whether a relative path stays below the directory that it is joined to.
fn stays_below(path: &Path) -> bool {
    path.components()
        .all(|step| matches!(step, Step::Normal(_)))
}

fn sha256(file: &mut File, progress: &dyn Progress) -> io::Result<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; CHUNK];
    loop {
        let count = read_some(file, &mut buffer)?;
        if count == 0 {
            return Ok(hex(hash.finalize()));
        }
        hash.update(&buffer[..count]);
        progress.advance(count as u64);
    }
}

fn read_some(source: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match source.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absolute_and_climbing_paths_are_not_below() {
        assert!(stays_below(Path::new("lib/libimf.so")));
        for path in ["../libimf.so", "lib/../../x", "/etc/x", "lib/.."] {
            assert!(!stays_below(Path::new(path)), "{path}");
        }
    }
}
