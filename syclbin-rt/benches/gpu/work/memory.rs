// SPDX-License-Identifier: MIT OR Apache-2.0
//! What should be as fast as memory: a copy, and kernels that read much and compute little.

use super::contest;
use crate::contest::{Clock, medians};
use crate::problem::{Element, Expected, Problem, Value, bits, number, numbers, some_of};
use crate::report::{COPY, Report, Row};
use crate::{Bench, Result, words};

/// Work-items of a work-group, as in reduction.cpp.
const GROUP: u32 = 256;

/// Bins, and work-items of a work-group, as in examples/histogram.
const BINS: u32 = 256;

/// From device memory to device memory: the bandwidth that kernels are compared with.
pub(crate) fn copy(bench: &Bench, report: &mut Report) -> Result<()> {
    const LAUNCHES: u32 = 20;
    let (queue, raw) = (&bench.queue, bench.raw);
    let data = numbers(bench.sizes.elements);
    let from = queue.upload(&data).map_err(words)?;
    let mut to = queue.zeroed::<u32>(data.len()).map_err(words)?;
    let (raw_from, raw_to) = (raw.upload(&data)?, raw.upload(&vec![0; data.len()])?);
    let mut ours = (
        || queue.copy(&from, &mut to).map(drop).map_err(words),
        || queue.wait().map_err(words),
    );
    let mut theirs = (|| raw.copy(&raw_from, &raw_to), || raw.wait());
    let times = medians(
        &mut [&mut ours, &mut theirs],
        LAUNCHES,
        Clock::Done,
        bench.sizes,
    )?;
    if queue.download(&to).map_err(words)? != data || raw.download(&raw_to)? != data {
        return Err("the copy differs from the original".to_owned());
    }
    report.add(Row {
        benchmark: COPY,
        variant: "device to device",
        size: format!("{} elements", data.len()),
        unit: "GB/s",
        // Each element is read and written.
        amount: Some(2.0 * size_of_val(&data[..]) as f64 / 1e9),
        ours: times[0],
        baseline: Some(times[1]),
        goal: None,
    });
    Ok(())
}

/// `y = a * x + y`.
pub(crate) fn saxpy(bench: &Bench, report: &mut Report) -> Result<()> {
    contest(bench, report, &saxpy_problem(bench.sizes.elements))
}

/// saxpy over vectors of `n` elements.
pub(crate) fn saxpy_problem(n: u32) -> Problem<4> {
    const A: f32 = 1.5;
    let threads = n.min(256);
    let samples = some_of(n).map(|index| {
        let x = f64::from(number(index));
        (index as usize, f64::from(A) * x + x)
    });
    Problem {
        name: "saxpy",
        size: format!("{n} elements"),
        parameters: &["a", "x", "y", "n"],
        values: [
            Value::F32(A),
            Value::Read(numbers(n)),
            Value::Write(numbers(n)),
            Value::U32(n),
        ],
        blocks: [n.div_ceil(threads), 1],
        threads: [threads, 1],
        launches: 20,
        // x and y are read, and y is written.
        amount: 3.0 * 4.0 * f64::from(n) / 1e9,
        unit: "GB/s",
        goal: 0.95,
        expected: Expected {
            element: Element::F32,
            samples: samples.collect(),
            tolerance: 1e-5,
        },
    }
}

/// The sum of many numbers, by sub-groups and work-group memory.
pub(crate) fn reduction(bench: &Bench, report: &mut Report) -> Result<()> {
    let (count, groups) = (bench.sizes.elements, bench.groups());
    let mut sums = vec![0.0; groups as usize];
    for index in 0..count {
        sums[(index / GROUP % groups) as usize] += f64::from(number(index));
    }
    let problem = Problem {
        name: "reduction",
        size: format!("{count} elements"),
        parameters: &["values", "count", "sums", "parts"],
        values: [
            Value::Read(numbers(count)),
            Value::U64(count.into()),
            Value::Write(vec![0; groups as usize]),
            Value::Local(32 * size_of::<f32>()),
        ],
        blocks: [groups, 1],
        threads: [GROUP, 1],
        launches: 20,
        amount: 4.0 * f64::from(count) / 1e9,
        unit: "GB/s",
        goal: 0.95,
        expected: Expected {
            element: Element::F32,
            samples: sums.into_iter().enumerate().collect(),
            tolerance: 1e-4,
        },
    };
    contest(bench, report, &problem)
}

/// How often each byte occurs, by atomics on work-group memory.
pub(crate) fn histogram(bench: &Bench, report: &mut Report) -> Result<()> {
    let count = bench.sizes.bytes;
    let words: Vec<u32> = (0..count / 4).map(bits).collect();
    let mut counted = [0.0; BINS as usize];
    for byte in words.iter().flat_map(|word| word.to_ne_bytes()) {
        counted[usize::from(byte)] += 1.0;
    }
    let problem = Problem {
        name: "histogram",
        size: format!("{count} bytes"),
        parameters: &["bytes", "count", "bins", "local"],
        values: [
            Value::Read(words),
            Value::U64(count.into()),
            Value::Write(vec![0; BINS as usize]),
            Value::Local(BINS as usize * size_of::<u32>()),
        ],
        blocks: [bench.groups(), 1],
        threads: [BINS, 1],
        launches: 20,
        amount: f64::from(count) / 1e9,
        unit: "G elements/s",
        goal: 0.95,
        expected: Expected {
            element: Element::U32,
            samples: counted.into_iter().enumerate().collect(),
            tolerance: 0.0,
        },
    };
    contest(bench, report, &problem)
}
