// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes files atomically: a file appears completely or not at all. Shared with `syclbin-clang`. Also encodes the
//! lists of words in notes, orders and reports.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// Writes `bytes` to `path`, unless the file already contains them. If `path` is a device or a pipe, such as
/// `/dev/null`, writes to it instead of replacing it. Follows symbolic links.
///
/// # Errors
///
/// Fails if the directory does not exist or cannot be written. In that case, an existing file stays unchanged.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let target = path.canonicalize().unwrap_or_else(|_| path.to_owned());
    match target.metadata() {
        Ok(metadata) if !metadata.is_file() => {
            return File::options().write(true).open(&target)?.write_all(bytes);
        }
        Ok(_) if std::fs::read(&target).is_ok_and(|old| old == bytes) => return Ok(()),
        _ => {}
    }
    let mut file = temporary_beside(&target)?;
    file.write_all(bytes)?;
    file.persist(&target).map(drop).map_err(|error| error.error)
}

/// Writes `bytes` to `path`, which must not exist, not even as a dangling link.
///
/// # Errors
///
/// Fails if `path` exists, or if the directory does not exist or cannot be written.
pub fn create(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = temporary_beside(path)?;
    file.write_all(bytes)?;
    let kept = file.persist_noclobber(path);
    kept.map(drop).map_err(|error| error.error)
}

/// Creates an empty temporary file in the same directory as `path`, with default instead of private permissions.
fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // the umask applies
    builder.prefix(".syclbin-").tempfile_in(directory_of(path))
}

/// Returns the directory that contains `path`. For a bare file name, this is the current directory.
pub fn directory_of(path: &Path) -> &Path {
    let directory = path.parent().filter(|folder| *folder != Path::new(""));
    directory.unwrap_or(Path::new("."))
}

/// Encodes a list of words. A NUL byte separates words, because neither paths nor arguments can contain NUL.
pub(crate) fn join_words<'w>(words: impl IntoIterator<Item = &'w OsStr>) -> Vec<u8> {
    let words: Vec<&[u8]> = words.into_iter().map(OsStr::as_encoded_bytes).collect();
    words.join(&0)
}

/// Decodes the result of [`join_words`].
pub(crate) fn split_words(bytes: &[u8]) -> impl Iterator<Item = OsString> {
    bytes.split(|byte| *byte == 0).map(word)
}

/// Splits a word at its first `=`. The key must be UTF-8.
pub(crate) fn key_and_value(word: &OsStr) -> Option<(&str, OsString)> {
    let bytes = word.as_encoded_bytes();
    let end = bytes.iter().position(|byte| *byte == b'=')?;
    let (key, value) = (bytes.get(..end)?, bytes.get(end + 1..)?);
    Some((str::from_utf8(key).ok()?, self::word(value)))
}

#[cfg(unix)]
fn word(bytes: &[u8]) -> OsString {
    std::os::unix::ffi::OsStringExt::from_vec(bytes.to_vec())
}

#[cfg(not(unix))]
fn word(bytes: &[u8]) -> OsString {
    String::from_utf8_lossy(bytes).into_owned().into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn unchanged_file_is_not_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        replace(&path, b"one").unwrap();
        let written = path.metadata().unwrap().modified().unwrap();
        replace(&path, b"one").unwrap();
        assert_eq!(path.metadata().unwrap().modified().unwrap(), written);
        replace(&path, b"two").unwrap();
        assert_eq!(std::fs::read(&path).unwrap(), b"two");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[test]
    fn bare_name_is_in_the_current_directory() {
        for (path, directory) in [("a", "."), ("b/a", "b"), ("/a", "/"), ("./a", ".")] {
            assert_eq!(directory_of(Path::new(path)), Path::new(directory));
        }
    }

    #[test]
    fn a_file_that_exists_is_not_created() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a");
        create(&path, b"one").unwrap();
        let error = create(&path, b"two").unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
        assert_eq!(std::fs::read(&path).unwrap(), b"one");
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn devices_and_links_are_not_replaced() {
        use std::os::unix::fs::FileTypeExt as _;
        replace(Path::new("/dev/null"), b"gone").unwrap();
        let null = Path::new("/dev/null").metadata().unwrap();
        assert!(null.file_type().is_char_device());

        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        std::fs::write(&file, "old").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        replace(&link, b"new").unwrap();
        assert!(link.is_symlink());
        assert_eq!(std::fs::read(&file).unwrap(), b"new");
    }

    #[test]
    fn missing_directory_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(replace(&folder.path().join("none/a"), b"").is_err());
    }
}
