// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files as they are at one moment, each read once.

use std::collections::{BTreeSet, HashMap};
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::time::SystemTime;

use syclbin_toolchain::file::{TICK, changed, stamp_of};

use super::contents::Contents;

/// A file that was read for a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Dependency {
    pub(crate) path: PathBuf,
    /// SHA-256 of all bytes, in hexadecimal.
    pub(crate) hash: String,
    /// The [stamp](syclbin_toolchain::file::stamp) of the file when it had this hash. While the stamp stays, the file is not read.
    pub(crate) stamp: String,
}

/// Files as they are at one moment.
#[derive(Default)]
pub(crate) struct Files {
    contents: HashMap<PathBuf, Option<Contents>>,
    states: HashMap<PathBuf, Option<State>>,
    listings: HashMap<PathBuf, Option<Rc<BTreeSet<OsString>>>>,
}

#[derive(Clone)]
struct State {
    stamp: String,
    changed: SystemTime,
}

impl Files {
    pub(crate) fn contents(&mut self, path: &Path) -> Option<&Contents> {
        let read = || {
            let bytes = syclbin_toolchain::file::read(path).ok()?;
            Some(Contents::read(&bytes))
        };
        let contents = self.contents.entry(path.to_owned()).or_insert_with(read);
        contents.as_ref()
    }

    pub(crate) fn exists(&mut self, path: &Path) -> bool {
        self.state(path).is_some()
    }

    /// Returns the names in a directory, or `None` if it exists and cannot be listed.
    pub(crate) fn listing(&mut self, folder: &Path) -> Option<Rc<BTreeSet<OsString>>> {
        let list = || {
            // The directory of `a.cpp` has no name.
            let is_current = folder.as_os_str().is_empty();
            let names = match std::fs::read_dir(if is_current { Path::new(".") } else { folder }) {
                Ok(entries) => entries.flatten().map(|entry| entry.file_name()).collect(),
                Err(_) if !folder.exists() => BTreeSet::new(),
                Err(_) => return None,
            };
            Some(Rc::new(names))
        };
        let listing = self.listings.entry(folder.to_owned());
        listing.or_insert_with(list).clone()
    }

    /// Returns whether every file has the bytes that it had.
    pub(crate) fn hold(&mut self, all: &[Dependency]) -> bool {
        all.iter().all(|read| {
            let state = self.state(&read.path);
            state.is_some_and(|state| state.stamp == read.stamp)
                || (self.contents(&read.path)).is_some_and(|contents| contents.hash == read.hash)
        })
    }

    /// Returns the file as it is now.
    pub(crate) fn read(&mut self, path: PathBuf) -> Option<Dependency> {
        Some(Dependency {
            hash: self.contents(&path)?.hash.clone(),
            stamp: self.state(&path)?.stamp.clone(),
            path,
        })
    }

    /// Returns whether the file is unchanged since before `moment`. A compiler that started at that moment
    /// may have read a newer file before or after it changed.
    pub(crate) fn is_older(&mut self, path: &Path, moment: SystemTime) -> bool {
        self.state(path)
            .is_some_and(|state| state.changed + TICK < moment)
    }

    fn state(&mut self, path: &Path) -> Option<&State> {
        let look = || {
            let metadata = path.metadata().ok()?;
            // A link may point to another file now.
            let link = path.symlink_metadata().ok()?;
            Some(State {
                stamp: stamp_of(&metadata)?,
                changed: changed(&metadata)?.max(changed(&link)?),
            })
        };
        let state = self.states.entry(path.to_owned()).or_insert_with(look);
        state.as_ref()
    }
}
