// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report on a file: how a driver handled its modules, and the attributes of their kernels.
//!
//! These types are the JSON form of `schema/doctor.schema.json`.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ui::{Escaped, Page};

/// What a driver did with a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(super) struct Report {
    /// See [`SCHEMA_VERSION`](crate::ui::SCHEMA_VERSION).
    pub(super) schema_version: u32,
    /// Whether the program ends with 0: each kernel can be used, and no driver crashed.
    pub(super) passed: bool,
    /// The path as given.
    pub(super) path: String,
    /// The device; `None` if there is none.
    pub(super) device: Option<DeviceReport>,
    /// What failed outside of modules.
    pub(super) problem: Option<String>,
    /// The number of kernels in the file. A kernel in several modules counts once.
    pub(super) kernels: usize,
    /// The number of those that the device can use.
    pub(super) usable_kernels: usize,
    /// The modules that were tried, in file order.
    pub(super) modules: Vec<ModuleReport>,
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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// The device can use it.
    #[default]
    Usable,
    /// The device cannot use it, and the driver said so.
    Refused,
    /// The driver ended the process.
    Crashed,
    /// The driver did not answer.
    Hung,
}

/// A module of the file.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ModuleReport {
    pub(super) index: usize,
    /// What the driver did with its code.
    pub(super) outcome: Outcome,
    /// Why it cannot be used.
    pub(super) reason: Option<String>,
    pub(super) images: Vec<ImageReport>,
    /// Its kernels. Empty if the module cannot be used.
    pub(super) kernels: Vec<KernelReport>,
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
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct KernelReport {
    pub(super) symbol: String,
    /// Its qualified name in C++.
    pub(super) name: String,
    /// What the driver did with it.
    pub(super) outcome: Outcome,
    /// Why it cannot be used.
    pub(super) reason: Option<String>,
    /// The attributes that the driver reports; `None` if it cannot be used.
    pub(super) answers: Option<Value>,
}

/// The columns of the table of kernels: titles, and the fields of the driver's answers. A column is shown if some kernel
/// has a number in it.
const COLUMNS: [(&str, &str); 8] = [
    ("work-group", "max_work_group_size"),
    ("multiple", "preferred_work_group_size_multiple"),
    ("sub-group", "max_sub_group_size"),
    ("required", "required_sub_group_size"),
    ("registers", "registers"),
    ("private", "private_memory_bytes"),
    ("spilled", "spill_memory_bytes"),
    ("local", "local_memory_bytes"),
];

/// Formats a report.
pub(super) fn render(report: &Report) -> String {
    let mut page = Page::default();
    let path = Escaped(&report.path);
    if let Some(device) = &report.device {
        let driver = format!("{}, {}", device.platform, device.driver_version);
        let (name, driver) = (Escaped(&device.name), Escaped(&driver));
        page.line(format_args!("{path} on {name} ({driver})"));
        page.line(format_args!("  chosen: {}", Escaped(&device.reason)));
    }
    for module in &report.modules {
        let outcome = word(module.outcome);
        page.line(format_args!("module {}: {outcome}", module.index));
        for image in &module.images {
            let description = Escaped(&image.description);
            let verdict = Escaped(&image.verdict);
            page.line(format_args!("  image ({description}): {verdict}"));
        }
        add_reason(&mut page, "  ", module.reason.as_deref());
        table(&mut page, &module.kernels);
    }
    add_reason(&mut page, "", report.problem.as_deref());
    let verdict = if report.passed { "good" } else { "bad" };
    let (usable, all) = (report.usable_kernels, report.kernels);
    page.line(format_args!(
        "{path}: {verdict}, {usable} of {all} kernels can be used"
    ));
    page.text
}

/// Formats a line for each kernel, with the numbers of the driver below their titles.
fn table(page: &mut Page, kernels: &[KernelReport]) {
    let answers = || kernels.iter().filter_map(|kernel| kernel.answers.as_ref());
    let shown = |(_, field): &&(&str, &str)| answers().any(|one| one[field].is_number());
    let columns: Vec<_> = COLUMNS.iter().filter(shown).collect();
    let names = kernels.iter().map(|kernel| kernel.name.chars().count());
    let width = names.chain(["kernel".len()]).max().unwrap_or_default();
    if !columns.is_empty() {
        let titles = columns.iter().map(|(title, _)| format!("  {title}"));
        let titles: String = titles.collect();
        page.line(format_args!("  {:width$}{titles}", "kernel"));
    }
    for kernel in kernels {
        let facts = match &kernel.answers {
            None => format!("  {}", word(kernel.outcome)),
            Some(answers) => {
                let number = |(title, field): &&(&str, &str)| {
                    let number = match &answers[field] {
                        Value::Null => "-".to_owned(),
                        number => number.to_string(),
                    };
                    format!("  {number:>width$}", width = title.len())
                };
                columns.iter().map(number).collect()
            }
        };
        page.line(format_args!("  {:width$}{facts}", kernel.name));
        add_reason(page, "    ", kernel.reason.as_deref());
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
fn add_reason(page: &mut Page, indent: &str, reason: Option<&str>) {
    for line in reason.unwrap_or_default().lines() {
        page.line(format_args!("{indent}!! {}", Escaped(line)));
    }
}
