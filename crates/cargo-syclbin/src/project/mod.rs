// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin new` and `cargo syclbin init`: a program with kernels, or kernels in a crate that exists.
//!
//! Neither overwrites a file, and after an error nothing of theirs is left.

mod change;
pub mod init;
pub mod new;
mod templates;

use std::path::{Path, PathBuf};
use std::process::Command;

use clap::Args;
use syclbin_toolchain::INSTALL_COMMAND;

use crate::doctor;
use crate::error::{Error, Result};
use crate::ui;

/// The version of the crates that a program depends on.
const VERSION: &str = concat!(
    env!("CARGO_PKG_VERSION_MAJOR"),
    ".",
    env!("CARGO_PKG_VERSION_MINOR")
);

/// The crate that runs kernels, and the crate that compiles them.
const CRATES: [&str; 2] = ["syclbin-rt", "syclbin-build"];

/// Where Cargo finds the crates of syclbin.
#[derive(Clone, Debug, Default, Args)]
pub struct Source {
    /// Use the crates in this checkout of syclbin [default: the crates on crates.io]
    #[arg(long = "path", value_name = "DIRECTORY")]
    pub checkout: Option<PathBuf>,
}

impl Source {
    /// Returns the absolute path of the checkout.
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
            _ => Err(Error::NotCheckout {
                directory: given.clone(),
            }),
        }
    }
}

/// Runs Cargo in a directory. Its output is shown only when it fails.
fn cargo(words: &[&str], directory: &Path, remedy: &'static str) -> Result<()> {
    let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(&program)
        .args(words)
        .current_dir(directory)
        .output()
        .map_err(|cause| Error::Cargo {
            program: program.to_string_lossy().into_owned(),
            cause,
        })?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(Error::CargoFailed {
        command: words[0].to_owned(),
        said: said.trim().trim_start_matches("error: ").to_owned(),
        remedy,
    })
}

/// What was created, for the user.
#[derive(Clone, Debug, Default)]
pub struct Summary {
    /// The files, and what to do next.
    pub text: String,
    /// What may keep the program from being built.
    pub notes: Vec<String>,
}

impl Summary {
    /// Adds a note if a build would find no compiler.
    fn new(text: String) -> Self {
        let mut notes = Vec::new();
        if !doctor::has_compiler() {
            let remedy = format!("`{INSTALL_COMMAND}` installs one, and a CPU device");
            notes.push(format!("no SYCL compiler was found; {remedy}"));
        }
        Self { text, notes }
    }

    /// Prints the text as an answer, and the notes on standard error.
    ///
    /// # Errors
    ///
    /// When standard output cannot be written.
    pub fn print(&self) -> Result<()> {
        ui::answer(&self.text)?;
        for note in &self.notes {
            ui::complain(format_args!("note: {note}"));
        }
        Ok(())
    }
}
