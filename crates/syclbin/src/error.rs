// SPDX-License-Identifier: MIT OR Apache-2.0
//! The error type for malformed or unsupported input. Errors name the faulty record and its offset.

use crate::prelude::*;

/// A format error in a file, property set or device code.
// Boxed to keep `Result` small on the successful path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}: {} (at offset {:#x})", .0.record, .0.kind, .0.offset)]
pub struct Error(Box<Fault>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Fault {
    record: Cow<'static, str>,
    kind: ErrorKind,
    offset: u64,
}

/// The kind of an [`Error`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The file does not start with the expected magic number.
    #[error("not {expected}: it {}", begins(found))]
    Magic {
        /// The expected format, such as `an OffloadBinary`.
        expected: &'static str,
        /// The first bytes, in hexadecimal; empty if the input is empty.
        found: String,
    },
    /// A version that this crate does not support.
    #[error(
        "version {found} is not supported, only {supported} are; use a newer syclbin, or rewrite the file in a \
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
    #[error("{what} {start}..{end} are out of range: there are {available}", end = start.saturating_add(*count))]
    Records {
        /// The zero-based index of the first record.
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
    /// The image in an OffloadBinary is not SYCLBIN. Contains the image kind.
    #[error(
        "image kind {0} is not SYCLBIN (7, or 6 in files from before mid-2025); `cargo syclbin extract` lists what \
         the file contains"
    )]
    ImageKind(u16),
    /// Inconsistent records.
    #[error("{0}")]
    Record(Cow<'static, str>),
    /// The text is not UTF-8.
    #[error("the text is not UTF-8")]
    Utf8,
    /// A line that violates the grammar of property sets.
    #[error("line {line}: {problem}")]
    Property {
        /// The one-based line number.
        line: usize,
        /// What is wrong with the line.
        problem: &'static str,
    },
    /// Known but unsupported content. The text suggests a remedy.
    #[error("{0}")]
    Unsupported(&'static str),
    /// The input is neither a container of device images nor a device image.
    #[error(
        "no device images: it {}, so it is not an object, archive, offload bundle, OffloadBinary or device image",
        begins(found)
    )]
    NoImages {
        /// The first bytes, in hexadecimal; empty if the input is empty.
        found: String,
    },
    /// A malformed object file, executable, archive or bitcode file, or an archive member that cannot be read.
    #[error("{0}")]
    Object(String),
    /// A malformed offload bundle.
    #[error("the offload bundle is malformed: {0}")]
    Bundle(&'static str),
    /// Compressed content that cannot be decompressed.
    #[error("cannot decompress the content: {0}")]
    Compressed(Cow<'static, str>),
    /// Malformed SPIR-V.
    #[error("the SPIR-V is malformed: {0}")]
    SpirV(&'static str),
    /// Malformed PTX.
    #[error("the PTX is malformed: {0}")]
    Ptx(&'static str),
    /// A malformed cubin or CUDA fat binary.
    #[error("the CUDA code is malformed: {0}")]
    Cuda(&'static str),
}

impl ErrorKind {
    /// Creates the error for input that should begin with the magic number of `expected`.
    #[doc(hidden)]
    pub fn magic(expected: &'static str, bytes: &[u8]) -> Self {
        let found = beginning(bytes);
        Self::Magic { expected, found }
    }

    #[doc(hidden)]
    pub fn no_images(bytes: &[u8]) -> Self {
        let found = beginning(bytes);
        Self::NoImages { found }
    }
}

/// Returns the first four bytes in hexadecimal.
fn beginning(bytes: &[u8]) -> String {
    let digits = bytes.iter().take(4).map(|byte| format!("{byte:02x}"));
    digits.collect::<Vec<_>>().join(" ")
}

fn begins(found: &str) -> String {
    match found {
        "" => "is empty".into(),
        _ => format!("begins with {found}"),
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

    /// Creates an error for inconsistent records.
    #[cold]
    #[doc(hidden)]
    pub fn inconsistent(
        record: impl Into<Cow<'static, str>>,
        offset: u64,
        problem: impl Into<Cow<'static, str>>,
    ) -> Self {
        Self::new(record, offset, ErrorKind::Record(problem.into()))
    }

    /// Converts an error in a part of a file into an error in the whole file, which contains the part at `offset`.
    /// Replaces the record name with `record`.
    #[doc(hidden)]
    pub fn within(self, record: impl Into<Cow<'static, str>>, offset: u64) -> Self {
        let mut moved = self.moved(offset);
        moved.0.record = record.into();
        moved
    }

    /// Converts an error in a part of a file into an error in the whole file, which contains the part at offset `base`.
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

    /// Returns the name of the faulty record, such as `image 2`.
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
