// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests stores with hostile, damaged, excess, and concurrently written entries.

use super::*;

use std::os::unix::fs::PermissionsExt as _;

fn store(limit: u64) -> (tempfile::TempDir, Store) {
    let parent = tempfile::tempdir().expect("a directory");
    let store = Store::new(parent.path().join("above/store"), limit);
    (parent, store)
}

fn name(number: u8) -> String {
    format!("{number:064x}.kind")
}

fn path(store: &Store, number: u8) -> PathBuf {
    store.directory.join(name(number))
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("the mode");
}

/// Returns the names of all files except `lock` and `size`.
fn left(store: &Store) -> Vec<String> {
    let files = fs::read_dir(&store.directory).expect("the directory");
    let names = files.flatten().map(|file| file.file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    let mut names: Vec<_> = names
        .filter(|name| name != "lock" && name != "size")
        .collect();
    names.sort();
    names
}

#[test]
fn entries_are_read_under_their_names() {
    let (_parent, store) = store(4000);
    assert_eq!(store.read(&name(1)), None);
    store.write(&name(1), b"one");
    store.write(&name(2), b"");
    assert_eq!(store.read(&name(1)).unwrap(), b"one");
    assert_eq!(store.read(&name(2)).unwrap(), b"");
    store.update(&name(1), |old| [&old.unwrap()[..], b" more"].concat());
    assert_eq!(store.read(&name(1)).unwrap(), b"one more");
    assert_eq!(store.size(), 2 * HEADER as u64 + 8);
    store.remove(&name(1));
    assert_eq!(store.read(&name(1)), None);
    assert_eq!(left(&store), [name(2)]);
}

#[test]
fn names_stay_within_the_directory() {
    let (parent, store) = store(4000);
    let long = format!("../{}.kind", "0".repeat(61));
    let [letters, short, upper] = [
        format!("{}.kind", "z".repeat(DIGITS)),
        format!("{}.kind", "0".repeat(DIGITS - 1)),
        format!("{}.KIND", "0".repeat(DIGITS)),
    ];
    for name in [
        "../out", "lock", "size", "new", "", &long, &letters, &short, &upper,
    ] {
        store.write(name, b"content");
        assert_eq!(store.read(name), None);
    }
    assert_eq!(fs::read_dir(parent.path()).unwrap().count(), 0);
}

#[test]
fn damaged_entries_are_removed() {
    let (_parent, store) = store(4000);
    store.write(&name(1), b"content");
    let path = path(&store, 1);
    let whole = fs::read(&path).unwrap();
    let truncated = (0..whole.len()).map(|len| whole[..len].to_vec());
    let changed = (0..whole.len()).map(|at| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    });
    for bytes in truncated
        .chain(changed)
        .chain([[&whole[..], b"."].concat()])
    {
        fs::write(&path, bytes).unwrap();
        assert_eq!(store.read(&name(1)), None);
        assert!(!path.exists());
    }
    // An undamaged entry with another name.
    store.write(&name(2), b"content");
    fs::rename(self::path(&store, 2), &path).unwrap();
    assert_eq!(store.read(&name(1)), None);
    // A sparse file beyond the limit is not read.
    File::create(&path).unwrap().set_len(3 << 40).unwrap();
    assert_eq!(store.read(&name(1)), None);
    assert!(!path.exists());
}

#[test]
fn least_recently_used_entries_go_first() {
    let (_parent, store) = store(4000);
    fs::create_dir_all(&store.directory).unwrap();
    set_mode(&store.directory, 0o700);
    fs::write(store.directory.join("new"), b"left by a killed process").unwrap();
    fs::write(store.directory.join("other"), vec![0; 9000]).unwrap();
    fs::create_dir(path(&store, 99)).unwrap();
    for number in 0..4u8 {
        store.write(&name(number), &[number; 900]);
        let age = Duration::from_secs(10_000 * u64::from(9 - number));
        let file = File::open(path(&store, number)).unwrap();
        file.set_modified(SystemTime::now() - age).unwrap();
    }
    assert!(store.read(&name(0)).is_some(), "the oldest is used");
    store.write(&name(4), &[4; 900]);
    // There are five entries of 900 bytes plus header. Nine tenths of the limit hold three.
    assert_eq!(store.size(), 3 * (900 + HEADER as u64));
    for (number, is_kept) in [true, false, false, true, true].into_iter().enumerate() {
        let number = u8::try_from(number).unwrap();
        assert_eq!(store.read(&name(number)).is_some(), is_kept, "{number}");
    }
    store.write(&name(5), &[5; 1000]);
    assert_eq!(store.read(&name(5)), None, "more than a quarter");
    assert!(store.directory.join("other").exists() && path(&store, 99).exists());
    // If the recorded size is invalid, entries are counted again.
    fs::write(store.directory.join("size"), "nonsense").unwrap();
    store.write(&name(6), b"6");
    let note = fs::read_to_string(store.directory.join("size")).unwrap();
    assert_eq!(note.trim().parse(), Ok(store.size()));
    // Another process with a lower limit.
    Store::new(store.directory.clone(), 1000).write(&name(7), &[7; 900]);
    assert_eq!(left(&store), [name(6), name(99), "other".to_owned()]);
}

#[test]
fn entry_may_use_quarter_of_limit() {
    let (_parent, store) = store(4000);
    store.write(&name(1), &[1; 1000 - HEADER]);
    store.write(&name(2), &[2; 1001 - HEADER]);
    assert_eq!(left(&store), [name(1)]);
}

#[test]
fn entries_are_counted_only_beyond_the_limit() {
    let (_parent, store) = store(4000);
    for number in 0..4 {
        store.write(&name(number), &[number; 1000 - HEADER]);
    }
    assert_eq!(left(&store).len(), 4, "the limit itself is not too much");
    // If the recorded size is too small, nothing is counted and nothing is removed.
    fs::write(store.directory.join("size"), "0").unwrap();
    store.write(&name(4), &[4; 1000 - HEADER]);
    assert_eq!(left(&store).len(), 5);
    // Entries of exactly the limit are kept even after they are counted.
    store.remove(&name(4));
    fs::write(store.directory.join("size"), "nonsense").unwrap();
    store.write(&name(3), &[3; 1000 - HEADER]);
    assert_eq!(left(&store).len(), 4);
}

#[test]
fn entries_belong_to_their_user_alone() {
    let (_parent, store) = store(4000);
    store.write(&name(1), b"content");
    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&store.directory), 0o700);
    for file in [&name(1), "lock", "size"] {
        assert_eq!(mode(&store.directory.join(file)), 0o600, "{file}");
    }
    for writable in [0o666, 0o664] {
        set_mode(&path(&store, 1), writable);
        assert_eq!(store.read(&name(1)), None);
        assert!(path(&store, 1).exists());
    }
    store.write(&name(1), b"content");
    assert!(store.read(&name(1)).is_some(), "it is replaced");
    for writable in [0o777, 0o770] {
        set_mode(&store.directory, writable);
        assert_eq!(store.read(&name(1)), None);
        store.write(&name(2), b"content");
    }
    assert_eq!(left(&store), [name(1)]);
}

#[test]
fn entries_of_another_user_are_ignored() {
    let (_parent, store) = store(4000);
    store.write(&name(1), b"content");
    if std::os::unix::fs::chown(path(&store, 1), Some(12345), None).is_err() {
        let _ = writeln!(io::stderr(), "skipped: only root can give files away");
        return;
    }
    assert_eq!(store.read(&name(1)), None);
    store.write(&name(1), b"content");
    assert!(store.read(&name(1)).is_some());
    std::os::unix::fs::chown(&store.directory, Some(12345), None).unwrap();
    assert_eq!(store.read(&name(1)), None);
}

#[test]
fn a_held_lock_stops_writing_soon() {
    let (_parent, store) = store(4000);
    store.write(&name(1), b"content");
    let held = store.lock().unwrap();
    store.write(&name(2), b"content");
    assert!(store.read(&name(1)).is_some());
    drop(held);
    store.write(&name(2), b"content");
    assert_eq!(left(&store), [name(1)], "it waits once");
    let next = Store::new(store.directory.clone(), 4000);
    next.write(&name(2), b"content");
    assert_eq!(left(&store), [name(1), name(2)]);
}

#[test]
fn writers_at_once_leave_whole_entries() {
    let (_parent, store) = store(1 << 20);
    let directory = &store.directory;
    std::thread::scope(|scope| {
        for writer in 0..8u8 {
            scope.spawn(move || {
                for turn in 0..10u8 {
                    // A separate store, like that of another process.
                    let mut store = Store::new(directory.clone(), 1 << 20);
                    store.patience = Duration::from_secs(60);
                    store.write(&name(turn), &vec![writer; 2000]);
                    store.update(&name(99), |old| {
                        let mut all = old.unwrap_or_default();
                        all.push(writer);
                        all
                    });
                    let read = store.read(&name(turn)).expect("it is whole");
                    assert!(read.len() == 2000 && read.iter().all(|byte| *byte == read[0]));
                }
            });
        }
    });
    assert_eq!(left(&store).len(), 11);
    let mut updates = store.read(&name(99)).unwrap();
    updates.sort_unstable();
    let expected: Vec<u8> = (0..8).flat_map(|writer| [writer; 10]).collect();
    assert_eq!(updates, expected, "no update is lost");
    let note = fs::read_to_string(directory.join("size")).unwrap();
    assert!(note.trim().parse::<u64>().unwrap() >= store.size());
}

/// Returns the result of `act`, and fails if it blocks forever.
fn soon<T: Send + 'static>(act: impl FnOnce() -> T + Send + 'static) -> T {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(act()));
    let patience = Duration::from_secs(20);
    receiver.recv_timeout(patience).expect("it waits for ever")
}

fn fifo(path: &Path) {
    let _ = fs::remove_file(path);
    let made = std::process::Command::new("mkfifo").arg(path).status();
    assert!(made.expect("mkfifo").success());
}

#[test]
fn fifos_are_ignored() {
    let (_parent, store) = store(4000);
    let directory = store.directory.clone();
    let again = || Store::new(directory.clone(), 4000);
    store.write(&name(1), b"content");
    for file in [&name(1), "size", "new"] {
        fifo(&directory.join(file));
    }
    let own = again();
    assert_eq!(soon(move || own.read(&name(1))), None);
    let own = again();
    soon(move || own.write(&name(1), b"content"));
    assert!(store.read(&name(1)).is_some(), "an entry replaces it");
    fifo(&directory.join("lock"));
    let own = again();
    soon(move || own.write(&name(2), b"content"));
    assert_eq!(left(&store), [name(1)]);
}

#[test]
fn links_are_not_followed() {
    let (parent, store) = store(4000);
    store.write(&name(1), b"content");
    let (entry, other) = (path(&store, 1), parent.path().join("other"));
    fs::rename(&entry, &other).unwrap();
    let bytes = fs::read(&other).unwrap();
    let link = |path: &Path| {
        let _ = fs::remove_file(path);
        std::os::unix::fs::symlink(&other, path).unwrap();
    };
    for file in [&name(1), "size", "new"] {
        link(&store.directory.join(file));
    }
    assert_eq!(store.read(&name(1)), None);
    store.write(&name(2), b"content");
    assert!(store.read(&name(2)).is_some());
    link(&store.directory.join("lock"));
    store.write(&name(3), b"content");
    assert_eq!(store.read(&name(3)), None);
    assert_eq!(
        fs::read(&other).unwrap(),
        bytes,
        "nothing is written through"
    );
}

#[test]
fn directories_that_cannot_be_written_are_no_failure() {
    for directory in ["/dev/null/store", "/proc/none"] {
        let store = Store::new(directory.into(), 4000);
        store.write(&name(1), b"content");
        assert_eq!(store.read(&name(1)), None);
        assert_eq!(store.size(), 0);
    }
    // A directory instead of the temporary file.
    let (_parent, store) = store(4000);
    create_private(&store.directory.join("new/child")).unwrap();
    store.write(&name(1), b"content");
    assert_eq!(store.read(&name(1)), None);
}

#[test]
fn directory_is_configured_or_the_default() {
    let home = Home::locate(Some(OsStr::new("/home"))).unwrap();
    let of = |named: Option<&str>| directory(named.map(OsStr::new), Some(&home), "kernels");
    assert_eq!(of(None), Ok(Some(PathBuf::from("/home/kernels"))));
    let elsewhere = PathBuf::from("/else where/kernels");
    assert_eq!(of(Some("/else where")), Ok(Some(elsewhere)));
    assert_eq!(of(Some("off")), Ok(None));
    assert_eq!(of(Some("OFF")), Ok(None));
    let relative = of(Some("here")).unwrap_err();
    assert!(relative.contains("SYCLBIN_CACHE=here is relative"));
    assert_eq!(directory(None, None, "kernels"), Ok(None));
}

#[test]
fn hashes_are_written_in_lowercase() {
    assert_eq!(hex([0x00, 0x0f, 0xab]), "000fab");
}
