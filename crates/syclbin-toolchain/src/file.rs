// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens files without blocking, and checks them once they are open.
//!
//! Opening a FIFO blocks until another process opens its other end, and a path may refer to a different file when it is
//! looked up again. So files are opened without blocking, and their kind, owner and mode are read from the open file.

use std::ffi::OsStr;
use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The maximum number of bytes that [`read_if`] passes to its caller's check.
const START: u64 = 4096;

/// Opens a regular file for reading. Follows symbolic links.
///
/// # Errors
///
/// Returns an error if the file cannot be opened or is not a regular file, such as a FIFO, a device or a directory.
pub fn open(path: &Path) -> io::Result<File> {
    open_as(path, File::options().read(true), false)
}

/// Opens a regular file with `options`, but rejects symbolic links. Use this for files that programs create in their
/// own directories.
///
/// # Errors
///
/// Fails for the same reasons as [`open`], and if `path` is a symbolic link.
pub fn open_own(path: &Path, options: &mut OpenOptions) -> io::Result<File> {
    open_as(path, options, true)
}

fn open_as(path: &Path, options: &mut OpenOptions, own: bool) -> io::Result<File> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        use rustix::fs::OFlags;

        // The standard library adds O_CLOEXEC.
        let mut flags = OFlags::NONBLOCK;
        flags.set(OFlags::NOFOLLOW, own);
        options.custom_flags(flags.bits().cast_signed());
    }
    #[cfg(not(unix))]
    let _ = own;
    let file = options.open(path)?;
    let kind = file.metadata()?.file_type();
    if kind.is_file() {
        return Ok(file);
    }
    if kind.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    let message = "it is not a regular file, but a FIFO, a device or another special file; use a regular file instead";
    Err(io::Error::new(io::ErrorKind::InvalidInput, message))
}

/// Reads a regular file.
///
/// # Errors
///
/// Fails for the same reasons as [`open`], and if the file cannot be read.
pub fn read(path: &Path) -> io::Result<Vec<u8>> {
    read_if(path, |_| true)
}

/// Reads a regular file if `wanted` accepts its first bytes. Otherwise, returns only those bytes.
///
/// # Errors
///
/// Fails for the same reasons as [`read`].
pub fn read_if(path: &Path, wanted: impl FnOnce(&[u8]) -> bool) -> io::Result<Vec<u8>> {
    let mut file = open(path)?;
    let mut bytes = Vec::new();
    (&mut file).take(START).read_to_end(&mut bytes)?;
    if wanted(&bytes) {
        file.read_to_end(&mut bytes)?;
    }
    Ok(bytes)
}

/// The maximum lag of the clock that operating systems use for file timestamps.
pub const TICK: Duration = Duration::from_millis(10);

/// Returns a string that changes whenever a file or directory is changed or replaced, or `None` if its metadata is
/// unavailable.
pub fn stamp(path: &Path) -> Option<String> {
    stamp_of(&path.metadata().ok()?)
}

/// Returns the [`stamp`] of a file with this metadata.
pub fn stamp_of(metadata: &Metadata) -> Option<String> {
    let modified = metadata.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let stamp = format!("{:x}-{:x}", metadata.len(), modified.as_nanos());
    #[cfg(unix)]
    let stamp = {
        use std::os::unix::fs::MetadataExt as _;
        // Programs cannot set the time of the last status change.
        let (seconds, nanos) = (metadata.ctime(), metadata.ctime_nsec());
        let (device, inode) = (metadata.dev(), metadata.ino());
        format!("{stamp}-{seconds:x}-{nanos:x}-{device:x}-{inode:x}")
    };
    Some(stamp)
}

/// Returns the time at which a file received its current content and name. A file that is moved or unpacked keeps an
/// old modification time, so the time of its last status change counts too.
pub fn changed(metadata: &Metadata) -> Option<SystemTime> {
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

/// Returns the paths of all entries in a directory. A directory that cannot be read counts as empty.
pub fn paths_in(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    entries.map(|entry| entry.path())
}

/// Returns the first executable file called `name` in the directories that `search` lists, in the format of `PATH`.
///
/// Like a shell, treats a `name` that contains a directory as a path, and does not search for it.
pub fn find_program(name: impl AsRef<Path>, search: Option<&OsStr>) -> Option<PathBuf> {
    let name = name.as_ref();
    if name.components().count() > 1 {
        return Some(name.to_owned()).filter(|path| is_program(path));
    }
    let (name, suffix) = (name.to_string_lossy(), std::env::consts::EXE_SUFFIX);
    let name = format!("{}{suffix}", name.trim_end_matches(suffix));
    std::env::split_paths(search?)
        // An empty entry means the current directory, and running programs from there is unsafe.
        .filter(|folder| !folder.as_os_str().is_empty())
        .map(|folder| folder.join(&name))
        .find(|path| is_program(path))
}

#[cfg(unix)]
fn is_program(path: &Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata()
        .is_ok_and(|metadata| metadata.is_file() && metadata.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_program(path: &Path) -> bool {
    path.is_file()
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;
    use std::process::Command;

    const SPECIAL: &str = "it is not a regular file, but a FIFO, a device or another special file; use a regular file instead";

    /// Creates a FIFO in a new directory. Opening it to read or write would block forever, which fails the test.
    fn fifo(folder: &Path) -> std::path::PathBuf {
        let path = folder.join("fifo");
        let made = Command::new("mkfifo").arg(&path).status();
        assert!(made.expect("mkfifo").success());
        path
    }

    #[test]
    fn a_fifo_is_refused_by_name() {
        let folder = tempfile::tempdir().unwrap();
        let path = fifo(folder.path());
        for error in [open(&path).unwrap_err(), read(&path).unwrap_err()] {
            assert_eq!(error.to_string(), SPECIAL);
        }
        let write = open_own(&path, File::options().append(true));
        assert!(write.is_err());
    }

    #[test]
    fn other_kinds_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let error = open(Path::new("/dev/zero")).unwrap_err();
        assert_eq!(error.to_string(), SPECIAL);
        let error = open(folder.path()).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::IsADirectory);
    }

    #[test]
    fn sockets_are_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("socket");
        let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
        assert!(open(&path).is_err());
    }

    #[test]
    fn own_files_are_opened_without_waiting() {
        let folder = tempfile::tempdir().unwrap();
        let error = open_own(&fifo(folder.path()), File::options().read(true)).unwrap_err();
        assert_eq!(error.to_string(), SPECIAL);
    }

    #[test]
    fn only_own_files_are_no_links() {
        let folder = tempfile::tempdir().unwrap();
        let (path, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&path, b"bytes").unwrap();
        std::os::unix::fs::symlink(&path, &link).unwrap();
        assert_eq!(read(&link).unwrap(), b"bytes");
        assert!(open_own(&path, File::options().read(true)).is_ok());
        assert!(open_own(&link, File::options().read(true)).is_err());
    }

    #[test]
    fn an_unwanted_file_is_not_read_whole() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("sparse");
        File::create(&path).unwrap().set_len(3 << 30).unwrap();
        let start = read_if(&path, |start| start.starts_with(b"SYBI")).unwrap();
        assert_eq!(start.len() as u64, START);
    }

    #[test]
    fn programs_are_found_in_search_path_only() {
        let shell = find_program("sh", Some(OsStr::new("/nowhere:/bin:/usr/bin"))).unwrap();
        assert!(shell.is_absolute());
        assert_eq!(find_program("sh", Some(OsStr::new("/nowhere"))), None);
        assert_eq!(find_program("sh", Some(OsStr::new(""))), None);
        assert_eq!(find_program("sh", None), None);
    }

    #[test]
    fn non_executable_file_is_not_a_program() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("pip"), "text").unwrap();
        assert_eq!(find_program("pip", Some(folder.path().as_os_str())), None);
    }

    #[test]
    fn stamps_and_times_follow_changes() {
        let folder = tempfile::tempdir().unwrap();
        let (path, other) = (folder.path().join("file"), folder.path().join("other"));
        assert_eq!(stamp(&path), None);
        std::fs::write(&path, b"bytes").unwrap();
        let hour_ago = SystemTime::now() - Duration::from_secs(3600);
        let file = File::options().append(true).open(&path).unwrap();
        file.set_modified(hour_ago).unwrap();
        let first = stamp(&path).unwrap();
        assert_eq!(stamp(&path).as_ref(), Some(&first));
        // Neither size nor modification time reveals that another file has replaced the file.
        std::fs::write(&other, b"other").unwrap();
        let file = File::options().append(true).open(&other).unwrap();
        file.set_modified(hour_ago).unwrap();
        std::fs::rename(&other, &path).unwrap();
        let metadata = path.metadata().unwrap();
        assert_eq!(stamp_of(&metadata), stamp(&path));
        assert_ne!(stamp(&path), Some(first));
        assert!(changed(&metadata).unwrap() > hour_ago + Duration::from_secs(1800));
    }

    #[test]
    fn programs_are_executable_files() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let [first, second] = ["first", "second"].map(|name| folder.path().join(name));
        for folder in [&first, &second] {
            std::fs::create_dir(folder).unwrap();
            std::fs::write(folder.join("tool"), "").unwrap();
        }
        let tool = second.join("tool");
        std::fs::set_permissions(&tool, std::fs::Permissions::from_mode(0o755)).unwrap();
        let search = std::env::join_paths([&first, &second]).unwrap();
        let find = |name: &Path| find_program(name, Some(&search));
        assert_eq!(find(Path::new("tool")), Some(tool.clone()));
        assert_eq!(find(Path::new("no-tool")), None);
        // A path is not searched for, and a directory cannot be run.
        assert_eq!(find(&tool), Some(tool.clone()));
        assert_eq!(find(&first.join("tool")), None);
        assert_eq!(find_program(&tool, None), Some(tool));
        assert_eq!(find(&first), None);
    }
}
