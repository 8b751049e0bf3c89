//! Abandoned files: a file that a build script no longer builds is hidden once another is built, and removed by
//! the next run.
//!
//! A script builds one file after the other, and nothing tells which is the last. So after each that was
//! built, all that this run has not come to are moved to a folder of their own, and back when it comes
//! to them. To move a file leaves its time as it was: Cargo does not compile again what embeds it. After
//! an error nobody knows what the script would have built, so all are moved back.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::out_dir::listing;

/// The folder, beside the files.
const FOLDER: &str = ".abandoned";

/// The notes of all that this process came to. Held while files are moved: a script may build several
/// at once.
static OURS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn ours() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    OURS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The file called `name` is one that this run builds.
pub(crate) fn claim(out_dir: &Path, name: &str) -> io::Result<()> {
    let mut ours = ours();
    let files = listing::folder(out_dir);
    let is_first = !ours.iter().any(|note| note.parent() == Some(&*files));
    if is_first {
        // What the run before did not come to.
        none_is_fine(std::fs::remove_dir_all(files.join(FOLDER)))?;
    }
    ours.insert(listing::note(&files, name));
    restore(&files, name)
}

/// Something was built, so the names that this run has not come to may be none any more.
pub(crate) fn set_aside_others(out_dir: &Path) -> io::Result<()> {
    let ours = ours();
    let files = listing::folder(out_dir);
    let aside = files.join(FOLDER);
    for name in listing::names(&files)? {
        let note = listing::note(&files, &name);
        // By file and not by name: where `A` and `a` are one file, either may be its name.
        let is_same = |other: &PathBuf| match (other.canonicalize(), note.canonicalize()) {
            (Ok(one), Ok(other)) => one == other,
            _ => false,
        };
        if ours.iter().any(is_same) {
            continue;
        }
        std::fs::create_dir_all(&aside)?;
        // The note last: a file without a note would stay for ever.
        let file = listing::file_in(&files, &name);
        none_is_fine(std::fs::rename(file, listing::file_in(&aside, &name)))?;
        std::fs::rename(&note, listing::note(&aside, &name))?;
    }
    Ok(())
}

/// Something could not be built, so all files are as they were, as far as they can be moved: there is
/// an error to tell already.
pub(crate) fn restore_others() {
    let ours = ours();
    let folders: BTreeSet<_> = ours.iter().filter_map(|note| note.parent()).collect();
    for files in folders {
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
    // As soon as it is empty.
    let _ = std::fs::remove_dir(aside);
    Ok(())
}

fn none_is_fine(result: io::Result<()>) -> io::Result<()> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        result => result,
    }
}
