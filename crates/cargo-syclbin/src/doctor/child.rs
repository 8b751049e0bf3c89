// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs a child process that calls drivers, so that a crash or hang cannot take down this program.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Seek as _, Write as _};
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use syclbin_build::process::Process;

/// The maximum number of lines that a report shows from the end of standard error.
const SHOWN: usize = 40;

/// The interval for polling whether a process has exited.
const PAUSE: Duration = Duration::from_millis(5);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// The exit status; `None` if the process was killed because it wrote nothing to standard output for `limit`.
    pub(super) status: Option<ExitStatus>,
    /// The last lines of standard error.
    pub(super) stderr: String,
    limit: Duration,
}

impl Ended {
    #[cfg(all(test, unix))]
    pub(super) fn new(status: Option<ExitStatus>) -> Self {
        Self {
            status,
            stderr: String::new(),
            limit: Duration::from_secs(1),
        }
    }

    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "the driver terminated the process: {status}")?,
            None => {
                let limit = self.limit.as_secs();
                write!(f, "the driver did not respond within {limit} s")?;
            }
        }
        for line in self.stderr.lines() {
            write!(f, "\n{line}")?;
        }
        Ok(())
    }
}

/// Runs `command` with `input` as standard input, and passes each line of standard output to `line`. Kills the
/// process if it writes nothing to standard output for `limit`.
///
/// # Errors
///
/// Fails if the process cannot be started or waited for.
pub(super) fn run(
    command: Command,
    input: &[u8],
    limit: Duration,
    mut line: impl FnMut(&str),
) -> io::Result<Ended> {
    let mut stdin = tempfile::tempfile()?;
    stdin.write_all(input)?;
    stdin.rewind()?;
    let stdout = tempfile::NamedTempFile::new()?;
    // Reopen the file, so that the reader has its own position.
    let mut output = BufReader::new(stdout.reopen()?);
    let mut process = Process::start(command, stdin, stdout.reopen()?, tempfile::tempfile()?)?;
    let (mut text, mut last) = (Vec::new(), Instant::now());
    let status = loop {
        // Check for the exit before reading, so that the last output is not lost.
        let status = process.ended()?;
        while output.read_until(b'\n', &mut text)? > 0 {
            last = Instant::now();
            if let Some(whole) = text.strip_suffix(b"\n") {
                line(&String::from_utf8_lossy(whole));
                text.clear();
            }
        }
        if status.is_some() || last.elapsed() >= limit {
            break status;
        }
        std::thread::sleep(PAUSE);
    };
    if !text.is_empty() {
        line(&String::from_utf8_lossy(&text));
    }
    process.stop();
    Ok(Ended {
        status,
        stderr: end_of(&process.said()?),
        limit,
    })
}

fn end_of(errors: &str) -> String {
    let mut shown: Vec<&str> = errors.lines().rev().take(SHOWN).collect();
    shown.reverse();
    shown.join("\n")
}

#[cfg(all(test, unix))]
mod tests {
    use super::*;

    fn sh(script: &str, limit: Duration) -> (Vec<String>, Ended) {
        let mut command = Command::new("/bin/sh");
        command.args(["-c", script]);
        let mut lines = Vec::new();
        let ended = run(command, b"input\n", limit, |line| {
            lines.push(line.to_owned());
        });
        (lines, ended.expect("a shell runs"))
    }

    const LONG: Duration = Duration::from_secs(60);
    const SHORT: Duration = Duration::from_millis(300);

    #[test]
    fn input_and_output_pass_through() {
        let (lines, ended) = sh("cat; echo two", LONG);
        assert_eq!(lines, ["input", "two"]);
        assert!(ended.is_success());
    }

    #[test]
    fn crash_is_reported_with_last_words() {
        let (lines, ended) = sh("echo one; echo broken >&2; kill -ABRT $$", LONG);
        assert_eq!(lines, ["one"]);
        assert!(!ended.is_success());
        let text = ended.to_string();
        assert!(
            text.starts_with("the driver terminated the process: signal: 6")
                && text.ends_with("\nbroken"),
            "{text}"
        );
    }

    #[test]
    fn hang_ends_although_a_grandchild_lives() {
        let (lines, ended) = sh("echo one; sleep 60; echo two", SHORT);
        assert_eq!(lines, ["one"]);
        assert_eq!(ended.status, None);
        let (_, ended) = sh("exec 1>&-; sleep 60", SHORT);
        assert_eq!(
            ended.status, None,
            "the child closed its output but did not exit"
        );
    }

    #[test]
    fn only_the_end_of_long_errors_is_shown() {
        let (_, ended) = sh("seq 10000 >&2", LONG);
        assert!(ended.stderr.ends_with("\n10000"));
        assert_eq!(ended.stderr.lines().count(), SHOWN);
    }
}
