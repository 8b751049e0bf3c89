// SPDX-License-Identifier: MIT OR Apache-2.0
//! A step that is one process: starts it, and judges how it ended.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use serde_json::{Map, Value};

use crate::device::EXECUTES;
use crate::plan::{Kind, Step};
use crate::process::{End, Ended, Limits, run};
use crate::report::{Outcome, StepReport};

/// The context that all steps share.
pub(crate) struct Context {
    pub(crate) pack: PathBuf,
    /// The working directory of the steps.
    pub(crate) work: PathBuf,
    /// The environment variables of all steps.
    pub(crate) environment: BTreeMap<String, OsString>,
    /// The time by which the run must end.
    pub(crate) deadline: Instant,
    pub(crate) less: bool,
    pub(crate) repeats_crashes: bool,
}

impl Context {
    /// Creates the command of a step, under `tool` if there is one.
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

    pub(crate) fn executes(&self) -> bool {
        self.environment
            .get(EXECUTES)
            .is_none_or(|value| value != "no")
    }

    pub(crate) fn arguments(&self, step: &Step) -> Vec<String> {
        let less = if self.less { &*step.less } else { &[] };
        [&step.arguments, less].concat()
    }

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

    /// Returns the time limit of a step: its own, or the rest of the run if that is shorter.
    pub(crate) fn limit(&self, seconds: u64) -> Duration {
        let left = self.deadline.saturating_duration_since(Instant::now());
        left.min(Duration::from_secs(seconds))
    }
}

/// Runs a step of any kind except tests.
pub(crate) fn run_step(context: &Context, step: &Step, tool: &[String]) -> StepReport {
    let figures = context.figures();
    let _ = std::fs::remove_file(&figures);
    let mut command = context.command(step, tool, &context.arguments(step));
    let ended = run(&mut command, Limits::total(context.limit(step.seconds)));
    let mut report = StepReport::new(step, ended.took);
    report.output = Some(ended.tail()).filter(|output| !output.is_empty());
    (report.outcome, report.reason) = outcome(step, &ended);
    if step.kind == Kind::Benchmark {
        match read_figures(&figures) {
            // A failed measurement does not invalidate the others.
            Ok(Some(rows)) => report.figures = Some(Value::Object(rows)),
            Ok(None) if report.outcome == Outcome::Passed => {
                report.outcome = Outcome::Skipped;
                let first = ended.stdout.lines().find(|line| !line.trim().is_empty());
                report.reason = Some(first.unwrap_or("it measured nothing").to_owned());
            }
            Ok(None) => {}
            Err(error) => {
                report.outcome = report.outcome.max(Outcome::Failed);
                let before = report.reason.map(|reason| format!("{reason}; "));
                let before = before.unwrap_or_default();
                report.reason = Some(format!("{before}cannot read its figures: {error}"));
            }
        }
    }
    report
}

/// Returns the figures, or `None` if the program wrote none.
fn read_figures(path: &Path) -> std::io::Result<Option<Map<String, Value>>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(Some(serde_json::from_slice(&bytes)?)),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error),
    }
}

/// Returns the outcome for a program that has ended, and the reason.
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

/// Returns the error of a program that failed because the device lacks a capability.
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

/// Returns the outcome for a process that did not succeed.
pub(crate) fn of_end(end: &End) -> Outcome {
    match end {
        End::Exit(_) | End::NotStarted(_) => Outcome::Failed,
        End::Signal(_) => Outcome::Crashed,
        End::Killed { .. } => Outcome::Hung,
    }
}

/// Returns the reason why a program skipped itself, if it printed one.
fn skipped(stderr: &str) -> Option<String> {
    let mut lines = stderr.lines();
    lines.find_map(|line| Some(line.strip_prefix("skipped: ")?.to_owned()))
}
