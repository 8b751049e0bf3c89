// SPDX-License-Identifier: MIT OR Apache-2.0
//! Read errors, with the faulty record and its offset.

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

/// A file, property-set text or code that violates its format.
// Boxed, so that the size of an error does not slow down successful reads.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {} (at offset {:#x})", .0.record, .0.kind, .0.offset)]
pub struct Error(Box<Fault>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    record: Cow<'static, str>,
    kind: ErrorKind,
    offset: u64,
}

/// The kind of a read error.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The first bytes do not belong to a file of the expected kind.
    #[error("not {expected}: it begins with {found}")]
    Magic {
        /// The container whose magic was expected.
        expected: &'static str,
        /// The first bytes, in hexadecimal.
        found: String,
    },
    /// A version that this crate does not support.
    #[error(
        "version {found} is not supported, only {supported}; use a newer syclbin, or write the file again in a \
         supported version"
    )]
    Version {
        /// The version in the file.
        found: u32,
        /// The supported versions.
        supported: &'static str,
    },
    /// A range that reaches beyond its table or the file.
    #[error("range {start:#x}+{size:#x} exceeds the {what} of {available:#x} bytes")]
    Range {
        /// The start of the range, relative to `what`.
        start: u64,
        /// The size of the range in bytes.
        size: u64,
        /// The table or file that should contain the range.
        what: &'static str,
        /// The number of available bytes.
        available: u64,
    },
    /// Records outside their array.
    #[error("{what} {start} to {end} are out of range: there are {available}", end = start.saturating_add(*count))]
    Records {
        /// The index of the first record, counted from 0.
        start: u64,
        /// The number of records.
        count: u64,
        /// The kind of records.
        what: &'static str,
        /// The number of available records.
        available: u64,
    },
    /// Records that together claim more than their table contains.
    #[error(
        "the records claim too many {what}: {claimed} in total, but only {available} are available"
    )]
    Shared {
        /// The resource that the records share.
        what: &'static str,
        /// The total amount claimed.
        claimed: u64,
        /// The available amount.
        available: u64,
    },
    /// An OffloadBinary with other content than SYCLBIN.
    #[error(
        "image kind {0} is not SYCLBIN (7, or 6 in files from before mid-2025); `cargo syclbin extract` lists what \
         the file contains"
    )]
    ImageKind(u16),
    /// Records that do not belong together.
    #[error("{0}")]
    Record(Cow<'static, str>),
    /// The text is not UTF-8.
    #[error("the text is not UTF-8")]
    Utf8,
    /// A line of a property-set text that does not follow the grammar.
    #[error("line {line}: {problem}")]
    Property {
        /// The line, counted from 1.
        line: usize,
        /// What is wrong with it.
        problem: &'static str,
    },
    /// Known but unsupported content, with the remedy.
    #[error("{0}")]
    Unsupported(&'static str),
    /// Neither a container of device images nor a device image.
    #[error(
        "no device images: it begins with {found}, so it is not an object, archive, offload bundle, \
         OffloadBinary or device image"
    )]
    NoImages {
        /// The first bytes, in hexadecimal.
        found: String,
    },
    /// An inconsistent object file, executable or archive.
    #[error("{0}")]
    Object(String),
    /// An offload bundle that does not follow its format.
    #[error("the offload bundle is malformed: {0}")]
    Bundle(&'static str),
    /// Compressed content that cannot be decompressed.
    #[error("cannot decompress the content: {0}")]
    Compressed(Cow<'static, str>),
    /// A SPIR-V instruction that does not fit the module.
    #[error("the SPIR-V is malformed: {0}")]
    SpirV(&'static str),
    /// A PTX text without required content.
    #[error("the PTX is malformed: {0}")]
    Ptx(&'static str),
    /// Inconsistent native code for CUDA.
    #[error("the CUDA code is malformed: {0}")]
    Cuda(&'static str),
}

impl ErrorKind {
    #[doc(hidden)]
    pub fn magic(expected: &'static str, found: &[u8]) -> Self {
        let found = hexadecimal(found);
        Self::Magic { expected, found }
    }

    #[doc(hidden)]
    pub fn no_images(bytes: &[u8]) -> Self {
        let found = hexadecimal(&bytes[..bytes.len().min(4)]);
        Self::NoImages { found }
    }
}

fn hexadecimal(bytes: &[u8]) -> String {
    let digits: Vec<String> = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    if digits.is_empty() {
        "nothing".into()
    } else {
        digits.join(" ")
    }
}

impl Error {
    #[cold]
    #[doc(hidden)]
    pub fn new(record: impl Into<Cow<'static, str>>, offset: u64, kind: ErrorKind) -> Self {
        Self(Box::new(Fault {
            record: record.into(),
            kind,
            offset,
        }))
    }

    /// Returns the same error for a record that starts at `offset` in a larger file.
    #[doc(hidden)]
    pub fn within(self, record: impl Into<Cow<'static, str>>, offset: u64) -> Self {
        let mut moved = self.moved(offset);
        moved.0.record = record.into();
        moved
    }

    /// Returns the same error for a larger file that contains this file at offset `base`.
    #[cold]
    #[doc(hidden)]
    pub fn moved(mut self, base: u64) -> Self {
        self.0.offset = self.0.offset.saturating_add(base);
        self
    }

    /// Returns the kind of error.
    #[must_use]
    pub fn kind(&self) -> &ErrorKind {
        &self.0.kind
    }

    /// Returns the faulty record, such as `image 2`.
    #[must_use]
    pub fn record(&self) -> &str {
        &self.0.record
    }

    /// Returns the offset of the error in the input, in bytes.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.0.offset
    }
}
