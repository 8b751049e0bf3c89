//! Conditions: what has to be as it was for a result to hold.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs::Metadata;
use std::path::{Component, Path, PathBuf};
use std::rc::Rc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use sha2::{Digest as _, Sha256};

use super::system::System;
use super::text::{Hash, Text};

/// How the texts of a result are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Byte by byte.
    Raw,
    /// Without comments, with white space folded.
    Folded,
}

/// What has to be as it was.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Condition {
    /// A text.
    Text(Mode, PathBuf, Hash),
    /// A file by its size, its times and its place on the disk: one of the system, of which there are
    /// hundreds, and which only installers change.
    Unchanged(PathBuf, Hash),
}

impl Condition {
    /// The file, and whether it is compared as a text.
    pub(crate) fn file(&self) -> (&Path, bool) {
        match self {
            Self::Text(_, path, _) => (path, true),
            Self::Unchanged(path, _) => (path, false),
        }
    }

    /// That a file of the system stays what it is now.
    pub(crate) fn unchanged(path: PathBuf) -> Option<Self> {
        let stamp = stamp(&path)?;
        Some(Self::Unchanged(path, stamp))
    }
}

/// What tells that a file was not changed.
pub(crate) fn stamp(path: &Path) -> Option<Hash> {
    let metadata = path.metadata().ok()?;
    let mut hash = Sha256::new();
    hash.update(metadata.len().to_le_bytes());
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    hash.update(modified.as_nanos().to_le_bytes());
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        // No program can set this one.
        hash.update(metadata.ctime().to_le_bytes());
        hash.update(metadata.ctime_nsec().to_le_bytes());
        hash.update(metadata.ino().to_le_bytes());
    }
    Some(hash.finalize().into())
}

/// When a file became what it is. One that is moved or unpacked to its place keeps an old time of its text.
fn latest(metadata: &Metadata) -> Option<SystemTime> {
    let modified = metadata.modified().ok()?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::MetadataExt as _;
        let (seconds, nanos) = (metadata.ctime(), metadata.ctime_nsec());
        let since = Duration::new(u64::try_from(seconds).ok()?, u32::try_from(nanos).ok()?);
        Some(modified.max(UNIX_EPOCH.checked_add(since)?))
    }
    #[cfg(not(unix))]
    Some(modified)
}

/// Files as they were at one time, each read once.
#[derive(Default)]
pub(crate) struct Files {
    texts: BTreeMap<PathBuf, Option<Text>>,
    stamps: BTreeMap<PathBuf, Option<Hash>>,
    exist: BTreeMap<PathBuf, bool>,
    listings: BTreeMap<PathBuf, BTreeSet<OsString>>,
    systems: BTreeMap<Vec<PathBuf>, Rc<System>>,
}

impl Files {
    pub(crate) fn text(&mut self, path: &Path) -> Option<&Text> {
        let read = || {
            syclbin_toolchain::file::read(path)
                .ok()
                .map(|bytes| Text::read(&bytes))
        };
        let text = self.texts.entry(path.to_owned()).or_insert_with(read);
        text.as_ref()
    }

    pub(crate) fn exists(&mut self, path: &Path) -> bool {
        *self
            .exist
            .entry(path.to_owned())
            .or_insert_with(|| path.symlink_metadata().is_ok())
    }

    /// Whether `folder` may have a file of that name: a folder is read once, where asking for each file
    /// would take thousands of questions.
    pub(crate) fn may_have(&mut self, folder: &Path, name: &Path) -> bool {
        let Some(Component::Normal(first)) = name.components().next() else {
            return true;
        };
        let listing = self.listings.entry(folder.to_owned()).or_insert_with(|| {
            // The folder of `a.cpp` has no name.
            let folder = match folder.as_os_str().is_empty() {
                true => Path::new("."),
                false => folder,
            };
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries.map(|entry| entry.file_name()).collect()
        });
        listing.contains(first)
    }

    /// Whether all is as it was.
    pub(crate) fn hold(&mut self, conditions: &[Condition]) -> bool {
        conditions.iter().all(|condition| match condition {
            Condition::Text(mode, path, hash) => {
                let text = self.text(path);
                text.is_some_and(|text| {
                    *hash
                        == match mode {
                            Mode::Raw => text.raw,
                            Mode::Folded => text.folded,
                        }
                })
            }
            Condition::Unchanged(path, hash) => {
                let now = self.stamps.entry(path.clone());
                *now.or_insert_with(|| stamp(path)) == Some(*hash)
            }
        })
    }

    pub(crate) fn condition(&mut self, path: PathBuf, mode: Mode) -> Option<Condition> {
        let text = self.text(&path)?;
        let hash = match mode {
            Mode::Raw => text.raw,
            Mode::Folded => text.folded,
        };
        Some(Condition::Text(mode, path, hash))
    }

    /// Whether the file was there as it is before `moment`: one that changed while a compiler ran may
    /// have been read before or after.
    pub(crate) fn is_older(&self, path: &Path, moment: SystemTime) -> bool {
        // Kernels stamp files with a clock that is behind by up to a tick.
        const TICK: Duration = Duration::from_millis(10);
        // A link may have been turned to another file.
        let of = [path.metadata(), path.symlink_metadata()];
        let times = of.map(|metadata| metadata.ok().as_ref().and_then(latest));
        times
            .iter()
            .all(|time| time.is_some_and(|time| time + TICK < moment))
    }

    /// What these texts of the system mean: sources mostly have the same.
    pub(crate) fn system(&mut self, paths: &[PathBuf]) -> Rc<System> {
        let system = self.systems.entry(paths.to_vec());
        let system = system.or_insert_with(|| Rc::new(System::read(paths)));
        Rc::clone(system)
    }

    /// Whether a text uses one of these words.
    pub(crate) fn uses(&mut self, path: &Path, words: &BTreeSet<String>) -> bool {
        let text = self.text(path);
        text.is_some_and(|text| !text.words.is_disjoint(words))
    }
}
