// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compares measured figures that documents quote with those that `cargo xtask bench` recorded.
//!
//! A quoted figure follows a comment that names its section, row and column, and may have fewer digits or another unit
//! than the recorded one: `<!-- figure: start/warm/time -->40 ms`. For a ratio, the name ends with ` ratio`. With
//! `BLESS=1`, the test corrects the documents.

use std::fs;

use serde_json::Value;

use crate::{pages, root};

const COMMENT: &str = "<!-- figure: ";
/// How many recorded units one of these is: nanoseconds or bytes.
const UNITS: [(&str, f64); 7] = [
    (" ns", 1.0),
    (" µs", 1e3),
    (" ms", 1e6),
    (" s", 1e9),
    (" kB", 1e3),
    (" MB", 1e6),
    (" GB", 1e9),
];

#[test]
fn quoted_figures_are_those_that_were_measured() {
    let recorded = fs::read_to_string(root().join("book/src/benchmarks/figures.json")).unwrap();
    let recorded: Value = serde_json::from_str(&recorded).unwrap();
    let mut wrong = Vec::new();
    let mut quoted = 0;
    for page in pages() {
        let mut text = fs::read_to_string(&page).unwrap();
        let mut end = 0;
        while let Some(start) = text[end..].find(COMMENT) {
            let before = &text[..end + start];
            let place = format!("{}:{}", page.display(), before.split('\n').count());
            // CommonMark ends a paragraph before a comment at the start of a line.
            if before.trim_end_matches(' ').ends_with('\n') {
                wrong.push(format!("{place}: a word must precede the comment"));
            }
            let rest = &text[end + start + COMMENT.len()..];
            let (name, rest) = rest.split_once(" -->").unwrap();
            let number: &str = rest
                .split(|c: char| c != '.' && !c.is_ascii_digit())
                .next()
                .unwrap();
            let number = number.trim_end_matches('.');
            let measured = figure(&recorded, name);
            let expected = measured.map(|value| rounded(value, number, rest));
            let number_at = text.len() - rest.len();
            let range = number_at..number_at + number.len();
            if expected.as_deref() != Some(number) {
                let expected = expected.as_deref().unwrap_or("not measured");
                wrong.push(format!(
                    "{place}: {name}: the page says {number}, it is {expected}"
                ));
            }
            quoted += 1;
            end = range.end;
            if let Some(expected) = expected {
                end = number_at + expected.len();
                text.replace_range(range, &expected);
            }
        }
        if std::env::var_os("BLESS").is_some() {
            fs::write(&page, text).unwrap();
        }
    }
    assert!(quoted > 5, "only {quoted} quoted figures");
    assert!(
        wrong.is_empty(),
        "{}\nBLESS=1 corrects them",
        wrong.join("\n")
    );
}

/// Returns the value of `section/row/column`, or its ratio.
fn figure(recorded: &Value, name: &str) -> Option<f64> {
    let (name, key) = match name.strip_suffix(" ratio") {
        Some(name) => (name, "ratio"),
        None => (name, "value"),
    };
    let (section, cell) = name.split_once('/')?;
    let (row, column) = cell.split_once('/')?;
    let mut figures = recorded[section]["figures"].as_array()?.iter();
    let figure = figures.find(|figure| figure["row"] == row && figure["column"] == column)?;
    figure[key].as_f64()
}

/// Formats a value with the unit that follows `number` in `text`, and with as many digits after the point.
fn rounded(value: f64, number: &str, text: &str) -> String {
    let after = &text[number.len()..];
    let is_unit = |(unit, _): &&(&str, f64)| {
        let rest = after.strip_prefix(unit);
        rest.is_some_and(|rest| !rest.starts_with(char::is_alphanumeric))
    };
    let scale = UNITS.iter().find(is_unit).map_or(1.0, |(_, scale)| *scale);
    let digits = number.split_once('.').map_or(0, |(_, digits)| digits.len());
    format!("{:.digits$}", value / scale)
}

#[test]
fn figures_are_rounded_as_quoted() {
    assert_eq!(rounded(0.9531, "0.95", "0.95 times"), "0.95");
    assert_eq!(rounded(3_937.0, "4.1", "4.1 µs, and"), "3.9");
    assert_eq!(rounded(1.7e9, "1", "1 s."), "2");
    assert_eq!(rounded(12.0, "12", "12 sources"), "12");
}
