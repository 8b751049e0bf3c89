// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process with time limits. When it exceeds a limit, it is killed with all of its children.

use std::io::Read;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

const POLL: Duration = Duration::from_millis(10);
/// How long to wait for a killed process to end, and then for its pipes to close. A process that waits for a driver
/// may never end.
const GRACE: Duration = Duration::from_secs(5);
/// If a stream exceeds this many bytes, its beginning is dropped.
const KEPT: usize = 32 << 20;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The limit for the whole run.
    pub(crate) total: Duration,
    /// The limit for a period without output.
    pub(crate) silent: Option<Duration>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// The process exited with this status.
    Exit(i32),
    /// This signal terminated the process.
    Signal(i32),
    /// The process was killed because it exceeded a limit.
    Killed {
        /// Whether it was silent for too long.
        silent: bool,
        /// The limit that it exceeded.
        limit: Duration,
    },
    /// The process could not be started.
    NotStarted(String),
}

#[derive(Clone, Debug)]
pub(crate) struct Ended {
    pub(crate) end: End,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
    pub(crate) took: Duration,
}

impl Limits {
    pub(crate) fn total(total: Duration) -> Self {
        Self {
            total,
            silent: None,
        }
    }
}

/// Runs `command` until it ends or exceeds a limit.
pub(crate) fn run(command: &mut Command, limits: Limits) -> Ended {
    let start = Instant::now();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A process group, so that killing it also kills its children.
        .process_group(0);
    let mut child = match command.spawn() {
        Ok(child) => child,
        Err(error) => {
            return Ended {
                end: End::NotStarted(error.to_string()),
                stdout: String::new(),
                stderr: String::new(),
                took: start.elapsed(),
            };
        }
    };
    let streams = [
        Stream::read(child.stdout.take()),
        Stream::read(child.stderr.take()),
    ];
    let end = wait(&mut child, start, limits, &streams);
    let took = start.elapsed();
    // Even if the process has ended, its children may still run and hold the pipes open.
    kill_group(&child);
    if matches!(end, End::Killed { .. }) {
        let until = Instant::now() + GRACE;
        while Instant::now() < until && matches!(child.try_wait(), Ok(None)) {
            thread::sleep(POLL);
        }
    }
    let until = Instant::now() + GRACE;
    while Instant::now() < until && streams.iter().any(|stream| !stream.has_ended()) {
        thread::sleep(POLL);
    }
    let [stdout, stderr] = streams.map(|stream| stream.text());
    Ended {
        end,
        stdout,
        stderr,
        took,
    }
}

fn wait(child: &mut Child, start: Instant, limits: Limits, streams: &[Stream; 2]) -> End {
    loop {
        match child.try_wait() {
            Ok(Some(status)) => return ended(status),
            Ok(None) => {}
            Err(error) => return End::NotStarted(error.to_string()),
        }
        if start.elapsed() > limits.total {
            return End::Killed {
                silent: false,
                limit: limits.total,
            };
        }
        let last = streams.iter().filter_map(Stream::last).max();
        if let Some(limit) = limits.silent
            && last.unwrap_or(start).elapsed() > limit
        {
            return End::Killed {
                silent: true,
                limit,
            };
        }
        thread::sleep(POLL);
    }
}

fn ended(status: ExitStatus) -> End {
    match (status.code(), status.signal()) {
        (Some(code), _) => End::Exit(code),
        (None, signal) => End::Signal(signal.unwrap_or_default()),
    }
}

fn kill_group(child: &Child) {
    // An error means that the group is empty.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// The output that a thread has read from a pipe.
#[derive(Clone, Default)]
struct Stream {
    read: Arc<Mutex<Content>>,
    has_ended: Arc<AtomicBool>,
}

#[derive(Default)]
struct Content {
    bytes: Vec<u8>,
    last: Option<Instant>,
}

impl Stream {
    fn read(pipe: Option<impl Read + Send + 'static>) -> Self {
        let stream = Self::default();
        let Some(mut pipe) = pipe else {
            stream.has_ended.store(true, Ordering::Release);
            return stream;
        };
        let writer = stream.clone();
        thread::spawn(move || {
            let mut buffer = [0; 8192];
            while let Ok(count @ 1..) = pipe.read(&mut buffer) {
                writer.push(&buffer[..count]);
            }
            writer.has_ended.store(true, Ordering::Release);
        });
        stream
    }

    fn push(&self, bytes: &[u8]) {
        let mut read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.last = Some(Instant::now());
        read.bytes.extend_from_slice(bytes);
        if read.bytes.len() > KEPT {
            let excess = read.bytes.len() - KEPT / 2;
            read.bytes.drain(..excess);
        }
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire)
    }

    fn last(&self) -> Option<Instant> {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        read.last
    }

    fn text(&self) -> String {
        let read = self.read.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8_lossy(&read.bytes).into_owned()
    }
}

impl Ended {
    pub(crate) fn succeeded(&self) -> bool {
        self.end == End::Exit(0)
    }

    /// Returns the end of both streams.
    pub(crate) fn tail(&self) -> String {
        let streams = [&self.stdout, &self.stderr].map(|text| tail(text.trim_end()));
        streams.join("\n").trim().to_owned()
    }
}

impl std::fmt::Display for End {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Exit(code) => write!(f, "it ended with exit status {code}"),
            Self::Signal(signal) => match Signal::from_named_raw(*signal) {
                Some(named) => {
                    let named = format!("{named:?}");
                    let named = named.trim_matches('"').trim_start_matches("Signal::");
                    write!(f, "it was ended by signal {signal} ({named})")
                }
                None => write!(f, "it was ended by signal {signal}"),
            },
            Self::Killed { silent, limit } => {
                let what = if *silent {
                    "printed nothing for"
                } else {
                    "ran for"
                };
                write!(f, "it {what} {} s and was killed", limit.as_secs())
            }
            Self::NotStarted(error) => write!(f, "it did not start: {error}"),
        }
    }
}

/// Returns the end of a text, from the start of a line if possible.
pub(crate) fn tail(text: &str) -> &str {
    const LENGTH: usize = 6000;
    let Some(excess) = text.len().checked_sub(LENGTH) else {
        return text;
    };
    let start = (excess..text.len()).find(|index| text.is_char_boundary(*index));
    let end = &text[start.unwrap_or(text.len())..];
    end.split_once('\n').map_or(end, |(_, lines)| lines)
}
