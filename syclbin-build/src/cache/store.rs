//! The folder of the cache: files that are there whole or not at all, a lock for who writes, a bound.

use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::{File, TryLockError};
use std::io::{self, Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use syclbin_toolchain::trust::{is_private, is_private_file};
use syclbin_toolchain::{Home, file};

use super::entry;
use super::manifest::{Manifest, Record};
use super::setting::CACHE_VARIABLE;
use crate::compiled::Compiled;

/// How large the cache may become: bytes, or with K, M or G behind.
pub const SIZE_VARIABLE: &str = "SYCLBIN_CACHE_SIZE";

/// How large it may become where nobody says.
pub(crate) const LIMIT: u64 = 1 << 30;

const MANIFESTS: &str = "manifests";
const ENTRIES: &str = "entries";

/// How long to wait for the lock: whoever has it writes two files. One who stands still must not hold up
/// all others.
const PATIENCE: Duration = Duration::from_millis(150);

/// Where the cache is: in the folder that [`SYCLBIN_CACHE`](CACHE_VARIABLE) names, else in that of the
/// toolchain; `None` where there is none.
///
/// # Errors
///
/// When the variable names a folder that would be another for each package.
pub fn folder(named: Option<&OsStr>, home: Option<&Home>) -> Result<Option<PathBuf>, String> {
    match named {
        Some(off) if off.eq_ignore_ascii_case("off") => Ok(None),
        Some(folder) if Path::new(folder).is_absolute() => Ok(Some(PathBuf::from(folder))),
        Some(folder) => Err(format!(
            "{CACHE_VARIABLE}={} is relative, so nothing is cached; set it to an absolute path, or to off",
            folder.display()
        )),
        None => Ok(home.map(|home| home.path().join("kernels"))),
    }
}

/// The bound that a value of [`SIZE_VARIABLE`] names.
pub(crate) fn limit(value: Option<&OsStr>) -> Result<u64, String> {
    let Some(value) = value else {
        return Ok(LIMIT);
    };
    let text = value.to_string_lossy();
    let text = text.trim();
    let (number, unit) = match text.char_indices().next_back() {
        Some((at, 'k' | 'K')) => (&text[..at], 1u64 << 10),
        Some((at, 'm' | 'M')) => (&text[..at], 1 << 20),
        Some((at, 'g' | 'G')) => (&text[..at], 1 << 30),
        _ => (text, 1),
    };
    let number = number.trim().parse::<u64>().ok();
    number
        .and_then(|number| number.checked_mul(unit))
        .ok_or_else(|| {
            format!("{SIZE_VARIABLE}={text} is no size, so 1G is taken; write it as 500M or 2G")
        })
}

/// The folder of a cache.
#[derive(Clone, Debug)]
pub struct Store {
    folder: PathBuf,
    limit: u64,
    /// Whether the lock was not to be had once: then nothing more is kept.
    has_given_up: Cell<bool>,
}

impl Store {
    pub(crate) fn new(folder: PathBuf, limit: u64) -> Self {
        Self {
            folder,
            limit,
            has_given_up: Cell::new(false),
        }
    }

    /// The cache in `folder`, to ask for its size.
    #[must_use]
    pub fn in_folder(folder: &Path) -> Self {
        Self::new(folder.to_owned(), LIMIT)
    }

    /// How many bytes all its files have.
    #[must_use]
    pub fn size(&self) -> u64 {
        self.files().iter().map(|file| file.size).sum()
    }

    /// The manifest of that name, if there is a whole one of this user.
    pub(crate) fn manifest(&self, key: &str) -> Option<Manifest> {
        let bytes = read(&self.path(MANIFESTS, key))?;
        Manifest::decode(std::str::from_utf8(&bytes).ok()?, key)
    }

    /// The entry of that name, if there is a whole one of this user. One that is damaged is removed.
    pub(crate) fn entry(&self, id: &str) -> Option<Compiled> {
        let path = self.path(ENTRIES, id);
        let bytes = read(&path)?;
        let compiled = entry::open(id, &bytes);
        if compiled.is_none() {
            let _ = std::fs::remove_file(path);
        }
        compiled
    }

    /// Notes that both were used now: those that nobody used for longest go first.
    pub(crate) fn touch(&self, key: &str, id: &str) {
        for path in [self.path(MANIFESTS, key), self.path(ENTRIES, id)] {
            // The time of a file that is open for reading can be set by its owner.
            let file = file::open_own(&path, File::options().read(true));
            // Where it cannot be noted, it goes early.
            let _ = file.and_then(|file| file.set_modified(SystemTime::now()));
        }
    }

    /// Keeps a result. What cannot be written is not kept.
    pub(crate) fn put(&self, key: &str, record: Record, fields: &[u8]) {
        if self.has_given_up.get() {
            return;
        }
        // A full disk, a folder that cannot be written, another that is slow: all the same to a build.
        let _ = self.try_put(key, record, fields);
    }

    fn try_put(&self, key: &str, record: Record, fields: &[u8]) -> io::Result<()> {
        let id = record.id.clone();
        let (manifest, entry) = (self.path(MANIFESTS, key), self.path(ENTRIES, &id));
        for folder in [manifest.parent(), entry.parent()].into_iter().flatten() {
            create_private(folder)?;
        }
        let lock = self.lock().inspect_err(|_| self.has_given_up.set(true))?;
        let sealed = entry::seal(&id, fields);
        // The entry first: a manifest that names none is believed too, but of no use.
        write(&entry, &sealed)?;
        let mut all = self.manifest(key).unwrap_or_default();
        all.add(record);
        let text = all.encode(key);
        write(&manifest, text.as_bytes())?;
        self.bound((sealed.len() + text.len()) as u64);
        drop(lock);
        Ok(())
    }

    fn path(&self, kind: &str, name: &str) -> PathBuf {
        let shard = name.get(..2).unwrap_or("_");
        self.folder.join(kind).join(shard).join(name)
    }

    /// Held until it is dropped, also by the end of the process.
    fn lock(&self) -> io::Result<File> {
        let path = self.folder.join("lock");
        let mut options = File::options();
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let file = file::open_own(&path, options.create(true).append(true))?;
        let begun = Instant::now();
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(file),
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if begun.elapsed() > PATIENCE => {
                    return Err(io::ErrorKind::WouldBlock.into());
                }
                Err(TryLockError::WouldBlock) => std::thread::sleep(Duration::from_millis(2)),
            }
        }
    }

    /// Notes that so many bytes came, and makes room when there are too many. All files are counted only
    /// when the note says so, or cannot be read.
    fn bound(&self, came: u64) {
        let note = self.folder.join("size");
        let noted = read(&note).and_then(|bytes| String::from_utf8(bytes).ok());
        let noted = noted.and_then(|text| text.trim().parse::<u64>().ok());
        let size = match noted.map(|noted| noted.saturating_add(came)) {
            Some(size) if size <= self.limit => size,
            _ => self.make_room(),
        };
        let _ = write(&note, format!("{size}\n").as_bytes());
    }

    /// Removes what nobody used for longest, to nine tenths of the bound; how much is left.
    fn make_room(&self) -> u64 {
        let mut files = self.files();
        let mut size = files.iter().map(|file| file.size).sum();
        if size <= self.limit {
            return size;
        }
        files.sort_by_key(|file| file.used);
        for file in files {
            if size <= self.limit / 10 * 9 {
                break;
            }
            if std::fs::remove_file(&file.path).is_ok() {
                size -= file.size;
            }
        }
        size
    }

    /// All files, also those that a killed process left half-written under another name.
    fn files(&self) -> Vec<Kept> {
        let inside = |folder: PathBuf| std::fs::read_dir(folder).into_iter().flatten().flatten();
        let shards = [MANIFESTS, ENTRIES].map(|kind| inside(self.folder.join(kind)));
        let files = shards
            .into_iter()
            .flatten()
            .flat_map(|shard| inside(shard.path()));
        let kept = files.filter_map(|entry| {
            let metadata = entry.metadata().ok()?;
            Some(Kept {
                size: metadata.len(),
                used: metadata.modified().ok()?,
                path: entry.path(),
            })
        });
        kept.collect()
    }
}

/// What a file and its folder of this user hold.
fn read(path: &Path) -> Option<Vec<u8>> {
    if !path.parent().is_some_and(is_private) {
        return None;
    }
    // What was opened is what is judged and read, and opening it does not wait for anybody.
    let mut file = file::open_own(path, File::options().read(true)).ok()?;
    if !is_private_file(&file) {
        return None;
    }
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// Replaces a file, which only its user can read, by a whole one.
fn write(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let folder = path.parent().unwrap_or(Path::new("."));
    // With mode 0600, as all its files.
    let mut file = tempfile::Builder::new()
        .prefix(".syclbin-")
        .tempfile_in(folder)?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

/// Creates a folder that only its user can look into, and those above it.
fn create_private(folder: &Path) -> io::Result<()> {
    let mut builder = std::fs::DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(folder)
}

/// A file of the cache.
struct Kept {
    path: PathBuf,
    size: u64,
    used: SystemTime,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What `act` returns, unless it waits for ever.
    #[cfg(unix)]
    fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
        let (sender, receiver) = std::sync::mpsc::channel();
        std::thread::spawn(move || sender.send(act()));
        let patience = Duration::from_secs(20);
        receiver.recv_timeout(patience).expect("it waits for ever")
    }

    #[cfg(unix)]
    #[test]
    fn a_fifo_is_no_entry_no_note_and_no_lock() {
        let parent = tempfile::tempdir().unwrap();
        let store = Store::in_folder(&parent.path().join("cache"));
        let paths = [
            store.path(MANIFESTS, "key"),
            store.path(ENTRIES, "id"),
            store.folder.join("size"),
            store.folder.join("lock"),
        ];
        for path in &paths {
            create_private(path.parent().unwrap()).unwrap();
            let made = std::process::Command::new("mkfifo").arg(path).status();
            assert!(made.unwrap().success());
        }
        soon(move || {
            assert!(store.manifest("key").is_none() && store.entry("id").is_none());
            store.touch("key", "id");
            assert!(store.lock().is_err());
            store.bound(1);
            // The note is a file again.
            assert_eq!(read(&store.folder.join("size")).unwrap(), b"0\n");
        });
    }

    #[test]
    fn the_folder_is_the_named_one_or_that_of_the_toolchain() {
        let home = Home::locate(Some(OsStr::new("/home"))).unwrap();
        let of = |named: Option<&str>| folder(named.map(OsStr::new), Some(&home));
        assert_eq!(of(None), Ok(Some(PathBuf::from("/home/kernels"))));
        assert_eq!(
            of(Some("/else where")),
            Ok(Some(PathBuf::from("/else where")))
        );
        assert_eq!(of(Some("off")), Ok(None));
        assert_eq!(of(Some("OFF")), Ok(None));
        assert!(
            of(Some("here"))
                .unwrap_err()
                .contains("SYCLBIN_CACHE=here is relative")
        );
        assert_eq!(folder(None, None), Ok(None));
    }

    #[test]
    fn sizes_have_units() {
        let of = |text: &str| limit(Some(OsStr::new(text)));
        assert_eq!(limit(None), Ok(1 << 30));
        assert_eq!(of("1000"), Ok(1000));
        assert_eq!(of("5k"), Ok(5 << 10));
        assert_eq!(of(" 500 M "), Ok(500 << 20));
        assert_eq!(of("2G"), Ok(2 << 30));
        for nonsense in ["", "G", "-1", "1T", "99999999999999G", "1.5G"] {
            assert!(of(nonsense).is_err(), "{nonsense}");
        }
    }

    fn put(store: &Store, name: &str, bytes: usize) -> String {
        let record = Record::new(name, Vec::new(), Default::default(), String::new()).unwrap();
        let id = record.id.clone();
        store.put(name, record, &vec![0; bytes]);
        id
    }

    #[test]
    fn what_nobody_used_for_longest_goes_first_and_the_bound_holds() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned(), 100_000);
        let mut ids = Vec::new();
        for number in 0..8 {
            let key = format!("key{number}");
            let id = put(&store, &key, 10_000);
            // Times that differ whatever clock the disk has.
            let used = SystemTime::UNIX_EPOCH + Duration::from_secs(1000 + number);
            for path in [store.path(MANIFESTS, &key), store.path(ENTRIES, &id)] {
                let file = File::options().append(true).open(path).unwrap();
                file.set_modified(used).unwrap();
            }
            ids.push(id);
        }
        store.touch("key0", &ids[0]);
        let last = put(&store, "large", 30_000);
        assert!(store.size() <= 100_000, "{}", store.size());
        let is_there = |id: &str| store.path(ENTRIES, id).exists();
        assert!(is_there(&last) && is_there(&ids[0]), "the latest stay");
        assert!(!is_there(&ids[1]) && !is_there(&ids[2]), "the oldest go");
        assert!(is_there(&ids[7]));
        // The note is no more than a note.
        std::fs::write(folder.path().join("size"), "nonsense").unwrap();
        put(&store, "more", 10);
        let note = std::fs::read_to_string(folder.path().join("size")).unwrap();
        assert_eq!(note.trim().parse::<u64>().unwrap(), store.size());
    }

    #[test]
    fn a_lock_that_somebody_holds_does_not_stop_a_build() {
        let folder = tempfile::tempdir().unwrap();
        let store = Store::new(folder.path().to_owned(), LIMIT);
        put(&store, "one", 10);
        let held = store.lock().unwrap();
        let id = put(&store, "two", 10);
        assert!(!store.path(ENTRIES, &id).exists());
        drop(held);
        put(&store, "two", 10);
        assert!(!store.path(ENTRIES, &id).exists(), "it waits once");
        let next = Store::new(folder.path().to_owned(), LIMIT);
        put(&next, "two", 10);
        assert!(next.path(ENTRIES, &id).exists());
    }

    #[cfg(unix)]
    #[test]
    fn what_is_kept_is_for_its_user_alone_and_what_others_can_write_is_not_believed() {
        use std::os::unix::fs::PermissionsExt as _;
        let above = tempfile::tempdir().unwrap();
        let folder = above.path().join("kernels");
        let store = Store::new(folder.clone(), LIMIT);
        let id = put(&store, "key", 10);
        let (manifest, entry) = (store.path(MANIFESTS, "key"), store.path(ENTRIES, &id));
        let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
        for made in [&folder, entry.parent().unwrap(), manifest.parent().unwrap()] {
            assert_eq!(mode(made), 0o700, "{}", made.display());
        }
        let (lock, size) = (folder.join("lock"), folder.join("size"));
        for made in [&entry, &manifest, &lock, &size] {
            assert_eq!(mode(made), 0o600, "{}", made.display());
        }
        assert!(store.manifest("key").is_some());
        let set = |path: &Path, mode| {
            std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
        };
        for path in [&manifest, manifest.parent().unwrap()] {
            let before = mode(path);
            set(path, 0o777);
            assert_eq!(store.manifest("key"), None, "{}", path.display());
            set(path, before);
        }
        assert!(store.manifest("key").is_some());
    }
}
