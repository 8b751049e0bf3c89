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
    Answers, DeviceReport, ImageReport, KernelReport, ModuleReport, Outcome, Part, Position,
    Report, Step,
};

use super::child::{self, Ended};
use crate::error::{Error, Result};
use crate::input::Input;
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
    /// The part that the driver is working on.
    trying: Option<Part>,
    /// Whether the child process has tried all parts.
    is_done: bool,
}

impl Default for Trial {
    fn default() -> Self {
        Self {
            next: Some(Position::default()),
            device: None,
            problem: None,
            modules: Vec::new(),
            trying: None,
            is_done: false,
        }
    }
}

impl Trial {
    /// Notes a step of the child process.
    fn take(&mut self, step: Step) {
        match step {
            Step::Device(device) => self.device = Some(device),
            Step::Trying(part) => self.trying = Some(part),
            Step::Tried(part) => {
                self.trying = None;
                self.add(part);
            }
            Step::Failed(reason) => {
                self.problem = Some(reason);
                self.is_done = true;
            }
            Step::Done => self.is_done = true,
        }
    }

    /// Notes the end of the child process, and decides where the next one starts.
    fn end(&mut self, ended: &Ended) {
        self.next = None;
        if self.is_done && ended.is_success() {
            return;
        }
        let outcome = match ended.status {
            Some(_) => Outcome::Crashed,
            None => Outcome::Hung,
        };
        if let Some(part) = self.trying.take() {
            let is_kernel = matches!(part, Part::Kernel(_));
            self.add(part.failed(outcome, ended.to_string()));
            self.next = self.modules.last().map(|last| Position {
                module: last.index + usize::from(!is_kernel),
                kernel: last.kernels.len(),
            });
            return;
        }
        let place = match self.modules.last() {
            _ if self.is_done => "at the end of the process".to_owned(),
            None => "before any module was built".to_owned(),
            Some(last) => {
                self.next = Some(Position {
                    module: last.index + 1,
                    kernel: 0,
                });
                format!("after module {}", last.index)
            }
        };
        let before = self.problem.take().map(|problem| problem + "\n");
        let before = before.unwrap_or_default();
        self.problem = Some(format!("{before}{place}: {ended}"));
    }

    fn add(&mut self, part: Part) {
        match (part, self.modules.last_mut()) {
            // After a crash on a kernel, its module is built again.
            (Part::Module(module), Some(last)) if last.index == module.index => {}
            (Part::Module(module), _) => self.modules.push(module),
            (Part::Kernel(kernel), Some(module)) => module.kernels.push(kernel),
            (Part::Kernel(_), None) => {}
        }
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
