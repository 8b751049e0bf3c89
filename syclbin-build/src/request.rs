// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Request`]: the inputs of one build, exactly as the user passed them to [`Build`](crate::Build). Also expands source
//! patterns such as `kernels/*.cpp`.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use crate::cache::named_files;
use crate::error::{Error, Result};
use crate::out_dir::Paths;
use crate::{cargo, prebuilt};

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
    /// The target and host triples, if the request was read from a build script's record.
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

    /// Returns the recorded triples, or else those that Cargo passes to this build script.
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
            for path in expand(&pattern)? {
                if !self.sources.contains(&path) {
                    self.sources.push(path.clone());
                    self.matched.insert(path);
                }
            }
        }
        Ok(self)
    }

    /// Returns the sources, and the files that arguments name, except files that the compiler writes.
    pub(crate) fn files(&self) -> impl Iterator<Item = &Path> {
        let arguments = self
            .arguments
            .iter()
            .filter_map(|argument| argument.to_str());
        let mut is_value = false;
        let arguments = arguments.filter(move |argument| {
            let takes_value = SEPARATE.split(' ').any(|option| argument == &option);
            let is_output = OUTPUTS.split(' ').any(|start| argument.starts_with(start));
            !std::mem::replace(&mut is_value, takes_value) && !is_output
        });
        let sources = self.sources.iter().map(PathBuf::as_path);
        sources.chain(arguments.flat_map(named_files))
    }

    /// Checks that every source can be read and that its path can be reported to Cargo. Makes Cargo track the
    /// [`files`](Self::files).
    pub(crate) fn check_sources(&self) -> Result<()> {
        for path in self.files() {
            if path.to_string_lossy().contains(['\n', '\r']) {
                return Err(Error::LineBreak(path.to_owned()));
            }
            // Reports a source even if it is missing, so that the script runs again once it exists.
            cargo::rerun_if_changed(path);
        }
        for path in &self.sources {
            // Rejects directories and FIFOs, which `File::open` would accept on some systems.
            syclbin_toolchain::file::open(path).map_err(|source| Error::Source {
                path: path.clone(),
                source,
            })?;
        }
        Ok(())
    }

    /// Returns the user's arguments and sources in a form that is the same on all machines.
    pub(crate) fn recorded_arguments(&self, paths: &Paths) -> Vec<String> {
        let sources = self.sources.iter().map(|source| source.as_os_str());
        let arguments = self.arguments.iter().map(OsString::as_os_str);
        let linking = self.links_at_load.then_some(OsStr::new("link at load"));
        let links = self.links.then_some(OsStr::new("link"));
        let portable = |word| prebuilt::argument(word, &paths.package, &paths.out_dir);
        let arguments = arguments.chain(linking).chain(links).map(portable);
        // Patterns match paths with the separator of the system.
        let sources = sources.map(|source| portable(source).replace('\\', "/"));
        arguments.chain(sources).collect()
    }
}

/// Prefixes of options that name files that the compiler writes.
const OUTPUTS: &str =
    "-M -o -foptimization-record-file -ftime-trace -serialize-diagnostics --serialize-diagnostics";

/// Options in [`OUTPUTS`] whose value is the next argument.
const SEPARATE: &str = "-MF -MJ -MQ -MT -o -serialize-diagnostics --serialize-diagnostics";

const WILDCARDS: [char; 3] = ['*', '?', '['];

pub(crate) fn is_pattern(text: &str) -> bool {
    text.contains(WILDCARDS)
}

/// Returns the files that a pattern matches, sorted. Makes Cargo run the build script again when a file appears.
///
/// # Errors
///
/// Fails if the pattern is invalid, if it matches no visible file, or if a directory cannot be read.
fn expand(pattern: &str) -> Result<Vec<PathBuf>> {
    let failed = |problem: &str| Error::Pattern {
        pattern: pattern.to_owned(),
        problem: problem.to_owned(),
    };
    let directory = pattern_directory(pattern);
    let real = |path: &Path| Path::new(".").join(path).canonicalize();
    // Cargo would check all files below the directory, including `target`, which every build changes.
    if let (Ok(package), Ok(searched)) = (real(Path::new("")), real(&directory))
        && package.starts_with(searched)
    {
        return Err(failed(
            "searches the whole package, so Cargo would rerun the build script on every build; move the sources to a \
             directory, as in \"kernels/*.cpp\"",
        ));
    }
    if directory.is_dir() {
        cargo::rerun_if_changed(&directory);
    }
    let matches = glob::glob(pattern).map_err(|error| failed(&format!("is not valid: {error}")))?;
    let files: Result<Vec<PathBuf>, _> = matches.collect();
    let mut files = files.map_err(|error| failed(&format!("cannot be expanded: {error}")))?;
    // Editors store locks and backups in hidden files.
    let is_hidden = |name: &OsStr| name.as_encoded_bytes().starts_with(b".");
    files.retain(|path| !path.is_dir() && !path.file_name().is_some_and(is_hidden));
    if files.is_empty() {
        return Err(failed(
            "matches no visible file; patterns are relative to the directory that contains Cargo.toml",
        ));
    }
    files.sort();
    Ok(files)
}

/// Returns the directory that a pattern searches: its nearest parent directory whose path contains no wildcard.
pub(crate) fn pattern_directory(pattern: &str) -> PathBuf {
    let mut above = Path::new(pattern).ancestors().skip(1);
    let plain = above.find(|directory| !is_pattern(&directory.to_string_lossy()));
    plain.map(Path::to_owned).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directory_ends_before_the_first_wildcard() {
        for (pattern, expected) in [
            ("kernels/*.cpp", "kernels"),
            ("kernels/**/a.cpp", "kernels"),
            ("a/b?/c.cpp", "a"),
            ("/x/y/[ab].cpp", "/x/y"),
            ("*.cpp", ""),
            ("kernels/a.cpp", "kernels"),
        ] {
            assert_eq!(pattern_directory(pattern), Path::new(expected), "{pattern}");
        }
    }
}
