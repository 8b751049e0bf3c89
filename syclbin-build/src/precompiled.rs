//! Precompiled headers: the folder where a compiler keeps them, within bounds, and never a reason to
//! fail.
//!
//! The compiler library does the work: a file holds what the includes at the top of a source come to,
//! by a hash of their code and of the arguments. It was found to see changed code whatever the times of
//! headers say, to write files whole, and to take turns with others in one folder. Two things make it
//! fail: a damaged file, and a header of another size and the same code (a comment changed). Then
//! everything is removed and compiled without.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use syclbin_toolchain::{HOME_VARIABLE, Home};

use crate::cargo;
use crate::compiler::Compiler;
use crate::error::Error;

/// The option of the compiler library.
const OPTION: &str = "--persistent-auto-pch=";

/// What the names of its files begin with.
const PREFIX: &str = "llvmcache-";

/// How many bytes may stay.
const LIMIT: u64 = 512 << 20;

/// A folder of precompiled headers.
pub(crate) struct Precompiled(PathBuf);

impl Precompiled {
    /// The folder for `compiler`, if that can use one; `otherwise` is where it lies when there is no
    /// cache folder.
    pub(crate) fn of(compiler: &Compiler, otherwise: &Path) -> Option<Self> {
        let home = Home::locate(cargo::env_again(HOME_VARIABLE).as_deref());
        let parent = home.map_or_else(|_| otherwise.to_owned(), |home| home.path().to_owned());
        let folder = Self(parent.join("precompiled"));
        compiler.takes(&folder.argument()).then_some(folder)
    }

    /// What the compiler is told.
    pub(crate) fn argument(&self) -> OsString {
        let mut argument = OsString::from(OPTION);
        argument.push(&self.0);
        argument
    }

    /// Removes everything. What cannot be removed is not there or not ours.
    pub(crate) fn clear(&self) {
        for (_, _, path) in self.files() {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Removes the oldest files beyond the limit. A compiler that has one open keeps it.
    pub(crate) fn prune(&self) {
        let mut files = self.files();
        files.sort();
        let mut total: u64 = files.iter().map(|(_, size, _)| size).sum();
        for (_, size, path) in files {
            if total <= LIMIT {
                break;
            }
            if std::fs::remove_file(path).is_ok() {
                total -= size;
            }
        }
    }

    /// The files of the compiler: time, size and path.
    fn files(&self) -> Vec<(std::time::SystemTime, u64, PathBuf)> {
        let entries = std::fs::read_dir(&self.0).into_iter().flatten().flatten();
        entries
            .filter(|entry| is_precompiled(&entry.file_name()))
            .filter_map(|entry| {
                let metadata = entry.metadata().ok()?;
                Some((metadata.modified().ok()?, metadata.len(), entry.path()))
            })
            .collect()
    }
}

fn is_precompiled(name: &OsStr) -> bool {
    name.to_str().is_some_and(|name| name.starts_with(PREFIX))
}

/// Whether a failed compile may be the fault of a file that is damaged or does not fit any more: the
/// compiler says so, or dies.
pub(crate) fn may_be_cause(error: &Error) -> bool {
    match error {
        Error::Crash { .. } => true,
        Error::Compile { diagnostics, .. } => ["PCH file", "AST file", "precompiled"]
            .iter()
            .any(|word| diagnostics.contains(word)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_oldest_goes_when_there_is_too_much_and_strangers_stay() {
        let folder = tempfile::tempdir().unwrap();
        let precompiled = Precompiled(folder.path().to_owned());
        let day = std::time::Duration::from_secs(86_400);
        let now = std::time::SystemTime::now();
        for (age, name) in (0u32..).zip(["llvmcache-c", "llvmcache-b", "llvmcache-a", "other"]) {
            let file = std::fs::File::create(folder.path().join(name)).unwrap();
            file.set_len(LIMIT / 2).unwrap(); // takes no room on the disk
            file.set_modified(now - age * day).unwrap();
        }
        let left = || {
            let entries = std::fs::read_dir(folder.path()).unwrap();
            let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name()).collect();
            names.sort();
            names
        };
        precompiled.prune();
        assert_eq!(left(), ["llvmcache-b", "llvmcache-c", "other"]);
        precompiled.clear();
        assert_eq!(left(), ["other"]);
    }
}
