// SPDX-License-Identifier: MIT OR Apache-2.0
//! Version 1 of SYCLBIN: a file header, three arrays of headers, two byte tables.

use alloc::vec::Vec;

use super::Fields;
use crate::error::{Error, ErrorKind};

/// The first bytes of a bare file: the number 0x53594249.
pub const MAGIC: [u8; 4] = 0x5359_4249u32.to_le_bytes();
/// The version this module describes.
pub const VERSION: u32 = 1;

/// The first record.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FileHeader {
    /// How many [`AbstractModuleHeader`]s follow.
    pub abstract_module_count: u32,
    /// How many IR [`ImageHeader`]s follow those, of all abstract modules together.
    pub ir_module_count: u32,
    /// How many native [`ImageHeader`]s follow those.
    pub native_device_code_image_count: u32,
    /// Bytes of the metadata table, which follows the headers.
    pub metadata_byte_table_size: u64,
    /// Bytes of the binary table, which follows the metadata table at the next multiple of 8.
    pub binary_byte_table_size: u64,
    /// Where the global metadata starts, in the metadata table.
    pub global_metadata_offset: u64,
    /// Bytes of the global metadata.
    pub global_metadata_size: u64,
}

impl FileHeader {
    /// Bytes on disk.
    pub const SIZE: usize = 56;

    #[inline]
    pub fn read(bytes: &[u8]) -> Result<Self, Error> {
        let mut fields = Fields::<{ Self::SIZE }>::new(bytes, "SYCLBIN file header", 0)?;
        if fields.u32().to_le_bytes() != MAGIC {
            let kind = ErrorKind::magic("a SYCLBIN file", &bytes[..4]);
            return Err(Error::new("SYCLBIN file header", 0, kind));
        }
        let version = fields.u32();
        // The reference runtime takes version 0 for 1; no writer makes it.
        if version > VERSION {
            let supported = "0 and 1";
            let found = version;
            let kind = ErrorKind::Version { found, supported };
            return Err(Error::new("SYCLBIN file header", 4, kind));
        }
        let abstract_module_count = fields.u32();
        let ir_module_count = fields.u32();
        let native_device_code_image_count = fields.u32();
        let _padding = fields.u32();
        Ok(Self {
            abstract_module_count,
            ir_module_count,
            native_device_code_image_count,
            metadata_byte_table_size: fields.u64(),
            binary_byte_table_size: fields.u64(),
            global_metadata_offset: fields.u64(),
            global_metadata_size: fields.u64(),
        })
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        for number in [
            VERSION,
            self.abstract_module_count,
            self.ir_module_count,
            self.native_device_code_image_count,
            0,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
        for number in [
            self.metadata_byte_table_size,
            self.binary_byte_table_size,
            self.global_metadata_offset,
            self.global_metadata_size,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// The header of an abstract module.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AbstractModuleHeader {
    /// Where its metadata starts, in the metadata table.
    pub metadata_offset: u64,
    /// Bytes of its metadata.
    pub metadata_size: u64,
    /// How many IR images it has.
    pub ir_module_count: u32,
    /// The first of them, in the array of all.
    pub ir_module_index: u32,
    /// How many native images it has.
    pub native_device_code_image_count: u32,
    /// The first of them, in the array of all.
    pub native_device_code_image_index: u32,
}

impl AbstractModuleHeader {
    /// Bytes on disk.
    pub const SIZE: usize = 32;

    #[inline]
    pub fn read(bytes: &[u8], at: usize) -> Result<Self, Error> {
        let mut fields = Fields::<{ Self::SIZE }>::new(bytes, "abstract module header", at)?;
        Ok(Self {
            metadata_offset: fields.u64(),
            metadata_size: fields.u64(),
            ir_module_count: fields.u32(),
            ir_module_index: fields.u32(),
            native_device_code_image_count: fields.u32(),
            native_device_code_image_index: fields.u32(),
        })
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.metadata_offset.to_le_bytes());
        out.extend_from_slice(&self.metadata_size.to_le_bytes());
        for number in [
            self.ir_module_count,
            self.ir_module_index,
            self.native_device_code_image_count,
            self.native_device_code_image_index,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// The header of an IR module or a native device code image: both have the same fields.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ImageHeader {
    /// Where its metadata starts, in the metadata table.
    pub metadata_offset: u64,
    /// Bytes of its metadata.
    pub metadata_size: u64,
    /// Where its code starts, in the binary table.
    pub raw_offset: u64,
    /// Bytes of its code.
    pub raw_size: u64,
}

impl ImageHeader {
    /// Bytes on disk.
    pub const SIZE: usize = 32;

    #[inline]
    pub fn read(bytes: &[u8], at: usize) -> Result<Self, Error> {
        let mut fields = Fields::<{ Self::SIZE }>::new(bytes, "image header", at)?;
        Ok(Self {
            metadata_offset: fields.u64(),
            metadata_size: fields.u64(),
            raw_offset: fields.u64(),
            raw_size: fields.u64(),
        })
    }

    pub fn write(&self, out: &mut Vec<u8>) {
        for number in [
            self.metadata_offset,
            self.metadata_size,
            self.raw_offset,
            self.raw_size,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}
