// SPDX-License-Identifier: MIT OR Apache-2.0
//! The records of SYCLBIN version 1. A file consists of a file header, three arrays of headers and two byte tables.

use alloc::vec::Vec;

use super::{Fields, record};
use crate::error::{Error, ErrorKind};

/// The first bytes of a bare file: the number 0x53594249.
pub const MAGIC: [u8; 4] = 0x5359_4249u32.to_le_bytes();
/// The version that this module describes.
pub const VERSION: u32 = 1;

record! {
    /// The file header.
    FileHeader, "SYCLBIN file header" {
        /// [`MAGIC`].
        magic: u32,
        /// [`VERSION`].
        version: u32,
        /// The number of [`AbstractModuleHeader`]s that follow.
        abstract_module_count: u32,
        /// The total number of IR [`ImageHeader`]s, which follow the module headers.
        ir_module_count: u32,
        /// The total number of native [`ImageHeader`]s, which follow the IR image headers.
        native_device_code_image_count: u32,
        /// Zero.
        padding: u32,
        /// The size in bytes of the metadata table, which follows the headers.
        metadata_byte_table_size: u64,
        /// The size in bytes of the binary table, which starts at the next multiple of 8 after the metadata table.
        binary_byte_table_size: u64,
        /// The offset of the global metadata in the metadata table.
        global_metadata_offset: u64,
        /// The size of the global metadata in bytes.
        global_metadata_size: u64,
    }
}

impl FileHeader {
    /// Reads the header at the start of a file.
    pub fn parse(bytes: &[u8]) -> Result<Self, Error> {
        let header = Self::read(bytes, 0)?;
        if header.magic.to_le_bytes() != MAGIC {
            let kind = ErrorKind::magic("a SYCLBIN file", &bytes[..4]);
            return Err(Error::new(Self::RECORD, 0, kind));
        }
        // The reference runtime treats version 0 like version 1, but no writer produces it.
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
        /// The offset of the module's metadata in the metadata table.
        metadata_offset: u64,
        /// The size of the metadata in bytes.
        metadata_size: u64,
        /// The number of IR images.
        ir_module_count: u32,
        /// The index of the first IR image in the array of all IR images.
        ir_module_index: u32,
        /// The number of native images.
        native_device_code_image_count: u32,
        /// The index of the first native image in the array of all native images.
        native_device_code_image_index: u32,
    }
}

record! {
    /// The header of an IR module or a native device code image, which have the same fields.
    ImageHeader, "image header" {
        /// The offset of the image's metadata in the metadata table.
        metadata_offset: u64,
        /// The size of the metadata in bytes.
        metadata_size: u64,
        /// The offset of the code in the binary table.
        raw_offset: u64,
        /// The size of the code in bytes.
        raw_size: u64,
    }
}
