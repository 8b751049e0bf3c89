// SPDX-License-Identifier: MIT OR Apache-2.0
//! OffloadBinary, LLVM's wrapper for device code: a header, entries, strings, images.
//!
//! Version 1 contains one entry, and version 2 any number of entries. In version 3, everything after the header may be
//! compressed.

use super::{Fields, record};
use crate::error::{Error, ErrorKind};
use crate::prelude::*;

/// The first bytes of an OffloadBinary.
pub const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];
/// The size of the header in versions 1 and 2, in bytes.
pub const HEADER_SIZE: usize = 32;
/// The size of the header in version 3, in bytes.
pub const HEADER_SIZE_V3: usize = 40;

/// The header of an OffloadBinary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The version: 1, 2 or 3.
    pub version: u32,
    /// The total size in bytes: a multiple of 8, unless the content is compressed.
    pub size: u64,
    /// The offset of the first entry from the start of the OffloadBinary, in bytes.
    pub entry_offset: u64,
    /// Version 1: the size of the only entry in bytes. Later versions: the number of entries.
    pub entry_size_or_count: u64,
    /// Version 3: the decompressed total size in bytes, or 0 if the file is not compressed. Earlier versions: 0.
    pub inflated_size: u64,
}

/// Returns the size of the header in a file of this version, in bytes.
pub(crate) const fn header_size(version: u32) -> usize {
    if version == 3 {
        HEADER_SIZE_V3
    } else {
        HEADER_SIZE
    }
}

impl Header {
    pub const RECORD: &'static str = "OffloadBinary header";

    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        if !bytes.starts_with(&MAGIC) {
            // Check the magic before the size, so that a file in another format is reported as such.
            let kind = ErrorKind::magic("an OffloadBinary", bytes);
            return Err(Error::new(Self::RECORD, 0, kind));
        }
        let mut fields = Fields::<HEADER_SIZE>::new(bytes, Self::RECORD, 0)?;
        let _magic = fields.u32();
        let version = fields.u32();
        Ok(Self {
            version,
            size: fields.u64(),
            entry_offset: fields.u64(),
            entry_size_or_count: fields.u64(),
            inflated_size: match version {
                1 | 2 => 0,
                3 => Fields::<8>::new(bytes, Self::RECORD, HEADER_SIZE)?.u64(),
                found => {
                    let supported = "1, 2 and 3";
                    let kind = ErrorKind::Version { found, supported };
                    return Err(Error::new(Self::RECORD, 4, kind));
                }
            },
        })
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        for number in [self.size, self.entry_offset, self.entry_size_or_count] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        if self.version == 3 {
            out.extend_from_slice(&self.inflated_size.to_le_bytes());
        }
    }
}

record! {
    /// The description of an image in an OffloadBinary. All offsets are in bytes from the start of the OffloadBinary.
    Entry, "OffloadBinary entry" {
        /// The kind of the image.
        image_kind: u16,
        /// The offloading model.
        offload_kind: u16,
        /// Flags. The value 1 marks an entry without an image.
        flags: u32,
        /// The offset of the string entries.
        string_offset: u64,
        /// The number of key-value strings.
        string_count: u64,
        /// The offset of the image.
        image_offset: u64,
        /// The size of the image in bytes.
        image_size: u64,
    }
}

/// The position of a key-value string. Offsets are in bytes from the start of the OffloadBinary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StringEntry {
    /// The offset of the NUL-terminated key.
    pub key_offset: u64,
    /// The offset of the value, which is NUL-terminated in version 1.
    pub value_offset: u64,
    /// The size of the value in bytes. Absent in version 1.
    pub value_size: Option<u64>,
}

impl StringEntry {
    /// Returns the size in bytes that a string entry occupies in an OffloadBinary of this version.
    pub const fn size(version: u32) -> usize {
        if version == 1 { 16 } else { 24 }
    }

    #[inline]
    pub fn read(bytes: &[u8], at: usize, version: u32) -> Result<Self, Error> {
        const RECORD: &str = "OffloadBinary string entry";
        let mut fields = Fields::<16>::new(bytes, RECORD, at)?;
        let (key_offset, value_offset) = (fields.u64(), fields.u64());
        let value_size = match version {
            1 => None,
            _ => Some(Fields::<8>::new(bytes, RECORD, at + 16)?.u64()),
        };
        Ok(Self {
            key_offset,
            value_offset,
            value_size,
        })
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.key_offset.to_le_bytes());
        out.extend_from_slice(&self.value_offset.to_le_bytes());
        if let Some(size) = self.value_size {
            out.extend_from_slice(&size.to_le_bytes());
        }
    }
}
