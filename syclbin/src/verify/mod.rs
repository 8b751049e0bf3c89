//! What is wrong with a file, all of it: reading stops at the first fault, this goes on.
//!
//! ```
//! use syclbin::verify::{Severity, verify};
//!
//! let findings = verify(b"IBYS, but then something else");
//! assert_eq!(findings[0].severity, Severity::Error);
//! assert_eq!(findings[0].record, "SYCLBIN file header");
//! ```

mod images;
mod kernels;
mod layout;
mod sets;
mod wrapper;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use crate::error::Error;
use crate::read::File;

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

/// Everything that is found in the file `bytes`, by offset. A file without a finding of
/// [`Severity::Error`] can be read by [`read::parse`](crate::read::parse).
///
/// Checked are the wrapper, the layout of all tables, the property sets, and whether images,
/// metadata, kernel names, imports and state agree. Code is only looked at as far as names go:
/// whether a driver takes it is the driver's to say.
#[must_use]
pub fn verify(bytes: &[u8]) -> Vec<Finding> {
    let mut findings = Findings::default();
    match File::parse(bytes) {
        Ok(file) => {
            wrapper::check(bytes, file.container(), &mut findings);
            layout::check(&file, &mut findings);
            // Records that share bytes could make the rest take more than linear time.
            match findings.has_error() {
                true => findings.add(Severity::Note, 0, "file", "what it says was not checked"),
                false => check_meaning(&file, &mut findings),
            }
        }
        Err(error) => findings.error(error),
    }
    // Stable: what was found first at a place stays first.
    findings.0.sort_by_key(|finding| finding.offset);
    findings.0
}

/// Checks what the records say, once they are known to lie where they should.
fn check_meaning(file: &File<'_>, findings: &mut Findings) {
    let sets = sets::read(file, findings);
    images::check(file, &sets, findings);
    kernels::check(&sets, findings);
}

/// The findings so far.
#[derive(Default)]
struct Findings(Vec<Finding>);

impl Findings {
    fn add(
        &mut self,
        severity: Severity,
        offset: u64,
        record: impl ToString,
        reason: impl Into<String>,
    ) {
        self.0.push(Finding {
            severity,
            offset,
            record: record.to_string(),
            reason: reason.into(),
        });
    }

    fn has_error(&self) -> bool {
        self.0
            .iter()
            .any(|finding| finding.severity == Severity::Error)
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
