// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lock of the home directory, and the staging directory for all writes.
//!
//! A process that writes holds `HOME/.lock`, and writes into `HOME/.staging`. The staging directory is on the same
//! file system as the components, so one rename moves a finished component into place. It is never inside a
//! component's directory, so nothing in it looks installed. Every exit except a kill removes it. After a kill, the
//! next holder of the lock removes it.

use std::fs::{File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, Result};
use crate::ui::Progress;

const LOCK: &str = ".lock";
const FOLDER: &str = ".staging";

/// The locked home directory, with a staging directory in it. Dropping this value removes the staging directory,
/// then unlocks.
pub struct Staging<'a> {
    folder: PathBuf,
    _lock: File,
    home: &'a Path,
    /// Receives progress messages.
    pub progress: &'a dyn Progress,
}

impl<'a> Staging<'a> {
    /// Creates the home directory if needed, waits for its lock, and removes the leftovers of killed runs.
    ///
    /// # Errors
    ///
    /// Fails if the home directory cannot be created, locked or written.
    pub fn open(home: &'a Path, progress: &'a dyn Progress) -> Result<Self> {
        std::fs::create_dir_all(home).map_err(|cause| failed(home, home, cause))?;
        let lock = lock(home, progress)?;
        let staging = Self {
            folder: home.join(FOLDER),
            _lock: lock,
            home,
            progress,
        };
        staging.clear()?;
        staging.create_folder(&staging.folder)?;
        Ok(staging)
    }

    /// Returns the staging directory.
    pub fn path(&self) -> &Path {
        &self.folder
    }

    /// Returns the error for a `file` that could not be written or removed.
    pub fn failed(&self, file: &Path, cause: io::Error) -> Error {
        failed(self.home, file, cause)
    }

    /// Checks that programs in the home directory may be executed, before anything is fetched.
    ///
    /// # Errors
    ///
    /// Fails if they cannot be executed, for example on a `noexec` file system.
    #[cfg(unix)]
    pub fn check_executable(&self) -> Result<()> {
        use std::os::unix::fs::PermissionsExt;
        let script = self.path().join("probe");
        std::fs::write(&script, "#!/bin/sh\n")
            .and_then(|()| std::fs::set_permissions(&script, PermissionsExt::from_mode(0o700)))
            .map_err(|cause| self.failed(&script, cause))?;
        match std::process::Command::new(&script).status() {
            Err(cause) if cause.kind() == io::ErrorKind::PermissionDenied => {
                Err(Error::NotExecutable(self.home.to_owned()))
            }
            // Other failures concern the shell, which no component needs.
            _ => Ok(()),
        }
    }

    /// Creates a directory and its parents.
    ///
    /// # Errors
    ///
    /// Fails if a directory cannot be created.
    pub fn create_folder(&self, folder: &Path) -> Result<()> {
        std::fs::create_dir_all(folder).map_err(|cause| self.failed(folder, cause))
    }

    /// Creates the directory of a file, and its parents.
    ///
    /// # Errors
    ///
    /// Fails if a directory cannot be created.
    pub fn create_parent(&self, file: &Path) -> Result<()> {
        self.create_folder(file.parent().unwrap_or(file))
    }

    /// Flushes a directory's entries to the disk, so that they survive a power failure.
    ///
    /// # Errors
    ///
    /// Fails if the directory cannot be flushed.
    pub fn sync_folder(&self, folder: &Path) -> Result<()> {
        // Only Unix can open a directory as a file.
        if cfg!(unix) {
            let synced = File::open(folder).and_then(|opened| opened.sync_all());
            synced.map_err(|cause| self.failed(folder, cause))?;
        }
        Ok(())
    }

    /// Moves a file or directory within the home directory.
    ///
    /// # Errors
    ///
    /// Fails if the file or directory cannot be moved.
    pub fn rename(&self, from: &Path, to: &Path) -> Result<()> {
        std::fs::rename(from, to).map_err(|cause| self.failed(to, cause))
    }

    /// Creates or replaces a file atomically: calls `write` with the path of a temporary file, flushes that file to the
    /// disk, and renames it to `target`. Returns the size of the file in bytes.
    ///
    /// # Errors
    ///
    /// Fails if the file cannot be written or moved.
    pub fn replace(&self, target: &Path, write: impl Fn(&Path) -> io::Result<()>) -> Result<u64> {
        let new = self.path().join("new-file");
        // Windows flushes only files that are open for writing, and elsewhere the file may be read-only.
        let mut options = File::options();
        options.read(true).write(cfg!(windows));
        let file = write(&new).and_then(|()| options.open(&new));
        let synced = file.and_then(|file| {
            file.sync_all()?;
            file.metadata()
        });
        let size = synced.map_err(|cause| self.failed(&new, cause))?.len();
        self.create_parent(target)?;
        self.rename(&new, target)?;
        Ok(size)
    }

    /// Removes the staging directory, as a drop does, but reports failures.
    ///
    /// # Errors
    ///
    /// Fails if something in it cannot be removed.
    pub fn clear(&self) -> Result<()> {
        match std::fs::remove_dir_all(&self.folder) {
            Err(cause) if cause.kind() != io::ErrorKind::NotFound => {
                Err(self.failed(&self.folder, cause))
            }
            _ => Ok(()),
        }
    }
}

impl Drop for Staging<'_> {
    fn drop(&mut self) {
        // The lock is still held here. If the removal fails, the next holder of the lock tries again.
        let _ = self.clear();
    }
}

fn failed(home: &Path, file: &Path, cause: io::Error) -> Error {
    let (file, home) = (file.into(), home.into());
    Error::Home { file, home, cause }
}

fn lock(home: &Path, progress: &dyn Progress) -> Result<File> {
    let path = home.join(LOCK);
    let file = File::options().append(true).create(true).open(&path);
    let file = file.map_err(|cause| failed(home, &path, cause))?;
    let locked = match file.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            let what = "waiting for another `cargo syclbin toolchain`";
            progress.line(&format!("{what} in {}", home.display()));
            file.lock()
        }
        Err(TryLockError::Error(cause)) => Err(cause),
    };
    locked.map_err(|cause| Error::Lock(path, cause))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ui::Terminal;

    #[test]
    fn leftovers_of_a_killed_run_are_removed() {
        let home = tempfile::tempdir().unwrap();
        let left = home.path().join(".staging/compiler/lib");
        std::fs::create_dir_all(&left).unwrap();
        std::fs::write(left.join("half"), "h").unwrap();
        let progress = Terminal::default();
        let staging = Staging::open(home.path(), &progress).unwrap();
        assert!(staging.path().exists() && !left.exists());
        staging.clear().unwrap();
        let names: Vec<_> = std::fs::read_dir(home.path()).unwrap().flatten().collect();
        assert_eq!(names.len(), 1, "only the lock file stays: {names:?}");
    }
}
