// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reports the errors and inconsistencies in a file. Reading, in contrast, stops at the first error.
//!
//! ```
//! use syclbin_tools::verify::{Severity, verify};
//!
//! let findings = verify(b"IBYS, but then something else");
//! assert_eq!(findings[0].severity, Severity::Error);
//! assert_eq!(findings[0].record, "SYCLBIN file header");
//! ```

mod images;
mod kernels;
mod layout;
mod sets;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use syclbin::__private::counted;
use syclbin::Error;
use syclbin::read::File;

/// The severity of a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize),
    serde(rename_all = "lowercase")
)]
pub enum Severity {
    /// For information only.
    Note,
    /// Valid, but some readers or runtimes will behave unexpectedly.
    Warning,
    /// The file violates its format or is inconsistent.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// A problem with a file, or a note about it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
#[non_exhaustive]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The offset in the file, in bytes.
    pub offset: u64,
    /// The record that the finding concerns, such as `IR module 2`.
    pub record: String,
    /// The description.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (severity, record, reason) = (self.severity, &self.record, &self.reason);
        let offset = self.offset;
        write!(f, "{severity}: {record}: {reason} (at offset {offset:#x})")
    }
}

/// Returns the findings for the file `bytes`, sorted by offset. [`read::parse`](syclbin::read::parse) can read any
/// file without a finding of [`Severity::Error`].
///
/// The checks cover the wrapper, the layout of all tables, the property sets, and the consistency of images, metadata,
/// kernel names, imports and state. They do not predict whether a driver accepts the code. For each severity, this
/// function returns at most a thousand findings, and one more that counts the rest.
#[must_use]
pub fn verify(bytes: &[u8]) -> Vec<Finding> {
    let mut findings = Findings::default();
    if let Some(file) = findings.ok(File::parse(bytes)) {
        layout::check_wrapper(bytes, file.container(), &mut findings);
        layout::check(&file, &mut findings);
        // Skip the remaining checks after an error: with overlapping records, they could take more than linear time.
        let is_sound = !findings.has_error();
        let contents = is_sound.then(|| sets::read(&file, &mut findings)).flatten();
        if let Some(contents) = contents {
            images::check(&file, &contents, &mut findings);
            kernels::check(&contents, &mut findings);
        } else {
            let reason = "because of the errors, images, kernels and metadata were not checked for consistency";
            findings.at(0, "file").note(reason);
        }
    }
    findings.finish(bytes.len() as u64)
}

/// The maximum number of findings for each severity. A file with a million empty modules has one problem, not a
/// million.
const LIMIT: usize = 1000;

#[derive(Default)]
struct Findings {
    kept: Vec<Finding>,
    /// The number of findings of each severity.
    counts: [usize; 3],
}

/// A record at an offset in the file, to which findings are added.
struct Place<'f, R> {
    findings: &'f mut Findings,
    offset: u64,
    record: R,
}

impl<R: ToString> Place<'_, R> {
    fn error(&mut self, reason: impl Into<String>) {
        self.add(Severity::Error, 0, reason.into());
    }

    fn warning(&mut self, reason: impl Into<String>) {
        self.add(Severity::Warning, 0, reason.into());
    }

    fn note(&mut self, reason: impl Into<String>) {
        self.add(Severity::Note, 0, reason.into());
    }

    /// Adds an error whose offset is relative to this record.
    fn damage(&mut self, error: &Error) {
        self.add(Severity::Error, error.offset(), error.kind().to_string());
    }

    fn add(&mut self, severity: Severity, inside: u64, reason: String) {
        let count = &mut self.findings.counts[severity as usize];
        *count += 1;
        if *count <= LIMIT {
            self.findings.kept.push(Finding {
                severity,
                offset: self.offset.saturating_add(inside),
                record: self.record.to_string(),
                reason,
            });
        }
    }
}

impl Findings {
    fn at<R: ToString>(&mut self, offset: u64, record: R) -> Place<'_, R> {
        Place {
            findings: self,
            offset,
            record,
        }
    }

    fn has_error(&self) -> bool {
        self.counts[Severity::Error as usize] > 0
    }

    /// Returns the findings sorted by offset. For each severity, adds a finding that counts the dropped findings.
    fn finish(mut self, size: u64) -> Vec<Finding> {
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            let left_out = self.counts[severity as usize].saturating_sub(LIMIT);
            if left_out > 0 {
                let more = counted(left_out, "more finding");
                self.kept.push(Finding {
                    severity,
                    offset: size,
                    record: "file".into(),
                    reason: alloc::format!("{more} of this severity"),
                });
            }
        }
        // The sort is stable: findings at the same offset keep their order.
        self.kept.sort_by_key(|finding| finding.offset);
        self.kept
    }

    /// Returns the value of a result, or adds its error.
    fn ok<T>(&mut self, result: Result<T, Error>) -> Option<T> {
        let add = |error: &Error| self.at(0, error.record()).damage(error);
        result.inspect_err(add).ok()
    }
}

/// Returns a name from a file, truncated for display.
fn shown(name: &str) -> String {
    const LIMIT: usize = 120;
    match name.char_indices().nth(LIMIT) {
        Some((end, _)) => alloc::format!("`{}…`", &name[..end]),
        None => alloc::format!("`{name}`"),
    }
}
