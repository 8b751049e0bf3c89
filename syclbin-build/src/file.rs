//! Files that appear whole or not at all. Shared with `syclbin-clang`.

use std::io::{self, Write as _};
use std::path::Path;

use tempfile::NamedTempFile;

/// An empty file in the folder of `path`, with the permissions a new file has.
///
/// # Errors
///
/// When the folder does not exist or cannot be written.
pub fn temporary_beside(path: &Path) -> io::Result<NamedTempFile> {
    let folder = match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    };
    let mut builder = tempfile::Builder::new();
    #[cfg(unix)]
    builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666)); // less the umask
    builder.prefix(".syclbin-").tempfile_in(folder)
}

/// Writes `bytes` to `path`, unless it has them already: a file that does not change does not make
/// Cargo compile what embeds it.
///
/// # Errors
///
/// When the folder does not exist or cannot be written; an older file stays as it was.
pub fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    if std::fs::read(path).is_ok_and(|old| old == bytes) {
        return Ok(());
    }
    let mut file = temporary_beside(path)?;
    file.write_all(bytes)?;
    file.persist(path).map(drop).map_err(|error| error.error)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_does_not_change_is_not_written() {
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
    fn a_folder_that_is_not_there_is_an_error() {
        let folder = tempfile::tempdir().unwrap();
        assert!(replace(&folder.path().join("none/a"), b"").is_err());
    }
}
