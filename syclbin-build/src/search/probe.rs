// SPDX-License-Identifier: MIT OR Apache-2.0
//! Probes a program for its version and for `-fsyclbin`, within a time limit.

use std::fmt;
use std::io;
use std::process::{Command, ExitStatus, Output};
use std::time::Duration;

use super::{Candidate, LIMIT_VARIABLE};
use crate::process;

/// The reason why a candidate was rejected, and the remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The program does not exist.
    NotFound,
    /// The program could not be started.
    Start(String),
    /// A temporary file could not be created or written.
    NoTemporary(String),
    /// The program did not end within the time limit.
    Hangs {
        /// The arguments of the probe.
        question: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// The program crashed, or exited with an error when asked for its version.
    Failed {
        /// The arguments of the probe.
        question: &'static str,
        /// How the program ended.
        how: ExitStatus,
        /// The first line of the program's output.
        said: String,
    },
    /// The program succeeded, but printed nothing when asked for its version.
    NoVersion,
    /// The program works, but does not support `-fsyclbin`.
    NoOption {
        /// The version that it reports.
        version: String,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotFound => f.write_str("not found"),
            Self::Start(reason) => write!(
                f,
                "cannot be started: {reason}; choose a program that this machine can execute, on a file system that \
                 is not mounted noexec"
            ),
            Self::NoTemporary(reason) => write!(
                f,
                "cannot be probed, because no temporary file can be written: {reason}; set TMPDIR to a writable \
                 directory with free space"
            ),
            Self::Hangs { question, limit } => write!(
                f,
                "did not respond to `{question}` within {} s and was stopped; run it in a shell to see why, or \
                 allow more time with {LIMIT_VARIABLE}",
                limit.as_secs()
            ),
            Self::Failed {
                question,
                how,
                said,
            } => {
                write!(f, "failed with {how} when run with `{question}`")?;
                if !said.is_empty() {
                    write!(f, " ({said})")?;
                }
                f.write_str(
                    "; run it in a shell to see why: for example, a shared library or an environment variable may be \
                     missing",
                )
            }
            Self::NoVersion => {
                f.write_str("printed no version when run with `--version`, so it is not a compiler")
            }
            Self::NoOption { version } => write!(
                f,
                "{version} does not support -fsyclbin; use DPC++'s clang++ or icpx, version 2025.2 or newer"
            ),
        }
    }
}

const VERSION: &str = "--version";
const OPTION: &str = "-fsyclbin -###";

/// Returns the first line that the program prints for `--version`, if it supports `-fsyclbin`.
pub(super) fn ask(candidate: &Candidate, limit: Duration) -> Result<String, Problem> {
    let unwritten = |error: io::Error| Problem::NoTemporary(error.to_string());
    let folder = tempfile::tempdir().map_err(unwritten)?;
    let mut command = candidate.command();
    command.arg(VERSION);
    let said = run(command, VERSION, limit)?;
    if !said.status.success() {
        return Err(failed(&said, VERSION));
    }
    let version = first_line(&said.stdout).ok_or(Problem::NoVersion)?;
    // `syclbin-clang` is not probed further: it always supports `-fsyclbin`, and its older versions lack `-###`.
    if version.starts_with("syclbin-clang ") {
        return Ok(version);
    }
    let source = folder.path().join("probe.cpp");
    std::fs::write(&source, "").map_err(unwritten)?;
    let mut command = candidate.command();
    // With `-###`, the compiler driver parses its command line but runs nothing. Compilers other than DPC++ reject
    // `-fsycl-device-code-split`, even if they accept the other options.
    command
        .args(["-###", "-fsycl", "--offload-new-driver"])
        .arg("-fsycl-device-code-split=auto")
        .args(["-fsyclbin=executable", "-o"])
        .arg(folder.path().join("probe.syclbin"))
        .arg(&source);
    let said = run(command, OPTION, limit)?;
    if said.status.code().is_none() {
        return Err(failed(&said, OPTION));
    }
    let stderr = String::from_utf8_lossy(&said.stderr);
    let mut lines = stderr.lines();
    // Drivers with the old offloading model accept the option, but report it as unused.
    let is_unused = |line: &str| line.contains("-fsyclbin") && line.contains("unused");
    if said.status.success() && !lines.any(is_unused) {
        Ok(version)
    } else {
        Err(Problem::NoOption { version })
    }
}

fn failed(said: &Output, question: &'static str) -> Problem {
    Problem::Failed {
        question,
        how: said.status,
        said: first_line(&said.stderr)
            .or_else(|| first_line(&said.stdout))
            .unwrap_or_default(),
    }
}

fn run(command: Command, question: &'static str, limit: Duration) -> Result<Output, Problem> {
    let output = process::output(command, limit);
    let output = output.map_err(|error| not_run(&error))?;
    output.ok_or(Problem::Hangs { question, limit })
}

fn not_run(error: &io::Error) -> Problem {
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            Problem::NoTemporary(error.to_string())
        }
        _ => Problem::Start(error.to_string()),
    }
}

/// Returns the first line that is not blank, without control characters.
fn first_line(output: &[u8]) -> Option<String> {
    let text = String::from_utf8_lossy(output);
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    Some(line.chars().filter(|c| !c.is_control()).take(200).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn full_disk_is_not_the_compilers_fault() {
        let full = not_run(&io::ErrorKind::StorageFull.into());
        assert!(matches!(full, Problem::NoTemporary(_)), "{full:?}");
        let missing = not_run(&io::ErrorKind::NotFound.into());
        assert!(matches!(missing, Problem::Start(_)), "{missing:?}");
    }
}
