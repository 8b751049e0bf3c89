// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packages of the user's workspace, as reported by Cargo.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, Stdio};

use cargo_metadata::{DependencyKind, Message, Metadata, MetadataCommand, Package, PackageId};
use clap::Args;

use crate::error::{Error, Result};
use crate::ui::complain;

/// The selected packages, and how Cargo builds them.
#[derive(Clone, Debug, Default, Args)]
pub struct Selection {
    /// The Cargo.toml of the workspace [default: the workspace that contains the current directory]
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
    /// Select only this package; may be repeated [default: all packages of the workspace]
    #[arg(short, long = "package", value_name = "NAME")]
    pub packages: Vec<String>,
    /// Arguments for Cargo, such as `--release` or `--features fast`
    #[arg(last = true, value_name = "ARGUMENTS")]
    pub cargo: Vec<OsString>,
}

/// A workspace and its selected packages.
pub struct Workspace<'s> {
    /// Cargo's metadata.
    pub metadata: Metadata,
    selection: &'s Selection,
}

impl<'s> Workspace<'s> {
    /// Reads the workspace from Cargo.
    ///
    /// # Errors
    ///
    /// Fails if Cargo cannot be run, finds no workspace or cannot read it, or if a selected package is not in it.
    pub fn find(selection: &'s Selection) -> Result<Self> {
        let mut command = MetadataCommand::new();
        command.cargo_path(cargo());
        if let Some(path) = &selection.manifest_path {
            command.manifest_path(path);
        }
        let metadata = command.no_deps().exec();
        let metadata = metadata.map_err(|error| match error {
            cargo_metadata::Error::Io(cause) => Error::Cargo(cargo().into(), cause),
            cargo_metadata::Error::CargoMetadata { stderr: said } => {
                Error::Workspace(said.trim_end().to_owned())
            }
            other => Error::Workspace(other.to_string()),
        })?;
        let is_known = |name: &&String| metadata.packages.iter().any(|one| one.name == **name);
        if let Some(unknown) = selection.packages.iter().find(|name| !is_known(name)) {
            return Err(Error::NoPackage(unknown.clone()));
        }
        Ok(Self {
            metadata,
            selection,
        })
    }

    /// Returns the selected packages whose build scripts use `syclbin-build`.
    ///
    /// # Errors
    ///
    /// Fails if there are no such packages.
    pub fn building(&self) -> Result<Vec<&Package>> {
        let names = &self.selection.packages;
        let is_chosen = |package: &&Package| names.is_empty() || names.contains(&package.name);
        let uses = |package: &&Package| {
            let mut dependencies = package.dependencies.iter();
            dependencies.any(|one| one.name == "syclbin-build" && one.kind == DependencyKind::Build)
        };
        let packages = self.metadata.workspace_packages().into_iter();
        let packages: Vec<_> = packages.filter(is_chosen).filter(uses).collect();
        if packages.is_empty() {
            return Err(Error::NothingBuilds);
        }
        Ok(packages)
    }

    /// Creates the `cargo check` command for these packages, with the user's arguments for Cargo.
    pub(crate) fn check(&self, packages: &[&Package]) -> Command {
        let mut command = Command::new(cargo());
        command.args(["check", "--quiet", "--keep-going", "--manifest-path"]);
        command.arg(self.metadata.workspace_root.join("Cargo.toml"));
        for package in packages {
            command.arg("--package").arg(&package.id.repr);
        }
        command.args(&self.selection.cargo);
        command
    }

    /// Runs the build scripts through Cargo, and returns the output directory of each script that succeeded.
    pub(crate) fn run_build_scripts(
        &self,
        packages: &[&Package],
    ) -> Result<BTreeMap<PackageId, PathBuf>> {
        let failed = |cause| Error::Cargo(cargo().into(), cause);
        let mut command = self.check(packages);
        command.arg("--message-format=json");
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.map_err(failed)?;
        let mut folders = BTreeMap::new();
        for message in Message::parse_stream(&*output.stdout) {
            match message.map_err(failed)? {
                Message::BuildScriptExecuted(script) => {
                    folders.insert(script.package_id, script.out_dir.into());
                }
                Message::CompilerMessage(message) if !output.status.success() => {
                    complain(message.message);
                }
                _ => {}
            }
        }
        Ok(folders)
    }
}

/// Returns the program that the variable `CARGO` names, or else `cargo`.
pub(crate) fn cargo() -> OsString {
    let named = std::env::var_os("CARGO").filter(|name| !name.is_empty());
    named.unwrap_or_else(|| "cargo".into())
}
