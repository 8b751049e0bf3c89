// SPDX-License-Identifier: MIT OR Apache-2.0
//! A step that is a test executable. After a crash or hang, each test without a result runs alone. So the bad test is
//! identified, and the other tests still get results.

use std::time::{Duration, Instant};

use crate::libtest::{self, Verdict};
use crate::plan::Step;
use crate::process::{End, Ended, Limits, run, tail};
use crate::program::{Context, of_end};
use crate::report::{Outcome, StepReport, TestReport};

/// How often a test executable that crashes runs again, if it may.
const REPEATS: usize = 3;
/// The maximum number of tests that run at the same time. Each uses memory of the GPU.
const MOST_THREADS: usize = 16;
/// How long a test executable may print nothing. The slowest test takes less.
const SILENT: Duration = Duration::from_secs(60);
/// The time limit of a test that runs alone.
const ALONE: Duration = Duration::from_secs(30);
/// The thread name of a test that does not get its own thread.
const MAIN: &str = "main";

pub(crate) fn run_step(context: &Context, step: &Step, tool: &[String]) -> StepReport {
    let start = Instant::now();
    let until = start + context.limit(step.seconds);
    let mut report = StepReport::new(step, Duration::ZERO);
    let filters = context.arguments(step);
    let listing = [&filters[..], &["--list".to_owned()]].concat();
    let listed = run(
        &mut context.command(step, &[], &listing),
        Limits::total(ALONE.min(left(until))),
    );
    let names = libtest::list(&listed.stdout);
    if !listed.succeeded() || names.is_empty() {
        report.outcome = of_end(&listed.end).max(Outcome::Failed);
        report.reason = Some(format!("it lists no tests: {}", listed.end));
        report.output = Some(listed.tail());
        return report;
    }
    // With a single thread, tests would run on the main thread, and a skip would not name its test.
    let threads = std::thread::available_parallelism().map_or(2, usize::from);
    let threads = threads.clamp(2, MOST_THREADS);
    let arguments = [&filters[..], &[format!("--test-threads={threads}")]].concat();
    let time = left(until);
    let limits = Limits {
        // Reserve the rest for tests that run alone.
        total: time * 2 / 3,
        // A tool may be silent until its end.
        silent: tool.is_empty().then_some(SILENT.min(time / 3)),
    };
    let mut whole = run(&mut context.command(step, tool, &arguments), limits);
    let mut crashed = None;
    for _ in 0..REPEATS {
        if !context.repeats_crashes || !matches!(whole.end, End::Signal(_)) {
            break;
        }
        crashed = Some(whole.end);
        let limits = Limits {
            total: left(until) * 2 / 3,
            ..limits
        };
        whole = run(&mut context.command(step, tool, &arguments), limits);
    }
    let verdicts = libtest::results(&whole.stdout, &names);
    let mut failures = libtest::failures(&whole.stdout);
    let mut skips = libtest::skips(&whole.stderr);
    let mut ran_alone = 0;
    for name in &names {
        let output = failures.remove(name);
        let test = match verdicts.get(name) {
            // The harness prints why tests failed at its end, which a crash prevents.
            Some(verdict) if *verdict != Verdict::Failed || output.is_some() => {
                let verdict = without_results(context, name, verdict, output.as_deref());
                finished(name, &verdict, output, skips.remove(name))
            }
            _ => {
                ran_alone += 1;
                alone(context, step, tool, name, until)
            }
        };
        report.tests.push(test);
    }
    conclude(&mut report, &whole, ran_alone);
    if let Some(end) = crashed {
        let before = report.reason.map(|reason| format!("; then {reason}"));
        let before = before.unwrap_or_default();
        report.reason = Some(format!("ran again, because {end}{before}"));
    }
    report.seconds = start.elapsed().as_secs_f64();
    report
}

/// Returns the report of a test that has a result.
fn finished(
    name: &str,
    verdict: &Verdict,
    output: Option<String>,
    skip: Option<String>,
) -> TestReport {
    let (outcome, reason, output) = match (verdict, skip) {
        (Verdict::Ok, None) => (Outcome::Passed, None, None),
        (Verdict::Ok, Some(reason)) => (Outcome::Skipped, Some(reason), None),
        (Verdict::Ignored(reason), _) => {
            let reason = reason.as_deref().unwrap_or("it is ignored");
            (Outcome::Skipped, Some(reason.to_owned()), None)
        }
        (Verdict::Failed, _) => (Outcome::Failed, None, output),
    };
    TestReport {
        name: name.to_owned(),
        outcome,
        reason,
        output: output.map(|text| tail(text.trim()).to_owned()),
    }
}

/// Tests that assert the results of kernels.
const NEED_RESULTS: &str = include_str!("need_results.txt");

/// The reason for a test that stopped at a check of results.
const NO_RESULTS: &str = "the rest, as the device executes no kernel";

/// Returns the verdict on a test. On a device that executes no kernels, a listed test may panic at a check of
/// results, but a failed call is still a failure.
fn without_results(
    context: &Context,
    name: &str,
    verdict: &Verdict,
    output: Option<&str>,
) -> Verdict {
    let panicked = output.is_some_and(|output| output.contains(" panicked at "));
    let is_listed = || NEED_RESULTS.lines().any(|listed| listed == name);
    if *verdict == Verdict::Failed && panicked && !context.executes() && is_listed() {
        return Verdict::Ignored(Some(NO_RESULTS.to_owned()));
    }
    verdict.clone()
}

/// Runs one test in a separate process.
fn alone(
    context: &Context,
    step: &Step,
    tool: &[String],
    name: &str,
    until: Instant,
) -> TestReport {
    let mut report = TestReport {
        name: name.to_owned(),
        outcome: Outcome::NotRun,
        reason: Some("no time was left".to_owned()),
        output: None,
    };
    let limit = ALONE.min(left(until));
    if limit.is_zero() {
        return report;
    }
    let arguments = [name, "--exact", "--test-threads=2"].map(str::to_owned);
    let mut command = context.command(step, tool, &arguments);
    let ended = run(&mut command, Limits::total(limit));
    if ended.succeeded() {
        let mut skips = libtest::skips(&ended.stderr);
        let skip = skips.remove(name).or_else(|| skips.remove(MAIN));
        return finished(name, &Verdict::Ok, None, skip);
    }
    let failed = without_results(context, name, &Verdict::Failed, Some(&ended.stdout));
    if failed != Verdict::Failed && ended.end == End::Exit(101) {
        return finished(name, &failed, None, None);
    }
    report.outcome = of_end(&ended.end);
    report.reason = Some(ended.end.to_string());
    report.output = Some(ended.tail());
    report
}

fn left(until: Instant) -> Duration {
    until.saturating_duration_since(Instant::now())
}

/// Sets the outcome of the step: the worst of its tests and of the run with all tests.
fn conclude(report: &mut StepReport, whole: &Ended, ran_alone: usize) {
    let worst = report.tests.iter().map(|test| test.outcome).max();
    let worst = worst.unwrap_or(Outcome::Passed);
    // Skipped tests do not make it a skipped step.
    report.outcome = if worst.is_good() {
        Outcome::Passed
    } else {
        worst
    };
    // Exit status 101 means that a test failed. The report already contains that test.
    let no_results = Some(NO_RESULTS.to_owned());
    let lacks_results = || report.tests.iter().any(|test| test.reason == no_results);
    let is_explained = match whole.end {
        End::Exit(0) => true,
        End::Exit(101) => worst == Outcome::Failed || lacks_results(),
        _ => false,
    };
    if !is_explained {
        report.outcome = report.outcome.max(of_end(&whole.end));
        let mut reason = format!("all tests in one process: {}", whole.end);
        if ran_alone > 0 {
            reason.push_str(&format!("; {ran_alone} without a result ran alone"));
        }
        report.reason = Some(reason);
        report.output = Some(whole.tail());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::EXECUTES;

    #[test]
    fn only_listed_tests_may_panic_without_results() {
        let listed = NEED_RESULTS.lines().next().unwrap();
        let verdict = |executes: &str, name: &str, printed: &str| {
            let context = Context {
                pack: "".into(),
                work: "".into(),
                environment: [(EXECUTES.to_owned(), executes.into())].into(),
                deadline: Instant::now(),
                less: false,
                repeats_crashes: false,
            };
            without_results(&context, name, &Verdict::Failed, Some(printed))
        };
        let panic = "thread 'a' panicked at src/lib.rs:1:1:\n0 is not 1";
        let ignored = Verdict::Ignored(Some(NO_RESULTS.to_owned()));
        assert_eq!(verdict("no", listed, panic), ignored);
        for (executes, name, printed) in [
            ("no", listed, "Error: clBuildProgram failed"),
            ("no", "another", panic),
            ("yes", listed, panic),
        ] {
            assert_eq!(verdict(executes, name, printed), Verdict::Failed);
        }
    }
}
