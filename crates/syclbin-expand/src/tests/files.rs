// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that cannot be embedded are rejected without reading all of them.

use std::path::Path;
use std::time::Duration;

/// Returns the error for a module with the file at `path`. Panics if the macro hangs.
fn error_of(path: &Path) -> String {
    let input = format!("mod kernels = {:?};", path.to_str().unwrap());
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || sender.send(crate::include(input.parse().unwrap()).to_string()));
    let code = receiver.recv_timeout(Duration::from_secs(20));
    code.expect("it waits for ever")
}

#[cfg(unix)]
#[test]
fn a_fifo_is_refused_by_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fifo.syclbin");
    let made = std::process::Command::new("mkfifo").arg(&path).status();
    assert!(made.unwrap().success());
    let error = error_of(&path);
    assert!(
        error.contains("it is not a regular file, but a FIFO, a device or another special file; use a regular file instead"),
        "{error}"
    );
}

#[test]
fn a_huge_file_of_another_kind_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("sparse.syclbin");
    let file = std::fs::File::create(&path).unwrap();
    file.set_len(1 << 40).unwrap(); // larger than memory
    let error = error_of(&path);
    assert!(error.contains("compile_error"), "{error}");
}
