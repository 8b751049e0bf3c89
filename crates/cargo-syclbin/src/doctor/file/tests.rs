// SPDX-License-Identifier: MIT OR Apache-2.0
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use super::Outcome::{Crashed, Hung, Refused, Usable};
use super::*;

const ABORT: i32 = 6;

fn ended(signal: i32) -> Ended {
    Ended::new(Some(ExitStatus::from_raw(signal)))
}

fn answers() -> Answers {
    Answers {
        max_work_group_size: 256,
        preferred_work_group_size_multiple: 32,
        required_work_group_size: None,
        max_sub_group_size: None,
        required_sub_group_size: None,
        registers: Some(40),
        private_memory_bytes: None,
        spill_memory_bytes: None,
        local_memory_bytes: 1024,
    }
}

/// Plays child processes with these steps. Each ends as it says.
fn play(children: &[(Position, &[Step], Ended)]) -> Trial {
    let mut trial = Trial::default();
    for (start, steps, ended) in children {
        assert_eq!(trial.next, Some(*start));
        steps.iter().cloned().for_each(|step| trial.take(step));
        trial.end(ended);
    }
    assert_eq!(trial.next, None, "the trial is over");
    trial
}

const fn at(module: usize, kernel: usize) -> Position {
    Position { module, kernel }
}

fn building(index: usize) -> Step {
    Step::Trying(Part::module(index, Vec::new()))
}

fn built(index: usize) -> Step {
    Step::Tried(Part::module(index, Vec::new()))
}

fn refused(index: usize, reason: &str) -> Step {
    Step::Tried(Part::module(index, Vec::new()).failed(Refused, reason.to_owned()))
}

fn making(symbol: &str) -> Step {
    Step::Trying(Part::kernel(symbol, None))
}

fn made(symbol: &str) -> Step {
    Step::Tried(Part::kernel(symbol, Some(answers())))
}

#[test]
fn trial_goes_on_behind_each_crash() {
    let trial = play(&[
        (at(0, 0), &[building(0)], ended(ABORT)),
        (
            at(1, 0),
            &[building(1), built(1), making("a"), made("a"), making("b")],
            Ended::new(None),
        ),
        (
            at(1, 2),
            &[
                building(1),
                built(1),
                making("c"),
                made("c"),
                building(2),
                refused(2, "unfit"),
                Step::Done,
            ],
            ended(0),
        ),
    ]);
    let report = trial.report("file".to_owned(), ["a", "b", "c", "d"].into_iter());
    assert!(!report.passed);
    assert_eq!((report.usable_kernels, report.kernels), (2, 4));
    let outcomes: Vec<_> = report.modules.iter().map(|one| one.outcome).collect();
    assert_eq!(outcomes, [Crashed, Usable, Refused]);
    let kernels = report.modules[1].kernels.iter();
    let kernels: Vec<_> = kernels.map(|one| (&*one.symbol, one.outcome)).collect();
    assert_eq!(kernels, [("a", Usable), ("b", Hung), ("c", Usable)]);
    let text = report::render(&report);
    for expected in [
        "module 0: the driver crashed\n  !! the driver terminated the process: signal: 6",
        "  kernel  work-group  multiple  registers  local\n  a              256        32         40   1024\n",
        "  b       the driver hung\n",
        "  !! unfit\n",
        "file: bad, 2 of 4 kernels can be used\n",
    ] {
        assert!(text.contains(expected), "{expected}\n{text}");
    }
}

#[test]
fn failures_outside_of_modules_end_the_trial() {
    let report = |steps: &[Step], ended| {
        let trial = play(&[(at(0, 0), steps, ended)]);
        trial.report("file".to_owned(), std::iter::empty())
    };
    let problem = |steps: &[Step], ended| report(steps, ended).problem.unwrap();
    assert!(report(&[Step::Done], ended(0)).passed);
    assert_eq!(
        problem(&[Step::Failed("no device".to_owned())], ended(0)),
        "no device"
    );
    let text = problem(&[], ended(ABORT));
    assert!(
        text.starts_with("before any module was built: the driver terminated"),
        "{text}"
    );
    let trial = play(&[
        (at(0, 0), &[building(0), built(0)], ended(ABORT)),
        (at(1, 0), &[Step::Done], ended(0)),
    ]);
    let text = trial.report("file".to_owned(), std::iter::empty()).problem;
    assert!(
        text.unwrap()
            .starts_with("after module 0: the driver terminated")
    );
    let text = problem(&[Step::Done], ended(ABORT));
    assert!(
        text.starts_with("at the end of the process: the driver terminated"),
        "{text}"
    );
}

#[test]
fn kernel_in_two_modules_is_needed_once() {
    let trial = play(&[(
        at(0, 0),
        &[
            building(0),
            refused(0, "it is PTX"),
            building(1),
            built(1),
            making("a"),
            made("a"),
            Step::Done,
        ],
        ended(0),
    )]);
    assert!(
        trial
            .report("file".to_owned(), ["a", "a"].into_iter())
            .passed
    );
}

#[test]
fn positions_are_read_as_written() {
    let position = at(3, 14);
    assert_eq!(position.to_string().parse(), Ok(position));
    for wrong in ["", "3", "3:", ":1", "a:b", "3:1:4"] {
        assert!(wrong.parse::<Position>().is_err(), "{wrong}");
    }
}
