// SPDX-License-Identifier: MIT OR Apache-2.0
//! Stores cache entries in a directory that only this user can access. Several processes can use a store concurrently.
//!
//! ```text
//! DIRECTORY/           mode 0700; ignored if others can write to it
//!   HASH.KIND          an entry, mode 0600: a mark, the SHA-256 of its name and content, the content
//!   lock               locked by the process that writes
//!   new                an entry while it is being written
//!   size               the recorded size of all entries
//! ```
//!
//! The build cache of `syclbin-build` and the program cache of `syclbin-rt` are stores. An entry appears atomically, by
//! a rename, and its hash is verified when it is read. A hash does not prove who wrote an entry, so files and
//! directories that others can write to are ignored. Nothing here fails or waits for long: an entry that cannot be read
//! or written counts as missing.

use std::ffi::OsStr;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use hmac_sha256::Hash as Sha256;

use crate::trust::{is_private, is_private_file};
use crate::{Home, file};

/// The environment variable that moves or disables both caches.
pub const CACHE_VARIABLE: &str = "SYCLBIN_CACHE";

const MARK: &[u8; 16] = b"SYCLBIN stored 1";
const HEADER: usize = MARK.len() + 32;
/// The number of hexadecimal digits in a name, before its kind.
const DIGITS: usize = 64;
/// The time to wait for another writer. It is short, so that a suspended process does not block all others.
const PATIENCE: Duration = Duration::from_millis(150);
/// The time of an entry's last use is updated at most this often.
const FRESH: Duration = Duration::from_secs(3600);

/// Returns the directory of the cache `name`, in the directory that `configured` (the value of [`CACHE_VARIABLE`])
/// names, or by default in `home`. Returns `None` if caching is disabled, or if both are `None`.
///
/// # Errors
///
/// Fails if the variable contains a relative path, which would refer to a different directory in each working
/// directory.
pub fn directory(
    configured: Option<&OsStr>,
    home: Option<&Home>,
    name: &str,
) -> Result<Option<PathBuf>, String> {
    match configured.map(Path::new) {
        Some(off) if off.as_os_str().eq_ignore_ascii_case("off") => Ok(None),
        Some(folder) if folder.is_absolute() => Ok(Some(folder.join(name))),
        Some(folder) => Err(format!(
            "{CACHE_VARIABLE}={} is relative, so nothing is cached; set it to an absolute path, or to off",
            folder.display()
        )),
        None => Ok(home.map(|home| home.path().join(name))),
    }
}

/// A directory of entries.
#[derive(Debug)]
pub struct Store {
    directory: PathBuf,
    limit: u64,
    patience: Duration,
    /// Whether the lock has been unavailable before. If so, the store writes nothing more.
    has_given_up: AtomicBool,
}

impl Store {
    /// Creates a store in `directory`, which is created when the first entry is written. The total size of all entries
    /// is limited to `limit` bytes, and each entry to a quarter of that.
    pub fn new(directory: PathBuf, limit: u64) -> Self {
        Self {
            directory,
            limit,
            patience: PATIENCE,
            has_given_up: AtomicBool::new(false),
        }
    }

    /// Returns the total size of all entries in bytes.
    pub fn size(&self) -> u64 {
        self.entries().iter().map(|entry| entry.size).sum()
    }

    /// Returns the content of the entry `name`, and marks it as used. `name` consists of 64 hexadecimal digits, a dot
    /// and a kind. A damaged entry is removed.
    pub fn read(&self, name: &str) -> Option<Vec<u8>> {
        if !is_private(&self.directory) {
            return None;
        }
        let path = self.path(name)?;
        let file = open_private(&path)?;
        let metadata = file.metadata().ok()?;
        // A file larger than the limit cannot be an entry.
        let bytes = (metadata.len() <= self.limit).then(|| read_all(&file));
        let Some(content) = bytes.flatten().and_then(|bytes| verified(name, bytes)) else {
            drop(file); // on Windows, a removed entry cannot be replaced while it is open
            self.remove(name);
            return None;
        };
        let now = SystemTime::now();
        let used = metadata.modified().ok()?;
        if now.duration_since(used).is_ok_and(|since| since > FRESH) {
            // Windows cannot set the time of a file that is open only for reading.
            let writable = file::open_own(&path, File::options().append(true));
            let _ = writable.and_then(|file| file.set_modified(now));
        }
        Some(content)
    }

    /// Writes the entry `name`, and removes the least recently used entries if the limit is exceeded.
    pub fn write(&self, name: &str, content: &[u8]) {
        self.update(name, |_| content.to_vec());
    }

    /// Replaces the content of the entry `name` with the result of `change`, while no other process can write.
    pub fn update(&self, name: &str, change: impl FnOnce(Option<Vec<u8>>) -> Vec<u8>) {
        if !self.has_given_up.load(Ordering::Relaxed) {
            // If the disk is full or read-only, callers continue without an entry.
            let _ = self.try_update(name, change);
        }
    }

    /// Removes the entry `name`.
    pub fn remove(&self, name: &str) {
        if let Some(path) = self.path(name) {
            let _ = fs::remove_file(path);
        }
    }

    fn try_update(
        &self,
        name: &str,
        change: impl FnOnce(Option<Vec<u8>>) -> Vec<u8>,
    ) -> io::Result<()> {
        let path = self.path(name).ok_or(io::ErrorKind::InvalidInput)?;
        create_private(&self.directory)?;
        if !is_private(&self.directory) {
            return Err(io::ErrorKind::PermissionDenied.into());
        }
        // Dropping the file releases the lock.
        let lock = self.lock();
        let _lock = lock.inspect_err(|_| self.has_given_up.store(true, Ordering::Relaxed))?;
        let content = change(self.read(name));
        let size = (HEADER + content.len()) as u64;
        // No entry may evict all others.
        if size > self.limit / 4 {
            return self.keep_within_limit(0);
        }
        self.replace(&path, &[MARK, &hash(name, &content), &content])?;
        self.keep_within_limit(size)
    }

    fn path(&self, name: &str) -> Option<PathBuf> {
        is_name(OsStr::new(name)).then(|| self.directory.join(name))
    }

    fn lock(&self) -> io::Result<File> {
        let mut options = File::options();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        options.append(true).create(true);
        let file = file::open_own(&self.directory.join("lock"), &mut options)?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if begun.elapsed() > self.patience => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Replaces a file atomically. The caller holds the lock.
    fn replace(&self, path: &Path, parts: &[&[u8]]) -> io::Result<()> {
        let new = self.directory.join("new");
        // If a killed process left the file behind, `create_new` would fail.
        let _ = fs::remove_file(&new);
        let mut options = File::options();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let written = options.open(&new).and_then(|mut file| {
            let mut parts = parts.iter();
            parts.try_for_each(|part| file.write_all(part))
        });
        let replaced = written.and_then(|()| fs::rename(&new, path));
        replaced.inspect_err(|_| drop(fs::remove_file(&new)))
    }

    /// Adds `added` bytes to the recorded size, and removes entries if the size exceeds the limit. Adds up the actual
    /// sizes only in that case, or if the record cannot be read. The caller holds the lock.
    fn keep_within_limit(&self, added: u64) -> io::Result<()> {
        let note = self.directory.join("size");
        let noted = open_private(&note).and_then(|file| read_all(&file));
        let noted = noted.and_then(|bytes| str::from_utf8(&bytes).ok()?.trim().parse().ok());
        let size = match noted.and_then(|noted: u64| noted.checked_add(added)) {
            Some(size) if size <= self.limit => size,
            _ => self.evict(),
        };
        self.replace(&note, &[format!("{size}\n").as_bytes()])
    }

    /// If the entries exceed the limit, removes the least recently used ones, down to nine tenths of the limit. Returns
    /// the size of the remaining entries.
    fn evict(&self) -> u64 {
        let mut entries = self.entries();
        let mut total = entries.iter().map(|entry| entry.size).sum();
        if total > self.limit {
            entries.sort_by_key(|entry| entry.used);
            for entry in entries {
                if total <= self.limit / 10 * 9 {
                    break;
                }
                if fs::remove_file(entry.path).is_ok() {
                    total -= entry.size;
                }
            }
        }
        total
    }

    fn entries(&self) -> Vec<Entry> {
        let files = fs::read_dir(&self.directory).into_iter().flatten();
        let entries = files.flatten().filter(|file| is_name(&file.file_name()));
        let entries = entries.filter_map(|file| {
            let metadata = file.metadata().ok().filter(fs::Metadata::is_file)?;
            let (path, size) = (file.path(), metadata.len());
            let used = metadata.modified().ok()?;
            Some(Entry { path, size, used })
        });
        entries.collect()
    }
}

struct Entry {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

/// Formats bytes in lowercase hexadecimal. Entry names begin with a hash in this form.
pub fn hex(bytes: impl AsRef<[u8]>) -> String {
    let bytes = bytes.as_ref().iter();
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Returns whether `name` is the name of an entry. Other files in the directory are left alone.
fn is_name(name: &OsStr) -> bool {
    let parts = name.to_str().and_then(|name| name.split_once('.'));
    parts.is_some_and(|(digits, kind)| {
        digits.len() == DIGITS
            && digits.bytes().all(|byte| byte.is_ascii_hexdigit())
            && kind.bytes().all(|byte| byte.is_ascii_lowercase())
    })
}

/// Opens a file without blocking, if only this user or root could have written it.
fn open_private(path: &Path) -> Option<File> {
    let file = file::open_own(path, File::options().read(true)).ok()?;
    is_private_file(&file).then_some(file)
}

fn read_all(mut file: &File) -> Option<Vec<u8>> {
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Returns the content of an entry, if it is undamaged and has this name.
fn verified(name: &str, mut bytes: Vec<u8>) -> Option<Vec<u8>> {
    let (mark, rest) = bytes.split_at_checked(MARK.len())?;
    let (found, content) = rest.split_at_checked(HEADER - MARK.len())?;
    let is_whole = mark == MARK && found == hash(name, content);
    is_whole.then(|| bytes.split_off(HEADER))
}

fn hash(name: &str, content: &[u8]) -> [u8; 32] {
    let mut hash = Sha256::new();
    hash.update(name);
    hash.update([0]);
    hash.update(content);
    hash.finalize()
}

/// Creates a directory that only its owner can access, and all missing parents.
fn create_private(directory: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(directory)
}

#[cfg(all(test, target_os = "linux"))]
#[path = "store_tests.rs"]
mod tests;
