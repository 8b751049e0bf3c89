// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Report`]: the outcome of each step. `schema/report.schema.json` describes the format.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::device::Device;
use crate::error::{Result, read_json};
use crate::machine::Machine;
use crate::plan::{Kind, Step};

/// The version of the report format.
pub const SCHEMA_VERSION: u32 = 1;

/// The outcome of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// See [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Whether all steps ran, and none failed.
    pub passed: bool,
    /// Whether the run is over. A report is also written after each step.
    pub complete: bool,
    /// Whether benchmarks did too little work for meaningful figures.
    pub quick: bool,
    /// The start of the run, in UTC.
    pub date: String,
    /// The commit of the pack.
    pub commit: String,
    /// The duration so far, in seconds.
    pub seconds: f64,
    /// The machine that ran the pack.
    pub machine: Machine,
    /// The device, if there is one.
    pub device: Option<Device>,
    /// The number of tests by outcome.
    pub tests: Counts,
    /// The steps, in execution order.
    pub steps: Vec<StepReport>,
}

/// The outcome of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// The name in the plan.
    pub name: String,
    /// The kind.
    pub kind: Kind,
    /// The outcome. For a test executable, it is the worst outcome of its tests.
    pub outcome: Outcome,
    /// The reason, if the step did not pass.
    pub reason: Option<String>,
    /// The duration in seconds.
    pub seconds: f64,
    /// The end of the output, if it is useful.
    pub output: Option<String>,
    /// The tests of a test executable.
    pub tests: Vec<TestReport>,
    /// The figures, as the benchmark wrote them.
    pub figures: Option<Value>,
}

/// The outcome of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestReport {
    /// The path of the test in its executable.
    pub name: String,
    /// The outcome.
    pub outcome: Outcome,
    /// The reason, if the test did not pass.
    pub reason: Option<String>,
    /// The end of the output, if the test did not pass.
    pub output: Option<String>,
}

/// The outcome of a step or a test, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It succeeded.
    Passed,
    /// It does not apply here, and printed the reason.
    Skipped,
    /// There was no time left, or no device.
    NotRun,
    /// It ran to the end and reported a failure.
    Failed,
    /// A signal terminated it.
    Crashed,
    /// It exceeded its time limit, and was killed.
    Hung,
}

/// The number of tests by outcome.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the outcomes have the documentation")]
pub struct Counts {
    pub passed: usize,
    pub skipped: usize,
    pub not_run: usize,
    pub failed: usize,
    pub crashed: usize,
    pub hung: usize,
}

impl Report {
    /// Reads a `report.json`.
    ///
    /// # Errors
    ///
    /// Fails if the file is missing or malformed.
    pub fn read(path: &Path) -> Result<Self> {
        read_json(path)
    }

    pub(crate) fn add(&mut self, step: StepReport) {
        for test in &step.tests {
            self.tests.add(test.outcome);
        }
        self.passed &= step.outcome.is_good();
        self.steps.push(step);
    }
}

impl StepReport {
    /// Creates the report of a step that has passed so far, without output.
    pub(crate) fn new(step: &Step, took: Duration) -> Self {
        Self {
            name: step.name.clone(),
            kind: step.kind,
            outcome: Outcome::Passed,
            reason: None,
            seconds: took.as_secs_f64(),
            output: None,
            tests: Vec::new(),
            figures: None,
        }
    }

    /// Creates the report of a step that did not run.
    pub(crate) fn without_run(step: &Step, outcome: Outcome, reason: String) -> Self {
        Self {
            outcome,
            reason: Some(reason),
            ..Self::new(step, Duration::ZERO)
        }
    }
}

impl Outcome {
    /// Returns whether the step or test passed or was skipped.
    #[must_use]
    pub fn is_good(self) -> bool {
        matches!(self, Self::Passed | Self::Skipped)
    }

    /// Returns the word for the outcome in a report.
    #[must_use]
    pub fn word(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Skipped => "skipped",
            Self::NotRun => "not run",
            Self::Failed => "failed",
            Self::Crashed => "crashed",
            Self::Hung => "hung",
        }
    }
}

impl Counts {
    /// Counts the outcomes of `tests`.
    #[must_use]
    pub fn of(tests: &[TestReport]) -> Self {
        let mut counts = Self::default();
        for test in tests {
            counts.add(test.outcome);
        }
        counts
    }

    fn add(&mut self, outcome: Outcome) {
        *match outcome {
            Outcome::Passed => &mut self.passed,
            Outcome::Skipped => &mut self.skipped,
            Outcome::NotRun => &mut self.not_run,
            Outcome::Failed => &mut self.failed,
            Outcome::Crashed => &mut self.crashed,
            Outcome::Hung => &mut self.hung,
        } += 1;
    }

    /// Lists each nonzero count with its outcome.
    #[must_use]
    pub fn words(&self) -> String {
        let counts = [
            (self.passed, Outcome::Passed),
            (self.skipped, Outcome::Skipped),
            (self.not_run, Outcome::NotRun),
            (self.failed, Outcome::Failed),
            (self.crashed, Outcome::Crashed),
            (self.hung, Outcome::Hung),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let words: Vec<String> = counts
            .map(|(count, outcome)| format!("{count} {}", outcome.word()))
            .collect();
        words.join(", ")
    }
}
