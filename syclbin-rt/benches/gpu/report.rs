// SPDX-License-Identifier: MIT OR Apache-2.0
//! The report: a table as it grows, and a JSON file of the same rows.

use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{Map, Value, json};
use syclbin_rt::Device;

use crate::directory::at;
use crate::{Bench, Result};

/// The benchmark whose baseline is the bandwidth that others are compared with.
pub(crate) const COPY: &str = "copy";

/// Changes when a field means something else.
const SCHEMA: u32 = 1;

/// A measurement.
pub(crate) struct Row {
    pub(crate) benchmark: &'static str,
    pub(crate) variant: &'static str,
    pub(crate) size: String,
    pub(crate) unit: &'static str,
    /// What is done in the time, in units of the rate; `None` where the time itself is the figure.
    pub(crate) amount: Option<f64>,
    /// Seconds.
    pub(crate) ours: f64,
    pub(crate) baseline: Option<f64>,
    /// The least speed relative to the baseline.
    pub(crate) goal: Option<f64>,
}

/// What is measured, and on what.
pub(crate) struct Report {
    about: Map<String, Value>,
    rows: Vec<Value>,
    left_out: Vec<String>,
    failures: Vec<String>,
    /// The bandwidth of a copy, in GB/s.
    copy: Option<f64>,
}

impl Row {
    /// What is printed for a time in seconds.
    fn figure(&self, seconds: f64) -> f64 {
        match (self.amount, self.unit) {
            (Some(amount), _) => amount / seconds,
            (None, "ms") => seconds * 1e3,
            (None, _) => seconds * 1e6,
        }
    }

    /// How fast ours is, relative to the baseline.
    fn ratio(&self) -> Option<f64> {
        self.baseline.map(|baseline| baseline / self.ours)
    }
}

impl Report {
    pub(crate) fn new(device: &Device, bench: &Bench) -> Self {
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let baseline = bench.baseline.as_ref();
        let mut left_out = Vec::new();
        if let Err(reason) = baseline {
            left_out.push(format!("the baseline: {reason}"));
        }
        let mut about = Map::new();
        for (key, value) in [
            ("schema", json!(SCHEMA)),
            ("unix_time", json!(now.map_or(0, |now| now.as_secs()))),
            ("device", json!(device.name())),
            ("driver", json!(device.driver_version())),
            ("sm", json!(bench.arch)),
            ("compiler", json!(bench.directory.compiler())),
            (
                "baseline",
                json!(baseline.ok().map(|baseline| &baseline.made_by)),
            ),
            ("sizes", json!(bench.sizes.name)),
            ("turns", json!(bench.sizes.turns)),
        ] {
            about.insert(key.to_owned(), value);
        }
        Self {
            about,
            rows: Vec::new(),
            left_out,
            failures: Vec::new(),
            copy: None,
        }
    }

    /// Prints the head of the table.
    pub(crate) fn begin(&self) {
        let about = |key: &str| match &self.about[key] {
            Value::String(text) => text.clone(),
            Value::Null => "none".to_owned(),
            other => other.to_string(),
        };
        println!("{}, {}, {}", about("device"), about("sm"), about("driver"));
        println!(
            "ours by {}; baseline: {}",
            about("compiler"),
            about("baseline")
        );
        println!(
            "medians of {} turns; speed is relative to the baseline\n",
            about("turns")
        );
        println!("| benchmark | variant | size | ours | baseline | speed | of copy | goal |");
        println!("|---|---|---|---|---|---|---|---|");
    }

    /// Prints a row and keeps it for the file.
    pub(crate) fn add(&mut self, row: Row) {
        let value = row.figure(row.ours);
        let baseline = row.baseline.map(|seconds| row.figure(seconds));
        if row.benchmark == COPY {
            self.copy = baseline;
        }
        let of_copy = self
            .copy
            .filter(|_| row.unit == "GB/s")
            .map(|copy| value / copy);
        let ratio = row.ratio();
        let figure = |figure: f64| format!("{figure:.*} {}", digits(figure), row.unit);
        let or_dash = |text: Option<String>| text.unwrap_or_else(|| "-".to_owned());
        println!(
            "| {} | {} | {} | {} | {} | {} | {} | {} |",
            row.benchmark,
            row.variant,
            row.size,
            figure(value),
            or_dash(baseline.map(figure)),
            or_dash(ratio.map(|ratio| format!("{ratio:.3}"))),
            or_dash(of_copy.map(|share| format!("{:.1} %", share * 100.0))),
            or_dash(row.goal.map(|goal| format!(">= {goal}"))),
        );
        self.rows.push(json!({
            "benchmark": row.benchmark,
            "variant": row.variant,
            "size": row.size,
            "unit": row.unit,
            "value": value,
            "ours_ms": row.ours * 1e3,
            "baseline": baseline,
            "baseline_ms": row.baseline.map(|seconds| seconds * 1e3),
            "ratio": ratio,
            "of_copy": of_copy,
            "goal": row.goal,
        }));
    }

    /// Notes what cannot run here.
    pub(crate) fn left_out(&mut self, what: String) {
        self.left_out.push(what);
    }

    /// Notes what should have run.
    pub(crate) fn failed(&mut self, what: String) {
        self.failures.push(what);
    }

    /// Writes all measurements so far to the file.
    pub(crate) fn write(&self, json: &Path) -> Result<()> {
        let mut fields = self.about.clone();
        for (key, value) in [
            ("rows", json!(self.rows)),
            ("left_out", json!(self.left_out)),
            ("failures", json!(self.failures)),
        ] {
            fields.insert(key.to_owned(), value);
        }
        let text = format!("{:#}\n", Value::Object(fields));
        std::fs::write(json, text).map_err(|error| at(json, &error))
    }

    /// Prints what is missing.
    ///
    /// # Errors
    ///
    /// If anything failed.
    pub(crate) fn end(self) -> Result<()> {
        println!();
        for reason in &self.left_out {
            println!("left out: {reason}");
        }
        if self.failures.is_empty() {
            return Ok(());
        }
        Err(self.failures.join("\nerror: "))
    }
}

/// As many decimals as make three digits and more.
fn digits(figure: f64) -> usize {
    match figure.abs() {
        100.0.. => 0,
        10.0..100.0 => 1,
        1.0..10.0 => 2,
        _ => 4,
    }
}
