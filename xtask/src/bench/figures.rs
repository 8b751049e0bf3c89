// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of all sections, in one file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

use crate::files;
use crate::steps::Result;

/// The unit of durations.
pub(super) const NANOSECONDS: &str = "ns";
/// The unit of sizes.
pub(super) const BYTES: &str = "B";

/// By the name of the section.
pub(super) type Sections = BTreeMap<String, Section>;

/// What one run of a section measured.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Section {
    pub(super) date: String,
    pub(super) commit: String,
    pub(super) machine: String,
    /// The device with its driver, or the compiler.
    pub(super) device: String,
    /// Whether too little was done for meaningful figures.
    pub(super) short: bool,
    pub(super) figures: Vec<Figure>,
    pub(super) goals: Vec<Goal>,
    pub(super) left_out: Vec<String>,
}

/// A cell of a table.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Figure {
    pub(super) table: String,
    pub(super) row: String,
    pub(super) column: String,
    pub(super) value: f64,
    pub(super) unit: String,
    /// The value over that of the peer, measured in the same run.
    pub(super) ratio: Option<f64>,
}

#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Goal {
    pub(super) what: String,
    pub(super) figure: f64,
    pub(super) most: f64,
}

impl Section {
    pub(super) fn add(&mut self, table: &str, row: &str, column: &str, value: f64, unit: &str) {
        self.figures.push(Figure {
            table: table.to_owned(),
            row: row.to_owned(),
            column: column.to_owned(),
            value,
            unit: unit.to_owned(),
            ratio: None,
        });
    }

    /// Adds a figure with its ratio to `peer`, a value of the same unit.
    pub(super) fn compare(&mut self, cell: [&str; 3], value: f64, peer: f64, unit: &str) {
        let [table, row, column] = cell;
        self.add(table, row, column, value, unit);
        if let Some(figure) = self.figures.last_mut() {
            figure.ratio = Some(value / peer);
        }
    }

    pub(super) fn goal(&mut self, what: &str, figure: f64, most: f64) {
        let what = what.to_owned();
        self.goals.push(Goal { what, figure, most });
    }
}

/// Where the figures and plots are.
pub(super) fn directory() -> PathBuf {
    files::root().join("book/src/benchmarks")
}

pub(super) fn read() -> Result<Sections> {
    let path = directory().join("figures.json");
    if !path.exists() {
        return Ok(Sections::new());
    }
    let text = files::read(&path)?;
    serde_json::from_str(&text).map_err(|error| format!("{}: {error}", path.display()))
}

pub(super) fn write(sections: &Sections) -> Result<()> {
    let text = serde_json::to_string(sections).map_err(|error| error.to_string())?;
    // A line for each object: strings contain no `{"`, because their quotation marks are escaped.
    let text = text.replace("{\"", "\n{\"");
    files::write(
        &directory().join("figures.json"),
        &format!("{}\n", text.trim_start()),
    )
}

/// Formats a value with three digits and a unit that fits.
pub(super) fn format(value: f64, unit: &str) -> String {
    let (value, unit) = match unit {
        NANOSECONDS => scaled(value, &["ns", "µs", "ms", "s"]),
        BYTES => scaled(value, &["B", "kB", "MB", "GB"]),
        unit => (value, unit),
    };
    let digits = match value.abs() {
        _ if unit.is_empty() || unit == "B" => 0,
        ..10.0 => 2,
        10.0..100.0 => 1,
        _ => 0,
    };
    format!("{value:.digits$} {unit}").trim_end().to_owned()
}

/// Divides by 1,000 until the value has at most three digits before the point.
fn scaled<'u>(mut value: f64, units: &[&'u str]) -> (f64, &'u str) {
    let mut index = 0;
    while value.abs() >= 999.5 && index + 1 < units.len() {
        value /= 1e3;
        index += 1;
    }
    (value, units[index])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_get_three_digits_and_a_unit() {
        let formatted = [
            (0.5, "ns"),
            (3_937.0, "ns"),
            (999_600.0, "ns"),
            (2.5e11, "ns"),
        ];
        let formatted = formatted.map(|(value, unit)| format(value, unit));
        assert_eq!(formatted, ["0.50 ns", "3.94 µs", "1.00 ms", "250 s"]);
        let formatted = [(12.0, "B"), (1.5e6, "B"), (8617.0, ""), (153.31, "GFLOP/s")];
        let formatted = formatted.map(|(value, unit)| format(value, unit));
        assert_eq!(formatted, ["12 B", "1.50 MB", "8617", "153 GFLOP/s"]);
    }
}
