//! The compiler of a build, and running it.

use std::cell::RefCell;
use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use syclbin_toolchain::{COMPILER_LIBRARY, Component, HOME_VARIABLE, Home};

use crate::cargo;
use crate::error::{Ended, Error, Result};
use crate::search::{Found, Memory, Origin, Outcome, Problem, Search};

/// Where clang itself looks for headers.
const READ_BY_CLANG: [&str; 2] = ["CPATH", "CPLUS_INCLUDE_PATH"];

/// A program that takes clang's command line and has `-fsyclbin`.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    found: Found,
    /// What it is made of: when one of these changes, kernels are compiled again.
    parts: Vec<PathBuf>,
}

impl Compiler {
    /// The compiler that `forced` names, else the first that [`Search`] finds; `folder` keeps the
    /// answers of compilers. Cargo is told what decides.
    pub(crate) fn find(forced: Option<&Path>, folder: &Path) -> Result<Self> {
        for variable in READ_BY_CLANG {
            cargo::env(variable);
        }
        let told = RefCell::new(BTreeSet::new());
        let variable = |name: &str| match told.borrow_mut().insert(name.to_owned()) {
            true => cargo::env(name),
            false => cargo::env_again(name),
        };
        let outcome = Search {
            variable: &variable,
            target: std::env::var("TARGET").ok(),
            host: std::env::var("HOST").ok(),
            memory: Memory::in_folder(folder),
        }
        .run(forced);
        Self::from_outcome(outcome, &variable)
    }

    fn from_outcome(outcome: Outcome, variable: &dyn Fn(&str) -> Option<OsString>) -> Result<Self> {
        let found = outcome.taken?;
        for passed_over in outcome.passed_over {
            // Others are passed over in silence: nobody asked them to compile kernels. This one
            // makes each build wait.
            if matches!(passed_over.problem, Problem::Hangs { .. }) {
                cargo::warning(&passed_over.to_string());
            }
        }
        let mut parts: Vec<PathBuf> = Vec::new();
        match &found.candidate.origin {
            Origin::Installed { folder, .. } => {
                // A newer version beside this one is the one to use, once it is there.
                parts.extend(folder.parent().map(Path::to_owned));
                parts.push(folder.join(COMPILER_LIBRARY));
            }
            // One that is installed later comes before these.
            Origin::Path | Origin::Default => {
                let home = Home::locate(variable(HOME_VARIABLE).as_deref());
                let versions = home.ok().map(|home| home.versions(Component::Compiler));
                parts.extend(versions.filter(|versions| versions.exists()));
            }
            _ => {}
        }
        parts.extend(found.candidate.files().map(Path::to_owned));
        Ok(Self { found, parts })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.found.candidate.program
    }

    /// What it says it is.
    pub(crate) fn version(&self) -> &str {
        &self.found.version
    }

    pub(crate) fn parts(&self) -> &[PathBuf] {
        &self.parts
    }

    /// Whether it takes this argument.
    pub(crate) fn takes(&self, argument: &OsStr) -> bool {
        self.found.takes(argument)
    }

    /// Starts a compilation; its diagnostics are captured.
    pub(crate) fn start(&self, job: &Job<'_>) -> Result<Running> {
        let mut command: Command = self.found.candidate.command();
        command.args(&job.flags);
        if let Some(depfile) = job.depfile {
            command.args([OsStr::new("-MD"), OsStr::new("-MF"), depfile.as_os_str()]);
        }
        command
            .args([OsStr::new("-o"), job.output.as_os_str()])
            .arg(job.source)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        // A thread drains the pipes, so that two compilers can run and neither waits for a reader.
        let child = command.spawn().map_err(|source| Error::Start {
            program: self.program().to_owned(),
            source,
        })?;
        Ok(Running {
            output: std::thread::spawn(move || child.wait_with_output()),
            program: self.program().to_owned(),
            source: job.source.to_owned(),
            line: self.line_to_repeat(job),
        })
    }

    /// A line for a shell, in any folder, that compiles the same. The files of this build are gone
    /// by then, so it writes to the folder of Cargo.toml.
    fn line_to_repeat(&self, job: &Job<'_>) -> String {
        let output = OsStr::new("crash.syclbin");
        let arguments = job.flags.iter().map(OsString::as_os_str);
        let leading = self.found.candidate.leading.iter();
        let line = std::iter::once(self.program().as_os_str())
            .chain(leading.map(OsString::as_os_str))
            .chain(arguments)
            .chain([OsStr::new("-o"), output, job.source.as_os_str()])
            .map(quoted)
            .collect::<Vec<_>>()
            .join(" ");
        match std::env::current_dir() {
            Ok(folder) => format!("cd {} && {line}", quoted(folder.as_os_str())),
            Err(_) => line,
        }
    }
}

/// One compilation.
pub(crate) struct Job<'j> {
    pub(crate) flags: Vec<OsString>,
    pub(crate) source: &'j Path,
    pub(crate) output: &'j Path,
    pub(crate) depfile: Option<&'j Path>,
}

/// A compilation under way.
pub(crate) struct Running {
    output: std::thread::JoinHandle<std::io::Result<Output>>,
    program: PathBuf,
    source: PathBuf,
    line: String,
}

impl Running {
    /// Waits for the end; the diagnostics, if it compiled.
    pub(crate) fn finish(self) -> Result<String> {
        let lost = || {
            Err(std::io::Error::other(
                "the thread that read its output died",
            ))
        };
        let output = self.output.join().unwrap_or_else(|_| lost());
        let output = output.map_err(|source| Error::Start {
            program: self.program,
            source,
        })?;
        let diagnostics = String::from_utf8_lossy(&output.stderr).into_owned();
        match output.status.code() {
            Some(0) => Ok(diagnostics),
            // clang's own code for errors in the source.
            Some(1) => Err(Error::Compile {
                source_file: self.source,
                diagnostics,
            }),
            _ => Err(Error::Crash {
                source_file: self.source,
                how: Ended(output.status),
                command: self.line,
                diagnostics,
            }),
        }
    }
}

/// An argument as a shell takes it.
fn quoted(argument: &OsStr) -> String {
    let text = argument.to_string_lossy();
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./+:,@%".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text.into_owned();
    }
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arguments_are_quoted_for_a_shell() {
        let quote = |text: &str| quoted(OsStr::new(text));
        assert_eq!(quote("-DN=3"), "-DN=3");
        assert_eq!(quote("a b"), "'a b'");
        assert_eq!(quote("it's"), r"'it'\''s'");
        assert_eq!(quote(""), "''");
    }
}
