// SPDX-License-Identifier: MIT OR Apache-2.0
//! A step that is one process: how it is started, and what its end means.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::device::EXECUTES;
use crate::plan::{Kind, Step};
use crate::process::{End, Ended, Limits, run};
use crate::report::{Outcome, StepReport};

/// What all steps share.
pub(crate) struct Context {
    /// The directory of the pack.
    pub(crate) pack: PathBuf,
    /// The directory that the steps run in.
    pub(crate) work: PathBuf,
    /// Variables of every step.
    pub(crate) environment: BTreeMap<String, OsString>,
    /// When the run has to be over.
    pub(crate) deadline: Instant,
    /// Whether steps do less work.
    pub(crate) less: bool,
}

impl Context {
    /// The process of a step, not yet started. A tool that it runs under comes first.
    pub(crate) fn command(&self, step: &Step, tool: &[String], arguments: &[String]) -> Command {
        let program = self.pack.join(&step.program);
        let mut command = match tool {
            [] => Command::new(program),
            [tool, options @ ..] => {
                let mut command = Command::new(tool);
                command.args(options).arg(program);
                command
            }
        };
        command.args(arguments.iter().map(|argument| self.expand(argument)));
        command.current_dir(&self.work).envs(&self.environment);
        for (name, value) in &step.environment {
            command.env(name, self.expand(value));
        }
        command
    }

    /// Returns whether the device executes kernels.
    pub(crate) fn executes(&self) -> bool {
        self.environment
            .get(EXECUTES)
            .is_none_or(|value| value != "no")
    }

    /// The arguments of a step.
    pub(crate) fn arguments(&self, step: &Step) -> Vec<String> {
        let less = if self.less { &*step.less } else { &[] };
        [&step.arguments, less].concat()
    }

    /// The file that a benchmark writes.
    fn figures(&self) -> PathBuf {
        self.work.join("figures.json")
    }

    fn expand(&self, text: &str) -> String {
        let names = [
            ("{pack}", &*self.pack),
            ("{work}", &*self.work),
            ("{figures}", &self.figures()),
        ];
        names.iter().fold(text.to_owned(), |text, (name, path)| {
            text.replace(name, &path.to_string_lossy())
        })
    }

    /// The time limit of a step: its own, or what is left.
    pub(crate) fn limit(&self, seconds: u64) -> Duration {
        let left = self.deadline.saturating_duration_since(Instant::now());
        left.min(Duration::from_secs(seconds))
    }
}

/// Runs a step that is a program, a benchmark or tells about the machine.
pub(crate) fn run_step(context: &Context, step: &Step, tool: &[String]) -> StepReport {
    let figures = context.figures();
    let _ = std::fs::remove_file(&figures);
    let mut command = context.command(step, tool, &context.arguments(step));
    let ended = run(&mut command, Limits::total(context.limit(step.seconds)));
    let mut report = StepReport::new(step, ended.took);
    report.output = Some(ended.tail()).filter(|output| !output.is_empty());
    (report.outcome, report.reason) = outcome(step, &ended);
    if step.kind == Kind::Benchmark && report.outcome == Outcome::Passed {
        match read_figures(&figures) {
            Some(value) => report.figures = Some(value),
            None => {
                report.outcome = Outcome::Skipped;
                let first = ended.stdout.lines().find(|line| !line.trim().is_empty());
                report.reason = Some(first.unwrap_or("it measured nothing").to_owned());
            }
        }
    }
    report
}

fn read_figures(path: &Path) -> Option<Value> {
    let bytes = std::fs::read(path).ok()?;
    serde_json::from_slice(&bytes).ok()
}

/// What the end of a program means, and why.
fn outcome(step: &Step, ended: &Ended) -> (Outcome, Option<String>) {
    if ended.succeeded() {
        if let Some(reason) = skipped(&ended.stderr) {
            return (Outcome::Skipped, Some(reason));
        }
        return match &step.expects {
            Some(expected) if !ended.stdout.contains(expected.as_str()) => {
                let reason = format!("it does not print `{expected}`");
                (Outcome::Failed, Some(reason))
            }
            _ => (Outcome::Passed, None),
        };
    }
    if let Some(error) = lack(step, ended) {
        return (Outcome::Skipped, Some(error));
    }
    let outcome = of_end(&ended.end);
    if step.kind == Kind::Information && outcome == Outcome::Failed {
        return (Outcome::Passed, Some(ended.end.to_string()));
    }
    (outcome, Some(ended.end.to_string()))
}

/// The error of a program that ended since the device lacks what the step needs.
fn lack(step: &Step, ended: &Ended) -> Option<String> {
    let needs = step.needs.as_deref()?;
    let mut errors = ended
        .stderr
        .lines()
        .filter_map(|line| line.strip_prefix("error: "));
    let error =
        errors.find(|error| error.contains(needs) && error.ends_with("does not support"))?;
    matches!(ended.end, End::Exit(_)).then(|| error.to_owned())
}

/// What the bad end of a process is called.
pub(crate) fn of_end(end: &End) -> Outcome {
    match end {
        End::Exit(_) | End::NotStarted(_) => Outcome::Failed,
        End::Signal(_) => Outcome::Crashed,
        End::Killed { .. } => Outcome::Hung,
    }
}

/// Why a whole program was skipped, if it says so.
fn skipped(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines();
    lines.find_map(|line| Some(line.strip_prefix("skipped: ")?.to_owned()))
}
