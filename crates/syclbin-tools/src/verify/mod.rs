// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds everything that is wrong with a file: reading stops at the first fault, this goes on.
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

/// How much a [`Finding`] matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// Worth knowing; nothing is wrong.
    Note,
    /// Legal, but some reader or launcher will not do what is expected.
    Warning,
    /// The file breaks its format, or cannot do what it says.
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

/// Something that was found in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// How much it matters.
    pub severity: Severity,
    /// Where: bytes from the start of the file.
    pub offset: u64,
    /// The record it is about, such as `IR module 2`.
    pub record: String,
    /// What was found.
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

/// Returns all findings in the file `bytes`, by offset. [`read::parse`](syclbin::read::parse) can read a file
/// without a finding of [`Severity::Error`].
///
/// The checks cover the wrapper, the layout of all tables and the property sets. They also cover whether
/// images, metadata, kernel names, imports and state agree. Code is only checked as far as names go: whether
/// a driver takes it is the driver's to say. Of each severity a thousand are kept, with a last one that
/// counts the rest.
#[must_use]
pub fn verify(bytes: &[u8]) -> Vec<Finding> {
    let mut findings = Findings::default();
    match File::parse(bytes) {
        Ok(file) => {
            layout::check_wrapper(bytes, file.container(), &mut findings);
            layout::check(&file, &mut findings);
            // Records that share bytes could make the rest take more than linear time.
            if findings.has_error() {
                findings.add(Severity::Note, 0, "file", "because of the errors, whether images, kernels and metadata agree was not checked");
            } else {
                check_meaning(&file, &mut findings);
            }
        }
        Err(error) => findings.error(error),
    }
    findings.finish(bytes.len() as u64)
}

/// Checks what the records say, once they are known to lie where they should.
fn check_meaning(file: &File<'_>, findings: &mut Findings) {
    let sets = sets::read(file, findings);
    images::check(file, &sets, findings);
    kernels::check(&sets, findings);
}

/// Findings of one severity that are kept. A file of a million empty modules is one fault, not a
/// million.
const LIMIT: usize = 1000;

/// The findings so far.
#[derive(Default)]
struct Findings {
    kept: Vec<Finding>,
    /// How many there were of each severity.
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

    /// By offset, and a word on those that were not kept.
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
        // Stable: what was found first at a place stays first.
        self.kept.sort_by_key(|finding| finding.offset);
        self.kept
    }

    fn error(&mut self, error: Error) {
        let reason = error.kind().to_string();
        self.add(Severity::Error, error.offset(), error.record(), reason);
    }
}

/// A name from a file, short enough to be shown.
fn shown(name: &str) -> String {
    const LIMIT: usize = 120;
    match name.char_indices().nth(LIMIT) {
        Some((end, _)) => alloc::format!("`{}…`", &name[..end]),
        None => alloc::format!("`{name}`"),
    }
}
