// SPDX-License-Identifier: MIT OR Apache-2.0
//! The packages of the user's workspace, as reported by Cargo.

use std::path::PathBuf;

use cargo_metadata::{DependencyKind, Metadata, MetadataCommand, Package};
use clap::Args;

use crate::error::{Error, Result};

/// Which packages are meant.
#[derive(Clone, Debug, Default, Args)]
pub struct Selection {
    /// The workspace to look at [default: the workspace of this directory]
    #[arg(long, value_name = "FILE")]
    pub manifest_path: Option<PathBuf>,
    /// Only this package; may be given again [default: all packages of the workspace]
    #[arg(short, long = "package", value_name = "NAME")]
    pub packages: Vec<String>,
}

/// A workspace and its selected packages.
pub struct Workspace {
    /// Cargo's metadata.
    pub metadata: Metadata,
    names: Vec<String>,
}

impl Workspace {
    /// Reads the workspace from Cargo.
    ///
    /// # Errors
    ///
    /// When Cargo finds no workspace, or a package of the selection is not in it.
    pub fn find(selection: &Selection) -> Result<Self> {
        let mut command = MetadataCommand::new();
        if let Some(path) = &selection.manifest_path {
            command.manifest_path(path);
        }
        let metadata = command.no_deps().exec();
        let metadata = metadata.map_err(|error| {
            Error::Workspace(match error {
                cargo_metadata::Error::CargoMetadata { stderr } => stderr.trim_end().to_owned(),
                other => other.to_string(),
            })
        })?;
        let names = selection.packages.clone();
        let known = |name: &&String| {
            metadata
                .packages
                .iter()
                .any(|one| one.name == name.as_str())
        };
        if let Some(unknown) = names.iter().find(|name| !known(name)) {
            return Err(Error::NoPackage {
                name: unknown.clone(),
            });
        }
        Ok(Self { metadata, names })
    }

    /// Returns the packages whose build scripts use `syclbin-build`.
    pub fn building(&self) -> impl Iterator<Item = &Package> {
        let uses = |package: &&Package| {
            package.dependencies.iter().any(|dependency| {
                dependency.name == "syclbin-build" && dependency.kind == DependencyKind::Build
            })
        };
        self.metadata
            .workspace_packages()
            .into_iter()
            .filter(|package| self.names.is_empty() || self.names.contains(&package.name))
            .filter(uses)
    }
}
