// SPDX-License-Identifier: MIT OR Apache-2.0
//! The environment variables that enable traces, and the output when the process exits.

use std::ffi::OsString;
use std::fmt;
use std::io::{self, Write as _};
use std::path::PathBuf;
use std::sync::atomic::Ordering;
use std::sync::{Mutex, Once, PoisonError};

use crate::backend::gate;
use crate::trace::collector::{Collector, Unfinished};
use crate::trace::{RECORDERS, Trace};

const FILE_VARIABLE: &str = "SYCLBIN_TRACE";
const TABLE_VARIABLE: &str = "SYCLBIN_STATS";

/// The trace that `SYCLBIN_TRACE` requests. It ends when the process exits.
static TRACE: Mutex<Option<Trace>> = Mutex::new(None);

/// On the first call, starts the traces that the environment requests.
pub(crate) fn apply() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let path = value(FILE_VARIABLE);
        let prints = value(TABLE_VARIABLE).is_some_and(|value| value != "0");
        if path.is_none() && !prints {
            return;
        }
        if let Some(path) = path {
            RECORDERS.fetch_add(1, Ordering::Relaxed);
            Collector::with(Collector::begin);
            let trace = Trace {
                path: with_process(&path.to_string_lossy(), std::process::id()),
                begun: 0,
                written: false,
            };
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
pub(super) fn with_process(path: &str, process: u32) -> PathBuf {
    path.replace("%p", &process.to_string()).into()
}

/// Writes the recorded data. Runs while drivers still accept calls.
fn at_exit() {
    let trace = TRACE.lock().unwrap_or_else(PoisonError::into_inner).take();
    if let Some(trace) = trace
        && let Err(error) = trace.finish()
    {
        print(format_args!("{error}\n"));
    }
    let table = Collector::with(|collector| {
        collector.harvest(Unfinished::Include);
        let prints = std::mem::take(&mut collector.prints);
        prints.then(|| collector.statistics.to_string())
    });
    if let Some(Some(table)) = table {
        print(format_args!("{table}"));
    }
}

/// Prints to standard error. Unlike `eprint!`, this does not panic if standard error is closed or full.
fn print(text: fmt::Arguments<'_>) {
    let _ = io::stderr().write_fmt(text);
}
