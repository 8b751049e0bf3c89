// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the first compiler that supports `-fsyclbin`, and explains why earlier candidates were rejected.
//!
//! Shared with `cargo syclbin doctor`, which shows what a build would do. The [documentation of the
//! crate](crate#the-compiler) lists the candidates in order.

mod locations;
mod probe;

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use syclbin_toolchain::{HOME_VARIABLE, Home, Installed, NoHome};

pub use probe::Problem;

use crate::error::{Error, Result};
use crate::process;
use locations::PLACES;

/// The environment variable that names the only compiler to try.
pub const VARIABLE: &str = "SYCLBIN_CLANG";

/// The environment variable that sets the time limit for each probe of a candidate, in seconds.
pub const LIMIT_VARIABLE: &str = "SYCLBIN_PROBE_SECONDS";

/// The default limit. Compilers respond within milliseconds, but may be on a slow disk.
const LIMIT: Duration = Duration::from_secs(30);

/// The inputs of a search, apart from the file system.
pub struct Search<'s> {
    /// Returns the value of an environment variable. In a build script, also reports the variable to Cargo.
    pub variable: &'s dyn Fn(&str) -> Option<OsString>,
    /// Cargo's target triple.
    pub target: Option<String>,
    /// Cargo's host triple.
    pub host: Option<String>,
}

/// How a candidate was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// [`Build::compiler`](crate::Build::compiler) names it.
    Chosen,
    /// A variable such as `CXX` names it.
    Variable {
        /// The name of the variable.
        name: String,
        /// Its value.
        value: OsString,
    },
    /// A variable such as `CMPLR_ROOT` names its directory.
    Folder(&'static str),
    /// `cargo syclbin toolchain install` installed it.
    Installed(Installed),
    /// It is in a directory on `PATH`.
    Path,
    /// It is in oneAPI's default directory.
    Default,
}

/// A program that may support `-fsyclbin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// How it was found.
    pub origin: Origin,
    /// The program to start: the compiler, or a wrapper such as ccache.
    pub program: PathBuf,
    /// The arguments that precede all others: the compiler that a wrapper runs, and flags in `CXX`.
    pub leading: Vec<OsString>,
    /// The compiler that a wrapper runs, if it is the first argument.
    pub wrapped: Option<PathBuf>,
}

impl Candidate {
    fn program(origin: Origin, program: PathBuf) -> Self {
        Self {
            origin,
            program,
            leading: Vec::new(),
            wrapped: None,
        }
    }

    /// Returns the candidate's files. If one changes, the candidate may be a different compiler.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        std::iter::once(self.program.as_path()).chain(self.wrapped.as_deref())
    }

    /// Returns whether all [`files`](Self::files) exist.
    pub fn exists(&self) -> bool {
        self.files().all(Path::is_file)
    }

    /// Returns a command that runs the candidate with only the leading arguments.
    pub fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.leading);
        command
    }
}

impl fmt::Display for Candidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let program = self.program.display();
        match &self.origin {
            Origin::Chosen => write!(f, ".compiler(\"{program}\")"),
            Origin::Variable { name, value } => {
                write!(f, "{name}={}", value.display())?;
                if value.as_os_str() == OsStr::new(&self.program) || !self.exists() {
                    return Ok(());
                }
                write!(f, " ({program})")
            }
            Origin::Folder(variable) => write!(f, "{program} ({variable})"),
            Origin::Installed(own) => write!(f, "{program} (installed, {})", own.version),
            Origin::Path => write!(f, "{program} (PATH)"),
            Origin::Default => write!(f, "{program}"),
        }
    }
}

/// A compiler that supports `-fsyclbin`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// The program, and how it was found.
    pub candidate: Candidate,
    /// The first line that the compiler prints for `--version`.
    pub version: String,
}

impl Detected {
    /// Returns whether the compiler is `syclbin-clang`, which includes [`headers::ASSERT`](crate::headers::ASSERT)
    /// implicitly, records descriptions of kernels, and links SYCLBIN files with `-fsycl-link`.
    pub(crate) fn is_own(&self) -> bool {
        self.version.starts_with("syclbin-clang ")
    }
}

/// A candidate that was rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RejectedCandidate {
    /// The program, and how it was found.
    pub candidate: Candidate,
    /// The reason why it was rejected.
    pub problem: Problem,
}

impl fmt::Display for RejectedCandidate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.candidate, self.problem)
    }
}

impl Search<'_> {
    /// Finds the first candidate that supports `-fsyclbin`. Does not probe later candidates. If `forced` or
    /// `SYCLBIN_CLANG` names a compiler, it is the only candidate. Otherwise, adds the rejected candidates to
    /// `passed_over`.
    ///
    /// # Errors
    ///
    /// Fails if the forced compiler or every candidate is unusable, if no temporary file can be written, or if the
    /// directory of installed compilers is invalid.
    pub fn run(
        &self,
        forced: Option<&Path>,
        passed_over: &mut Vec<RejectedCandidate>,
    ) -> Result<Detected> {
        let only = match forced {
            Some(path) => Some((path.into(), Origin::Chosen)),
            None => (self.variable)(VARIABLE).map(|value| {
                let (name, program) = (VARIABLE.to_owned(), value.clone());
                (program, Origin::Variable { name, value })
            }),
        };
        if let Some((program, origin)) = only {
            // A path or a name on `PATH`, possibly with spaces.
            let found = self.on_path(&program).unwrap_or_else(|| program.into());
            let asked = self.ask(Candidate::program(origin, found));
            return asked.map_err(Error::Unusable);
        }
        for candidates in PLACES {
            for candidate in candidates(self)? {
                // Skips duplicates: `PATH` usually contains the directory that a variable names.
                let mut seen = passed_over.iter().map(|rejected| &rejected.candidate);
                let program = (&candidate.program, &candidate.leading);
                if seen.any(|one| (&one.program, &one.leading) == program) {
                    continue;
                }
                match self.ask(candidate) {
                    Ok(found) => return Ok(found),
                    // This is not the candidate's fault, and another one would fail too.
                    Err(rejected) if matches!(rejected.problem, Problem::NoTemporary(_)) => {
                        return Err(Error::Unusable(rejected));
                    }
                    Err(rejected) => passed_over.push(*rejected),
                }
            }
        }
        Err(Error::NoCompiler {
            home: self.home().ok().map(|home| home.path().to_owned()),
            passed_over: passed_over.clone(),
        })
    }

    fn ask(&self, candidate: Candidate) -> Result<Detected, Box<RejectedCandidate>> {
        let limit = || process::time_limit((self.variable)(LIMIT_VARIABLE), LIMIT);
        let version = if candidate.exists() {
            probe::ask(&candidate, limit())
        } else {
            Err(Problem::NotFound)
        };
        match version {
            Ok(version) => Ok(Detected { candidate, version }),
            Err(problem) => Err(Box::new(RejectedCandidate { candidate, problem })),
        }
    }

    fn home(&self) -> Result<Home, NoHome> {
        for name in syclbin_toolchain::VARIABLES {
            // Reads all variables, so that Cargo tracks everything that the result depends on.
            (self.variable)(name);
        }
        Home::locate((self.variable)(HOME_VARIABLE).as_deref())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn program_is_shown_if_the_variable_differs() {
        let shown = |value: &str, program: &str| {
            let name = "CXX".into();
            let value = value.into();
            Candidate {
                program: program.into(),
                wrapped: None,
                leading: Vec::new(),
                origin: Origin::Variable { name, value },
            }
            .to_string()
        };
        let alone = "CXX=ccache /bin/sh";
        assert_eq!(
            shown(alone.trim_start_matches("CXX="), "/no/such/file"),
            alone
        );
        assert_eq!(shown("ccache sh", "/bin/sh"), "CXX=ccache sh (/bin/sh)");
        assert_eq!(shown("/bin/sh", "/bin/sh"), "CXX=/bin/sh");
    }
}
