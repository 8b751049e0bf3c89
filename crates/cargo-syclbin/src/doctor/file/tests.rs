// SPDX-License-Identifier: MIT OR Apache-2.0
use std::os::unix::process::ExitStatusExt as _;
use std::process::ExitStatus;

use serde_json::json;

use super::Outcome::{Crashed, Hung, Refused, Usable};
use super::*;

const ABORT: i32 = 6;

fn ended(signal: i32) -> Ended {
    Ended::new(Some(ExitStatus::from_raw(signal)))
}

fn answers() -> Value {
    json!({
        "max_work_group_size": 256,
        "preferred_work_group_size_multiple": 32,
        "registers": 40,
        "private_memory_bytes": null,
        "local_memory_bytes": 1024,
    })
}

/// Plays child processes, each with the module and kernel that it starts at, its steps and its end.
fn play(children: &[((usize, usize), &[Step], Ended)]) -> Trial {
    let mut trial = Trial::default();
    for (start, steps, ended) in children {
        assert_eq!((trial.next, trial.is_over), (*start, false));
        steps.iter().cloned().for_each(|step| trial.take(step));
        trial.end(ended);
    }
    assert!(trial.is_over);
    trial
}

fn built() -> Step {
    Step::Built(Vec::new())
}

fn kernel(symbol: &str) -> Step {
    Step::Kernel(symbol.to_owned())
}

fn created() -> Step {
    Step::Created(answers())
}

fn refused(reason: &str) -> Step {
    Step::Refused(reason.to_owned())
}

#[test]
fn trial_goes_on_behind_each_crash() {
    let trial = play(&[
        ((0, 0), &[Step::Module(0)], ended(ABORT)),
        (
            (1, 0),
            &[
                Step::Module(1),
                built(),
                kernel("a"),
                created(),
                kernel("b"),
            ],
            Ended::new(None),
        ),
        (
            (1, 2),
            &[
                Step::Module(1),
                built(),
                kernel("c"),
                created(),
                Step::Module(2),
                refused("unfit"),
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
        let trial = play(&[((0, 0), steps, ended)]);
        trial.report("file".to_owned(), std::iter::empty())
    };
    let problem = |steps: &[Step], ended| {
        let report = report(steps, ended);
        assert!(!report.passed);
        report.problem.unwrap()
    };
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
        ((0, 0), &[Step::Module(0), built()], ended(ABORT)),
        ((1, 0), &[Step::Done], ended(0)),
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
        (0, 0),
        &[
            Step::Module(0),
            refused("it is PTX"),
            Step::Module(1),
            built(),
            kernel("a"),
            created(),
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
fn skipped_devices_are_shown_with_reasons() {
    let device = DeviceReport {
        name: "Xeon".to_owned(),
        platform: "OpenCL".to_owned(),
        driver_version: "1.2".to_owned(),
        reason: "the gpu cannot run all kernels of the file".to_owned(),
        skipped: vec!["H200 (gpu, 580.1): CUDA devices do not support SPIR-V".to_owned()],
    };
    let trial = play(&[((0, 0), &[Step::Device(device), Step::Done], ended(0))]);
    let page = report::render(&trial.report("file".to_owned(), std::iter::empty()));
    let skipped = "\n  skipped: H200 (gpu, 580.1): CUDA devices do not support SPIR-V\n";
    assert!(page.contains(skipped), "{page}");
}
