//! The cache on disk: native code that a driver made, kept between runs of programs.
//!
//! ```text
//! FOLDER/              $SYCLBIN_CACHE/programs, else "programs" in the home folder
//!   lock               held by whoever adds or drops entries
//!   KEY.program        a mark, the key, the SHA-256 of the code, the code
//! ```
//!
//! An entry appears whole, by a rename, and is checked when it is read: one that is cut off,
//! changed or of another key is dropped, never handed to a driver. A folder or an entry that others
//! can write to is not used, as a hash is no proof of who wrote it. Nothing here fails a load: what
//! cannot be read or written is built again.

use std::env;
use std::fs::{self, File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use sha2::{Digest as _, Sha256};
use syclbin_toolchain::trust::{is_private, is_private_file};
use syclbin_toolchain::{HOME_VARIABLE, Home, file};

/// `off`, or another folder.
const VARIABLE: &str = "SYCLBIN_CACHE";
const FOLDER: &str = "programs";
const EXTENSION: &str = "program";
const MARK: &[u8; 16] = b"SYCLBIN program1";
const HASH: usize = 32;
/// What all entries together may take, in bytes.
const LIMIT: u64 = 256 << 20;
/// How long a process waits for another one that writes. It then goes without.
const PATIENCE: Duration = Duration::from_millis(100);
/// An entry that is used is marked so at most this often.
const FRESH: Duration = Duration::from_secs(3600);

/// What decides over the code that a driver makes.
pub(crate) type Key = [u8; HASH];

/// A folder of entries.
#[derive(Clone, Debug)]
pub(crate) struct Cache {
    folder: PathBuf,
    limit: u64,
}

impl Cache {
    /// The one that the environment asks for, unless it asks for none.
    pub(crate) fn of_environment() -> Option<Self> {
        let folder = match env::var_os(VARIABLE).filter(|value| !value.is_empty()) {
            Some(off) if off == "off" => return None,
            // Relative to what would be another question in each program.
            Some(folder) => Some(PathBuf::from(folder)).filter(|folder| folder.is_absolute())?,
            None => {
                let home = Home::locate(env::var_os(HOME_VARIABLE).as_deref());
                home.ok()?.path().to_owned()
            }
        };
        Some(Self::in_folder(folder.join(FOLDER), LIMIT))
    }

    pub(crate) fn in_folder(folder: PathBuf, limit: u64) -> Self {
        Self { folder, limit }
    }

    /// The code of an entry, if there is a good one.
    pub(crate) fn read(&self, key: &Key) -> Option<Vec<u8>> {
        if !is_private(&self.folder) {
            return None;
        }
        // What was opened is what is judged and read, and opening it does not wait for anybody.
        let mut file = file::open_own(&self.entry(key), File::options().read(true)).ok()?;
        if !is_private_file(&file) {
            return None;
        }
        let metadata = file.metadata().ok()?;
        let mut entry = Vec::new();
        // An entry beyond the limit is none of ours.
        if metadata.len() <= self.limit {
            file.read_to_end(&mut entry).ok()?;
        }
        let Some(code) = checked(entry, key) else {
            self.remove(key);
            return None;
        };
        let used = metadata.modified().ok()?;
        let now = SystemTime::now();
        if now.duration_since(used).is_ok_and(|since| since > FRESH) {
            // The time of a file that is open for reading can be set by its owner.
            let _ = file.set_modified(now);
        }
        Some(code)
    }

    /// Drops an entry.
    pub(crate) fn remove(&self, key: &Key) {
        let _ = fs::remove_file(self.entry(key));
    }

    /// Keeps `code`, and drops what has not been used for longest if there is too much.
    pub(crate) fn write(&self, key: &Key, code: &[u8]) {
        // One entry does not push out all others.
        if code.len() as u64 <= self.limit / 4 {
            let _ = self.try_write(key, code);
        }
    }

    fn try_write(&self, key: &Key, code: &[u8]) -> io::Result<()> {
        create_private(&self.folder)?;
        if !is_private(&self.folder) {
            return Ok(());
        }
        let mut options = File::options();
        options.write(true).create(true);
        let lock = file::open_own(&self.folder.join("lock"), &mut options)?;
        if !locked(&lock)? {
            return Ok(());
        }
        let path = self.entry(key);
        let temporary = path.with_extension("new");
        // One that was left behind would keep the mode that it has.
        let _ = fs::remove_file(&temporary);
        let written = create_private_file(&temporary).and_then(|mut file| {
            for part in [&MARK[..], key, &Sha256::digest(code), code] {
                file.write_all(part)?;
            }
            Ok(())
        });
        let written = written.and_then(|()| fs::rename(&temporary, &path));
        if written.is_err() {
            let _ = fs::remove_file(&temporary);
        }
        written?;
        self.prune()
        // The lock goes with its file.
    }

    /// Drops entries until the rest is within the limit. Whoever calls holds the lock.
    fn prune(&self) -> io::Result<()> {
        let mut entries = Vec::new();
        for entry in fs::read_dir(&self.folder)? {
            let entry = entry?;
            let path = entry.path();
            let (Some(extension), Ok(metadata)) = (path.extension(), entry.metadata()) else {
                continue;
            };
            if extension == "new" {
                // Left by a process that was ended while it held the lock.
                let _ = fs::remove_file(&path);
            } else if extension == EXTENSION {
                let used = metadata.modified().unwrap_or(SystemTime::UNIX_EPOCH);
                entries.push((used, metadata.len(), path));
            }
        }
        entries.sort();
        let mut total: u64 = entries.iter().map(|(_, len, _)| len).sum();
        for (_, len, path) in entries {
            if total <= self.limit {
                break;
            }
            if fs::remove_file(path).is_ok() {
                total -= len;
            }
        }
        Ok(())
    }

    fn entry(&self, key: &Key) -> PathBuf {
        let name: String = key.iter().map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(name).with_extension(EXTENSION)
    }
}

/// The code in an entry, if it is whole and of `key`.
fn checked(mut entry: Vec<u8>, key: &Key) -> Option<Vec<u8>> {
    let rest = entry.strip_prefix(MARK)?.strip_prefix(key)?;
    let (hash, code) = rest.split_at_checked(HASH)?;
    if Sha256::digest(code).as_slice() != hash {
        return None;
    }
    let start = entry.len() - code.len();
    Some(entry.split_off(start))
}

/// Creates a folder that only its user can look into, and those above it.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// Creates a file that only its user can read and write, whatever the umask.
fn create_private_file(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options.open(path)
}

/// Whether the lock was to be had in time. A process that stands still must not stop all others.
fn locked(lock: &File) -> io::Result<bool> {
    const PAUSE: Duration = Duration::from_millis(2);
    let mut waited = Duration::ZERO;
    loop {
        match lock.try_lock() {
            Ok(()) => return Ok(true),
            Err(TryLockError::Error(error)) => return Err(error),
            Err(TryLockError::WouldBlock) if waited < PATIENCE => {
                std::thread::sleep(PAUSE);
                waited += PAUSE;
            }
            Err(TryLockError::WouldBlock) => return Ok(false),
        }
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    fn cache(name: &str) -> Cache {
        let name = format!("syclbin-rt-cache-{name}-{}", std::process::id());
        let folder = env::temp_dir().join(name);
        let _ = fs::remove_dir_all(&folder);
        Cache::in_folder(folder, 4000)
    }

    fn entries(cache: &Cache) -> usize {
        let files = fs::read_dir(&cache.folder).expect("the folder");
        let paths = files.flatten().map(|file| file.path());
        paths
            .filter(|path| path.extension().is_some_and(|end| end == EXTENSION))
            .count()
    }

    #[test]
    fn what_is_written_is_read_and_only_under_its_key() {
        let cache = cache("read");
        assert_eq!(cache.read(&[1; 32]), None);
        cache.write(&[1; 32], b"code");
        cache.write(&[2; 32], b"");
        assert_eq!(cache.read(&[1; 32]).unwrap(), b"code");
        assert_eq!(cache.read(&[2; 32]).unwrap(), b"");
        assert_eq!(cache.read(&[3; 32]), None);
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    #[test]
    fn an_entry_that_is_cut_off_changed_or_foreign_is_dropped() {
        let cache = cache("damage");
        let (key, other) = ([7; 32], [8; 32]);
        cache.write(&key, b"code");
        let path = cache.entry(&key);
        let whole = fs::read(&path).unwrap();
        let damaged = (0..whole.len()).map(|len| whole[..len].to_vec());
        let changed = (0..whole.len()).map(|at| {
            let mut bytes = whole.clone();
            bytes[at] ^= 1;
            bytes
        });
        for bytes in damaged.chain(changed).chain([[&whole[..], b"."].concat()]) {
            fs::write(&path, bytes).unwrap();
            assert_eq!(cache.read(&key), None);
            assert!(!path.exists());
        }
        fs::write(cache.entry(&other), &whole).unwrap();
        assert_eq!(cache.read(&other), None);
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    #[test]
    fn the_entries_that_are_oldest_in_use_go_first_and_leftovers_with_them() {
        let cache = cache("bound");
        fs::create_dir_all(&cache.folder).unwrap();
        fs::write(cache.folder.join("left.new"), b"half").unwrap();
        for key in 0..4u8 {
            cache.write(&[key; 32], &[key; 900]);
            let age = Duration::from_secs(10_000 * u64::from(9 - key));
            let file = File::open(cache.entry(&[key; 32])).unwrap();
            file.set_modified(SystemTime::now() - age).unwrap();
        }
        assert!(!cache.folder.join("left.new").exists());
        // The oldest one is used.
        assert!(cache.read(&[0; 32]).is_some());
        cache.write(&[4; 32], &[4; 900]);
        assert_eq!(entries(&cache), 4);
        assert!(cache.read(&[1; 32]).is_none());
        assert!(cache.read(&[0; 32]).is_some() && cache.read(&[4; 32]).is_some());
        cache.write(&[5; 32], &[5; 1001]);
        assert!(cache.read(&[5; 32]).is_none(), "one is too large");
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    #[test]
    fn what_others_can_write_to_is_not_used() {
        let cache = cache("trust");
        let mode = |path: &Path, mode| {
            fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
        };
        cache.write(&[1; 32], b"code");
        let made = fs::metadata(&cache.folder).unwrap().permissions().mode();
        assert_eq!(made & 0o777, 0o700);
        let entry = cache.entry(&[1; 32]);
        let made = fs::metadata(&entry).unwrap().permissions().mode();
        assert_eq!(made & 0o777, 0o600);
        for writable in [0o666, 0o664] {
            mode(&entry, writable);
            assert_eq!(cache.read(&[1; 32]), None);
        }
        // It is built again, and then its user's alone.
        cache.write(&[1; 32], b"code");
        assert!(cache.read(&[1; 32]).is_some());
        for writable in [0o777, 0o770] {
            mode(&cache.folder, writable);
            assert_eq!(cache.read(&[1; 32]), None);
        }
        cache.write(&[2; 32], b"code");
        assert_eq!(entries(&cache), 1);
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    #[test]
    fn a_lock_that_is_held_means_that_nothing_is_kept() {
        let cache = cache("lock");
        cache.write(&[1; 32], b"code");
        let lock = File::open(cache.folder.join("lock")).unwrap();
        lock.lock().unwrap();
        cache.write(&[2; 32], b"code");
        assert_eq!(entries(&cache), 1);
        lock.unlock().unwrap();
        cache.write(&[2; 32], b"code");
        assert_eq!(entries(&cache), 2);
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    /// What `act` returns, unless it waits for ever.
    fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(act()));
        let patience = Duration::from_secs(20);
        receiver.recv_timeout(patience).expect("it waits for ever")
    }

    fn fifo(path: &Path) {
        let made = std::process::Command::new("mkfifo").arg(path).status();
        assert!(made.expect("mkfifo").success());
    }

    #[test]
    fn a_fifo_is_no_entry_and_no_lock() {
        let cache = cache("fifo");
        create_private(&cache.folder).unwrap();
        fifo(&cache.entry(&[1; 32]));
        let own = cache.clone();
        assert_eq!(soon(move || own.read(&[1; 32])), None);
        // A good entry replaces it.
        cache.write(&[1; 32], b"code");
        assert_eq!(cache.read(&[1; 32]).unwrap(), b"code");
        fs::remove_file(cache.folder.join("lock")).unwrap();
        fifo(&cache.folder.join("lock"));
        let own = cache.clone();
        soon(move || own.write(&[2; 32], b"code"));
        assert_eq!(entries(&cache), 1);
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    #[test]
    fn a_link_is_no_entry_and_no_lock() {
        let cache = cache("link");
        cache.write(&[1; 32], b"code");
        let (entry, other) = (cache.entry(&[1; 32]), cache.folder.join("other"));
        fs::rename(&entry, &other).unwrap();
        std::os::unix::fs::symlink(&other, &entry).unwrap();
        assert_eq!(cache.read(&[1; 32]), None);
        let lock = cache.folder.join("lock");
        fs::remove_file(&lock).unwrap();
        std::os::unix::fs::symlink(&other, &lock).unwrap();
        cache.write(&[2; 32], b"code");
        assert!(fs::metadata(&other).unwrap().len() > 0, "it was truncated");
        fs::remove_dir_all(&cache.folder).unwrap();
    }

    #[test]
    fn a_folder_that_cannot_be_made_is_no_failure() {
        let cache = Cache::in_folder("/dev/null/programs".into(), 4000);
        cache.write(&[1; 32], b"code");
        assert_eq!(cache.read(&[1; 32]), None);
    }
}
