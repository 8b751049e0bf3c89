// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin new`: creates a program with a kernel.

use std::fs;
use std::path::Path;

use cargo_metadata::MetadataCommand;
use clap::Args;

use super::existing::Existing;
use super::{CRATES, GITIGNORE, Source, Summary, VERSION, WORKFLOW, cargo};
use crate::error::{Error, Result};

const CI: &str = ".github/workflows/ci.yml";

/// Options of `cargo syclbin new`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The name of the program, and of the directory to create
    pub name: String,
    /// Where the crates come from.
    #[command(flatten)]
    pub source: Source,
    /// The sources whose kernels the program launches.
    #[command(flatten)]
    pub existing: Existing,
}

/// Creates a program in a new directory below `current`, and returns the next steps.
///
/// # Errors
///
/// Fails if the directory exists, the name is invalid, the checkout does not exist, a source cannot be compiled, or a
/// file cannot be written. On failure, no new directory is left behind.
pub fn run(options: &Options, current: &Path) -> Result<Summary> {
    let name = options.name.as_str();
    let checkout = options.source.checkout(current)?;
    // Cargo accepts non-ASCII package names, but names of SYCLBIN files must be ASCII.
    if !name.is_ascii() {
        return Err(Error::Build(syclbin_build::Error::Name(name.into())));
    }
    let program = current.join(name);
    let failed = |cause| Error::Save(program.clone(), cause);
    let staging = tempfile::tempdir_in(current).map_err(failed)?;
    // Create a workspace, because Cargo would otherwise add the staged package to a workspace in a parent directory.
    fs::write(staging.path().join("Cargo.toml"), "[workspace]\n").map_err(failed)?;
    let staged = staging.path().join("package");
    let words = ["new", "--quiet", "--bin", "--name", name, "package"];
    cargo(&words, staging.path(), "choose another name")?;
    if program.symlink_metadata().is_ok() {
        let remedy = "choose another name, or run `cargo syclbin init` there if it is a crate";
        return Err(Error::Occupied(name.to_owned(), remedy));
    }
    let manifest = fs::read_to_string(staged.join("Cargo.toml")).map_err(failed)?;
    let (mut files, features) = options.existing.draft(name, current)?;
    let [runtime, build] = CRATES;
    let runtime = dependency(runtime, checkout.as_deref(), features);
    let build = dependency(build, checkout.as_deref(), "");
    let manifest = manifest.trim_end();
    let manifest = format!("{manifest}\n{runtime}\n[build-dependencies]\n{build}");
    let action = repository().unwrap_or("OWNER/syclbin");
    files.insert("Cargo.toml".to_owned(), manifest.into());
    files.insert(".gitignore".to_owned(), GITIGNORE.into());
    files.insert(CI.to_owned(), WORKFLOW.replace("REPOSITORY", action).into());
    for (file, text) in files {
        let file = staged.join(file);
        if let Some(directory) = file.parent() {
            fs::create_dir_all(directory).map_err(failed)?;
        }
        fs::write(file, text).map_err(failed)?;
    }
    fs::rename(&staged, &program).map_err(failed)?;
    let mut summary = Summary::new(format!(
        "created {name}: kernels in kernels/, and a program in src/main.rs\n\n    cd {name}\n    cargo run\n\n"
    ));
    let mut note = |text: String| summary.notes.push(text);
    if checkout.is_some() {
        let effect = format!("{CI} fails on machines without that checkout");
        let reason = "Cargo.toml refers to the checkout by its path";
        note(format!("{reason}, so {effect}"));
    }
    if repository().is_none() {
        let advice = "with the GitHub account that hosts the syclbin repository";
        note(format!("replace OWNER in {CI} {advice}"));
    }
    // If a parent workspace does not list the program, Cargo's error explains how to add it.
    let mut command = MetadataCommand::new();
    let metadata = command.current_dir(&program).no_deps().exec();
    if let Err(cargo_metadata::Error::CargoMetadata { stderr }) = metadata {
        note(stderr.trim().to_owned());
    }
    Ok(summary)
}

/// Returns the Cargo.toml line for a dependency. `features` is empty, or the end of an inline table.
fn dependency(name: &str, checkout: Option<&str>, features: &str) -> String {
    let place = match checkout {
        // A JSON string is also a TOML string.
        Some(checkout) => {
            let path = serde_json::Value::from(format!("{checkout}/{name}"));
            format!("path = {path}")
        }
        None if features.is_empty() => return format!("{name} = \"{VERSION}\"\n"),
        None => format!("version = \"{VERSION}\""),
    };
    format!("{name} = {{ {place}{features} }}\n")
}

/// Returns the owner and name of the repository with the toolchain action, if Cargo.toml records its URL.
fn repository() -> Option<&'static str> {
    env!("CARGO_PKG_REPOSITORY").strip_prefix("https://github.com/")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_name_a_version_or_path() {
        let features = ", features = [\"half\"]";
        for (checkout, features, expected) in [
            (None, "", format!("a = \"{VERSION}\"\n")),
            (
                None,
                features,
                format!("a = {{ version = \"{VERSION}\"{features} }}\n"),
            ),
            (
                Some("/c"),
                features,
                format!("a = {{ path = \"/c/a\"{features} }}\n"),
            ),
        ] {
            assert_eq!(dependency("a", checkout, features), expected);
        }
    }
}
