// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report on a file: how a driver handled its modules, and the attributes of their kernels.
//!
//! These types are the JSON form of `schema/doctor.schema.json`, and of what the child process reports.

use std::fmt::{self, Write as _};
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use syclbin_rt::__private::DeviceChoice;
use syclbin_rt::{ImageChoice, KernelAttributes};

use crate::inspect::qualified;
use crate::ui::Escaped;

/// What a driver did with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Report {
    /// See [`SCHEMA_VERSION`](crate::ui::SCHEMA_VERSION).
    pub schema_version: u32,
    /// Whether the program ends with 0: each kernel can be used, and no driver crashed.
    pub passed: bool,
    /// The path as given.
    pub path: String,
    /// The device; `None` if there is none.
    pub device: Option<DeviceReport>,
    /// What failed outside of modules.
    pub problem: Option<String>,
    /// The number of kernels in the file. A kernel in several modules counts once.
    pub kernels: usize,
    /// The number of those that the device can use.
    pub usable_kernels: usize,
    /// The modules that were tried, in the order of the file.
    pub modules: Vec<ModuleReport>,
}

/// A device.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// Its name.
    pub name: String,
    /// Its platform.
    pub platform: String,
    /// The version of its driver.
    pub driver_version: String,
    /// Why it was chosen.
    pub reason: String,
}

/// The outcome for a module or a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// The device can use it.
    Usable,
    /// The device cannot use it, and the driver said so.
    Refused,
    /// The driver ended the process.
    Crashed,
    /// The driver did not answer.
    Hung,
}

/// A module of the file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ModuleReport {
    /// Its index.
    pub index: usize,
    /// What the driver did with its code.
    pub outcome: Outcome,
    /// Why it cannot be used.
    pub reason: Option<String>,
    /// Its images.
    pub images: Vec<ImageReport>,
    /// Its kernels. Empty if the module cannot be used.
    pub kernels: Vec<KernelReport>,
}

/// An image of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageReport {
    /// What it holds.
    pub description: String,
    /// Whether the driver built this image.
    pub chosen: bool,
    /// Why it was chosen or skipped.
    pub verdict: String,
}

/// A kernel of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KernelReport {
    /// Its symbol.
    pub symbol: String,
    /// Its qualified name in C++.
    pub name: String,
    /// What the driver did with it.
    pub outcome: Outcome,
    /// Why it cannot be used.
    pub reason: Option<String>,
    /// The attributes that the driver reports; `None` if it cannot be used.
    pub answers: Option<Answers>,
}

/// The attributes of a kernel that a driver reports. See [`KernelAttributes`].
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(
    missing_docs,
    reason = "the fields are those of `KernelAttributes`, which documents them"
)]
pub struct Answers {
    pub max_work_group_size: usize,
    pub preferred_work_group_size_multiple: usize,
    pub required_work_group_size: Option<Vec<usize>>,
    pub max_sub_group_size: Option<usize>,
    pub required_sub_group_size: Option<usize>,
    pub registers: Option<u32>,
    pub private_memory_bytes: Option<u64>,
    pub spill_memory_bytes: Option<u64>,
    pub local_memory_bytes: u64,
}

impl DeviceReport {
    /// Describes a chosen device.
    #[must_use]
    pub fn new(choice: &DeviceChoice) -> Self {
        let device = choice.device();
        Self {
            name: device.name().to_owned(),
            platform: device.platform().to_owned(),
            driver_version: device.driver_version().to_owned(),
            reason: choice.reason().to_owned(),
        }
    }
}

impl ImageReport {
    /// Describes the images of a module.
    #[must_use]
    pub fn all(choice: &ImageChoice) -> Vec<Self> {
        let images = choice.verdicts().enumerate();
        let image = |(index, (description, verdict)): (usize, (&str, &str))| Self {
            description: description.to_owned(),
            chosen: choice.image() == Some(index),
            verdict: verdict.to_owned(),
        };
        images.map(image).collect()
    }
}

impl Answers {
    /// Combines the driver's answers with the only work-group size that the kernel takes, if there is one.
    #[must_use]
    pub fn new(info: &KernelAttributes, required_work_group_size: Option<&[usize]>) -> Self {
        Self {
            max_work_group_size: info.max_work_group_size,
            preferred_work_group_size_multiple: info.preferred_work_group_size_multiple,
            required_work_group_size: required_work_group_size.map(<[usize]>::to_vec),
            max_sub_group_size: info.max_sub_group_size,
            required_sub_group_size: info.required_sub_group_size,
            registers: info.registers,
            private_memory_bytes: info.private_memory_bytes,
            spill_memory_bytes: info.spill_memory_bytes,
            local_memory_bytes: info.local_memory_bytes,
        }
    }
}

/// A part of a file, with the outcome of the trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[allow(missing_docs, reason = "the names explain themselves")]
pub enum Part {
    Module(ModuleReport),
    Kernel(KernelReport),
}

impl Part {
    /// Returns the module at `index`, which can be used.
    #[must_use]
    pub fn module(index: usize, images: Vec<ImageReport>) -> Self {
        Self::Module(ModuleReport {
            index,
            outcome: Outcome::Usable,
            reason: None,
            images,
            kernels: Vec::new(),
        })
    }

    /// Returns the kernel with this symbol, which can be used.
    #[must_use]
    pub fn kernel(symbol: &str, answers: Option<Answers>) -> Self {
        Self::Kernel(KernelReport {
            symbol: symbol.to_owned(),
            name: qualified(symbol),
            outcome: Outcome::Usable,
            reason: None,
            answers,
        })
    }

    /// Returns the same part, which cannot be used.
    #[must_use]
    pub fn failed(mut self, outcome: Outcome, reason: String) -> Self {
        let (own, why) = match &mut self {
            Self::Module(module) => (&mut module.outcome, &mut module.reason),
            Self::Kernel(kernel) => (&mut kernel.outcome, &mut kernel.reason),
        };
        (*own, *why) = (outcome, Some(reason));
        self
    }
}

/// A step of a trial.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Step {
    /// The device was found.
    Device(DeviceReport),
    /// The driver is about to build this module or to create this kernel.
    Trying(Part),
    /// The driver is finished with the part.
    Tried(Part),
    /// The trial failed before the first module, for this reason.
    Failed(String),
    /// Everything was tried.
    Done,
}

impl Step {
    /// Formats the step as a line.
    #[must_use]
    pub fn line(&self) -> String {
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Parses a line. Drivers may write other lines to standard output.
    #[must_use]
    pub fn read(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

/// A kernel of a module, both counted from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Position {
    /// The module.
    pub module: usize,
    /// The kernel, in the order of its module.
    pub kernel: usize,
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.module, self.kernel)
    }
}

impl FromStr for Position {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parse = |number: &str| number.parse().map_err(|_| format!("{text:?} is not M:K"));
        let (module, kernel) = text.split_once(':').unwrap_or((text, ""));
        Ok(Self {
            module: parse(module)?,
            kernel: parse(kernel)?,
        })
    }
}

/// The columns of the table of kernels. A column is shown if some kernel has a number in it.
const COLUMNS: [(&str, Column); 8] = [
    ("work-group", |one| Some(one.max_work_group_size as u64)),
    ("multiple", |one| {
        Some(one.preferred_work_group_size_multiple as u64)
    }),
    ("sub-group", |one| one.max_sub_group_size.map(|n| n as u64)),
    ("required", |one| {
        one.required_sub_group_size.map(|n| n as u64)
    }),
    ("registers", |one| one.registers.map(u64::from)),
    ("private", |one| one.private_memory_bytes),
    ("spilled", |one| one.spill_memory_bytes),
    ("local", |one| Some(one.local_memory_bytes)),
];

/// Returns the number in a column.
type Column = fn(&Answers) -> Option<u64>;

/// Formats a report.
pub(super) fn render(report: &Report) -> String {
    let mut text = String::new();
    let path = Escaped(&report.path);
    if let Some(device) = &report.device {
        let name = Escaped(&device.name);
        let driver = format!("{}, {}", device.platform, device.driver_version);
        let (driver, reason) = (Escaped(&driver), Escaped(&device.reason));
        put(&mut text, 0, &format!("{path} on {name} ({driver})"));
        put(&mut text, 2, &format!("chosen: {reason}"));
    }
    for module in &report.modules {
        of_module(&mut text, module);
    }
    if let Some(problem) = &report.problem {
        reason(&mut text, 0, problem);
    }
    let verdict = if report.passed { "good" } else { "bad" };
    let (usable, all) = (report.usable_kernels, report.kernels);
    put(
        &mut text,
        0,
        &format!("{path}: {verdict}, {usable} of {all} kernels can be used"),
    );
    text
}

fn of_module(text: &mut String, module: &ModuleReport) {
    let outcome = word(module.outcome);
    put(text, 0, &format!("module {}: {outcome}", module.index));
    for image in &module.images {
        let description = Escaped(&image.description);
        let verdict = Escaped(&image.verdict);
        put(text, 2, &format!("image ({description}): {verdict}"));
    }
    if let Some(why) = &module.reason {
        reason(text, 2, why);
    }
    table(text, &module.kernels);
}

/// Formats a line for each kernel, with the numbers of the driver below their titles.
fn table(text: &mut String, kernels: &[KernelReport]) {
    let answers = || kernels.iter().filter_map(|kernel| kernel.answers.as_ref());
    let shown = |(_, column): &&(&str, Column)| answers().any(|one| column(one).is_some());
    let columns: Vec<_> = COLUMNS.iter().filter(shown).collect();
    let names = kernels.iter().map(|kernel| kernel.name.chars().count());
    let width = names.chain(["kernel".len()]).max().unwrap_or_default();
    if !columns.is_empty() {
        let titles = columns.iter().map(|(title, _)| format!("  {title}"));
        let titles: String = titles.collect();
        put(text, 2, &format!("{:width$}{titles}", "kernel"));
    }
    for kernel in kernels {
        let mut line = format!("{:width$}", kernel.name);
        if let Some(answers) = &kernel.answers {
            for (title, column) in &columns {
                let number = column(answers).map_or_else(|| "-".to_owned(), |n| n.to_string());
                // Writing to a string cannot fail.
                let _ = write!(line, "  {number:>width$}", width = title.len());
            }
        } else {
            line = format!("{line}  {}", word(kernel.outcome));
        }
        put(text, 2, &line);
        if let Some(why) = &kernel.reason {
            reason(text, 4, why);
        }
    }
}

const fn word(outcome: Outcome) -> &'static str {
    match outcome {
        Outcome::Usable => "built",
        Outcome::Refused => "refused",
        Outcome::Crashed => "the driver crashed",
        Outcome::Hung => "the driver hung",
    }
}

/// Adds a reason of one or several lines.
fn reason(text: &mut String, indent: usize, reason: &str) {
    for line in reason.lines() {
        put(text, indent, &format!("!! {}", Escaped(line)));
    }
}

fn put(text: &mut String, indent: usize, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{:indent$}{line}", "");
}
