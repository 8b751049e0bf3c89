// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contestants that take turns, and the median time of each.

use std::time::{Duration, Instant};

use crate::Result;
use crate::arguments::Sizes;

/// Something that puts work into a queue.
pub(crate) trait Contestant {
    /// Returns when the work is in the queue.
    fn launch(&mut self) -> Result<()>;
    /// Returns when the queue is empty.
    fn wait(&mut self) -> Result<()>;
}

impl<L: FnMut() -> Result<()>, W: FnMut() -> Result<()>> Contestant for (L, W) {
    fn launch(&mut self) -> Result<()> {
        self.0()
    }

    fn wait(&mut self) -> Result<()> {
        self.1()
    }
}

/// What a turn takes.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Clock {
    /// Until all work is done.
    Done,
    /// Until all work is in the queue: the time of the host.
    Queued,
}

/// The median time of a launch of each contestant, in seconds. In a turn, each launches `count` times.
pub(crate) fn medians(
    contestants: &mut [&mut dyn Contestant],
    count: u32,
    clock: Clock,
    sizes: &Sizes,
) -> Result<Vec<f64>> {
    let start = Instant::now();
    let mut is_warm = false;
    // Once at least: the first launches of a kernel take longer.
    while !is_warm {
        for contestant in &mut *contestants {
            turn(*contestant, count, clock)?;
        }
        is_warm = start.elapsed() >= sizes.warm_up;
    }
    let mut times = vec![Vec::new(); contestants.len()];
    for _ in 0..sizes.turns {
        for (contestant, times) in contestants.iter_mut().zip(&mut times) {
            times.push(turn(*contestant, count, clock)?);
        }
    }
    let medians = times.into_iter().map(|times| median(times).as_secs_f64());
    Ok(medians.map(|time| time / f64::from(count)).collect())
}

fn turn(contestant: &mut dyn Contestant, count: u32, clock: Clock) -> Result<Duration> {
    let start = Instant::now();
    for _ in 0..count {
        contestant.launch()?;
    }
    let queued = start.elapsed();
    contestant.wait()?;
    Ok(match clock {
        Clock::Done => start.elapsed(),
        Clock::Queued => queued,
    })
}

/// The time in the middle.
pub(crate) fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
