// SPDX-License-Identifier: MIT OR Apache-2.0
//! One process with time limits: it and all that it started are killed when the time is over.

use std::io::Read;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How often a process is looked at.
const POLL: Duration = Duration::from_millis(10);
/// How long a killed process may take to end, and pipes to be empty after it. A process that waits
/// for a driver may never end.
const GRACE: Duration = Duration::from_secs(5);
/// How many bytes of each stream are kept.
const KEPT: usize = 32 << 20;

/// How long a process may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// In all.
    pub(crate) total: Duration,
    /// Without printing anything.
    pub(crate) silent: Option<Duration>,
}

/// How a process ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// With this exit status.
    Exit(i32),
    /// By this signal.
    Signal(i32),
    /// It was killed, after so much time.
    Killed {
        /// Whether it had printed nothing for too long.
        silent: bool,
        /// The limit that it exceeded.
        limit: Duration,
    },
    /// It did not start.
    NotStarted(String),
}

/// A process that has ended.
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

/// Runs `command` to its end, or for as long as `limits` allow.
pub(crate) fn run(command: &mut Command, limits: Limits) -> Ended {
    let start = Instant::now();
    command
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        // A group of its own, so that what it starts can be killed with it.
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
    // Also where it has ended: what it started may still run, and hold the pipes.
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

/// Waits until the process ends or exceeds a limit.
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
    // An error says that the group is empty.
    let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
}

/// What a thread has read of a pipe.
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

    /// The end of both streams.
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

/// The end of a text, from the start of a line where there is one.
pub(crate) fn tail(text: &str) -> &str {
    const LENGTH: usize = 6000;
    let Some(excess) = text.len().checked_sub(LENGTH) else {
        return text;
    };
    let start = (excess..text.len()).find(|index| text.is_char_boundary(*index));
    let end = &text[start.unwrap_or(text.len())..];
    end.split_once('\n').map_or(end, |(_, lines)| lines)
}
