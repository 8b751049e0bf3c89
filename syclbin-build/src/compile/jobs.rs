// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs compilations in parallel, one per token, each with a time limit.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use crate::cargo;
use crate::compile::tokens::Tokens;
use crate::compiler::Compiler;
use crate::error::{Error, Result};
use crate::process::{self, COMPILE_LIMIT_VARIABLE, Process};

/// The maximum pause between two polls: a hundredth of the time that a short compile takes.
const LONGEST_PAUSE: Duration = Duration::from_millis(4);

#[derive(Clone, Debug, Default)]
pub(crate) struct Job {
    pub(crate) flags: Vec<OsString>,
    pub(crate) source: PathBuf,
    pub(crate) output: PathBuf,
    pub(crate) depfile: Option<PathBuf>,
    /// The index of an earlier job. If that job fails, this job is skipped or stopped.
    pub(crate) only_with: Option<usize>,
}

/// The outcome of a job: its diagnostics, or the error. `None` if the job was skipped or stopped, because the job that
/// it depends on failed.
pub(crate) type JobResult = Option<Result<String>>;

/// Runs the jobs in parallel. A failed job affects only the jobs that depend on it (`only_with`).
pub(crate) fn run(compiler: &Compiler, jobs: &[Job]) -> Vec<JobResult> {
    // Cargo does not track this variable: the limit does not affect the result, and a failed build runs again anyway.
    let limit = process::compile_limit(cargo::env_again(COMPILE_LIMIT_VARIABLE));
    let mut tokens = Tokens::of_environment();
    let mut outcomes: Vec<JobResult> = jobs.iter().map(|_| None).collect();
    let mut waiting: VecDeque<usize> = (0..jobs.len()).collect();
    let mut running: Vec<(usize, Running)> = Vec::new();
    let mut pause = Duration::from_micros(200);
    loop {
        let is_for_nothing = |index: usize, outcomes: &[JobResult]| {
            let needed = jobs[index].only_with.map(|needed| &outcomes[needed]);
            needed.is_some_and(|needed| matches!(needed, Some(Err(_))))
        };
        let before = running.len();
        running.retain_mut(|(index, running)| {
            // Dropping a `Running` stops its process.
            if is_for_nothing(*index, &outcomes) {
                return false;
            }
            outcomes[*index] = running.poll(limit);
            outcomes[*index].is_none()
        });
        // The first job uses the script's own token.
        tokens.keep(running.len().saturating_sub(1));
        waiting.retain(|index| !is_for_nothing(*index, &outcomes));
        while let Some(index) = waiting.front().copied()
            && (running.is_empty() || tokens.take())
        {
            waiting.pop_front();
            match Running::start(compiler, &jobs[index]) {
                Ok(started) => running.push((index, started)),
                Err(error) => outcomes[index] = Some(Err(error)),
            }
        }
        if running.is_empty() && waiting.is_empty() {
            return outcomes;
        }
        pause = if running.len() == before {
            (pause * 2).min(LONGEST_PAUSE)
        } else {
            Duration::from_micros(200)
        };
        std::thread::sleep(pause);
    }
}

struct Running {
    process: Process,
    source: PathBuf,
    /// The file with the diagnostics, next to the output.
    log: PathBuf,
    /// A command that reproduces the compilation.
    line: String,
}

impl Running {
    fn start(compiler: &Compiler, job: &Job) -> Result<Self> {
        let mut command = compiler.found.candidate.command();
        command.args(&job.flags);
        if let Some(depfile) = &job.depfile {
            command.args(["-MD", "-MF"]).arg(depfile);
        }
        command.arg("-o").arg(&job.output).arg(&job.source);
        let log = job.output.with_extension("log");
        let mut options = std::fs::File::options();
        options.read(true).write(true).create(true).truncate(true);
        let stderr = options.open(&log).map_err(Error::write(&log))?;
        let process = Process::start(command, Stdio::null(), Stdio::null(), stderr);
        Ok(Self {
            process: process.map_err(|source| Error::Start {
                program: compiler.program().to_owned(),
                source,
            })?,
            source: job.source.clone(),
            log,
            line: line_to_repeat(compiler, job),
        })
    }

    /// Returns the diagnostics once the compiler has exited, or `None` while it runs. Stops a compiler that exceeds
    /// `limit`.
    fn poll(&mut self, limit: Duration) -> Option<Result<String>> {
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
            Err(error) => Some(Err(Error::write(&self.log)(error))),
        }
    }

    fn outcome(&mut self, status: ExitStatus) -> Result<String> {
        let diagnostics = self.process.said().map_err(Error::write(&self.log))?;
        match status.code() {
            Some(0) => Ok(diagnostics),
            // Clang exits with this code for errors in the source, but without diagnostics if the disk is full.
            Some(1) if !diagnostics.trim().is_empty() => Err(Error::Compile {
                source_file: self.source.clone(),
                diagnostics,
            }),
            _ => Err(Error::Crash {
                source_file: self.source.clone(),
                how: status,
                command: self.line.clone(),
                diagnostics,
            }),
        }
    }
}

/// Returns a shell command that reproduces the compilation from any directory. The command writes its output to this
/// process's current directory, because the directory of `job.output` is deleted.
fn line_to_repeat(compiler: &Compiler, job: &Job) -> String {
    let output = OsStr::new("crash.syclbin");
    let arguments = job.flags.iter().map(OsString::as_os_str);
    let last = [OsStr::new("-o"), output, job.source.as_os_str()];
    let words = compiler.words().chain(arguments).chain(last).map(quoted);
    let line = words.collect::<Vec<_>>().join(" ");
    match std::env::current_dir() {
        Ok(folder) => format!("cd {} && {line}", quoted(folder.as_os_str())),
        Err(_) => line,
    }
}

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

    #[cfg(unix)]
    #[test]
    fn unreadable_compiler_log_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("a.log");
        // `create` opens the file only for writing, so reading it fails.
        let stderr = std::fs::File::create(&log).unwrap();
        let command = std::process::Command::new("true");
        let mut running = Running {
            process: Process::start(command, Stdio::null(), Stdio::null(), stderr).unwrap(),
            source: "a.cpp".into(),
            log: log.clone(),
            line: String::new(),
        };
        let result = loop {
            if let Some(result) = running.poll(process::compile_limit(None)) {
                break result;
            }
        };
        let said = result.unwrap_err().to_string();
        assert!(said.contains(log.to_str().unwrap()), "{said}");
    }
}
