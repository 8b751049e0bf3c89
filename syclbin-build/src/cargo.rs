//! Talks to Cargo: every variable and file that a build depends on is reported, once.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// The variables that Cargo was told of.
static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());

/// The value of an environment variable; Cargo is told to run the script again when it changes.
pub(crate) fn env(name: &str) -> Option<OsString> {
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if told.insert(name.to_owned()) {
        println!("cargo::rerun-if-env-changed={name}");
    }
    env_again(name)
}

/// The value of a variable that Cargo was told of, or that changes nothing that is made.
pub(crate) fn env_again(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Has the script run again when the file changes. A file that does not exist counts as changed
/// each time, so only files that do are named.
pub(crate) fn rerun_if_changed(path: &Path) {
    // Sources share most headers, and Cargo checks a file as often as it is named.
    static NAMED: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
    let mut named = NAMED.lock().unwrap_or_else(PoisonError::into_inner);
    if named.insert(path.to_owned()) {
        println!("cargo::rerun-if-changed={}", path.display());
    }
}

/// Shows each line of `text` as a warning.
pub(crate) fn warning(text: &str) {
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        println!("cargo::warning={line}");
    }
}
