// SPDX-License-Identifier: MIT OR Apache-2.0
//! Summarizes the runs of a pack on several drivers: a table, and the capabilities that each driver lacks.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use gpu_report::Report;
use gpu_report::plan::Kind;
use gpu_report::report::{Outcome as Step, TestReport};

pub(super) struct Outcome {
    pub(super) name: String,
    version: String,
    pub(super) report: Report,
}

impl Outcome {
    pub(super) fn new(name: &str, version: &str, report: Report) -> Self {
        Self {
            name: name.to_owned(),
            version: version.to_owned(),
            report,
        }
    }

    fn tests(&self) -> impl Iterator<Item = &TestReport> {
        self.report.steps.iter().flat_map(|step| &step.tests)
    }

    /// Counts the passed steps with the prefix `word`, in the form `8 of 8`.
    fn passed(&self, word: &str) -> String {
        let steps = self.report.steps.iter();
        let steps: Vec<_> = steps.filter(|step| step.name.starts_with(word)).collect();
        let count = |outcome| steps.iter().filter(|step| step.outcome == outcome).count();
        match (steps.len(), count(Step::Skipped)) {
            (0, _) => "-".to_owned(),
            (all, 0) => format!("{} of {all}", count(Step::Passed)),
            (all, skipped) => format!("{} of {all}, {skipped} skipped", count(Step::Passed)),
        }
    }

    /// Returns whether a test is meant only for another driver. Tests of CUDA run on simulated CUDA. Tests that need
    /// Intel's CPU device run where it is installed.
    fn is_of_another(test: &TestReport) -> bool {
        let reason = test.reason.as_deref().unwrap_or_default();
        let others = [
            "not a CUDA device",
            "cannot load libcuda",
            "found no Intel CPU device",
        ];
        test.outcome == Step::Skipped && others.iter().any(|other| reason.starts_with(other))
    }

    /// Returns the reasons for skips with their tests. Device names are replaced, so that drivers can be compared.
    fn skipped(&self) -> BTreeMap<String, BTreeSet<&str>> {
        let device = self.report.device.as_ref();
        let device = device.map(ToString::to_string).unwrap_or_default();
        let mut reasons = BTreeMap::<String, BTreeSet<&str>>::new();
        let skipped = self.tests().filter(|test| test.outcome == Step::Skipped);
        let skipped = skipped.filter(|test| !Self::is_of_another(test));
        for test in skipped {
            let reason = test.reason.as_deref().unwrap_or("no reason");
            let reason = match device.as_str() {
                "" => reason.to_owned(),
                device => reason.replace(device, "the device"),
            };
            reasons.entry(reason).or_default().insert(&test.name);
        }
        reasons
    }
}

#[allow(clippy::print_stdout, reason = "the answer")]
pub(super) fn print(outcomes: &[Outcome]) {
    print!("\n{}", page(outcomes));
}

/// Formats the table, the failures, and the capabilities that each driver lacks.
fn page(outcomes: &[Outcome]) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = page_to(&mut text, outcomes);
    text
}

fn page_to(text: &mut String, outcomes: &[Outcome]) -> std::fmt::Result {
    writeln!(
        text,
        "| driver | version | tests | passed | skipped | failed | examples | stress | kernels | time |\n\
         |---|---|---|---|---|---|---|---|---|---|"
    )?;
    for outcome in outcomes {
        let counts = &outcome.report.tests;
        let bad = counts.not_run + counts.failed + counts.crashed + counts.hung;
        let of_others = outcome.tests().filter(|test| Outcome::is_of_another(test));
        let skipped = counts.skipped - of_others.count();
        let tests = counts.passed + skipped + bad;
        writeln!(
            text,
            "| {} | {} | {tests} | {} | {skipped} ({}) | {bad} | {} | {} | {} | {:.0} s |",
            outcome.name,
            outcome.version,
            counts.passed,
            percent(skipped, tests),
            outcome.passed("example"),
            outcome.passed("stress"),
            kernels(outcome).unwrap_or("-"),
            outcome.report.seconds
        )?;
    }
    for outcome in outcomes {
        failures(text, outcome)?;
        repeats(text, outcome)?;
    }
    for outcome in outcomes {
        lacks(text, outcome)?;
    }
    Ok(())
}

/// Formats a share of `all` in percent, rounded up.
fn percent(part: usize, all: usize) -> String {
    format!("{} %", (100 * part).div_ceil(all.max(1)))
}

fn kernels(outcome: &Outcome) -> Option<&str> {
    let mut steps = outcome.report.steps.iter();
    let step = steps.find(|step| step.name == crate::gpu::KERNELS)?;
    let output = step.output.as_deref()?;
    let line = output.lines().find(|line| line.contains(" kernels of "))?;
    line.split(' ').next()
}

fn failures(text: &mut String, outcome: &Outcome) -> std::fmt::Result {
    let bad = outcome.report.steps.iter();
    let bad = bad.filter(|step| !step.outcome.is_good());
    for (number, step) in bad.enumerate() {
        if number == 0 {
            writeln!(text, "\n{} failed:", outcome.name)?;
        }
        let reason = step.reason.as_deref().unwrap_or_default();
        writeln!(text, "  {}: {} {reason}", step.name, step.outcome.word())?;
        if step.kind != Kind::Tests
            && let Some(output) = &step.output
        {
            let mut lines: Vec<&str> = output.lines().filter(|line| is_failure(line)).collect();
            if lines.is_empty() {
                lines.extend(output.lines().last());
            }
            for line in lines {
                writeln!(text, "    {}", line.chars().take(WIDTH).collect::<String>())?;
            }
        }
        for test in step.tests.iter().filter(|test| !test.outcome.is_good()) {
            writeln!(text, "    {} {}", test.outcome.word(), test.name)?;
        }
    }
    Ok(())
}

/// Writes the test executables that passed when they ran again after a crash.
fn repeats(text: &mut String, outcome: &Outcome) -> std::fmt::Result {
    let steps = outcome.report.steps.iter();
    let passed = steps.filter(|step| step.kind == Kind::Tests && step.outcome.is_good());
    for step in passed {
        if let Some(reason) = &step.reason {
            writeln!(text, "\n{}: {}: {reason}", outcome.name, step.name)?;
        }
    }
    Ok(())
}

const WIDTH: usize = 160;

fn is_failure(line: &str) -> bool {
    ["FAILED ", "error: "]
        .iter()
        .any(|word| line.starts_with(word))
}

/// Writes the reasons for skips, with the number of tests.
fn lacks(text: &mut String, outcome: &Outcome) -> std::fmt::Result {
    let skipped = outcome.skipped();
    if skipped.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n{} skips tests for what it lacks:", outcome.name)?;
    let mut reasons: Vec<_> = skipped.iter().collect();
    reasons.sort_by_key(|(_, tests)| std::cmp::Reverse(tests.len()));
    for (reason, tests) in reasons {
        writeln!(text, "  {:>3} {reason}", tests.len())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a report with a test of each outcome. The device lacks a capability, so one test is skipped.
    fn outcome() -> Outcome {
        let report = serde_json::json!({
            "schema_version": 1, "passed": false, "complete": true, "quick": true, "date": "",
            "commit": "", "seconds": 12.4,
            "machine": {"system": null, "kernel": "", "libc": null, "processor": null, "threads": 2},
            "device": {"name": "A CPU", "simulated": false, "selector": "", "reason": "",
                "kind": "cpu", "backend": "opencl", "platform": "", "driver": "6.0",
                "kernel_module": null, "library": "", "architecture": null, "compute_units": 1,
                "memory_bytes": 1},
            "tests": {"passed": 1, "skipped": 2, "not_run": 0, "failed": 1, "crashed": 0, "hung": 0},
            "steps": [
                {"name": "tests it", "kind": "tests", "outcome": "failed", "reason": null,
                    "seconds": 1.0, "output": null, "figures": null, "tests": [
                        {"name": "a", "outcome": "passed", "reason": null, "output": null},
                        {"name": "b", "outcome": "skipped", "output": null,
                            "reason": "A CPU (cpu, 6.0) has no fp16"},
                        {"name": "d", "outcome": "skipped", "output": null,
                            "reason": "not a CUDA device"},
                        {"name": "c", "outcome": "failed", "reason": null, "output": null}]},
                {"name": "example saxpy", "kind": "program", "outcome": "passed", "reason": null,
                    "seconds": 1.0, "output": null, "figures": null, "tests": []},
                {"name": "every kernel", "kind": "program", "outcome": "passed", "reason": null,
                    "seconds": 1.0, "output": "x\n17 kernels of 3 files compiled for it, 0 launched",
                    "figures": null, "tests": []}]
        });
        Outcome::new("pocl", "6.0-6", serde_json::from_value(report).unwrap())
    }

    #[test]
    fn the_page_counts_outcomes_and_names_failures() {
        let page = page(&[outcome()]);
        let row = "| pocl | 6.0-6 | 3 | 1 | 1 (34 %) | 1 | 1 of 1 | - | 17 | 12 s |\n";
        assert!(page.contains(row), "{page}");
        assert!(
            page.contains("pocl failed:\n  tests it: failed \n    failed c\n"),
            "{page}"
        );
        assert!(page.ends_with("  1 the device has no fp16\n"), "{page}");
    }
}
