// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report on a file: how a driver handled its modules, and the attributes of their kernels.
//!
//! These types serialize to the JSON that `schema/doctor.schema.json` describes.

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::ui::{Escaped, Page};

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct Report {
    /// Whether the command exits with 0: every kernel is usable, the driver neither crashed nor hung, and there was no
    /// other problem.
    pub(super) passed: bool,
    /// The path as given.
    pub(super) path: String,
    /// The device, if one was found.
    pub(super) device: Option<DeviceReport>,
    /// A problem outside of any module.
    pub(super) problem: Option<String>,
    /// The number of kernels in the file. A kernel in several modules counts once.
    pub(super) kernels: usize,
    /// The number of kernels that the device can use.
    pub(super) usable_kernels: usize,
    /// The modules that were tried, in file order.
    pub(super) modules: Vec<ModuleReport>,
}

/// The device on which the file was loaded.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DeviceReport {
    /// The device name, as the driver reports it.
    pub name: String,
    /// The name of the device's platform.
    pub platform: String,
    /// The driver version.
    pub driver_version: String,
    /// Why this device was chosen.
    pub reason: String,
    /// Preferred devices that were skipped because they cannot run all kernels of the file, each with the reason.
    pub skipped: Vec<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Outcome {
    /// The device can use the module or kernel.
    #[default]
    Usable,
    /// The driver reported that the device cannot use it.
    Refused,
    /// The driver terminated the process.
    Crashed,
    /// The driver did not respond in time.
    Hung,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct ModuleReport {
    pub(super) index: usize,
    pub(super) outcome: Outcome,
    /// Why the module cannot be used; `None` if it can.
    pub(super) reason: Option<String>,
    pub(super) images: Vec<ImageReport>,
    /// The kernels of the module; empty if it cannot be used.
    pub(super) kernels: Vec<KernelReport>,
}

/// What the driver did with one image of a module.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageReport {
    /// A description of the image, such as its format and target.
    pub description: String,
    /// Whether the driver built this image.
    pub chosen: bool,
    /// Why the image was chosen or skipped.
    pub verdict: String,
}

#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub(super) struct KernelReport {
    pub(super) symbol: String,
    /// The qualified C++ name.
    pub(super) name: String,
    pub(super) outcome: Outcome,
    /// Why the kernel cannot be used; `None` if it can.
    pub(super) reason: Option<String>,
    /// The attributes that the driver reports; `None` if the kernel cannot be used.
    pub(super) answers: Option<Value>,
}

/// The columns of the kernel table: the title, and the JSON field that contains the numbers. Columns without numbers
/// are omitted.
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

pub(super) fn render(report: &Report) -> String {
    let mut page = Page::default();
    let path = Escaped(&report.path);
    if let Some(device) = &report.device {
        let driver = format!("{}, {}", device.platform, device.driver_version);
        let (name, driver) = (Escaped(&device.name), Escaped(&driver));
        page.line(format_args!("{path} on {name} ({driver})"));
        page.line(format_args!("  chosen: {}", Escaped(&device.reason)));
        for skipped in &device.skipped {
            page.line(format_args!("  skipped: {}", Escaped(skipped)));
        }
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
    let kernels = format!("{usable} of {all} kernels can be used");
    page.line(format_args!("{path}: {verdict}, {kernels}"));
    page.text
}

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

fn add_reason(page: &mut Page, indent: &str, reason: Option<&str>) {
    for line in reason.unwrap_or_default().lines() {
        page.line(format_args!("{indent}!! {}", Escaped(line)));
    }
}
