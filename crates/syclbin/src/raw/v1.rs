// SPDX-License-Identifier: MIT OR Apache-2.0
//! Version 1 of SYCLBIN: a file header, three arrays of headers, two byte tables.

use alloc::vec::Vec;

use super::{Fields, record};
use crate::error::{Error, ErrorKind};

/// The first bytes of a bare file: the number 0x53594249.
pub const MAGIC: [u8; 4] = 0x5359_4249u32.to_le_bytes();
/// The version this module describes.
pub const VERSION: u32 = 1;

record! {
    /// The first record.
    FileHeader, "SYCLBIN file header" {
        /// [`MAGIC`].
        magic: u32,
        /// [`VERSION`].
        version: u32,
        /// How many [`AbstractModuleHeader`]s follow.
        abstract_module_count: u32,
        /// How many IR [`ImageHeader`]s follow those, of all abstract modules together.
        ir_module_count: u32,
        /// How many native [`ImageHeader`]s follow those.
        native_device_code_image_count: u32,
        /// Zero.
        padding: u32,
        /// Bytes of the metadata table, which follows the headers.
        metadata_byte_table_size: u64,
        /// Bytes of the binary table, which follows the metadata table at the next multiple of 8.
        binary_byte_table_size: u64,
        /// Where the global metadata starts, in the metadata table.
        global_metadata_offset: u64,
        /// Bytes of the global metadata.
        global_metadata_size: u64,
    }
}

impl FileHeader {
    /// Reads the record at the start of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let header = Self::read(bytes, 0)?;
        if header.magic.to_le_bytes() != MAGIC {
            let kind = ErrorKind::magic("a SYCLBIN file", &bytes[..4]);
            return Err(Error::new(Self::RECORD, 0, kind));
        }
        // The reference runtime takes version 0 for 1; no writer makes it.
        if header.version > VERSION {
            let (found, supported) = (header.version, "0 and 1");
            let kind = ErrorKind::Version { found, supported };
            return Err(Error::new(Self::RECORD, 4, kind));
        }
        Ok(header)
    }
}

record! {
    /// The header of an abstract module.
    AbstractModuleHeader, "abstract module header" {
        /// Where its metadata starts, in the metadata table.
        metadata_offset: u64,
        /// Bytes of its metadata.
        metadata_size: u64,
        /// How many IR images it has.
        ir_module_count: u32,
        /// The first of them, in the array of all.
        ir_module_index: u32,
        /// How many native images it has.
        native_device_code_image_count: u32,
        /// The first of them, in the array of all.
        native_device_code_image_index: u32,
    }
}

record! {
    /// The header of an IR module or a native device code image: both have the same fields.
    ImageHeader, "image header" {
        /// Where its metadata starts, in the metadata table.
        metadata_offset: u64,
        /// Bytes of its metadata.
        metadata_size: u64,
        /// Where its code starts, in the binary table.
        raw_offset: u64,
        /// Bytes of its code.
        raw_size: u64,
    }
}
