// SPDX-License-Identifier: MIT OR Apache-2.0
//! `gpu record`: adds a report to the guide, and its figures to the README of the benchmarks.
//!
//! Both files have a section between the comments `gpu reports` and `end of gpu reports`. A report replaces an
//! earlier report of the same device and day.

use std::path::Path;

use gpu_report::plan::Kind;
use gpu_report::report::{Outcome, StepReport};
use gpu_report::{Device, Report, figures_table};

use super::at;
use crate::steps::Result;

const START: &str = "<!-- gpu reports -->\n";
const END: &str = "<!-- end of gpu reports -->\n";

pub(super) fn run(path: &Path) -> Result<()> {
    let report = Report::read(path).map_err(|error| error.to_string())?;
    let device = recordable(&report)?;
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    edit(&root.join("book/src/status.md"), |section| {
        Ok(with_row(section, &row(&report, device)))
    })?;
    let Some(figures) = figures(&report) else {
        eprintln!("{}: it has no figures", path.display());
        return Ok(());
    };
    edit(&root.join("syclbin-rt/benches/README.md"), |section| {
        Ok(with_block(section, &title(&report, device), &figures))
    })
}

/// Returns the device, or an error if the report is not worth recording.
fn recordable(report: &Report) -> Result<&Device> {
    let device = report.device.as_ref();
    let device = device.ok_or("the report names no device, so there is nothing to record")?;
    if device.simulated {
        return Err(
            "the report is about a simulated device, which says nothing about a GPU; record one of a \
             real device"
                .to_owned(),
        );
    }
    if !report.complete {
        return Err("the run was ended from outside; run the pack again".to_owned());
    }
    Ok(device)
}

/// Returns the tables of all benchmarks that ran to completion. They list the measurements that failed.
fn figures(report: &Report) -> Option<String> {
    let ended = [Outcome::Passed, Outcome::Failed];
    let steps = report.steps.iter().filter(|_| !report.quick);
    let figures = steps.filter(|step| ended.contains(&step.outcome));
    let figures = figures.filter_map(|step| step.figures.as_ref());
    let tables: Vec<String> = figures.map(figures_table).collect();
    (!tables.is_empty()).then(|| tables.join("\n"))
}

fn title(report: &Report, device: &Device) -> String {
    let driver = device.kernel_module.as_ref().unwrap_or(&device.driver);
    format!(
        "### {}, {}\n\n{driver}, commit {}",
        device.name,
        day(report),
        report.commit
    )
}

fn day(report: &Report) -> &str {
    report.date.get(..10).unwrap_or(&report.date)
}

/// Returns the row of a report in the table of the guide. The first cells identify the report.
fn row(report: &Report, device: &Device) -> String {
    let of = |kind: Kind| report.steps.iter().filter(move |step| step.kind == kind);
    let words = |steps: Vec<&StepReport>| {
        let others: Vec<String> = steps
            .iter()
            .filter(|step| step.outcome != Outcome::Passed)
            .map(|step| format!("{} {}", step.name, step.outcome.word()))
            .collect();
        let passed = steps.len() - others.len();
        match others.as_slice() {
            [] => format!("all {passed}"),
            _ => format!("{passed}; {}", others.join(", ")),
        }
    };
    let benchmark = match figures(report) {
        Some(_) => "[benches](../../syclbin-rt/benches/README.md)",
        None => "not measured",
    };
    let machine = &report.machine;
    let cells = [
        device.name.clone(),
        day(report).to_owned(),
        format!("{} {}", device.platform, device.driver),
        machine.system.as_ref().unwrap_or(&machine.kernel).clone(),
        report.tests.words(),
        words(of(Kind::Program).collect()),
        benchmark.to_owned(),
    ];
    let cells = cells.map(|cell| cell.replace('|', "\\|"));
    format!("| {} |\n", cells.join(" | "))
}

/// Appends a row to a table, and removes the row with the same first two cells.
fn with_row(section: &str, row: &str) -> String {
    let key = |line: &str| {
        let cells: Vec<&str> = line.split(" | ").take(2).collect();
        cells.join(" | ")
    };
    let kept = section
        .split_inclusive('\n')
        .filter(|line| key(line) != key(row));
    let mut text: String = kept.collect();
    text.push_str(row);
    text
}

/// Appends a block to a section, and removes the block with the same heading.
fn with_block(section: &str, title: &str, table: &str) -> String {
    let heading = title.lines().next().unwrap_or_default();
    let mut kept = true;
    let mut text = String::new();
    for line in section.split_inclusive('\n') {
        if line.starts_with("### ") {
            kept = line.trim_end() != heading;
        }
        if kept {
            text.push_str(line);
        }
    }
    format!("{}\n\n{title}\n\n{table}\n", text.trim_end())
}

/// Edits the text between the two comments of a file.
fn edit(path: &Path, change: impl FnOnce(&str) -> Result<String>) -> Result<()> {
    let text = std::fs::read_to_string(path).map_err(|error| at(path, error))?;
    let split = text.split_once(START).and_then(|(before, rest)| {
        let (section, after) = rest.split_once(END)?;
        Some((before, section, after))
    });
    let Some((before, section, after)) = split else {
        let missing = format!(
            "it has no section `{}`; add the two comments",
            START.trim_end()
        );
        return Err(at(path, missing));
    };
    let section = change(section)?;
    let text = format!("{before}{START}{section}{END}{after}");
    std::fs::write(path, text).map_err(|error| at(path, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_replaces_its_predecessor() {
        let table = "| device | date | x |\n|---|---|---|\n";
        let first = with_row(table, "| H100 | 2026-11-22 | 1 |\n");
        let other_day = with_row(&first, "| H100 | 2026-11-23 | 2 |\n");
        let again = with_row(&other_day, "| H100 | 2026-11-22 | 3 |\n");
        let expected = "| H100 | 2026-11-23 | 2 |\n| H100 | 2026-11-22 | 3 |\n";
        assert_eq!(again, format!("{table}{expected}"));
    }

    #[test]
    fn a_block_replaces_its_predecessor() {
        let first = with_block("Text.\n", "### H100, 2026-11-22\n\n13.0", "| a |\n");
        assert_eq!(first, "Text.\n\n### H100, 2026-11-22\n\n13.0\n\n| a |\n\n");
        let other = with_block(&first, "### H200, 2026-11-22\n\n13.0", "| b |\n");
        let again = with_block(&other, "### H100, 2026-11-22\n\n13.1", "| c |\n");
        assert!(
            !again.contains("| a |") && again.contains("| b |"),
            "{again}"
        );
        assert!(again.ends_with("13.1\n\n| c |\n\n"), "{again}");
        assert_eq!(
            with_block(&again, "### H100, 2026-11-22\n\n13.1", "| c |\n"),
            again
        );
    }
}
