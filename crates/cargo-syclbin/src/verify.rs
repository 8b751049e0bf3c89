// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin verify`: everything that is wrong with files, each finding with its offset.

use std::fmt::{self, Write as _};
use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use clap::{Args, ValueEnum};
use serde::Serialize;
use syclbin_tools::verify::{self, Severity};

use crate::error::Result;
use crate::input::Input;
use crate::ui::{self, Escaped, Format, SCHEMA_VERSION};

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();

/// What to check, and how to show it.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The SYCLBIN files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// How to show it
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Treat these as errors too
    #[arg(long, value_enum)]
    pub deny: Option<Deny>,
}

/// What else counts as an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Deny {
    /// What is legal, but not what some reader or launcher expects
    Warnings,
}

/// The findings of all files, in the form of the JSON output: `schema/verify.schema.json`.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// See [`SCHEMA_VERSION`].
    pub schema_version: u32,
    /// Whether the program ends with 0.
    pub passed: bool,
    /// The reports, one per file.
    pub files: Vec<FileReport>,
}

/// The findings of a file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The path as given.
    pub path: String,
    /// Why the file could not even be read.
    pub unreadable: Option<String>,
    /// The findings, sorted by offset.
    pub findings: Vec<Finding>,
}

/// A finding about a file.
#[derive(Clone, Debug, Serialize)]
pub struct Finding {
    /// `error`, `warning` or `note`.
    pub severity: &'static str,
    /// The offset in bytes from the start of the file.
    pub offset: u64,
    /// The record concerned, such as `IR module 2`.
    pub record: String,
    /// The problem.
    pub reason: String,
}

/// Prints the problems of files, and returns whether the files pass. An unreadable file does not prevent the others
/// from being checked.
///
/// # Errors
///
/// Fails if standard output cannot be written.
pub fn run(options: &Options) -> Result<bool> {
    let files = options.files.iter().map(|path| match Input::read(path) {
        Ok(input) => FileReport::of(&input),
        Err(error) => FileReport {
            path: path.to_string_lossy().into_owned(),
            unreadable: Some(error.to_string()),
            findings: Vec::new(),
        },
    });
    let files: Vec<_> = files.collect();
    let denied: &[&str] = match options.deny {
        Some(Deny::Warnings) => &["error", "warning"],
        None => &["error"],
    };
    let good = |file: &FileReport| {
        let mut findings = file.findings.iter();
        file.unreadable.is_none() && findings.all(|finding| !denied.contains(&finding.severity))
    };
    let report = Report {
        schema_version: SCHEMA_VERSION,
        passed: files.iter().all(good),
        files,
    };
    ui::show(options.format, &report, render)?;
    if options.format == Format::Text {
        let unreadable = report
            .files
            .iter()
            .filter_map(|file| file.unreadable.as_ref());
        unreadable.for_each(|reason| ui::complain(format_args!("error: {reason}")));
    }
    Ok(report.passed)
}

impl FileReport {
    fn of(input: &Input) -> Self {
        let findings = verify::verify(&input.bytes).into_iter();
        Self {
            path: input.name(),
            unreadable: None,
            findings: findings
                .map(|finding| Finding {
                    severity: match finding.severity {
                        Severity::Error => "error",
                        Severity::Warning => "warning",
                        Severity::Note => "note",
                    },
                    offset: finding.offset,
                    record: finding.record,
                    reason: finding.reason,
                })
                .collect(),
        }
    }
}

/// Formats a line for each finding, as compilers do, and a verdict on each file.
fn render(report: &Report) -> String {
    let mut text = String::new();
    let mut line = |line: fmt::Arguments<'_>| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{line}");
    };
    for file in report.files.iter().filter(|file| file.unreadable.is_none()) {
        let path = Escaped(&file.path);
        let mut counts = [("error", 0), ("warning", 0), ("note", 0)];
        for finding in &file.findings {
            let style = match finding.severity {
                "error" => ERROR,
                "warning" => WARNING,
                _ => NOTE,
            };
            let (severity, offset) = (finding.severity, finding.offset);
            let (record, reason) = (Escaped(&finding.record), Escaped(&finding.reason));
            line(format_args!(
                "{path}:{offset:#x}: {style}{severity}{style:#}: {record}: {reason}"
            ));
            for (name, count) in &mut counts {
                *count += usize::from(*name == severity);
            }
        }
        let [(_, errors), (_, warnings), _] = counts;
        let (style, verdict) = match (errors, warnings) {
            (0, 0) => (GOOD, "good"),
            (0, _) => (WARNING, "usable"),
            _ => (ERROR, "bad"),
        };
        let counts = counts.iter().filter(|(_, count)| *count > 0);
        let counts = counts.map(|(name, count)| match count {
            1 => format!(", 1 {name}"),
            count => format!(", {count} {name}s"),
        });
        let counts = counts.collect::<String>();
        line(format_args!("{path}: {style}{verdict}{style:#}{counts}"));
    }
    text
}
