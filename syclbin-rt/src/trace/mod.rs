// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records which commands ran on which queue and when, as a timeline or as a table.
//!
//! Two environment variables enable recording in any program that uses this crate:
//!
//! - `SYCLBIN_TRACE=trace.json` writes a timeline when the program exits. Open it in <https://ui.perfetto.dev> or
//!   `chrome://tracing`. `%p` in the name is replaced with the process ID.
//! - `SYCLBIN_STATS=1` prints a table to standard error when the program exits. It lists the number of launches of
//!   each kernel, with the total, mean and maximum time on the device. It also lists the bytes that were copied, and
//!   the times of waits, compilations and cache hits.
//!
//! To trace part of a program, use [`start`]. Launches and asynchronous copies appear on the track of their queue, with
//! times from the device. Blocking calls, such as uploads, reads, writes, waits and compilations, appear on the track
//! of their thread. A trace is written when it ends, so a process that is killed does not write one.
//!
//! While a trace or a table is being recorded, new queues record times as with
//! [`QueueOptions::profiling`](crate::QueueOptions::profiling), which may slow them down. Otherwise, the
//! only overhead of a launch is reading one variable.
//!
//! ```no_run
//! # fn main() -> syclbin_rt::Result<()> {
//! let trace = syclbin_rt::trace::start("upload.json");
//! let queue = syclbin_rt::Device::best()?.queue()?;
//! let x = queue.upload(&[1.0f32; 1024])?;
//! trace.finish()?;
//! # drop(x);
//! # Ok(())
//! # }
//! ```
//!
//! The feature `tracing` reports the same calls and commands to subscribers of the `tracing` crate, under the target
//! `syclbin_rt`: blocking calls as spans, and enqueued commands as events, without times from the device. The level is
//! `DEBUG` for compiling or loading a program, and `TRACE` for everything else.

mod collector;
mod statistics;
#[cfg(test)]
mod tests;
mod timeline;

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, Once, OnceLock, PoisonError};
use std::time::Instant;

use crate::backend::{self, gate};
use crate::error::{Error, ErrorKind, Result};
use crate::queue::Queue;
use collector::{Collector, Slice, State, Track, thread_number};

/// The kind of a recorded command or call.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Class {
    Kernel,
    /// Copies or fills memory.
    Memory,
    /// Waits, or orders commands.
    Wait,
    /// Compiles or loads a program.
    Program,
}

/// The number of active traces and tables.
static RECORDERS: AtomicUsize = AtomicUsize::new(0);

#[inline]
pub(crate) fn is_on() -> bool {
    needs_times() || has_subscriber()
}

/// Returns whether new queues must record times.
#[inline]
pub(crate) fn needs_times() -> bool {
    RECORDERS.load(Ordering::Relaxed) > 0
}

/// Returns whether a subscriber of the `tracing` crate accepts this crate's spans.
#[inline]
fn has_subscriber() -> bool {
    #[cfg(feature = "tracing")]
    return ::tracing::enabled!(target: TARGET, ::tracing::Level::DEBUG);
    #[cfg(not(feature = "tracing"))]
    false
}

#[cfg(feature = "tracing")]
const TARGET: &str = "syclbin_rt";

/// Records a command that was enqueued on `queue`. Call this only if [`is_on`] returns `true`.
#[cold]
pub(crate) fn command(
    queue: &Queue,
    class: Class,
    name: &str,
    bytes: usize,
    event: &backend::Event,
) {
    #[cfg(feature = "tracing")]
    ::tracing::trace!(target: TARGET, name, bytes, queue = queue.number(), "enqueued");
    if needs_times() {
        let begun = now();
        Collector::with(|collector| {
            let (device, queue) = (collector.device(queue.device()), queue.number());
            let slice = Slice {
                track: Track::Queue { device, queue },
                class,
                name: name.into(),
                bytes,
                begun,
                state: State::Unfinished,
            };
            collector.command(slice, event);
        });
    }
}

/// A blocking call into this crate. It lasts from creation to drop.
#[must_use = "the call ends when this is dropped"]
pub(crate) struct Span {
    /// `None` if no trace or table is being recorded.
    call: Option<Slice>,
    #[cfg(feature = "tracing")]
    _entered: Option<::tracing::span::EnteredSpan>,
}

/// Records a call that starts now and ends when the result is dropped.
#[inline]
pub(crate) fn span(class: Class, name: &'static str, bytes: usize) -> Span {
    Span {
        call: needs_times().then(|| Slice {
            track: Track::Thread(thread_number()),
            class,
            name: name.into(),
            bytes,
            begun: now(),
            state: State::Unfinished,
        }),
        #[cfg(feature = "tracing")]
        _entered: has_subscriber().then(|| entered(class, name, bytes)),
    }
}

#[cfg(feature = "tracing")]
fn entered(class: Class, name: &'static str, bytes: usize) -> ::tracing::span::EnteredSpan {
    match class {
        Class::Program => ::tracing::debug_span!(target: TARGET, "program", name),
        _ => ::tracing::trace_span!(target: TARGET, "call", name, bytes),
    }
    .entered()
}

impl Span {
    /// Changes the name in traces and tables, once the outcome of the call is known.
    pub(crate) fn rename(&mut self, name: &'static str) {
        if let Some(call) = &mut self.call {
            call.name = name.into();
        }
    }
}

impl Drop for Span {
    #[inline]
    fn drop(&mut self) {
        if let Some(mut call) = self.call.take() {
            call.state = State::Ended {
                started: call.begun,
                ended: now(),
            };
            Collector::with(|collector| collector.keep(call));
        }
    }
}

/// Returns the time in nanoseconds since this function was first called.
fn now() -> u64 {
    static EPOCH: OnceLock<Instant> = OnceLock::new();
    let elapsed = EPOCH.get_or_init(Instant::now).elapsed();
    u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX)
}

/// Starts a trace that [`Trace::finish`] writes to the file `path`.
///
/// Create queues afterwards: an existing queue records times only if it was created with profiling. Several traces may
/// be active at once.
pub fn start(path: impl AsRef<Path>) -> Trace {
    apply_settings();
    begin(path.as_ref().to_owned(), now())
}

fn begin(path: PathBuf, begun: u64) -> Trace {
    RECORDERS.fetch_add(1, Ordering::Relaxed);
    Collector::with(|collector| collector.traces += 1);
    Trace {
        // The program may change its current directory before the trace ends.
        path: std::path::absolute(&path).unwrap_or(path),
        begun,
        written: false,
    }
}

/// A trace that is being recorded. Created by [`start`].
///
/// Dropping it also writes the file, but does not report errors.
#[must_use = "dropping it ends the trace"]
pub struct Trace {
    path: PathBuf,
    begun: u64,
    written: bool,
}

impl Trace {
    /// Ends the trace and writes its file, in the Trace Event Format of Chrome and Perfetto.
    ///
    /// Wait for the queues first ([`Queue::wait`](crate::Queue::wait)): a command that has not finished has no duration
    /// in the trace. The file is replaced atomically. FIFOs and devices are written in place; opening a FIFO blocks
    /// until it has a reader.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Io`] if the file cannot be written, or if a hanging driver call in another thread blocks
    /// access to the recorded data.
    pub fn finish(mut self) -> Result<()> {
        self.write()
    }

    fn write(&mut self) -> Result<()> {
        if std::mem::replace(&mut self.written, true) {
            return Ok(());
        }
        let text = Collector::with(|collector| {
            collector.harvest();
            let text = timeline::json(collector, self.begun);
            collector.end();
            text
        });
        RECORDERS.fetch_sub(1, Ordering::Relaxed);
        let written = match text {
            Some(text) => write_whole(&self.path, text.as_bytes()),
            None => Err(std::io::Error::other(
                "a driver call that hangs in another thread blocks access to the recorded data",
            )),
        };
        written.map_err(|error| {
            let message = format_args!("cannot write the trace {}", self.path.display());
            Error::caused_by(ErrorKind::Io, message, error)
        })
    }
}

impl Drop for Trace {
    fn drop(&mut self) {
        let _ = self.write();
    }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Trace({})", self.path.display())
    }
}

/// Writes a temporary file next to the target and renames it. Follows symbolic links. Writes to devices and FIFOs
/// in place, because a rename would replace them.
fn write_whole(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let path = &path.canonicalize().unwrap_or_else(|_| path.to_owned());
    if path.metadata().is_ok_and(|found| !found.is_file()) {
        let mut file = std::fs::OpenOptions::new().write(true).open(path)?;
        return file.write_all(bytes);
    }
    let mut beside = path.as_os_str().to_owned();
    // Several traces may end at the same time.
    static WRITTEN: AtomicUsize = AtomicUsize::new(0);
    let number = WRITTEN.fetch_add(1, Ordering::Relaxed);
    beside.push(format!(".{}.{number}.tmp", std::process::id()));
    let beside = PathBuf::from(beside);
    let written = std::fs::write(&beside, bytes).and_then(|()| std::fs::rename(&beside, path));
    if written.is_err() {
        let _ = std::fs::remove_file(&beside);
    }
    written
}

const FILE_VARIABLE: &str = "SYCLBIN_TRACE";
const TABLE_VARIABLE: &str = "SYCLBIN_STATS";

/// The trace that `SYCLBIN_TRACE` requests. It ends when the process exits.
static TRACE: Mutex<Option<Trace>> = Mutex::new(None);

/// On the first call, starts recording the trace and the table that the environment requests.
pub(crate) fn apply_settings() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let path = value(FILE_VARIABLE);
        let prints = value(TABLE_VARIABLE).is_some_and(|value| value != "0");
        if path.is_none() && !prints {
            return;
        }
        if let Some(path) = path {
            let trace = begin(with_process(&path.to_string_lossy(), std::process::id()), 0);
            *TRACE.lock().unwrap_or_else(PoisonError::into_inner) = Some(trace);
        }
        if prints {
            RECORDERS.fetch_add(1, Ordering::Relaxed);
            Collector::with(|collector| collector.prints = true);
        }
        gate::before_closing(at_exit);
    });
}

fn value(variable: &str) -> Option<OsString> {
    std::env::var_os(variable).filter(|value| !value.is_empty())
}

/// Replaces `%p` with the process ID.
fn with_process(path: &str, process: u32) -> PathBuf {
    path.replace("%p", &process.to_string()).into()
}

/// Writes the trace and prints the table that the environment requested. Runs while drivers still accept calls.
fn at_exit() {
    let trace = TRACE.lock().unwrap_or_else(PoisonError::into_inner).take();
    // Unlike `eprint!`, writing to standard error does not panic if it is closed or full.
    if let Some(Err(error)) = trace.map(Trace::finish) {
        let _ = writeln!(io::stderr(), "{error}");
    }
    let table = Collector::with(|collector| {
        collector.harvest();
        for (unfinished, _) in &collector.pending {
            collector.statistics.add(unfinished);
        }
        std::mem::take(&mut collector.prints).then(|| collector.statistics.to_string())
    });
    if let Some(Some(table)) = table {
        let _ = write!(io::stderr(), "{table}");
    }
}
