// SPDX-License-Identifier: MIT OR Apache-2.0
//! Jobs: compilations with a time limit. A job never loses diagnostics.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitStatus;
use std::time::Duration;

use crate::cargo;
use crate::error::{Error, Result};
use crate::process::{self, COMPILE_LIMIT_VARIABLE, Ended, Process};

/// The default time limit: much longer than any kernel takes to compile, yet short enough for users to wait.
const LIMIT: Duration = Duration::from_secs(600);

#[derive(Clone, Debug)]
pub(crate) struct Job {
    pub(crate) flags: Vec<OsString>,
    pub(crate) source: PathBuf,
    pub(crate) output: PathBuf,
    pub(crate) depfile: Option<PathBuf>,
    pub(crate) has_colour: bool,
}

pub(crate) fn limit() -> Duration {
    // Cargo does not track this variable: the limit does not affect the result, and a failed build runs again anyway.
    process::time_limit(cargo::env_again(COMPILE_LIMIT_VARIABLE), LIMIT)
}

pub(crate) struct Running {
    pub(super) process: Process,
    pub(super) program: PathBuf,
    pub(super) source: PathBuf,
    pub(super) log: PathBuf,
    /// A command that reproduces the compilation.
    pub(super) line: String,
}

impl Running {
    /// Returns the diagnostics once the compiler has ended, or `None` while it runs. Stops a compiler that exceeds
    /// `limit`.
    pub(crate) fn poll(&mut self, limit: Duration) -> Option<Result<String>> {
        match self.process.ended() {
            Ok(Some(status)) => Some(self.outcome(status)),
            Ok(None) if self.process.runs_for() < limit => None,
            Ok(None) => {
                self.process.stop();
                Some(Err(Error::Hangs {
                    source_file: self.source.clone(),
                    limit,
                    command: self.line.clone(),
                    diagnostics: self.process.said().unwrap_or_default(),
                }))
            }
            Err(error) => Some(Err(self.lost(error))),
        }
    }

    fn outcome(&mut self, status: ExitStatus) -> Result<String> {
        let diagnostics = self.process.said().map_err(|error| self.lost(error))?;
        match status.code() {
            Some(0) => Ok(diagnostics),
            // Clang exits with this code for errors in the source.
            Some(1) => Err(Error::Compile {
                source_file: self.source.clone(),
                diagnostics,
            }),
            _ => Err(Error::Crash {
                source_file: self.source.clone(),
                how: Ended(status),
                command: self.line.clone(),
                diagnostics,
            }),
        }
    }

    fn lost(&self, source: std::io::Error) -> Error {
        Error::Lost {
            program: self.program.clone(),
            source_file: self.source.clone(),
            log: self.log.clone(),
            source,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};

    use super::*;

    #[cfg(unix)]
    #[test]
    fn unreadable_compiler_log_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.log");
        // For writing only, so that reading it fails.
        let stderr = std::fs::File::create(&log).unwrap();
        let mut running = Running {
            process: Process::start(Command::new("true"), Stdio::null(), Stdio::null(), stderr)
                .unwrap(),
            program: "icpx".into(),
            source: "a.cpp".into(),
            log: log.clone(),
            line: String::new(),
        };
        let result = loop {
            if let Some(result) = running.poll(LIMIT) {
                break result;
            }
        };
        let said = result.unwrap_err().to_string();
        let begin = "icpx ran, but reading its output for a.cpp failed: ";
        assert!(said.starts_with(begin), "{said}");
        assert!(said.contains(log.to_str().unwrap()), "{said}");
    }
}
