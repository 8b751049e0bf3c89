// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin new` and `cargo syclbin init`: create a program with kernels, or add kernels to a crate.
//!
//! Neither command overwrites files. After an error, each command undoes its changes.

pub mod existing;
pub mod init;
pub mod new;

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use syclbin_toolchain::INSTALL_COMMAND;

use crate::doctor;
use crate::error::{Error, Result};
use crate::{ui, workspace};

/// The version requirement for our crates in a generated `Cargo.toml`.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION_MAJOR"),
    ".",
    env!("CARGO_PKG_VERSION_MINOR")
);

/// The crate that runs kernels, and the crate that compiles them.
const CRATES: [&str; 2] = ["syclbin-rt", "syclbin-build"];

/// Where Cargo finds the syclbin crates.
#[derive(Clone, Debug, Default, Args)]
pub struct Source {
    /// Use the crates in this checkout of syclbin [default: the crates on crates.io]
    #[arg(long = "path", value_name = "DIRECTORY")]
    pub checkout: Option<PathBuf>,
}

impl Source {
    fn checkout(&self, current: &Path) -> Result<Option<String>> {
        let Some(given) = &self.checkout else {
            return Ok(None);
        };
        let directory = current.join(given);
        let has = |name: &&str| directory.join(name).join("Cargo.toml").is_file();
        let absolute = directory.canonicalize().ok();
        let text = absolute.and_then(|path| path.into_os_string().into_string().ok());
        match text {
            Some(text) if CRATES.iter().all(has) => Ok(Some(text)),
            _ => Err(Error::NotCheckout(given.clone())),
        }
    }
}

/// Runs Cargo in a directory. Cargo's output is shown only if Cargo fails.
fn cargo(words: &[&str], directory: &Path, remedy: &'static str) -> Result<()> {
    let cargo = workspace::cargo();
    let mut command = Command::new(&cargo);
    let output = command.args(words).current_dir(directory).output();
    let output = output.map_err(|cause| Error::Cargo(cargo.into(), cause))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let said = said.trim().trim_start_matches("error: ");
    Err(Error::CargoFailed(words[0].into(), said.into(), remedy))
}

/// The summary that a command prints.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The created files and the next steps.
    pub text: String,
    /// Problems that may prevent a build.
    pub notes: Vec<String>,
}

impl Summary {
    /// Creates a summary, with a note if a build would find no compiler.
    fn new(text: String) -> Self {
        let mut notes = Vec::new();
        if !doctor::has_compiler() {
            let remedy =
                format!("`{INSTALL_COMMAND}` installs one, together with an OpenCL CPU driver");
            notes.push(format!("no SYCL compiler was found; {remedy}"));
        }
        Self { text, notes }
    }

    /// Prints the text as an answer, and the notes on standard error.
    ///
    /// # Errors
    ///
    /// Fails if standard output cannot be written to.
    pub fn print(&self) -> Result<()> {
        ui::answer(&self.text)?;
        for note in &self.notes {
            ui::complain(format_args!("note: {note}"));
        }
        Ok(())
    }
}

/// New and edited files. Dropping this value undoes all changes, unless `keep` was called.
#[derive(Default)]
struct Change {
    /// The previous bytes of each path; `None` if there was no file.
    before: Vec<(PathBuf, Option<Vec<u8>>)>,
}

impl Change {
    /// Saves the bytes of a file before it is edited or created.
    fn will_edit(&mut self, file: &Path) -> Result<()> {
        let before = match fs::read(file) {
            Ok(bytes) => Some(bytes),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(Error::Read(file.into(), cause)),
        };
        self.before.push((file.to_owned(), before));
        Ok(())
    }

    /// Writes a new file, and creates its parent directories.
    fn write(&mut self, file: &Path, text: &str) -> Result<()> {
        let above: Vec<_> = file.ancestors().skip(1).collect();
        for directory in above.into_iter().rev().filter(|one| !one.exists()) {
            fs::create_dir(directory).map_err(|cause| Error::Save(directory.into(), cause))?;
            self.before.push((directory.to_owned(), None));
        }
        syclbin_build::file::create(file, text.as_bytes())
            .map_err(|cause| Error::Save(file.into(), cause))?;
        self.before.push((file.to_owned(), None));
        Ok(())
    }

    /// Makes the change permanent.
    fn keep(mut self) {
        self.before.clear();
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        // Ignore errors: the caller reports the original one, and a directory that contains other files must stay.
        for (path, before) in self.before.iter().rev() {
            let _ = match before {
                Some(bytes) => fs::write(path, bytes),
                None => fs::remove_file(path).or_else(|_| fs::remove_dir(path)),
            };
        }
    }
}

const KERNEL: &str = include_str!("../../templates/saxpy.cpp");
const BUILD: &str = include_str!("../../templates/build.rs");
const MAIN: &str = include_str!("../../templates/main.rs");
/// The program for existing sources. `LAUNCHES` stands for a draft of each launch.
const PORTED: &str = include_str!("../../templates/ported.rs");
/// The kernel module for an existing crate.
const MODULE: &str = include_str!("../../templates/kernels.rs");
/// The code that an existing crate adds to use [`MODULE`].
const CALL: &str = include_str!("../../templates/call.rs");
/// The GitHub Actions workflow. `REPOSITORY` stands for the repository with the action.
const WORKFLOW: &str = include_str!("../../templates/ci.yml");
const GITIGNORE: &str = "/target\n";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_change_leaves_nothing() {
        let root = tempfile::tempdir().unwrap();
        let manifest = root.path().join("Cargo.toml");
        let lock = root.path().join("Cargo.lock");
        fs::write(&manifest, "before").unwrap();
        for keeps in [false, true] {
            let mut change = Change::default();
            for file in [&manifest, &lock] {
                change.will_edit(file).unwrap();
                fs::write(file, "after").unwrap();
            }
            change.write(&root.path().join("a/b/c"), "text").unwrap();
            if keeps {
                change.keep();
            } else {
                drop(change);
            }
            assert_eq!(root.path().join("a").exists(), keeps);
            assert_eq!(lock.exists(), keeps);
            let expected = if keeps { "after" } else { "before" };
            assert_eq!(fs::read_to_string(&manifest).unwrap(), expected);
        }
        let mut change = Change::default();
        assert!(change.write(&root.path().join("a/b/c"), "other").is_err());
        drop(change);
        let text = fs::read_to_string(root.path().join("a/b/c")).unwrap();
        assert_eq!(text, "text");
        let directory = root.path().join("a");
        assert!(
            Change::default().will_edit(&directory).is_err(),
            "a directory cannot be restored"
        );
    }
}
