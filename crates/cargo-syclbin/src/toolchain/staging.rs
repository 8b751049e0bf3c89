//! The lock of the home folder, and the staging folder in it that all writing goes through.
//!
//! `HOME/.lock` is held by whoever writes. `HOME/.staging-*` is where it writes: on the same file
//! system as the components, so that one rename moves a finished one into place, and never in a
//! component's folder, so that nothing in it looks installed. It is removed on every way out but a
//! kill; then the next holder of the lock removes it, since only a holder can own one.

use std::fs::{File, OpenOptions, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::error::{Error, Result};
use crate::ui::Progress;

const LOCK: &str = ".lock";
const PREFIX: &str = ".staging-";

/// What the staging folder is for; errors name the way out that suits it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// To install, which takes `needed` bytes at its peak.
    Install {
        /// The wheels being fetched plus everything unpacked.
        needed: u64,
    },
    /// To remove.
    Remove,
}

/// The locked home folder, with a staging folder in it. Dropping it removes the folder, then
/// unlocks.
#[derive(Debug)]
pub struct Staging {
    // The order matters: fields are dropped from the first to the last.
    folder: TempDir,
    _lock: File,
    home: PathBuf,
    purpose: Purpose,
}

impl Staging {
    /// Makes the home folder if need be, waits for its lock, and removes what killed runs left.
    ///
    /// # Errors
    ///
    /// When the home folder cannot be made, locked or written.
    pub fn open(home: &Path, purpose: Purpose, progress: &dyn Progress) -> Result<Self> {
        std::fs::create_dir_all(home).map_err(|cause| failed(purpose, home, home, cause))?;
        let lock = lock(home, purpose, progress)?;
        sweep(home, progress);
        let folder = tempfile::Builder::new()
            .prefix(PREFIX)
            .tempdir_in(home)
            .map_err(|cause| failed(purpose, home, home, cause))?;
        Ok(Self {
            folder,
            _lock: lock,
            home: home.to_owned(),
            purpose,
        })
    }

    /// The staging folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The error for a `file` that could not be written or removed.
    #[must_use]
    pub fn failed(&self, file: &Path, cause: io::Error) -> Error {
        failed(self.purpose, &self.home, file, cause)
    }

    /// Makes a folder and those above it.
    ///
    /// # Errors
    ///
    /// When it cannot be made.
    pub fn create_folder(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(|cause| self.failed(folder, cause))
    }

    /// Makes the names in `folder` survive a loss of power.
    ///
    /// # Errors
    ///
    /// When the system cannot promise it.
    pub fn sync_folder(&self, folder: &Path) -> Result<()> {
        // Elsewhere a folder cannot be opened as a file, and nothing is installed there.
        if cfg!(unix) {
            File::open(folder)
                .and_then(|opened| opened.sync_all())
                .map_err(|cause| self.failed(folder, cause))?;
        }
        Ok(())
    }

    /// Moves a file or folder, within the home folder.
    ///
    /// # Errors
    ///
    /// When it cannot be moved.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::rename(from, to).map_err(|cause| self.failed(to, cause))
    }

    /// Removes the staging folder and tells of failure, which dropping cannot.
    ///
    /// # Errors
    ///
    /// When something in it cannot be removed.
    pub fn close(self) -> Result<()> {
        let path = self.folder.path().to_owned();
        let result = self.folder.close();
        result.map_err(|cause| failed(self.purpose, &self.home, &path, cause))
    }
}

fn lock(home: &Path, purpose: Purpose, progress: &dyn Progress) -> Result<File> {
    let path = home.join(LOCK);
    let file = OpenOptions::new()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&path)
        .map_err(|cause| failed(purpose, home, &path, cause))?;
    let locked = match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            progress.line(&format!(
                "waiting for another `cargo syclbin toolchain` in {}",
                home.display()
            ));
            file.lock()
        }
        Err(TryLockError::Error(cause)) => Err(cause),
    };
    match locked {
        Ok(()) => Ok(file),
        Err(cause) => Err(Error::Lock { file: path, cause }),
    }
}

/// Removes abandoned staging folders. Called with the lock held: no other can be in use.
fn sweep(home: &Path, progress: &dyn Progress) {
    let entries = std::fs::read_dir(home).into_iter().flatten().flatten();
    for entry in entries {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        // Not fatal: the new staging folder has a name of its own.
        if let Err(cause) = std::fs::remove_dir_all(entry.path()) {
            progress.line(&format!(
                "warning: cannot remove {}, left by an interrupted run: {cause}",
                entry.path().display()
            ));
        }
    }
}

fn failed(purpose: Purpose, home: &Path, file: &Path, cause: io::Error) -> Error {
    let (file, home) = (file.to_owned(), home.to_owned());
    match purpose {
        Purpose::Install { needed } => Error::Write {
            file,
            home,
            needed,
            cause,
        },
        Purpose::Remove => Error::Remove { file, home, cause },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Silent;

    #[test]
    fn what_a_killed_run_left_is_removed_by_the_next() {
        let home = tempfile::tempdir().unwrap();
        let left = home.path().join(".staging-left/compiler/lib");
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join("half"), "h").unwrap();
        let staging = Staging::open(home.path(), Purpose::Remove, &Silent).unwrap();
        assert!(!home.path().join(".staging-left").exists());
        assert!(staging.path().exists());
        staging.close().unwrap();
        let names: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "only the lock file stays: {names:?}");
    }
}
