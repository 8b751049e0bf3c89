// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin doctor FILE`: a driver builds a file in a child process, and reports on each kernel.
//!
//! No check finds all code that a driver crashes on. So a child process loads one module after another and creates
//! every kernel. It reports each [`Step`] before the driver sees the code. After a crash, another child process
//! continues after the code that was last named.

mod report;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

pub use report::{
    Answers, DeviceReport, ImageReport, KernelReport, ModuleReport, Outcome, Position, Report, Step,
};

use super::child::{self, Ended};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::inspect::qualified;
use crate::ui::{self, Format, SCHEMA_VERSION};

/// A file, and how to try it.
#[derive(Clone, Copy, Debug)]
pub struct Options<'a> {
    /// The file; `-` is standard input.
    pub file: &'a Path,
    /// The device, in the form of `SYCLBIN_DEVICE`.
    pub device: Option<&'a str>,
    /// How long a driver may take for a module or a kernel.
    pub limit: Duration,
    /// How to show the report.
    pub format: Format,
}

/// Tries a file in child processes of this program, prints the report, and returns whether the device can use each
/// kernel.
///
/// # Errors
///
/// Fails if the file cannot be read or is not a SYCLBIN file, or if no child process can be started.
pub fn run(options: &Options<'_>) -> Result<bool> {
    let input = Input::read(options.file)?;
    let (_, model) = input.syclbin()?;
    let program = std::env::current_exe().map_err(Error::NoProgram)?;
    let mut trial = Trial::default();
    while let Some(start) = trial.next {
        let mut command = Command::new(&program);
        command.args(["doctor", "--probe", &start.to_string()]);
        // A cached program would hide what the driver does.
        command.env("SYCLBIN_CACHE", "off");
        if let Some(device) = options.device {
            command.env("SYCLBIN_DEVICE", device);
        }
        trial.begin(start);
        let ended = child::run(command, &input.bytes, options.limit, |line| {
            if let Some(step) = Step::read(line) {
                trial.take(step);
            }
        });
        trial.end(&ended.map_err(Error::Child)?);
    }
    let report = trial.report(input.name(), model.kernel_names());
    ui::show(options.format, &report, report::render)?;
    Ok(report.passed)
}

/// A trial of a file, as far as it has come.
#[derive(Debug)]
struct Trial {
    /// Where the next child process starts; `None` at the end.
    next: Option<Position>,
    device: Option<DeviceReport>,
    problem: Option<String>,
    modules: Vec<ModuleReport>,
    /// The step that the driver is at.
    at: At,
    /// How many kernels of the current module the child process has finished.
    kernels: usize,
}

/// The part of a file that a driver is working on.
#[derive(Clone, Debug, PartialEq, Eq)]
enum At {
    /// No part yet: the driver looks for devices or creates a queue.
    Outside,
    Module(usize),
    Kernel(String),
    /// All parts were tried.
    End,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            next: Some(Position::default()),
            device: None,
            problem: None,
            modules: Vec::new(),
            at: At::Outside,
            kernels: 0,
        }
    }
}

impl Trial {
    /// Notes the start of a child process.
    fn begin(&mut self, start: Position) {
        self.next = None;
        self.at = At::Outside;
        self.kernels = start.kernel;
    }

    /// Notes a step of the child process.
    fn take(&mut self, step: Step) {
        match step {
            Step::Device(device) => self.device = Some(device),
            Step::Building(index) => {
                let same = self.modules.last().is_some_and(|last| last.index == index);
                self.kernels = if same { self.kernels } else { 0 };
                self.at = At::Module(index);
            }
            Step::Built(images) => self.module(Outcome::Usable, None, images),
            Step::Making(symbol) => self.at = At::Kernel(symbol),
            Step::Made(answers) => self.kernel(Outcome::Usable, None, Some(answers)),
            Step::Refused(reason) => self.outcome(Outcome::Refused, reason),
            Step::Failed(reason) => {
                self.problem = Some(reason);
                self.at = At::End;
            }
            Step::Done => self.at = At::End,
        }
    }

    /// Notes the end of the child process, and decides where the next one starts.
    fn end(&mut self, ended: &Ended) {
        let complete = self.at == At::End;
        if complete && ended.is_success() {
            return;
        }
        let outcome = match ended.status {
            Some(_) => Outcome::Crashed,
            None => Outcome::Hung,
        };
        let reason = ended.to_string();
        self.next = match &self.at {
            At::Outside => {
                self.problem = Some(format!("before any module was built: {reason}"));
                None
            }
            At::End => {
                let before = self.problem.take().map(|problem| problem + "\n");
                let before = before.unwrap_or_default();
                self.problem = Some(format!("{before}at the end of the process: {reason}"));
                None
            }
            At::Module(index) => Some(Position {
                module: *index + 1,
                kernel: 0,
            }),
            At::Kernel(_) => self.modules.last().map(|module| Position {
                module: module.index,
                kernel: self.kernels + 1,
            }),
        };
        self.outcome(outcome, reason);
    }

    /// Notes that the module or kernel in progress cannot be used.
    fn outcome(&mut self, outcome: Outcome, reason: String) {
        match self.at {
            At::Module(_) => self.module(outcome, Some(reason), Vec::new()),
            At::Kernel(_) => self.kernel(outcome, Some(reason), None),
            At::Outside | At::End => {}
        }
    }

    fn module(&mut self, outcome: Outcome, reason: Option<String>, images: Vec<ImageReport>) {
        let At::Module(index) = self.at else {
            return;
        };
        // After a crash on a kernel, its module is built again.
        if self.modules.last().is_some_and(|last| last.index == index) {
            return;
        }
        self.modules.push(ModuleReport {
            index,
            outcome,
            reason,
            images,
            kernels: Vec::new(),
        });
    }

    fn kernel(&mut self, outcome: Outcome, reason: Option<String>, answers: Option<Answers>) {
        let (At::Kernel(symbol), Some(module)) = (&self.at, self.modules.last_mut()) else {
            return;
        };
        self.kernels += 1;
        module.kernels.push(KernelReport {
            name: qualified(symbol),
            symbol: symbol.clone(),
            outcome,
            reason,
            answers,
        });
    }

    fn report<'a>(self, path: String, listed: impl Iterator<Item = &'a str>) -> Report {
        let kernels = || self.modules.iter().flat_map(|module| &module.kernels);
        // Old files list no kernels, but the driver does.
        let mut all: BTreeSet<&str> = kernels().map(|kernel| kernel.symbol.as_str()).collect();
        for symbol in listed {
            all.insert(symbol);
        }
        let all = all.len();
        let usable = kernels().filter(|kernel| kernel.outcome == Outcome::Usable);
        let usable: BTreeSet<&str> = usable.map(|kernel| kernel.symbol.as_str()).collect();
        let usable = usable.len();
        let crashed = |outcome| matches!(outcome, Outcome::Crashed | Outcome::Hung);
        let mut modules = self.modules.iter();
        let has_crashed = modules.any(|module| crashed(module.outcome))
            || kernels().any(|kernel| crashed(kernel.outcome));
        // A file without kernels is good if something in it can be used.
        let mut modules = self.modules.iter();
        let something = modules.any(|module| module.outcome == Outcome::Usable);
        let something = something || self.modules.is_empty();
        Report {
            schema_version: SCHEMA_VERSION,
            passed: self.problem.is_none() && !has_crashed && usable == all && something,
            path,
            device: self.device,
            problem: self.problem,
            kernels: all,
            usable_kernels: usable,
            modules: self.modules,
        }
    }
}

#[cfg(all(test, unix))]
mod tests;
