//! What a build script says to Cargo, and what Cargo says to it.

use std::ffi::OsString;
use std::path::Path;

/// The value of an environment variable; Cargo is told to run the script again when it changes.
pub(crate) fn env(name: &str) -> Option<OsString> {
    println!("cargo::rerun-if-env-changed={name}");
    env_again(name)
}

/// The value of a variable that Cargo was told of.
pub(crate) fn env_again(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Has the script run again when the file changes. A file that does not exist counts as changed
/// each time, so only files that do are named.
pub(crate) fn rerun_if_changed(path: &Path) {
    println!("cargo::rerun-if-changed={}", path.display());
}

/// Shows each line of `text` as a warning.
pub(crate) fn warning(text: &str) {
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        println!("cargo::warning={line}");
    }
}
