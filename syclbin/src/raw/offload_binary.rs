//! OffloadBinary, LLVM's wrapper for device code: a header, one entry, strings, the image.

use alloc::vec::Vec;

use super::Fields;
use crate::error::{Error, ErrorKind};

/// The first bytes.
pub const MAGIC: [u8; 4] = [0x10, 0xff, 0x10, 0xad];
/// Bytes of the header in versions 1 and 2.
pub const HEADER_SIZE: usize = 32;
/// The kind of image that is SYCLBIN.
pub const IMAGE_KIND_SYCLBIN: u16 = 7;
/// The same before mid-2025; LLVM uses this number for SPIR-V since.
pub const IMAGE_KIND_SYCLBIN_2025: u16 = 6;
/// The offloading model SYCL.
pub const OFFLOAD_KIND_SYCL: u16 = 8;

/// The header, version 1 or 2.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// 1 or 2.
    pub version: u32,
    /// Bytes of the whole, a multiple of 8.
    pub size: u64,
    /// Where the entries start.
    pub entry_offset: u64,
    /// Version 1: bytes of the one entry. Version 2: the number of entries.
    pub entry_size_or_count: u64,
}

impl Header {
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, Error> {
        const RECORD: &str = "OffloadBinary header";
        let mut fields = Fields::new(bytes, RECORD, 0, HEADER_SIZE)?;
        fields.magic(MAGIC, "OffloadBinary")?;
        let version = fields.u32();
        if !(1..=2).contains(&version) {
            let supported = "1 and 2";
            let found = version;
            let kind = ErrorKind::Version { found, supported };
            return Err(Error::new(RECORD, 4, kind));
        }
        Ok(Self {
            version,
            size: fields.u64(),
            entry_offset: fields.u64(),
            entry_size_or_count: fields.u64(),
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&MAGIC);
        out.extend_from_slice(&self.version.to_le_bytes());
        for number in [self.size, self.entry_offset, self.entry_size_or_count] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}

/// What an OffloadBinary says of one image. All offsets count from the start of the OffloadBinary.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// What the image is.
    pub image_kind: u16,
    /// The offloading model it is for.
    pub offload_kind: u16,
    /// Flags; none is defined for images.
    pub flags: u32,
    /// Where the string entries start.
    pub string_offset: u64,
    /// How many key/value strings there are.
    pub string_count: u64,
    /// Where the image starts.
    pub image_offset: u64,
    /// Bytes of the image.
    pub image_size: u64,
}

impl Entry {
    /// Bytes on disk.
    pub const SIZE: usize = 40;

    pub(crate) fn read(bytes: &[u8], at: usize) -> Result<Self, Error> {
        let mut fields = Fields::new(bytes, "OffloadBinary entry", at, Self::SIZE)?;
        Ok(Self {
            image_kind: fields.u16(),
            offload_kind: fields.u16(),
            flags: fields.u32(),
            string_offset: fields.u64(),
            string_count: fields.u64(),
            image_offset: fields.u64(),
            image_size: fields.u64(),
        })
    }

    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.image_kind.to_le_bytes());
        out.extend_from_slice(&self.offload_kind.to_le_bytes());
        out.extend_from_slice(&self.flags.to_le_bytes());
        for number in [
            self.string_offset,
            self.string_count,
            self.image_offset,
            self.image_size,
        ] {
            out.extend_from_slice(&number.to_le_bytes());
        }
    }
}
