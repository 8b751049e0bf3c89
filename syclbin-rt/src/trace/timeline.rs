// SPDX-License-Identifier: MIT OR Apache-2.0
//! Timelines: JSON in the Trace Event Format, which Chrome and Perfetto read.
//!
//! Process 0 is the host, with a track for each thread. Each device is another process, with a track for each queue.
//! All times are in microseconds on the host's clock.

use std::collections::HashSet;
use std::fmt::{self, Write as _};

use crate::trace::Class;
use crate::trace::collector::{Collector, Slice, State, Track};

/// Returns the timeline of all slices that began at `begun` or later.
pub(super) fn json(collector: &Collector, begun: u64) -> String {
    let mut text = String::from("{\"displayTimeUnit\":\"ns\",\"otherData\":{\"left_out\":");
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{}}},\"traceEvents\":[", collector.left_out);
    let _ = name(&mut text, "process_name", 0, 0, "host");
    for (index, clock) in collector.devices.iter().enumerate() {
        let device = clock.device.to_string();
        let _ = name(&mut text, "process_name", index + 1, 0, &device);
    }
    let unfinished = collector.pending.iter().map(|(slice, _)| slice);
    let slices = collector.slices.iter().chain(unfinished);
    let slices = slices.filter(|slice| slice.begun >= begun);
    let mut named = HashSet::new();
    for slice in slices {
        let (process, thread) = place(slice.track);
        if named.insert((process, thread)) {
            let kind = if process == 0 { "thread" } else { "queue" };
            let title = format!("{kind} {thread}");
            let _ = name(&mut text, "thread_name", process, thread, &title);
        }
        let _ = event(&mut text, collector, slice);
    }
    // JSON does not allow a comma after the last element.
    text.truncate(text.trim_end_matches([',', '\n']).len());
    text.push_str("\n]}\n");
    text
}

fn place(track: Track) -> (usize, u32) {
    match track {
        Track::Thread(number) => (0, number),
        Track::Queue { device, queue } => (device + 1, queue),
    }
}

/// Writes the metadata event that names a process or a thread.
fn name(text: &mut String, kind: &str, process: usize, thread: u32, name: &str) -> fmt::Result {
    writeln!(
        text,
        "{{\"ph\":\"M\",\"pid\":{process},\"tid\":{thread},\"name\":\"{kind}\",\"args\":{{\"name\":{}}}}},",
        Quoted(name)
    )
}

fn event(text: &mut String, collector: &Collector, slice: &Slice) -> fmt::Result {
    let (process, thread) = place(slice.track);
    let class = match slice.class {
        Class::Kernel => "kernel",
        Class::Memory => "memory",
        Class::Wait => "wait",
        Class::Program => "program",
    };
    let offset = match slice.track {
        Track::Thread(_) => 0,
        Track::Queue { device, .. } => collector.devices[device].offset.unwrap_or(0),
    };
    let name = Quoted(&slice.name);
    write!(
        text,
        "{{\"pid\":{process},\"tid\":{thread},\"cat\":\"{class}\",\"name\":{name},"
    )?;
    let reason = match slice.state {
        State::Ended { started, ended } => {
            let begun = u64::try_from(i128::from(started) + offset).unwrap_or_default();
            let duration = microseconds(ended.saturating_sub(started));
            let begun = microseconds(begun);
            write!(text, "\"ph\":\"X\",\"ts\":{begun},\"dur\":{duration},")?;
            None
        }
        State::Failed => Some("failed"),
        State::Untimed => Some("its queue does not record times"),
        State::Unfinished => Some("had not finished"),
    };
    let mut state = String::new();
    if let Some(reason) = reason {
        // An instant event, at the time when the command was enqueued.
        let begun = microseconds(slice.begun);
        write!(text, "\"ph\":\"i\",\"s\":\"t\",\"ts\":{begun},")?;
        state = format!(",\"state\":\"{reason}\"");
    }
    writeln!(text, "\"args\":{{\"bytes\":{}{state}}}}},", slice.bytes)
}

/// Formats nanoseconds as microseconds.
fn microseconds(time: u64) -> String {
    format!("{}.{:03}", time / 1000, time % 1000)
}

struct Quoted<'a>(&'a str);

impl fmt::Display for Quoted<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_char('"')?;
        for c in self.0.chars() {
            match c {
                '"' | '\\' => write!(f, "\\{c}")?,
                c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
                c => f.write_char(c)?,
            }
        }
        f.write_char('"')
    }
}
