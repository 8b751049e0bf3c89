// SPDX-License-Identifier: MIT OR Apache-2.0
//! Hides the files that a build script no longer builds. The script's next run removes the hidden files.
//!
//! A script builds one file after another, and does not announce which is the last. So before the first file, all files
//! of the previous run are moved to a separate directory. A file is moved back when the script builds it. Moving
//! preserves the modification time, so Cargo does not recompile the crates that embed the file. After an error, it is
//! unknown which files the script would still have built, so all files are moved back.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::out_dir::listing;

const FOLDER: &str = ".abandoned";

/// The directories in which this process builds files, and the names of the files that it builds there. The lock is
/// held while files are moved, because a script may build several files in parallel.
static OURS: Mutex<BTreeMap<PathBuf, BTreeSet<String>>> = Mutex::new(BTreeMap::new());

fn ours() -> MutexGuard<'static, BTreeMap<PathBuf, BTreeSet<String>>> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Marks the file called `name` as built by this run. Returns `false` if it was marked before.
pub(crate) fn claim(out_dir: &Path, name: &str) -> io::Result<bool> {
    let mut ours = ours();
    let files = listing::directory(out_dir);
    if !ours.contains_key(&files) {
        ours.insert(files.clone(), BTreeSet::new());
        // Removes the hidden files that the previous run did not build.
        none_is_fine(std::fs::remove_dir_all(files.join(FOLDER)))?;
        set_aside(&files)?;
    }
    restore(&files, name)?;
    Ok(ours.entry(files).or_default().insert(name.to_owned()))
}

fn set_aside(files: &Path) -> io::Result<()> {
    let aside = files.join(FOLDER);
    for name in listing::names(files)? {
        std::fs::create_dir_all(&aside)?;
        // The note is moved last, because a file without a note would never be removed.
        let file = listing::file_in(files, &name);
        none_is_fine(std::fs::rename(file, listing::file_in(&aside, &name)))?;
        std::fs::rename(listing::note(files, &name), listing::note(&aside, &name))?;
    }
    Ok(())
}

/// Restores all files after a failed build of `failed`, which the script may repeat. Ignores files that cannot be moved,
/// because another error is already reported.
pub(crate) fn restore_others(failed: &str) {
    for (files, built) in ours().iter_mut() {
        built.remove(failed);
        for name in listing::names(&files.join(FOLDER)).unwrap_or_default() {
            let _ = restore(files, &name);
        }
    }
}

fn restore(files: &Path, name: &str) -> io::Result<()> {
    let aside = files.join(FOLDER);
    let note = listing::note(&aside, name);
    if !note.exists() {
        return Ok(());
    }
    std::fs::rename(note, listing::note(files, name))?;
    let file = listing::file_in(&aside, name);
    none_is_fine(std::fs::rename(file, listing::file_in(files, name)))?;
    // Succeeds only if the directory is empty.
    let _ = std::fs::remove_dir(aside);
    Ok(())
}

fn none_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    #[test]
    fn file_that_cannot_be_restored_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        let (files, aside) = (folder.path(), folder.path().join(FOLDER));
        std::fs::create_dir(&aside).unwrap();
        let put = |name: &str| {
            std::fs::write(listing::note(&aside, name), "").unwrap();
        };
        restore(files, "a").unwrap();
        // Without its file, the note is restored alone.
        put("a");
        restore(files, "a").unwrap();
        assert!(listing::note(files, "a").exists() && !aside.exists());
        std::fs::create_dir(&aside).unwrap();
        put("b");
        std::fs::write(listing::file_in(&aside, "b"), "").unwrap();
        std::fs::create_dir(listing::file_in(files, "b")).unwrap();
        let error = restore(files, "b").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }
}
