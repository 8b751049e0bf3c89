// SPDX-License-Identifier: MIT OR Apache-2.0
//! Communicates with Cargo: reports each variable and file that a build depends on, but only once. A
//! [`Watch`](crate::Watch) compiles in [`silence`], because it runs in programs whose output Cargo does not read.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Component, Path};
use std::sync::{Mutex, PoisonError};

thread_local! {
    /// The warnings collected while this thread is silent.
    static KEPT: RefCell<Option<String>> = const { RefCell::new(None) };
}

/// Runs `work` without printing anything for Cargo. Returns its result and its warnings.
pub(crate) fn silence<T>(work: impl FnOnce() -> T) -> (T, String) {
    KEPT.set(Some(String::new()));
    let result = work();
    (result, KEPT.take().unwrap_or_default())
}

/// Prints an instruction for Cargo, but only once: sources share most headers, and Cargo checks a file once per mention.
fn tell(instruction: String) {
    static TOLD: Mutex<BTreeSet<String>> = Mutex::new(BTreeSet::new());
    let mut told = TOLD.lock().unwrap_or_else(PoisonError::into_inner);
    if KEPT.with_borrow(Option::is_none) && told.insert(instruction.clone()) {
        println!("cargo::{instruction}");
    }
}

/// Returns the value of an environment variable, and makes Cargo run the script again when it changes.
pub(crate) fn env(name: &str) -> Option<OsString> {
    tell(format!("rerun-if-env-changed={name}"));
    env_again(name)
}

/// Returns the value of an environment variable without reporting it to Cargo, or `None` if it is unset or empty. Use
/// this for variables that Cargo already tracks, or that do not affect the result.
pub(crate) fn env_again(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}

/// Makes Cargo run the script again when the file changes. Cargo treats a missing file as always changed, so pass only
/// files that exist.
pub(crate) fn rerun_if_changed(path: &Path) {
    // What the script itself writes is newer than the script's start, so Cargo would run the script on each build.
    let inside = !path.components().any(|part| part == Component::ParentDir);
    if !(inside && env_again("OUT_DIR").is_some_and(|out_dir| path.starts_with(out_dir))) {
        tell(format!("rerun-if-changed={}", path.display()));
    }
}

/// Fails the build script, with each line of `text` as a Cargo error. The exit status is 0, because otherwise Cargo
/// would print the script's whole output, which would bury the errors.
pub(crate) fn fail(text: &str) -> ! {
    for line in lines(text) {
        println!("cargo::error={line}");
    }
    std::process::exit(0)
}

fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().filter(|line| !line.trim().is_empty())
}

pub(crate) fn warning(text: &str) {
    for line in lines(text) {
        KEPT.with_borrow_mut(|kept| match kept {
            Some(kept) => kept.extend([line, "\n"]),
            None => println!("cargo::warning={line}"),
        });
    }
}
