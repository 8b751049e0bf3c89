// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Request`]: the inputs of one build, exactly as the user passed them to [`Build`](crate::Build).

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cargo;
use crate::error::{Error, Result};
use crate::pattern;
use crate::prebuilt;

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Request {
    pub(crate) sources: Vec<PathBuf>,
    pub(crate) patterns: Vec<String>,
    /// The sources found only through a pattern.
    pub(crate) matched: BTreeSet<PathBuf>,
    pub(crate) arguments: Vec<OsString>,
    /// If set, the only compiler to try.
    pub(crate) compiler: Option<PathBuf>,
    pub(crate) prebuilt: Option<PathBuf>,
    /// Whether a program links the file with other files at load time.
    pub(crate) links_at_load: bool,
    /// Whether the sources are linked with one another at build time.
    pub(crate) links: bool,
    /// The target and host triples, if the request comes from a build script's note.
    pub(crate) triples: Option<Triples>,
}

#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Triples {
    pub(crate) target: Option<String>,
    pub(crate) host: Option<String>,
}

impl Request {
    /// Checks everything that can be checked without reading files.
    pub(crate) fn check(&self) -> Result<()> {
        if self.sources.is_empty() && self.patterns.is_empty() {
            return Err(Error::NoSource);
        }
        if (self.arguments.iter()).any(|argument| argument == "-fsycl-device-only") {
            return Err(Error::DeviceOnly);
        }
        Ok(())
    }

    /// Returns the recorded triples, or otherwise those that Cargo passes to this build script.
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

    /// Checks that every source can be read and its path reported to Cargo, and makes Cargo track it.
    pub(crate) fn check_sources(&self) -> Result<()> {
        for path in &self.sources {
            if path.to_string_lossy().contains(['\n', '\r']) {
                return Err(Error::LineBreak(path.clone()));
            }
            // Reported even if it is missing, so that the script runs again once it exists.
            cargo::rerun_if_changed(path);
            // Rejects directories and FIFOs, which `File::open` would accept on some systems.
            syclbin_toolchain::file::open(path).map_err(|source| Error::Source {
                path: path.clone(),
                source,
            })?;
        }
        Ok(())
    }

    /// Returns the user's arguments and sources in a form that is the same on all machines.
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
