// SPDX-License-Identifier: MIT OR Apache-2.0
//! Wheels that are fetched by the user's pip, checked against their pins and unpacked, once a target directory.

use std::fs::File;
use std::io;
use std::path::Path;

use cargo_syclbin::toolchain::pins::WheelPin;
use cargo_syclbin::toolchain::pip::Search;
use cargo_syclbin::toolchain::staging::Staging;
use cargo_syclbin::toolchain::wheel::Wheel;
use cargo_syclbin::ui::{Progress as _, Size, Terminal};
use zip::ZipArchive;

use crate::Result;

/// What is taken from some wheels.
pub struct Wheels<'a> {
    /// The wheels.
    pub pins: &'a [&'a WheelPin],
    /// Where a member of a wheel goes; `None` for one that is not unpacked.
    pub target: fn(&WheelPin, &str) -> Option<String>,
    /// Files that must be there in the end.
    pub needed: &'a [&'a str],
}

impl Wheels<'_> {
    /// Unpacks into a directory, which lies in `home` and appears whole.
    ///
    /// # Errors
    ///
    /// When a wheel cannot be fetched, does not have its pinned hash, or cannot be unpacked.
    pub fn fetch(&self, home: &Path, folder: &Path) -> Result<()> {
        let progress = Terminal::default();
        for pin in self.pins {
            progress.line(&format!(
                "fetching {} {} ({}), which comes under: {}; its text will lie in {}",
                pin.name,
                pin.version,
                Size(pin.size),
                pin.licence,
                folder.display()
            ));
        }
        let told = |error: cargo_syclbin::error::Error| error.to_string();
        let staging = Staging::open(home, &progress).map_err(told)?;
        if folder.exists() {
            return Ok(()); // by another process, while this one waited for the lock
        }
        let pip = Search::from_env()
            .find()
            .map_err(|tried| format!("no pip to fetch wheels: {tried}"))?;
        let [wheels, temporary, unpacked] =
            ["wheels", "tmp", "unpacked"].map(|name| staging.path().join(name));
        for new in [&wheels, &temporary] {
            staging.create_folder(new).map_err(told)?;
        }
        pip.download(self.pins, &wheels, &temporary).map_err(told)?;
        for pin in self.pins {
            // Opened for its checks of size and hash. It unpacks single members, and headers are many.
            drop(Wheel::open(pin, &wheels, &progress).map_err(told)?);
            self.unpack(pin, &wheels.join(pin.file), &unpacked)?;
        }
        for needed in self.needed {
            if !unpacked.join(needed).is_file() {
                return Err(format!("there is no {needed} in the wheels"));
            }
        }
        staging.rename(&unpacked, folder).map_err(told)
    }

    fn unpack(&self, pin: &WheelPin, wheel: &Path, folder: &Path) -> Result<()> {
        let file = File::open(wheel).map_err(|error| at(wheel, &error))?;
        let archive = ZipArchive::new(io::BufReader::new(file));
        let mut archive = archive.map_err(|error| at(wheel, &error))?;
        for index in 0..archive.len() {
            let mut member = archive.by_index(index).map_err(|error| at(wheel, &error))?;
            let Some(path) = (self.target)(pin, member.name()) else {
                continue;
            };
            if member.is_dir() || member.enclosed_name().is_none() {
                continue;
            }
            let target = folder.join(&path);
            let is_program = member.unix_mode().is_some_and(|mode| mode & 0o111 != 0);
            let written = target
                .parent()
                .map_or(Ok(()), std::fs::create_dir_all)
                .and_then(|()| File::create_new(&target))
                .and_then(|mut file| {
                    io::copy(&mut member, &mut file)?;
                    if is_program {
                        make_executable(&file)
                    } else {
                        Ok(())
                    }
                });
            written.map_err(|error| at(&target, &error))?;
        }
        Ok(())
    }
}

/// Returns the sentence for a `file` that could not be read or written.
pub fn at(file: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", file.display())
}

#[cfg(unix)]
fn make_executable(file: &File) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt as _;
    file.set_permissions(std::fs::Permissions::from_mode(0o755))
}

#[cfg(not(unix))]
fn make_executable(_: &File) -> io::Result<()> {
    Ok(())
}
