// SPDX-License-Identifier: MIT OR Apache-2.0
//! The problems, and a contest over each.

mod arithmetic;
mod memory;

use crate::contest::{Clock, Contestant, medians};
use crate::directory::Code;
use crate::ours::Ours;
use crate::problem::Problem;
use crate::report::{Report, Row};
use crate::theirs::Theirs;
use crate::{Bench, Result};

pub(crate) use arithmetic::{matmul, nbody};
pub(crate) use memory::{copy, histogram, reduction, saxpy, saxpy_problem};

/// Has our kernel and CUDA's take turns. Results come first.
fn contest<const N: usize>(bench: &Bench, report: &mut Report, problem: &Problem<N>) -> Result<()> {
    let file = bench.directory.ours(problem.name, Code::Ptx);
    let mut ours = Ours::new(&bench.queue, &file, problem)?;
    let mut theirs = match &bench.baseline {
        Ok(baseline) => Some(Theirs::new(bench.raw, &baseline.kernels, problem)?),
        Err(_) => None,
    };
    let expected = &problem.expected;
    let judged = |contestant: &str, result: Result<Vec<u32>>| {
        let checked = result.and_then(|result| expected.check(&result).map(|()| result));
        checked.map_err(|error| format!("{contestant}: {error}"))
    };
    ours.launch()?;
    let first = judged("ours", ours.result())?;
    let mut contestants: Vec<&mut dyn Contestant> = vec![&mut ours];
    if let Some(theirs) = &mut theirs {
        theirs.launch()?;
        expected.compare(&first, &judged("CUDA", theirs.result())?)?;
        contestants.push(theirs);
    }
    let times = medians(&mut contestants, problem.launches, Clock::Done, bench.sizes)?;
    report.add(Row {
        benchmark: problem.name,
        variant: "PTX",
        size: problem.size.clone(),
        unit: problem.unit,
        amount: Some(problem.amount),
        ours: times[0],
        baseline: times.get(1).copied(),
        goal: Some(problem.goal),
    });
    Ok(())
}
