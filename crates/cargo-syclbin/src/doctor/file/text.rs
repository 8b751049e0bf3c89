// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report on a file, for people.

use std::fmt::Write as _;

use super::report::{Answers, KernelReport, ModuleReport, Outcome, Report};
use crate::ui::Escaped;

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
