// SPDX-License-Identifier: MIT OR Apache-2.0
//! Statistics: counts and times, grouped by name.

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use crate::trace::Class;
use crate::trace::collector::{Slice, State, Track};

/// The rows of all tables: one for each kernel, and one for each kind of copy, wait and program build.
#[derive(Default)]
pub(super) struct Statistics(BTreeMap<RowKey, Row>);

/// Identifies a row: the class, the name, and whether the times come from a device.
type RowKey = (Class, Box<str>, bool);

#[derive(Default)]
struct Row {
    count: u64,
    /// The number of slices that failed, did not finish, or were not timed.
    without_times: u64,
    bytes: u64,
    total: Duration,
    largest: Duration,
}

impl Statistics {
    pub(super) fn add(&mut self, slice: &Slice) {
        let on_device = matches!(slice.track, Track::Queue { .. });
        let key = (slice.class, slice.name.clone(), on_device);
        let row = self.0.entry(key).or_default();
        row.count += 1;
        row.bytes = row.bytes.saturating_add(slice.bytes as u64);
        if let State::Ended { started, ended } = slice.state {
            let time = Duration::from_nanos(ended.saturating_sub(started));
            row.total = row.total.saturating_add(time);
            row.largest = row.largest.max(time);
        } else {
            row.without_times += 1;
        }
    }
}

/// Formats the tables, sorted by descending total time.
impl fmt::Display for Statistics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sections = [
            (Class::Kernel, "kernels"),
            (Class::Memory, "copies and fills"),
            (Class::Wait, "waits"),
            (Class::Program, "programs"),
        ];
        writeln!(
            f,
            "\nsyclbin-rt: times on the device, or on the calling thread (host)"
        )?;
        for (class, title) in sections {
            let rows = self.0.iter().filter(|((of, ..), _)| *of == class);
            let mut rows: Vec<_> = rows.collect();
            if rows.is_empty() {
                continue;
            }
            rows.sort_by_key(|(_, row)| std::cmp::Reverse(row.total));
            writeln!(
                f,
                "\n{title:<40} {:>8} {:>11} {:>11} {:>11} {:>13}",
                "count", "total", "mean", "largest", "bytes"
            )?;
            for ((_, name, on_device), row) in rows {
                let place = if *on_device { "" } else { " (host)" };
                let name = format!("  {name}{place}");
                let timed = u32::try_from(row.count - row.without_times).unwrap_or(u32::MAX);
                let mean = row.total.checked_div(timed).unwrap_or_default();
                // `Debug` chooses the unit, from nanoseconds to seconds.
                let time = |time: Duration| format!("{time:.1?}");
                write!(
                    f,
                    "{name:<40} {:>8} {:>11} {:>11} {:>11} {:>13}",
                    row.count,
                    time(row.total),
                    time(mean),
                    time(row.largest),
                    row.bytes
                )?;
                match row.without_times {
                    0 => writeln!(f)?,
                    count => writeln!(f, "  {count} without times")?,
                }
            }
        }
        Ok(())
    }
}
