// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is printed: times side by side, what they mean, and whether the goals are met.

use std::collections::BTreeSet;

use crate::files::Container;

/// A line of the table; times in nanoseconds, or why there is none.
pub(crate) struct Row {
    pub(crate) name: String,
    pub(crate) container: Container,
    pub(crate) what: &'static str,
    pub(crate) bytes: usize,
    pub(crate) ours: Result<f64, String>,
    pub(crate) llvm: Result<f64, String>,
    /// Everything read, for information.
    pub(crate) all: Option<Result<f64, String>>,
}

impl Row {
    /// Ours over LLVM's.
    fn ratio(&self) -> Option<f64> {
        Some(self.ours.as_ref().ok()? / self.llvm.as_ref().ok()?)
    }
}

pub(crate) fn heading() {
    println!(
        "{:<24} {:<13} {:<5} {:>11} {:>9} {:>9} {:>6} {:>9}",
        "file", "container", "what", "bytes", "ours", "LLVM", "ratio", "full read"
    );
}

pub(crate) fn row(row: &Row) {
    let time = |time: &Result<f64, String>| match time {
        Ok(time) => duration(*time),
        Err(_) => "-".to_owned(),
    };
    println!(
        "{:<24} {:<13} {:<5} {:>11} {:>9} {:>9} {:>6} {:>9}",
        row.name,
        row.container.name(),
        row.what,
        row.bytes,
        time(&row.ours),
        time(&row.llvm),
        row.ratio().map_or_else(|| "-".to_owned(), ratio),
        row.all.as_ref().map(time).unwrap_or_default(),
    );
}

pub(crate) fn notes(said: &BTreeSet<String>) {
    println!(
        "
open: what a user calls first. Ours is the reader of SYCLBIN; LLVM's is OffloadBinary::create. In
    a file of version 1, LLVM's reader is done after the wrapper's header and its one entry: it
    does not know SYCLBIN and looks at no module, no metadata and no image. Ours finds those.
walk: like for like. All entries of an OffloadBinary with all their strings, collected and looked
    at, on both sides; neither looks into an image. LLVM's keeps strings in a map, ours in a list.
full read: ours, for information: all property sets parsed, every record checked.
as written: SYCLBIN 1 in an OffloadBinary version 2. SYCLBIN 1: in an OffloadBinary version 1.
SYCLBIN 2: an OffloadBinary version 2 with an entry for the file, each module and each image.
concatenated: the entries of SYCLBIN 2, each in an OffloadBinary version 1 of its own.
images: each in a module of its own, with one kernel. Ratios are ours over LLVM's: below 1 is faster."
    );
    for note in said {
        println!("{note}");
    }
}

/// Ratios up to this are a tie: two runs of the same code differ by as much.
const TIE: f64 = 1.05;

pub(crate) fn goals(rows: &[Row]) {
    println!("\ngoal: never slower than LLVM's reader on the same file");
    let (mut faster, mut even, mut missed) = (0, 0, 0);
    for row in rows {
        let why = match (&row.ours, row.ratio()) {
            (Err(_), _) => "we do not read it".to_owned(),
            (_, None) => continue,
            (_, Some(of)) if of <= 1.0 => {
                faster += 1;
                continue;
            }
            (_, Some(of)) if of <= TIE => {
                even += 1;
                continue;
            }
            (_, Some(of)) => format!("{} times LLVM's time", ratio(of)),
        };
        missed += 1;
        let (container, what) = (row.container.name(), row.what);
        println!("    {}, {container}, {what}: {why}", row.name);
    }
    let verdict = match (missed, faster + even) {
        (0, 0) => "nothing to compare with",
        (0, _) => "met",
        _ => "not met",
    };
    println!("    {verdict}: {faster} faster, {even} even (within 5 %), {missed} not");

    println!("goal: images of 1 MB within twice of images of 1 kB");
    let mut compared = 0;
    for large in rows.iter().filter(|row| row.name.ends_with(" of 1 MB")) {
        let name = large.name.replace(" MB", " kB");
        let same = |row: &&Row| {
            row.name == name && row.container == large.container && row.what == large.what
        };
        let Some(small) = rows.iter().find(same) else {
            continue;
        };
        let growth = |large: &Result<f64, String>, small: &Result<f64, String>| {
            Some(large.as_ref().ok()? / small.as_ref().ok()?)
        };
        let (container, what) = (large.container.name(), large.what);
        let Some(of) = growth(&large.ours, &small.ours) else {
            println!("    {container}, {what}: we do not read it");
            continue;
        };
        compared += 1;
        let verdict = if of <= 2.0 { "met" } else { "not met" };
        let theirs = growth(&large.llvm, &small.llvm);
        let theirs = theirs.map_or_else(String::new, |of| format!("; LLVM's {}", ratio(of)));
        println!(
            "    {container}, {what}: {verdict}, {} times{theirs}",
            ratio(of)
        );
    }
    if compared == 0 {
        println!("    nothing to compare");
    }
}

fn ratio(ratio: f64) -> String {
    if ratio < 10.0 {
        format!("{ratio:.2}")
    } else {
        format!("{ratio:.0}")
    }
}

/// Nanoseconds, in three digits and a unit.
fn duration(nanoseconds: f64) -> String {
    let (number, unit) = match nanoseconds {
        ..1e3 => (nanoseconds, "ns"),
        1e3..1e6 => (nanoseconds / 1e3, "us"),
        1e6..1e9 => (nanoseconds / 1e6, "ms"),
        _ => (nanoseconds / 1e9, "s"),
    };
    let digits = match number {
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{number:.digits$} {unit}")
}
