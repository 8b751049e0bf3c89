// SPDX-License-Identifier: MIT OR Apache-2.0
//! Rounds: several things measured in turns, so that what slows a machine down slows them all.

use std::hint::black_box;
use std::time::Instant;

use syclbin::Error;

const ROUNDS: usize = 15;
/// Nanoseconds that one subject works in one round.
const ROUND: u64 = 50_000_000;

/// One of those that take turns.
pub(crate) struct Subject<'a> {
    /// Does the work so many times; nanoseconds for all.
    run: Box<dyn FnMut(u64) -> Result<u64, String> + 'a>,
    times: u64,
    rounds: Vec<f64>,
}

impl<'a> Subject<'a> {
    pub(crate) fn new(run: impl FnMut(u64) -> Result<u64, String> + 'a) -> Self {
        Self {
            run: Box::new(run),
            times: 1,
            rounds: Vec::with_capacity(ROUNDS),
        }
    }

    /// Finds how many times fill a round.
    fn calibrate(&mut self) -> Result<(), String> {
        loop {
            let taken = (self.run)(self.times)?.max(1);
            if taken >= ROUND / 8 {
                self.times = (u128::from(self.times) * u128::from(ROUND) / u128::from(taken))
                    .try_into()
                    .unwrap_or(u64::MAX)
                    .max(1);
                return Ok(());
            }
            self.times *= 4;
        }
    }

    fn round(&mut self) -> Result<(), String> {
        let taken = (self.run)(self.times)?;
        self.rounds.push(taken as f64 / self.times as f64);
        Ok(())
    }
}

/// A reader of ours, of `bytes`; what it makes is dropped within the time, as LLVM's is freed.
pub(crate) fn ours<'a, T: 'a>(
    bytes: &'a [u8],
    read: impl Fn(&'a [u8]) -> Result<T, Error> + 'a,
) -> Subject<'a> {
    Subject::new(move |times| {
        let start = Instant::now();
        for _ in 0..times {
            let file = read(black_box(bytes)).map_err(|error| error.to_string())?;
            black_box(&file);
        }
        Ok(nanoseconds(start))
    })
}

pub(crate) fn nanoseconds(start: Instant) -> u64 {
    start.elapsed().as_nanos().try_into().unwrap_or(u64::MAX)
}

/// Each subject's median, in nanoseconds; the first of a round is last in the next.
pub(crate) fn take_turns(mut subjects: Vec<Subject<'_>>) -> Vec<Result<f64, String>> {
    let mut failures: Vec<Option<String>> = subjects
        .iter_mut()
        .map(|subject| subject.calibrate().err())
        .collect();
    for round in 0..ROUNDS {
        let mut order: Vec<usize> = (0..subjects.len()).collect();
        if round % 2 == 1 {
            order.reverse();
        }
        for index in order {
            if failures[index].is_none() {
                failures[index] = subjects[index].round().err();
            }
        }
    }
    let medians = subjects.into_iter().map(|mut subject| {
        subject.rounds.sort_by(f64::total_cmp);
        subject.rounds.get(ROUNDS / 2).copied().unwrap_or(f64::NAN)
    });
    failures
        .into_iter()
        .zip(medians)
        .map(|(failure, median)| failure.map_or(Ok(median), Err))
        .collect()
}
