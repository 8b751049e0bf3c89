//! Finding a clang that has `-fsyclbin`, and running it.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use syclbin_toolchain::{COMPILER_LIBRARY, Component, HOME_VARIABLE, Home, VARIABLES};

use crate::cargo;
use crate::error::{Ended, Error, Result};

/// Names a compiler; it is then the only one that is tried.
pub(crate) const VARIABLE: &str = "SYCLBIN_CLANG";

/// Where clang itself looks for headers.
const READ_BY_CLANG: [&str; 2] = ["CPATH", "CPLUS_INCLUDE_PATH"];

/// A program that takes clang's command line and has `-fsyclbin`.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    program: PathBuf,
    /// What it is made of: when one of these changes, kernels are compiled again.
    parts: Vec<PathBuf>,
}

impl Compiler {
    /// `SYCLBIN_CLANG` if it is set, else the newest installed one.
    pub(crate) fn find() -> Result<Self> {
        for variable in READ_BY_CLANG {
            cargo::env(variable);
        }
        if let Some(named) = cargo::env(VARIABLE) {
            let program =
                on_path(&named).ok_or_else(|| Error::NamedCompilerMissing(named.into()))?;
            return Ok(Self {
                parts: vec![program.clone()],
                program,
            });
        }
        let mut explicit = None;
        for variable in VARIABLES {
            let value = cargo::env(variable);
            if variable == HOME_VARIABLE {
                explicit = value;
            }
        }
        let home = Home::locate(explicit.as_deref())?;
        let installed = home
            .newest(Component::Compiler)
            .ok_or_else(|| Error::NoCompiler(home.path().to_owned()))?;
        let program = installed.entry();
        Ok(Self {
            parts: vec![
                // A newer version beside this one is the one to use, once it is there.
                home.versions(Component::Compiler),
                program.clone(),
                installed.folder.join(COMPILER_LIBRARY),
            ],
            program,
        })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.program
    }

    pub(crate) fn parts(&self) -> &[PathBuf] {
        &self.parts
    }

    /// Starts a compilation; its diagnostics are captured.
    pub(crate) fn start(&self, job: &Job<'_>) -> Result<Running> {
        let mut command = Command::new(&self.program);
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
            program: self.program.clone(),
            source,
        })?;
        Ok(Running {
            output: std::thread::spawn(move || child.wait_with_output()),
            program: self.program.clone(),
            source: job.source.to_owned(),
            line: self.line_to_repeat(job),
        })
    }

    /// A line for a shell, in any folder, that compiles the same. The files of this build are gone
    /// by then, so it writes to the folder of Cargo.toml.
    fn line_to_repeat(&self, job: &Job<'_>) -> String {
        let output = OsStr::new("crash.syclbin");
        let arguments = job.flags.iter().map(OsString::as_os_str);
        let line = std::iter::once(self.program.as_os_str())
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

/// The program itself, or the one of that name on `PATH`.
fn on_path(program: &OsStr) -> Option<PathBuf> {
    let program = Path::new(program);
    if program.components().count() > 1 {
        return program.is_file().then(|| program.to_owned());
    }
    std::env::split_paths(&cargo::env("PATH")?)
        .map(|folder| folder.join(program))
        .find(|candidate| candidate.is_file())
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
