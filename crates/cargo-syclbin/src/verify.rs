// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin verify`: reports all errors in files, each with its offset.

use std::path::PathBuf;

use anstyle::{AnsiColor, Style};
use clap::Args;
use serde::Serialize;
use syclbin_tools::verify::{self, Finding, Severity};

use crate::error::Result;
use crate::input::Input;
use crate::ui::{self, Escaped, Format, Page};
use syclbin::__private::counted;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const NOTE: Style = Style::new().bold();
const GOOD: Style = AnsiColor::Green.on_default();

/// Options of `cargo syclbin verify`.
#[derive(Clone, Debug, Args)]
pub struct Options {
    /// The SYCLBIN files; `-` is standard input
    #[arg(required = true, value_name = "FILE")]
    pub files: Vec<PathBuf>,
    /// The output format
    #[arg(long, value_enum, default_value_t)]
    pub format: Format,
    /// Treat warnings as errors too (a warning is valid content that some reader or runtime does not expect)
    #[arg(long, value_parser = ["warnings"])]
    pub deny: Option<String>,
}

/// The findings for all files. Serializes to the JSON that `schema/verify.schema.json` describes.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Whether the program exits with status 0.
    pub passed: bool,
    /// The reports, one per file.
    pub files: Vec<FileReport>,
}

/// The findings for one file.
#[derive(Clone, Debug, Serialize)]
pub struct FileReport {
    /// The path as given.
    pub path: String,
    /// Why the file could not be read.
    pub unreadable: Option<String>,
    /// The findings, sorted by offset.
    pub findings: Vec<Finding>,
}

/// Prints the findings for each file, and returns whether all files pass. An unreadable file does not stop the check
/// of the others.
///
/// # Errors
///
/// Fails if standard output cannot be written to.
pub fn run(options: &Options) -> Result<bool> {
    let files = options.files.iter().map(|path| {
        let input = Input::read(path);
        let findings = input.as_ref().map(|input| verify::verify(&input.bytes));
        FileReport {
            path: path.to_string_lossy().into_owned(),
            findings: findings.unwrap_or_default(),
            unreadable: input.err().map(|error| error.to_string()),
        }
    });
    let files: Vec<_> = files.collect();
    let denied = match options.deny {
        Some(_) => Severity::Warning,
        None => Severity::Error,
    };
    let good = |file: &FileReport| {
        let mut findings = file.findings.iter();
        file.unreadable.is_none() && findings.all(|finding| finding.severity < denied)
    };
    let report = Report {
        passed: files.iter().all(good),
        files,
    };
    ui::show(options.format, &report, render)?;
    if options.format == Format::Text {
        for reason in report.files.iter().flat_map(|file| &file.unreadable) {
            ui::complain(format_args!("error: {reason}"));
        }
    }
    Ok(report.passed)
}

/// Formats a compiler-style line for each finding, and a verdict on each file.
fn render(report: &Report) -> String {
    let mut page = Page::default();
    for file in report.files.iter().filter(|file| file.unreadable.is_none()) {
        let path = Escaped(&file.path);
        for finding in &file.findings {
            let style = match finding.severity {
                Severity::Error => ERROR,
                Severity::Warning => WARNING,
                Severity::Note => NOTE,
            };
            let (severity, offset) = (finding.severity, finding.offset);
            let (record, reason) = (Escaped(&finding.record), Escaped(&finding.reason));
            let place = format!("{path}:{offset:#x}: {style}{severity}{style:#}");
            page.line(format_args!("{place}: {record}: {reason}"));
        }
        let count = |severity| {
            let findings = file.findings.iter();
            findings.filter(|one| one.severity == severity).count()
        };
        let (style, verdict) = match (count(Severity::Error), count(Severity::Warning)) {
            (0, 0) => (GOOD, "good"),
            (0, _) => (WARNING, "usable"),
            _ => (ERROR, "bad"),
        };
        let severities = [Severity::Error, Severity::Warning, Severity::Note];
        let counts = severities.map(|severity| match count(severity) {
            0 => String::new(),
            count => format!(", {}", counted(count, &severity.to_string())),
        });
        let counts = counts.concat();
        page.line(format_args!("{path}: {style}{verdict}{style:#}{counts}"));
    }
    page.text
}
