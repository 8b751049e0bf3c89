// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin doctor FILE`: builds a file with a driver in a child process, and reports on each kernel.
//!
//! No check can predict all driver crashes, so a child process loads each module and creates each kernel. The child
//! process announces each [`Step`] before it passes the code to the driver. After a crash, a new child process
//! continues after the code that caused the crash.

mod report;

use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

pub use self::report::{DeviceReport, ImageReport};
use self::report::{KernelReport, ModuleReport, Outcome, Report};

use super::Options;
use super::child::{self, Ended};
use crate::error::{Error, Result};
use crate::input::Input;
use crate::inspect::qualified;
use crate::ui;

/// Loads `file` in child processes, prints the report, and returns whether the device can use every kernel.
pub(super) fn run(file: &Path, options: &Options) -> Result<bool> {
    let input = Input::read(file)?;
    let (_, model) = input.syclbin()?;
    let program = std::env::current_exe().map_err(Error::NoProgram)?;
    let limit = Duration::from_secs(options.timeout.into());
    let mut trial = Trial::default();
    while !trial.is_over {
        let (module, kernel) = trial.next;
        let mut command = Command::new(&program);
        command.args(["doctor", "--probe"]);
        command.args([module, kernel].map(|index| index.to_string()));
        // A cached program would bypass the driver's compiler.
        command.env("SYCLBIN_CACHE", "off");
        if let Some(device) = &options.device {
            command.env(super::DEVICE_VARIABLE, device);
        }
        let ended = child::run(command, &input.bytes, limit, |line| {
            // Drivers may write other lines to standard output.
            if let Ok(step) = serde_json::from_str(line) {
                trial.take(step);
            }
        });
        trial.end(&ended.map_err(Error::Child)?);
    }
    let report = trial.report(input.name(), model.kernel_names());
    ui::show(options.format, &report, report::render)?;
    Ok(report.passed)
}

/// A step of a trial. The child process writes each step as a line of JSON.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// The device was found.
    Device(DeviceReport),
    /// The driver is about to build the module with this index.
    Module(usize),
    /// The driver has built the module. Contains a report on each of its images.
    Built(Vec<ImageReport>),
    /// The driver is about to create the kernel with this symbol.
    Kernel(String),
    /// The driver has created the kernel, and reports these attributes.
    Created(Value),
    /// The driver cannot build the module or create the kernel, for this reason.
    Refused(String),
    /// The trial cannot continue, for this reason; for example, no suitable device was found.
    Failed(String),
    /// The child process has tried all modules and kernels.
    Done,
}

/// The progress of a trial.
#[derive(Debug, Default)]
struct Trial {
    /// The indices of the module and the kernel at which the next child process starts.
    next: (usize, usize),
    is_over: bool,
    /// The report so far. `Trial::report` adds the missing fields.
    report: Report,
    /// The part that the driver is working on, if any.
    trying: Option<Part>,
    /// Whether the child process has reported [`Step::Done`] or [`Step::Failed`].
    is_done: bool,
}

/// The code that the driver is working on: the module that was announced last, or its last kernel.
#[derive(Clone, Copy, Debug)]
enum Part {
    Module,
    Kernel,
}

impl Trial {
    fn take(&mut self, step: Step) {
        match (step, self.report.modules.last_mut()) {
            (Step::Device(device), _) => self.report.device = Some(device),
            (Step::Module(index), last) => {
                self.trying = Some(Part::Module);
                // After a crash in a kernel, the next child process builds the kernel's module again.
                if last.is_none_or(|last| last.index != index) {
                    self.report.modules.push(ModuleReport {
                        index,
                        ..ModuleReport::default()
                    });
                }
            }
            (Step::Built(images), Some(module)) => {
                self.trying = None;
                module.images = images;
            }
            (Step::Kernel(symbol), Some(module)) => {
                self.trying = Some(Part::Kernel);
                module.kernels.push(KernelReport {
                    name: qualified(&symbol),
                    symbol,
                    ..KernelReport::default()
                });
            }
            (Step::Created(answers), Some(module)) => {
                self.trying = None;
                if let Some(kernel) = module.kernels.last_mut() {
                    kernel.answers = Some(answers);
                }
            }
            (Step::Refused(reason), _) => self.reject(Outcome::Refused, reason),
            (Step::Failed(reason), _) => {
                self.report.problem = Some(reason);
                self.is_done = true;
            }
            (Step::Done, _) => self.is_done = true,
            // The child process announces each module before all other steps of the module.
            (_, None) => {}
        }
    }

    /// Records why the current part cannot be used.
    fn reject(&mut self, rejected: Outcome, why: String) {
        let Some(module) = self.report.modules.last_mut() else {
            return;
        };
        let (outcome, reason) = match (self.trying.take(), module.kernels.last_mut()) {
            (Some(Part::Kernel), Some(kernel)) => (&mut kernel.outcome, &mut kernel.reason),
            _ => (&mut module.outcome, &mut module.reason),
        };
        (*outcome, *reason) = (rejected, Some(why));
    }

    /// Records the end of the child process, and decides where the next child process starts.
    fn end(&mut self, ended: &Ended) {
        let mut next = None;
        if let Some(part) = self.trying {
            let outcome = match ended.status {
                Some(_) => Outcome::Crashed,
                None => Outcome::Hung,
            };
            self.reject(outcome, ended.to_string());
            next = self.report.modules.last().map(|last| match part {
                Part::Module => (last.index + 1, 0),
                Part::Kernel => (last.index, last.kernels.len()),
            });
        } else if !(self.is_done && ended.is_success()) {
            let place = match self.report.modules.last() {
                _ if self.is_done => "at the end of the process".to_owned(),
                None => "before any module was built".to_owned(),
                Some(last) => {
                    next = Some((last.index + 1, 0));
                    format!("after module {}", last.index)
                }
            };
            let before = self.report.problem.take().map(|problem| problem + "\n");
            let before = before.unwrap_or_default();
            self.report.problem = Some(format!("{before}{place}: {ended}"));
        }
        self.is_over = next.is_none();
        self.next = next.unwrap_or_default();
    }

    fn report<'a>(self, path: String, listed: impl Iterator<Item = &'a str>) -> Report {
        let report = self.report;
        let kernels = || report.modules.iter().flat_map(|module| &module.kernels);
        let all = listed.collect::<BTreeSet<_>>().len();
        let usable = kernels().filter(|kernel| kernel.outcome == Outcome::Usable);
        let usable: BTreeSet<&str> = usable.map(|kernel| kernel.symbol.as_str()).collect();
        let usable = usable.len();
        let modules = || report.modules.iter().map(|module| module.outcome);
        let mut outcomes = modules().chain(kernels().map(|kernel| kernel.outcome));
        let has_crashed = outcomes.any(|one| matches!(one, Outcome::Crashed | Outcome::Hung));
        // A file without kernels passes if it contains no modules, or if any of its modules is usable.
        let something = report.modules.is_empty() || modules().any(|one| one == Outcome::Usable);
        Report {
            passed: report.problem.is_none() && !has_crashed && usable == all && something,
            path,
            kernels: all,
            usable_kernels: usable,
            ..report
        }
    }
}

#[cfg(all(test, unix))]
mod tests;
