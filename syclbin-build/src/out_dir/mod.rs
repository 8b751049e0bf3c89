// SPDX-License-Identifier: MIT OR Apache-2.0
//! `OUT_DIR`: the paths of the files that a build writes there.

pub(crate) mod abandoned;
pub mod listing;

use std::path::{Path, PathBuf};

use crate::cargo;
use crate::error::{Error, Result};

pub(crate) struct Paths {
    /// The directory that contains Cargo.toml, in which build scripts run.
    pub(crate) package: PathBuf,
    pub(crate) out_dir: PathBuf,
    /// The directory for SYCLBIN files in `OUT_DIR`.
    pub(crate) directory: PathBuf,
    pub(crate) file: PathBuf,
}

impl Paths {
    pub(crate) fn of(name: &str) -> Result<Self> {
        let out_dir = PathBuf::from(cargo::env("OUT_DIR").ok_or(Error::NoOutDir)?);
        Ok(Self {
            package: std::env::current_dir().map_err(Error::write(Path::new(".")))?,
            directory: listing::directory(&out_dir),
            file: listing::file(&out_dir, name),
            out_dir,
        })
    }
}
