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
#[derive(Clone, Debug, Default, PartialEq)]
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
    /// Whether sources are linked with one another now.
    pub(crate) links: bool,
    /// The triples that Cargo compiles for and on, in a request that a build script noted.
    pub(crate) triples: Option<Triples>,
}

/// The triples that Cargo compiles for and on.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Triples {
    pub(crate) target: Option<String>,
    pub(crate) host: Option<String>,
}

impl Request {
    /// Checks the sources and arguments as far as possible without reading files.
    pub(crate) fn check(&self) -> Result<()> {
        if self.sources.is_empty() && self.patterns.is_empty() {
            return Err(Error::NoSource);
        }
        if (self.arguments.iter()).any(|argument| argument == "-fsycl-device-only") {
            return Err(Error::DeviceOnly);
        }
        Ok(())
    }

    /// Returns the recorded triples, else those that Cargo passes to this build script.
    pub(crate) fn triples(&self) -> Triples {
        self.triples.clone().unwrap_or_else(|| Triples {
            target: std::env::var("TARGET").ok(),
            host: std::env::var("HOST").ok(),
        })
    }

    /// Adds the files that the patterns match, without duplicates.
    pub(crate) fn with_matches(mut self) -> Result<Self> {
        let mut seen = BTreeSet::new();
        self.sources.retain(|source| seen.insert(source.clone()));
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
            .chain(self.links.then_some(OsStr::new("link")))
            .chain(sources)
            .map(|argument| prebuilt::argument(argument, package, out_dir))
            .collect()
    }
}
