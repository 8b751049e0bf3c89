// SPDX-License-Identifier: MIT OR Apache-2.0
//! [`Report`]: what became of each step. `schema/report.schema.json` describes it to others.

use std::path::Path;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::device::Device;
use crate::error::{Result, read_json};
use crate::machine::Machine;
use crate::plan::{Kind, Step};

/// The version of the form.
pub const SCHEMA_VERSION: u32 = 1;

/// What became of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of this form.
    pub schema_version: u32,
    /// Whether all steps ran, and none failed.
    pub passed: bool,
    /// Whether the run is over; a report is also written after each step.
    pub complete: bool,
    /// Whether benchmarks did less work than their figures need.
    pub quick: bool,
    /// When it began, in UTC.
    pub date: String,
    /// The commit that the pack was built from.
    pub commit: String,
    /// How long it took so far.
    pub seconds: f64,
    /// Where it ran.
    pub machine: Machine,
    /// The device that it ran on, if there is one.
    pub device: Option<Device>,
    /// How many tests had which outcome.
    pub tests: Counts,
    /// The steps, in the order in which they ran.
    pub steps: Vec<StepReport>,
}

/// What became of one step.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StepReport {
    /// What the plan calls it.
    pub name: String,
    /// What it is.
    pub kind: Kind,
    /// What became of it; of tests the worst.
    pub outcome: Outcome,
    /// Why, if it did not pass.
    pub reason: Option<String>,
    /// How long it took.
    pub seconds: f64,
    /// The end of what it printed, where that tells something.
    pub output: Option<String>,
    /// Its tests, if it has such.
    pub tests: Vec<TestReport>,
    /// What a benchmark measured, as it wrote it.
    pub figures: Option<Value>,
}

/// What became of one test.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TestReport {
    /// Its path in the test executable.
    pub name: String,
    /// What became of it.
    pub outcome: Outcome,
    /// Why, if it did not pass.
    pub reason: Option<String>,
    /// The end of what it printed, if it did not pass.
    pub output: Option<String>,
}

/// What became of a step or a test, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Outcome {
    /// It did what it should.
    Passed,
    /// It does not apply here, for a reason that it printed.
    Skipped,
    /// There was no time left, or no device.
    NotRun,
    /// It ran to its end and says that something is wrong.
    Failed,
    /// A signal ended it.
    Crashed,
    /// It did not end in time, and was killed.
    Hung,
}

/// How many tests had which outcome.
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
    /// When it is missing or not as expected.
    pub fn read(path: &Path) -> Result<Self> {
        read_json(path)
    }

    /// Adds a step, and counts its tests.
    pub(crate) fn add(&mut self, step: StepReport) {
        for test in &step.tests {
            self.tests.add(test.outcome);
        }
        self.passed &= step.outcome.is_good();
        self.steps.push(step);
    }
}

impl StepReport {
    /// A step that passed and has printed nothing, so far.
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

    /// A step that did not run.
    pub(crate) fn without_run(step: &Step, outcome: Outcome, reason: String) -> Self {
        Self {
            outcome,
            reason: Some(reason),
            ..Self::new(step, Duration::ZERO)
        }
    }
}

impl Outcome {
    /// Returns whether nothing is wrong.
    #[must_use]
    pub fn is_good(self) -> bool {
        matches!(self, Self::Passed | Self::Skipped)
    }

    /// Returns the word for it in a report.
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

    /// Lists each number that is not zero, with its word.
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
