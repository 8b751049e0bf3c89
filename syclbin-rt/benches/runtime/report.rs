// SPDX-License-Identifier: MIT OR Apache-2.0
//! The figures of a part, which are printed and written to a file for `cargo xtask bench`.

use serde_json::{Value, json};

use crate::figures::{Rounds, duration};

/// The unit of durations.
pub(crate) const NANOSECONDS: &str = "ns";
/// The unit of sizes.
pub(crate) const BYTES: &str = "B";

/// Figures in tables, goals, and what could not be measured. `xtask/src/bench/figures.rs` reads them.
#[derive(Default)]
pub(crate) struct Report {
    table: &'static str,
    figures: Vec<Value>,
    goals: Vec<Value>,
    left_out: Vec<String>,
}

impl Report {
    /// Later figures belong to the table with this title.
    pub(crate) fn table(&mut self, title: &'static str) {
        println!("\n{title}\n");
        self.table = title;
    }

    /// Adds the median of `rounds`. `ratio` compares it with the peer of the table.
    pub(crate) fn add(
        &mut self,
        row: &str,
        column: &str,
        unit: &str,
        rounds: &Rounds,
        ratio: Option<f64>,
    ) {
        let value = rounds.median();
        if value.is_nan() {
            return;
        }
        let text = |value: f64| match unit {
            NANOSECONDS => duration(value),
            BYTES => format!("{:.3} MB", value / 1e6),
            _ => format!("{value:.1} {unit}"),
        };
        let ratio = ratio.filter(|ratio| !ratio.is_nan());
        let (low, high) = rounds.spread();
        println!(
            "{row:<24} {column:<24} {:>10} {:>8} least {:>10}, middle half {} - {}, {} rounds",
            text(value),
            ratio.map_or(String::new(), |ratio| format!("{ratio:.3}")),
            text(rounds.least()),
            text(low),
            text(high),
            rounds.count(),
        );
        self.figures.push(json!({
            "table": self.table, "row": row, "column": column, "unit": unit,
            "value": value, "least": rounds.least(), "ratio": ratio,
        }));
    }

    /// Adds a goal, unless its figure was not measured.
    pub(crate) fn goal(&mut self, what: &str, figure: f64, most: f64) {
        if figure.is_nan() {
            return;
        }
        let met = if figure <= most { "met" } else { "not met" };
        println!("goal: {what}: {figure:.3}, at most {most}: {met}");
        self.goals
            .push(json!({ "what": what, "figure": figure, "most": most }));
    }

    /// Notes what could not be measured, and why.
    pub(crate) fn leave_out(&mut self, reason: String) {
        println!("left out: {reason}");
        self.left_out.push(reason);
    }

    /// Returns the content of the file. `device` is what the figures were measured on.
    pub(crate) fn json(&self, device: &str) -> Value {
        json!({
            "device": device, "figures": self.figures, "goals": self.goals, "left_out": self.left_out,
        })
    }
}
