// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that may support `-fsyclbin`, and how it was found.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;

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
    Installed {
        /// The installation directory.
        folder: PathBuf,
        /// The installed version.
        version: String,
    },
    /// It is in a directory of `PATH`.
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
    /// The compiler that a wrapper runs, or `None` if `program` is not a wrapper.
    pub wrapped: Option<PathBuf>,
}

impl Candidate {
    pub(super) fn program(origin: Origin, program: PathBuf) -> Self {
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
    #[must_use]
    pub fn exists(&self) -> bool {
        self.files().all(Path::is_file)
    }

    pub(super) fn is_same_program(&self, other: &Self) -> bool {
        self.program == other.program && self.leading == other.leading
    }

    /// Returns a command that runs the candidate with only the leading arguments.
    #[must_use]
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
            Origin::Installed { version, .. } => write!(f, "{program} (installed, {version})"),
            Origin::Path => write!(f, "{program} (PATH)"),
            Origin::Default => write!(f, "{program}"),
        }
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
