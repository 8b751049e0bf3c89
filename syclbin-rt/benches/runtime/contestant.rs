// SPDX-License-Identifier: MIT OR Apache-2.0
//! Those that launch kernels, each in a process of its own: this program again, asked over a pipe.
//!
//! One more contestant is a type with a [`Contestant`] and a line in [`ALL`].

use std::io::{BufRead, Write};
use std::time::Instant;

use crate::raw::Raw;
use crate::repeated::{PreparedStub, Recorded};
use crate::stub::{SafeStub, Stub};

/// How many arguments the kernel takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    Two,
    Four,
    Ten,
    Forty,
    SeventySeven,
}

impl Arguments {
    pub(crate) const ALL: [Self; 5] = [
        Self::Two,
        Self::Four,
        Self::Ten,
        Self::Forty,
        Self::SeventySeven,
    ];

    pub(crate) fn count(self) -> u32 {
        match self {
            Self::Two => 2,
            Self::Four => 4,
            Self::Ten => 10,
            Self::Forty => 40,
            Self::SeventySeven => 77,
        }
    }

    /// How many of them are buffers. The others are integers and floating-point numbers in turn.
    pub(crate) fn buffers(self) -> usize {
        match self {
            Self::Two => 1,
            Self::Four => 2,
            _ => 4,
        }
    }

    fn from_word(word: &str) -> Option<Self> {
        let mut all = Self::ALL.into_iter();
        all.find(|arguments| arguments.count().to_string() == word)
    }
}

/// A way to launch kernels. One work-item in a work-group of one, on a queue that keeps the order.
pub(crate) trait Contestant: Sized {
    /// Loads the kernels, and makes the memory they work on.
    fn new() -> Result<Self, String>;

    /// The name of the device.
    fn device(&self) -> String;

    /// Puts a kernel into the queue.
    fn launch(&mut self, arguments: Arguments) -> Result<(), String>;

    /// Puts it in so many times.
    fn batch(&mut self, arguments: Arguments, count: u32) -> Result<(), String> {
        for _ in 0..count {
            self.launch(arguments)?;
        }
        Ok(())
    }

    /// Waits until everything in the queue has finished.
    fn finish(&mut self) -> Result<(), String>;
}

/// A contestant: what it is called, what it does, and the process of it.
pub(crate) struct Entry {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    run: fn(&[&str]) -> Result<(), String>,
}

/// Against this one the others are measured.
pub(crate) const RAW: &str = "raw";
/// The goal is about this one.
pub(crate) const STUB: &str = "stub";
/// The same where nothing can be reused.
pub(crate) const CHANGING: &str = "stub, all change";

/// All that are part of this program.
pub(crate) const ALL: [Entry; 8] = [
    Entry {
        name: RAW,
        what: "cl3: clSetKernelArg for each argument, clEnqueueNDRangeKernel with an event, clReleaseEvent",
        run: run::<Raw<true, false>>,
    },
    Entry {
        name: "raw, flushed",
        what: "the same, and clFlush after each launch",
        run: run::<Raw<true, true>>,
    },
    Entry {
        name: "raw, set once",
        what: "raw, but arguments are set only once",
        run: run::<Raw<false, false>>,
    },
    Entry {
        name: STUB,
        what: "the function that include_syclbin! writes, with its checks; its event is dropped; one number changes",
        run: run::<Stub<false>>,
    },
    Entry {
        name: CHANGING,
        what: "the same, but no argument has the value of the launch before",
        run: run::<Stub<true>>,
    },
    Entry {
        name: "safe stub",
        what: "`stub` with a contract of one condition for each buffer",
        run: run::<SafeStub>,
    },
    Entry {
        name: "prepared",
        what: "the same stub, prepared once: `Prepared::launch`",
        run: run::<PreparedStub>,
    },
    Entry {
        name: "recorded",
        what: "the same stub, recorded 100 times: `Recording::replay`, its time by 100",
        run: run::<Recorded>,
    },
];

/// The process of contestant `name`; `words` say what it is to do.
pub(crate) fn process(name: &str, words: &[&str]) -> Result<(), String> {
    let entry = ALL.iter().find(|entry| entry.name == name);
    let entry = entry.ok_or_else(|| format!("no contestant {name}"))?;
    (entry.run)(words)
}

/// Serves the parent, or launches `ARGUMENTS COUNT` and ends.
fn run<C: Contestant>(words: &[&str]) -> Result<(), String> {
    let mut contestant = C::new()?;
    if let [arguments, count] = words {
        let (arguments, count) = order(arguments, count)?;
        // Whatever happens once has happened.
        contestant.launch(arguments)?;
        contestant.finish()?;
        measured_launches(&mut contestant, arguments, count)?;
        return contestant.finish();
    }
    say(&format!("ready {}", contestant.device()))?;
    for line in std::io::stdin().lock().lines() {
        let line = line.map_err(|error| error.to_string())?;
        let (arguments, count) = line.split_once(' ').ok_or_else(|| line.clone())?;
        let (arguments, count) = order(arguments, count)?;
        let start = Instant::now();
        measured_launches(&mut contestant, arguments, count)?;
        let queued = start.elapsed();
        contestant.finish()?;
        let finished = start.elapsed();
        say(&format!("{} {}", queued.as_nanos(), finished.as_nanos()))?;
    }
    Ok(())
}

/// What is measured. `callgrind` looks for this name.
#[inline(never)]
fn measured_launches<C: Contestant>(
    contestant: &mut C,
    arguments: Arguments,
    count: u32,
) -> Result<(), String> {
    contestant.batch(arguments, count)
}

fn order(arguments: &str, count: &str) -> Result<(Arguments, u32), String> {
    let order = || Some((Arguments::from_word(arguments)?, count.trim().parse().ok()?));
    order().ok_or_else(|| format!("`{arguments} {count}` is not a valid command"))
}

fn say(line: &str) -> Result<(), String> {
    let mut output = std::io::stdout().lock();
    writeln!(output, "{line}")
        .and_then(|()| output.flush())
        .map_err(|error| error.to_string())
}
