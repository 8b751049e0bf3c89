// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds every error in a file, whereas reading stops at the first one.
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

use syclbin::Error;
use syclbin::read::File;

/// The severity of a [`Finding`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// For information only.
    Note,
    /// Valid, but some readers or runtimes will behave unexpectedly.
    Warning,
    /// The file violates its format, or contradicts itself.
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

/// A problem or note about a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// The severity.
    pub severity: Severity,
    /// The offset in the file, in bytes.
    pub offset: u64,
    /// The record it concerns, such as `IR module 2`.
    pub record: String,
    /// The description.
    pub reason: String,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            severity,
            offset,
            record,
            reason,
        } = self;
        write!(f, "{severity}: {record}: {reason} (at offset {offset:#x})")
    }
}

/// Returns all findings in the file `bytes`, sorted by offset. [`read::parse`](syclbin::read::parse) can read any
/// file without a finding of [`Severity::Error`].
///
/// The checks cover the wrapper, the layout of all tables and the property sets. They also cover whether images,
/// metadata, kernel names, imports and state agree. In code, only names are checked: this function does not predict
/// whether a driver accepts the code. For each severity, it returns at most a thousand findings, and one more that
/// counts the rest.
#[must_use]
pub fn verify(bytes: &[u8]) -> Vec<Finding> {
    let mut findings = Findings::default();
    match File::parse(bytes) {
        Ok(file) => {
            layout::check_wrapper(bytes, file.container(), &mut findings);
            layout::check(&file, &mut findings);
            // With overlapping records, the remaining checks could take more than linear time.
            if findings.has_error() {
                findings.add(
                    Severity::Note,
                    0,
                    "file",
                    "the consistency of images, kernels and metadata was not \
                    checked, because of the errors",
                );
            } else {
                check_meaning(&file, &mut findings);
            }
        }
        Err(error) => findings.error(error),
    }
    findings.finish(bytes.len() as u64)
}

/// Checks the contents of the records, after the layout has been validated.
fn check_meaning(file: &File<'_>, findings: &mut Findings) {
    let sets = sets::read(file, findings);
    images::check(file, &sets, findings);
    kernels::check(&sets, findings);
}

/// The maximum number of findings for each severity. A file with a million empty modules has one problem, not a
/// million.
const LIMIT: usize = 1000;

/// The findings so far.
#[derive(Default)]
struct Findings {
    kept: Vec<Finding>,
    /// The number of findings of each severity.
    counts: [usize; 3],
}

impl Findings {
    fn add(
        &mut self,
        severity: Severity,
        offset: u64,
        record: impl ToString,
        reason: impl Into<String>,
    ) {
        let count = &mut self.counts[severity as usize];
        *count += 1;
        if *count <= LIMIT {
            self.kept.push(Finding {
                severity,
                offset,
                record: record.to_string(),
                reason: reason.into(),
            });
        }
    }

    fn has_error(&self) -> bool {
        self.counts[Severity::Error as usize] > 0
    }

    /// Returns the findings sorted by offset, with a note on those that were dropped.
    fn finish(mut self, size: u64) -> Vec<Finding> {
        for severity in [Severity::Error, Severity::Warning, Severity::Note] {
            let left_out = self.counts[severity as usize].saturating_sub(LIMIT);
            if left_out > 0 {
                self.kept.push(Finding {
                    severity,
                    offset: size,
                    record: "file".into(),
                    reason: alloc::format!("{left_out} more of this severity"),
                });
            }
        }
        // The sort is stable: findings at the same offset keep their order.
        self.kept.sort_by_key(|finding| finding.offset);
        self.kept
    }

    fn error(&mut self, error: Error) {
        let reason = error.kind().to_string();
        self.add(Severity::Error, error.offset(), error.record(), reason);
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
