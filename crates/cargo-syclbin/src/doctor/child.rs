// SPDX-License-Identifier: MIT OR Apache-2.0
//! A child process that calls drivers: it may crash or hang without ending this program.

use std::fmt;
use std::io::{self, BufRead as _, BufReader, Read, Write as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

/// The number of bytes of standard error that a report shows, counted from the end.
const SHOWN: usize = 2_000;

/// How often a process is asked whether it has ended.
const PAUSE: Duration = Duration::from_millis(5);

/// How long output is awaited after its process has ended. Other processes may keep the pipe open.
const REST: Duration = Duration::from_millis(200);

/// How a child process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ended {
    /// Its exit status; `None` if it was killed because it wrote nothing for too long.
    pub(super) status: Option<ExitStatus>,
    /// The end of its standard error.
    pub(super) stderr: String,
    limit: Duration,
}

impl Ended {
    #[cfg(test)]
    pub(super) fn new(status: Option<ExitStatus>) -> Self {
        Self {
            status,
            stderr: String::new(),
            limit: Duration::from_secs(1),
        }
    }

    /// Returns whether the process ended by itself, with success.
    pub(super) fn is_success(&self) -> bool {
        self.status.is_some_and(|status| status.success())
    }
}

impl fmt::Display for Ended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.status {
            Some(status) => write!(f, "the driver ended the process: {status}")?,
            None => write!(
                f,
                "the driver did not answer within {} s",
                self.limit.as_secs()
            )?,
        }
        for line in self.stderr.lines() {
            write!(f, "\n{line}")?;
        }
        Ok(())
    }
}

/// Runs `command` with `input` as its standard input, and passes each line of its standard output to `line`. The
/// process is killed when it writes nothing for `limit`.
///
/// # Errors
///
/// When the process cannot be started or waited for.
pub(super) fn run(
    mut command: Command,
    input: Vec<u8>,
    limit: Duration,
    mut line: impl FnMut(&str),
) -> io::Result<Ended> {
    command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    if let Some(mut stdin) = child.stdin.take() {
        // A process that has ended reads nothing more.
        std::thread::spawn(move || drop(stdin.write_all(&input)));
    }
    let lines = read(child.stdout.take());
    let errors = read(child.stderr.take());
    let mut answers = true;
    loop {
        match lines.recv_timeout(limit) {
            Ok(text) => line(&text),
            Err(RecvTimeoutError::Disconnected) => break,
            Err(RecvTimeoutError::Timeout) => {
                answers = false;
                break;
            }
        }
    }
    let status = if answers {
        wait(&mut child, limit)?
    } else {
        None
    };
    if status.is_none() {
        // It may have ended meanwhile.
        let _ = child.kill();
        child.wait()?;
    }
    Ok(Ended {
        status,
        stderr: last(&errors),
        limit,
    })
}

/// Reads lines in a thread. The channel closes at their end.
fn read(output: Option<impl Read + Send + 'static>) -> Receiver<String> {
    let (sender, lines) = mpsc::channel();
    if let Some(output) = output {
        std::thread::spawn(move || {
            for line in BufReader::new(output).split(b'\n') {
                let Ok(line) = line else { break };
                let line = String::from_utf8_lossy(&line).into_owned();
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
    }
    lines
}

/// Waits for the end of a process; `None` if it takes longer than `limit`.
fn wait(child: &mut Child, limit: Duration) -> io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    loop {
        let status = child.try_wait()?;
        if status.is_some() || start.elapsed() >= limit {
            return Ok(status);
        }
        std::thread::sleep(PAUSE);
    }
}

/// Returns the last lines of standard error.
fn last(errors: &Receiver<String>) -> String {
    let mut lines = Vec::new();
    while let Ok(line) = errors.recv_timeout(REST) {
        lines.push(line);
    }
    let mut size = 0;
    let shown = lines.iter().rev().take_while(|line| {
        size += line.len() + 1;
        size <= SHOWN
    });
    let mut shown: Vec<&str> = shown.map(String::as_str).collect();
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
        let ended = run(command, b"input\n".to_vec(), limit, |line| {
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
            text.starts_with("the driver ended the process: signal: 6")
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
        assert_eq!(ended.status, None, "it closed its output and did not end");
    }

    #[test]
    fn only_the_end_of_long_errors_is_shown() {
        let (_, ended) = sh("seq 10000 >&2", LONG);
        assert!(ended.stderr.ends_with("\n10000") && ended.stderr.len() < SHOWN);
    }
}
