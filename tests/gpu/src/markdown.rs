// SPDX-License-Identifier: MIT OR Apache-2.0
//! Formats the report as Markdown: `report.md`.

use std::fmt::Write as _;

use serde_json::{Map, Value};

use crate::device::Device;
use crate::plan::Kind;
use crate::report::{Counts, Outcome, Report, StepReport};

pub(crate) fn page(report: &Report) -> String {
    let mut text = String::new();
    // Writing to a string cannot fail.
    let _ = page_to(&mut text, report);
    text
}

fn page_to(text: &mut String, report: &Report) -> std::fmt::Result {
    match &report.device {
        Some(device) => writeln!(text, "# syclbin on {}", device.name)?,
        None => writeln!(text, "# syclbin without a device")?,
    }
    if report
        .device
        .as_ref()
        .is_some_and(|device| device.simulated)
    {
        writeln!(
            text,
            "\n**SIMULATED**: this is a driver for tests. It says nothing about a GPU."
        )?;
    }
    if !report.complete {
        writeln!(
            text,
            "\nThe run is not over yet, or was ended from outside."
        )?;
    }
    facts(text, report)?;
    steps(text, report)?;
    for step in &report.steps {
        problems(text, step)?;
    }
    for step in &report.steps {
        if let Some(figures) = &step.figures {
            write!(text, "\n## {}\n\n{}", step.name, figures_table(figures))?;
        }
    }
    for step in &report.steps {
        tests(text, step)?;
    }
    for step in report.steps.iter().filter(|step| step.outcome.is_good()) {
        if let Some(output) = &step.output {
            writeln!(text, "\n## What {} printed", step.name)?;
            block(text, output)?;
        }
    }
    Ok(())
}

fn facts(text: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(text, "\n| | |\n|---|---|")?;
    let mut row = |name: &str, value: &str| writeln!(text, "| {name} | {} |", cell(value));
    let outcome = if report.passed {
        "all passed"
    } else {
        "not all passed"
    };
    row(
        "outcome",
        &format!("{outcome}; tests: {}", report.tests.words()),
    )?;
    if let Some(device) = &report.device {
        device_facts(device, &mut row)?;
    }
    let machine = &report.machine;
    let processor = machine.processor.as_deref().unwrap_or("unknown processor");
    row(
        "processor",
        &format!("{processor}, {} threads", machine.threads),
    )?;
    row("system", machine.system.as_deref().unwrap_or("unknown"))?;
    row("kernel", &machine.kernel)?;
    row("C library", machine.libc.as_deref().unwrap_or("unknown"))?;
    row("date", &report.date)?;
    row("commit", &report.commit)?;
    row("time", &format!("{:.0} s", report.seconds))
}

fn device_facts(
    device: &Device,
    row: &mut impl FnMut(&str, &str) -> std::fmt::Result,
) -> std::fmt::Result {
    row("device", &device.to_string())?;
    row(
        "chosen by",
        &format!("`{}`: {}", device.selector, device.reason),
    )?;
    if let Some(architecture) = &device.architecture {
        row("architecture", architecture)?;
    }
    let gibibytes = device.memory_bytes as f64 / f64::from(1 << 30);
    row(
        "size",
        &format!("{} compute units, {gibibytes:.1} GiB", device.compute_units),
    )?;
    row("platform", &device.platform)?;
    row("driver", &device.driver)?;
    if let Some(module) = &device.kernel_module {
        row("kernel module", module)?;
    }
    row("library", &device.library)
}

fn steps(text: &mut String, report: &Report) -> std::fmt::Result {
    writeln!(
        text,
        "\n| step | outcome | tests | time |\n|---|---|---|---|"
    )?;
    for step in &report.steps {
        let reason = step.reason.as_ref().map(|reason| format!(": {reason}"));
        writeln!(
            text,
            "| {} | {}{} | {} | {:.1} s |",
            step.name,
            step.outcome.word(),
            cell(&reason.unwrap_or_default()),
            Counts::of(&step.tests).words(),
            step.seconds
        )?;
    }
    Ok(())
}

/// Writes the reason for a bad outcome, with the end of the output.
fn problems(text: &mut String, step: &StepReport) -> std::fmt::Result {
    if step.outcome.is_good() {
        return Ok(());
    }
    writeln!(text, "\n## {}: {}", step.name, step.outcome.word())?;
    if let Some(reason) = &step.reason {
        writeln!(text, "\n{reason}")?;
    }
    for test in step.tests.iter().filter(|test| !test.outcome.is_good()) {
        let reason = test.reason.as_ref().map(|reason| format!(": {reason}"));
        let reason = reason.unwrap_or_default();
        writeln!(text, "\n`{}` {}{reason}", test.name, test.outcome.word())?;
        if let Some(output) = &test.output {
            block(text, output)?;
        }
    }
    match &step.output {
        Some(output) => block(text, output),
        None => Ok(()),
    }
}

/// Writes all tests of a step, with the reasons for skips.
fn tests(text: &mut String, step: &StepReport) -> std::fmt::Result {
    if step.kind != Kind::Tests || step.tests.is_empty() {
        return Ok(());
    }
    writeln!(text, "\n## {}\n\n| test | outcome |\n|---|---|", step.name)?;
    for test in &step.tests {
        write!(text, "| {} | {}", cell(&test.name), test.outcome.word())?;
        match (&test.reason, test.outcome) {
            (Some(reason), Outcome::Skipped) => writeln!(text, ": {} |", cell(reason))?,
            _ => writeln!(text, " |")?,
        }
    }
    Ok(())
}

/// The columns of a table of figures, as far as a benchmark provides them.
const COLUMNS: [&str; 9] = [
    "benchmark",
    "variant",
    "size",
    "value",
    "unit",
    "baseline",
    "ratio",
    "of_copy",
    "goal",
];

/// Formats the `rows` of a benchmark, an array of objects, as a table. Omitted and failed measurements follow.
#[must_use]
pub fn figures_table(figures: &Value) -> String {
    let empty = Vec::new();
    let rows = figures.get("rows").and_then(Value::as_array);
    let rows = rows.unwrap_or(&empty).iter().filter_map(Value::as_object);
    let rows: Vec<&Map<String, Value>> = rows.collect();
    let Some(first) = rows.first() else {
        return format!("```json\n{figures:#}\n```\n");
    };
    let columns = COLUMNS
        .into_iter()
        .filter(|column| first.contains_key(*column));
    let columns: Vec<&str> = columns.collect();
    let mut text = String::from("|");
    for column in &columns {
        let _ = write!(text, " {} |", cell(column));
    }
    let _ = writeln!(text, "\n|{}", "---|".repeat(columns.len()));
    for row in rows {
        text.push('|');
        for column in &columns {
            let value = row.get(*column).unwrap_or(&Value::Null);
            let _ = write!(text, " {} |", figure(value));
        }
        text.push('\n');
    }
    for (key, word) in [("left_out", "Left out"), ("failures", "Failed")] {
        let sentences = figures.get(key).and_then(Value::as_array);
        for sentence in sentences.into_iter().flatten().filter_map(Value::as_str) {
            let _ = writeln!(text, "\n{word}: {sentence}");
        }
    }
    text
}

/// Formats a number with about four digits.
fn figure(value: &Value) -> String {
    match (value, value.as_f64()) {
        (Value::Null, _) => String::new(),
        (Value::String(text), _) => cell(text),
        (_, Some(number)) if number.fract() != 0.0 => {
            let digits = match number.abs() {
                1000.0.. => 0,
                100.0.. => 1,
                10.0.. => 2,
                1.0.. => 3,
                0.1.. => 4,
                _ => 6,
            };
            format!("{number:.digits$}")
        }
        (other, _) => cell(&other.to_string()),
    }
}

/// Escapes text for a table cell.
fn cell(text: &str) -> String {
    text.replace('\n', " ").replace('|', "\\|")
}

fn block(text: &mut String, output: &str) -> std::fmt::Result {
    // Longer than any run of backticks in the output.
    let fence = "````";
    writeln!(text, "\n{fence}text\n{}\n{fence}", output.trim_end())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_become_a_table() {
        let figures = serde_json::json!({"device": "a", "rows": [
            {"benchmark": "saxpy", "value": 1234.5678, "ratio": 0.98765, "baseline": null},
            {"benchmark": "a|b", "value": 3, "ratio": 1.5, "ours_ms": 1},
        ], "left_out": ["the baseline: no nvcc"]});
        let table = figures_table(&figures);
        let expected = "| benchmark | value | baseline | ratio |\n|---|---|---|---|\n\
                        | saxpy | 1235 |  | 0.9877 |\n| a\\|b | 3 |  | 1.500 |\n\n\
                        Left out: the baseline: no nvcc\n";
        assert_eq!(table, expected);
    }

    #[test]
    fn other_figures_stay_json() {
        let table = figures_table(&serde_json::json!({"launch": 3}));
        assert!(table.starts_with("```json\n{\n"), "{table}");
    }
}
