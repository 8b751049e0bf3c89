// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are replaced, changed and removed while they are watched.

use std::cell::Cell;

use super::*;

/// Replaces a file atomically.
fn replace(path: &Path, text: &str) {
    let beside = path.with_extension("new");
    std::fs::write(&beside, text).unwrap();
    std::fs::rename(beside, path).unwrap();
}

#[test]
fn each_state_of_a_file_is_loaded_once() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.syclbin");
    replace(&path, "one");
    let mut file = WatchedFile::new(&path, |path| std::fs::read_to_string(path));
    assert_eq!(file.changed().unwrap().as_deref(), Some("one"));
    assert_eq!(file.changed().unwrap(), None);
    // The new file has the same size.
    replace(&path, "two");
    assert_eq!(file.changed().unwrap().as_deref(), Some("two"));
    assert_eq!(file.changed().unwrap(), None);
    std::fs::write(&path, "longer").unwrap();
    assert_eq!(file.changed().unwrap().as_deref(), Some("longer"));
    assert_eq!(file.changed().unwrap(), None);
}

#[test]
fn missing_file_is_an_error_only_at_first() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.syclbin");
    let mut file = WatchedFile::new(&path, |path| std::fs::read_to_string(path));
    let error = file.changed().unwrap_err();
    assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    assert_eq!(file.changed().unwrap(), None);
    replace(&path, "one");
    assert_eq!(file.changed().unwrap().as_deref(), Some("one"));
    std::fs::remove_file(&path).unwrap();
    assert_eq!(file.changed().unwrap(), None);
    replace(&path, "two");
    assert_eq!(file.changed().unwrap().as_deref(), Some("two"));
}

#[test]
fn failed_load_is_repeated_after_a_change() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("a.syclbin");
    replace(&path, "one");
    let loads = Cell::new(0);
    let mut file = WatchedFile::new(&path, |_: &Path| {
        loads.set(loads.get() + 1);
        Err::<(), _>("refused")
    });
    assert_eq!(file.changed(), Err("refused"));
    assert_eq!(file.changed(), Ok(None));
    replace(&path, "two");
    assert_eq!(file.changed(), Err("refused"));
    assert_eq!(loads.get(), 2);
}
