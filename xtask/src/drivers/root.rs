// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Root`]: a directory with the programs and libraries of a release, created once per target directory.
//!
//! Packages are unpacked without running their scripts, because drivers need only their files.

use std::fs::{self, File};
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::apt;
use super::debian::Release;
use super::inside;
use crate::files::{at, read, write};
use crate::steps::{Result, timed};

/// The file with the versions of all packages, one per line. It reveals whether a wanted package is missing.
const VERSIONS: &str = "packages.txt";
/// The directories that all releases merge into `/usr`.
const MERGED: [&str; 4] = ["bin", "lib", "lib64", "sbin"];

pub(crate) struct Root {
    pub(super) release: &'static Release,
    directory: PathBuf,
    /// The names and versions of the packages.
    versions: Vec<(String, String)>,
}

impl Root {
    /// Returns the root of `release` in `directory`, and creates it if it is missing. The inner error is the reason
    /// why this machine cannot create it.
    pub(super) fn get(
        directory: &Path,
        release: &'static Release,
    ) -> Result<std::result::Result<Self, String>> {
        let path = directory.join(release.name);
        fs::create_dir_all(directory).map_err(|error| at(directory, &error))?;
        // Two commands may create the same root.
        let lock = directory.join("lock");
        let lock = File::create(&lock).and_then(|file| file.lock().map(|()| file));
        let _held = lock.map_err(|error| at(directory, &error))?;
        if !is_whole(&path, release) {
            let name = format!("drivers of {}", release.name);
            if let Err(missing) = timed(&name, || make(&path, release))? {
                return Ok(Err(missing));
            }
        }
        let versions = versions(&read(&path.join(VERSIONS))?);
        let root = Self {
            release,
            directory: path,
            versions,
        };
        root.compare();
        root.write_ocloc(directory)?;
        Ok(Ok(root))
    }

    /// Returns the version of a package, without the epoch.
    pub(super) fn version(&self, package: &str) -> &str {
        let mut versions = self.versions.iter();
        let found = versions.find(|(name, _)| name == package);
        found.map_or("unknown", |(_, version)| version)
    }

    /// Returns the command that runs a pack in this root and writes the report to `out`.
    pub(super) fn command(&self, pack: &Path, out: &Path) -> Command {
        inside::command(&self.directory, pack, out)
    }

    /// Returns the path of a file in this root.
    pub(super) fn path(&self, name: &str) -> PathBuf {
        self.directory.join(name)
    }

    /// Prints the versions that differ from those the tests were written for.
    fn compare(&self) {
        for (name, pinned) in self.release.packages {
            let version = self.version(name);
            match pinned {
                Some(pinned) if *pinned != version => {
                    eprintln!("{name}: {version}; the tests were written for {pinned}");
                }
                Some(_) => {}
                None if self.release.is_pinned() => {}
                None => eprintln!("{name}: {version} of {}", self.release.suite),
            }
        }
    }

    /// Writes a script that starts the root's `ocloc` with the root's loader, for tests and for the compiler driver.
    fn write_ocloc(&self, directory: &Path) -> Result<()> {
        let programs = self.directory.join("usr/bin");
        let entries = fs::read_dir(&programs).map_err(|error| at(&programs, &error))?;
        let mut names = entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
        // Debian appends the version to the name.
        let Some(program) = names.find(|name| name.starts_with("ocloc")) else {
            return Ok(());
        };
        let text = format!(
            "#!/bin/sh\n\
             # Starts ocloc of the directory {name}, with its own libraries.\n\
             root=$(dirname \"$(readlink -f \"$0\")\")/{name}\n\
             exec \"$root/lib64/ld-linux-x86-64.so.2\" --library-path \"$root/usr/lib/x86_64-linux-gnu\" \
             \"$root/usr/bin/{program}\" \"$@\"\n",
            name = self.release.name
        );
        let path = directory.join("ocloc");
        if fs::read_to_string(&path).is_ok_and(|found| found == text) {
            return Ok(());
        }
        let part = directory.join("ocloc.part");
        write(&part, &text)?;
        fs::set_permissions(&part, fs::Permissions::from_mode(0o755))
            .and_then(|()| fs::rename(&part, &path))
            .map_err(|error| at(&path, &error))
    }
}

/// Returns whether a root contains all packages of the release.
fn is_whole(path: &Path, release: &Release) -> bool {
    let text = fs::read_to_string(path.join(VERSIONS)).unwrap_or_default();
    let found = versions(&text);
    let mut wanted = release.packages.iter();
    wanted.all(|(name, _)| found.iter().any(|(found, _)| found == name))
}

fn versions(text: &str) -> Vec<(String, String)> {
    let pairs = text.lines().filter_map(|line| line.split_once(' '));
    let pairs = pairs.map(|(name, version)| (name.to_owned(), version.to_owned()));
    pairs.collect()
}

/// Fetches and unpacks a root. It appears only once it is complete.
fn make(path: &Path, release: &Release) -> Result<std::result::Result<(), String>> {
    // Only the holder of the lock uses these names.
    let part = path.with_extension("part");
    let fetched = path.with_extension("packages");
    for left in [path, &part, &fetched] {
        remove(left)?;
    }
    let packages = match apt::fetch(release, &fetched)? {
        Ok(packages) => packages,
        Err(missing) => return remove(&fetched).map(|()| Err(missing)),
    };
    skeleton(&part)?;
    unpack(&packages, &part)?;
    let lines = packages.iter().filter_map(|package| line(package));
    write(&part.join(VERSIONS), &lines.collect::<String>())?;
    fs::rename(&part, path).map_err(|error| at(path, &error))?;
    remove(&fetched)?;
    Ok(Ok(()))
}

fn remove(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(at(directory, &error)),
        _ => Ok(()),
    }
}

/// Creates the directories that packages expect, and the mount points.
fn skeleton(root: &Path) -> Result<()> {
    for name in MERGED
        .map(|name| format!("usr/{name}"))
        .iter()
        .map(String::as_str)
        .chain(inside::MOUNTED)
    {
        let path = root.join(name);
        fs::create_dir_all(&path).map_err(|error| at(&path, &error))?;
    }
    for name in MERGED {
        let path = root.join(name);
        symlink(Path::new("usr").join(name), &path).map_err(|error| at(&path, &error))?;
    }
    Ok(())
}

/// Unpacks packages on all processors, because most of the work is decompression.
fn unpack(packages: &[PathBuf], root: &Path) -> Result<()> {
    let next = AtomicUsize::new(0);
    let work = || -> Result<()> {
        while let Some(package) = packages.get(next.fetch_add(1, Ordering::Relaxed)) {
            let mut command = Command::new("dpkg-deb");
            let status = command.arg("--extract").arg(package).arg(root).status();
            match status {
                Ok(status) if status.success() => {}
                Ok(status) => return Err(at(package, &format!("dpkg-deb ended with {status}"))),
                Err(error) => return Err(format!("dpkg-deb: {error}")),
            }
        }
        Ok(())
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let mut ended = threads.into_iter().map(std::thread::ScopedJoinHandle::join);
        ended.try_for_each(|ended| ended.map_err(|_| "a thread of xtask panicked".to_owned())?)
    })
}

/// Returns the line of a package in [`VERSIONS`], from its file name `NAME_VERSION_ARCHITECTURE.deb`.
fn line(package: &Path) -> Option<String> {
    let name = package.file_name()?.to_str()?;
    let mut parts = name.split('_');
    let (name, version) = (parts.next()?, parts.next()?);
    // Drop the epoch, as in `1%3a18.1.8-18`: it tells readers nothing.
    let version = version
        .split_once("%3a")
        .map_or(version, |(_, version)| version);
    Some(format!("{name} {version}\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_have_versions() {
        let lines = [
            "clang-18_1%3a18.1.8-18+b1_amd64.deb",
            "libpocl2-common_6.0-6_all.deb",
        ]
        .map(|name| line(Path::new(name)).unwrap());
        assert_eq!(
            lines,
            ["clang-18 18.1.8-18+b1\n", "libpocl2-common 6.0-6\n"]
        );
        assert_eq!(line(Path::new("lock")), None);
        let pair = ("clang-18".to_owned(), "18.1.8-18+b1".to_owned());
        assert_eq!(versions(&lines.concat())[0], pair);
    }
}
