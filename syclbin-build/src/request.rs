// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Request`]: the inputs of one build. It holds exactly what the user told [`Build`](crate::Build).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::error::{Error, Result};
use crate::pattern;
use crate::prebuilt;

/// The inputs of one build.
#[derive(Clone, Debug, Default)]
pub(crate) struct Request {
    pub(crate) sources: Vec<PathBuf>,
    /// The patterns of further sources.
    pub(crate) patterns: Vec<String>,
    /// The sources that only a pattern names.
    pub(crate) matched: BTreeSet<PathBuf>,
    pub(crate) arguments: Vec<OsString>,
    /// The only compiler to try.
    pub(crate) compiler: Option<PathBuf>,
    /// The prebuilt file beside the sources.
    pub(crate) prebuilt: Option<PathBuf>,
    /// Whether the file will be linked with others.
    pub(crate) links_at_load: bool,
}

impl Request {
    /// Adds the files that the patterns match, each once.
    pub(crate) fn with_matches(mut self) -> Result<Self> {
        for pattern in std::mem::take(&mut self.patterns) {
            for path in pattern::expand(&pattern)? {
                if !self.sources.contains(&path) {
                    self.sources.push(path.clone());
                    self.matched.insert(path);
                }
            }
        }
        Ok(self)
    }

    /// Checks that every source can be compiled, and reports it to Cargo.
    pub(crate) fn check_sources(&self) -> Result<()> {
        for path in &self.sources {
            if path.to_string_lossy().contains(['\n', '\r']) {
                return Err(Error::LineBreak(path.clone()));
            }
            // A missing source is reported too, so that the script runs again once it exists.
            cargo::rerun_if_changed(path);
            // Opening a directory or a FIFO succeeds elsewhere; neither can be compiled.
            syclbin_toolchain::file::open(path).map_err(|source| Error::Source {
                path: path.clone(),
                source,
            })?;
        }
        Ok(())
    }

    /// Returns the user's arguments and sources in a form that is the same on every machine.
    pub(crate) fn recorded_arguments(&self, package: &Path, out_dir: &Path) -> Vec<String> {
        let sources = self.sources.iter().map(|source| source.as_os_str());
        let arguments = self.arguments.iter().map(OsString::as_os_str);
        let linking = self.links_at_load.then_some(OsStr::new("link at load"));
        arguments
            .chain(linking)
            .chain(sources)
            .map(|argument| prebuilt::argument(argument, package, out_dir))
            .collect()
    }
}
