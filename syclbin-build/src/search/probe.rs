// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asks a program for its version and for `-fsyclbin`, within a time limit.

use std::fmt;
use std::process::{Command, ExitStatus};
use std::time::Duration;

use super::{Candidate, LIMIT_VARIABLE};
use crate::process::{self, Ended};

/// Why a candidate was rejected, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Problem {
    /// The file does not exist.
    NotFound,
    /// It could not be started.
    Start(String),
    /// No temporary file can be made.
    NoTemporary(String),
    /// It did not end in time.
    Hangs {
        /// The command that it was asked.
        question: &'static str,
        /// The time limit.
        limit: Duration,
    },
    /// It crashed, or did not print its version.
    Failed {
        /// The command that it was asked.
        question: &'static str,
        /// How it ended.
        how: String,
        /// The first line of its output.
        said: String,
    },
    /// It succeeded and printed nothing.
    NoVersion,
    /// It answered, but does not support SYCLBIN.
    NoOption {
        /// The version that it prints.
        version: String,
    },
    /// It answered, and is another C++ compiler, such as LLVM's own `clang++`.
    NotDpcpp {
        /// The version that it prints.
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
                "cannot be probed, because no temporary file can be created: {reason}; set TMPDIR to a writable \
                 directory"
            ),
            Self::Hangs { question, limit } => write!(
                f,
                "did not answer `{question}` within {} s and was stopped; run it in a shell, or allow more time with \
                 {LIMIT_VARIABLE}",
                limit.as_secs()
            ),
            Self::Failed {
                question,
                how,
                said,
            } => {
                write!(f, "{how} when run with `{question}`")?;
                if !said.is_empty() {
                    write!(f, " ({said})")?;
                }
                f.write_str("; run it in a shell: it may lack a library or an environment variable")
            }
            Self::NoVersion => {
                f.write_str("printed no version when run with `--version`, so it is not a compiler")
            }
            Self::NoOption { version } => write!(
                f,
                "{version} does not support -fsyclbin; DPC++ and icpx support it since 2025.2"
            ),
            Self::NotDpcpp { version } => write!(
                f,
                "{version} is not DPC++, and only DPC++ supports -fsyclbin; use its clang++ or icpx, 2025.2 or newer"
            ),
        }
    }
}

/// The answers of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Answer {
    /// The first line of `--version`.
    pub(super) version: String,
    pub(super) support: Support,
}

/// The support of a program for `-fsyclbin`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Support {
    Full,
    /// DPC++ before 2025.2.
    TooOld,
    /// It knows no option of DPC++'s own, as LLVM's `clang++` and `g++`.
    NotDpcpp,
}

impl Answer {
    /// Returns the version of a program that supports it.
    pub(super) fn into_version(self) -> Result<String, Problem> {
        let version = self.version;
        match self.support {
            Support::Full => Ok(version),
            Support::TooOld => Err(Problem::NoOption { version }),
            Support::NotDpcpp => Err(Problem::NotDpcpp { version }),
        }
    }
}

const VERSION: &str = "--version";
const OPTION: &str = "-fsyclbin -###";
/// An option that every DPC++ has and no other compiler.
const OF_DPCPP: &str = "-fsycl-device-code-split=auto";

/// Asks both questions. Only an answer is worth caching: a program that hangs today may answer tomorrow.
pub(super) fn ask(candidate: &Candidate, limit: Duration) -> Result<Answer, Problem> {
    let mut command = candidate.command();
    command.arg(VERSION);
    let said = run(command, VERSION, limit)?;
    if !said.status.success() {
        return Err(said.failed(VERSION));
    }
    let Some(version) = first_line(&said.stdout) else {
        return Err(Problem::NoVersion);
    };
    let answer = |support| Answer {
        version: version.clone(),
        support,
    };
    // Our own driver supports the option in every version, and older versions do not know `-###`.
    if version.starts_with("syclbin-clang ") {
        return Ok(answer(Support::Full));
    }
    let unwritten = |error: std::io::Error| Problem::NoTemporary(error.to_string());
    let folder = tempfile::tempdir().map_err(unwritten)?;
    let source = folder.path().join("probe.cpp");
    std::fs::write(&source, "").map_err(unwritten)?;
    let mut command = candidate.command();
    // With `-###`, the driver parses its command line and runs nothing.
    command
        .args(["-###", "-fsycl", "--offload-new-driver", OF_DPCPP])
        .args(["-fsyclbin=executable", "-o"])
        .arg(folder.path().join("probe.syclbin"))
        .arg(&source);
    let said = run(command, OPTION, limit)?;
    if said.status.code().is_none() {
        return Err(said.failed(OPTION));
    }
    // Drivers with the old offloading model know the option, and report it as unused.
    let mut lines = said.stderr.lines();
    let is_unused = |line: &str| line.contains("-fsyclbin") && line.contains("unused");
    Ok(answer(if said.status.success() {
        if lines.any(is_unused) {
            Support::TooOld
        } else {
            Support::Full
        }
    } else if lines.any(|line| line.contains(OF_DPCPP)) {
        Support::NotDpcpp
    } else {
        Support::TooOld
    }))
}

/// The output of a program, and how it ended.
struct Said {
    status: ExitStatus,
    stdout: String,
    stderr: String,
}

impl Said {
    fn failed(&self, question: &'static str) -> Problem {
        Problem::Failed {
            question,
            how: match self.status.code() {
                Some(code) => format!("exited with {code}"),
                None => Ended(self.status).to_string(),
            },
            said: first_line(&self.stderr)
                .or_else(|| first_line(&self.stdout))
                .unwrap_or_default(),
        }
    }
}

/// Runs a program to its end or its limit. At the limit, stops it and the processes that it started.
fn run(command: Command, question: &'static str, limit: Duration) -> Result<Said, Problem> {
    let lost = |error: std::io::Error| Problem::Start(error.to_string());
    let temporary =
        || tempfile::tempfile().map_err(|error| Problem::NoTemporary(error.to_string()));
    let mut output = [temporary()?, temporary()?];
    let status = process::run(command, &output, limit).map_err(lost)?;
    let status = status.ok_or(Problem::Hangs { question, limit })?;
    let [stdout, stderr] = &mut output;
    Ok(Said {
        status,
        stdout: process::text(stdout).map_err(lost)?,
        stderr: process::text(stderr).map_err(lost)?,
    })
}

/// Returns the first line that is not blank, without control characters.
fn first_line(text: &str) -> Option<String> {
    let line = text.lines().map(str::trim).find(|line| !line.is_empty())?;
    let safe = line.chars().filter(|c| !c.is_control());
    Some(safe.take(200).collect())
}
