// SPDX-License-Identifier: MIT OR Apache-2.0
//! What should be as fast as arithmetic: a product of matrices, and stars that attract each other.

use super::contest;
use crate::problem::{Element, Expected, Problem, Value, number, numbers, some_of};
use crate::report::Report;
use crate::{Bench, Result};

/// Work-items of a work-group, and elements that it computes, in each dimension; as in examples/matmul.
const SIDE: u32 = 16;
const SQUARE: u32 = 64;
/// Bytes of a strip in work-group memory.
const STRIP: usize = 64 * 64 * size_of::<f32>();

/// Long, so that a wrong pull shows in the positions.
const TIME_STEP: f32 = 0.05;
const SOFTENING: f32 = 0.1;
/// Operations for a pair of stars, as GPU Gems 3 (chapter 31) counts them.
const OPERATIONS: f64 = 20.0;

/// A product over strips in work-group memory.
pub(crate) fn matmul(bench: &Bench, report: &mut Report) -> Result<()> {
    let side = bench.sizes.side;
    let len = side * side;
    let samples = some_of(len).map(|index| {
        let (row, column) = (index / side, index % side);
        let products = (0..side).map(|depth| {
            f64::from(number(row * side + depth)) * f64::from(number(depth * side + column))
        });
        (index as usize, products.sum())
    });
    let problem = Problem {
        name: "matmul",
        size: format!("{side} x {side}"),
        parameters: &["a", "b", "c", "m", "n", "k", "a_strip", "b_strip"],
        values: [
            Value::Read(numbers(len)),
            Value::Read(numbers(len)),
            Value::Write(vec![0; len as usize]),
            Value::U32(side),
            Value::U32(side),
            Value::U32(side),
            Value::Local(STRIP),
            Value::Local(STRIP),
        ],
        blocks: [side.div_ceil(SQUARE); 2],
        threads: [SIDE; 2],
        launches: 5,
        amount: 2.0 * f64::from(side).powi(3) / 1e9,
        unit: "GFLOP/s",
        goal: 0.9,
        expected: Expected {
            element: Element::F32,
            samples: samples.collect(),
            tolerance: 1e-4,
        },
    };
    contest(bench, report, &problem)
}

/// A step of time, over all pairs of stars.
pub(crate) fn nbody(bench: &Bench, report: &mut Report) -> Result<()> {
    let count = bench.sizes.stars;
    let words = count * 4;
    let threads = count.min(256);
    let problem = Problem {
        name: "nbody",
        size: format!("{count} stars"),
        parameters: &[
            "from",
            "to",
            "velocities",
            "count",
            "time_step",
            "softening",
        ],
        values: [
            Value::Read(numbers(words)),
            Value::Write(vec![0; words as usize]),
            Value::Write(vec![0; words as usize]),
            Value::U32(count),
            Value::F32(TIME_STEP),
            Value::F32(SOFTENING),
        ],
        blocks: [count.div_ceil(threads), 1],
        threads: [threads, 1],
        launches: 5,
        amount: OPERATIONS * f64::from(count).powi(2) / 1e9,
        unit: "GFLOP/s",
        goal: 0.9,
        expected: Expected {
            element: Element::F32,
            samples: some_of(count)
                .flat_map(|index| moved(index, count))
                .collect(),
            tolerance: 1e-4,
        },
    };
    contest(bench, report, &problem)
}

/// The words of star `index` after a step, as the CPU computes them.
fn moved(index: u32, count: u32) -> [(usize, f64); 4] {
    let star = |index: u32| [0, 1, 2, 3].map(|word| f64::from(number(index * 4 + word)));
    let own = star(index);
    let mut pulls = [0.0; 3];
    for other in (0..count).map(star) {
        let distance = [0, 1, 2].map(|axis| other[axis] - own[axis]);
        let squares = distance.iter().map(|along| along * along);
        let squared = squares.sum::<f64>() + f64::from(SOFTENING);
        let pull = other[3] / (squared * squared.sqrt());
        for (sum, along) in pulls.iter_mut().zip(distance) {
            *sum += pull * along;
        }
    }
    let time_step = f64::from(TIME_STEP);
    // Stars are at rest at first.
    [0, 1, 2, 3].map(|word| {
        let shift = pulls
            .get(word)
            .map_or(0.0, |pull| time_step * time_step * pull);
        (index as usize * 4 + word, own[word] + shift)
    })
}
