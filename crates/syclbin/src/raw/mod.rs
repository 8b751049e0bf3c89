// SPDX-License-Identifier: MIT OR Apache-2.0
//! The on-disk records of SYCLBIN and OffloadBinary, named as in the specifications. All numbers are little-endian.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "internal to this project; the specifications describe the fields"
)]

pub mod offload_binary;

use crate::error::{Error, ErrorKind};
use crate::prelude::*;

/// A cursor that reads the fields of an `N`-byte record in order. Creating the cursor checks the record's bounds, so
/// reading a field cannot fail.
pub struct Fields<'a, const N: usize> {
    bytes: &'a [u8; N],
    at: usize,
}

impl<'a, const N: usize> Fields<'a, N> {
    /// Creates a cursor over the record at offset `at`. In errors, `record` is the name of the record.
    #[inline]
    pub fn new(bytes: &'a [u8], record: &'static str, at: usize) -> Result<Self, Error> {
        let range = (at as u64, N as u64);
        let found = bytes.get(at..).and_then(<[u8]>::first_chunk);
        let fail = || beyond(record.into(), range.0, range, "file", bytes.len());
        found.map(|bytes| Self { bytes, at: 0 }).ok_or_else(fail)
    }

    #[inline]
    fn take<const SIZE: usize>(&mut self) -> [u8; SIZE] {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        self.at += SIZE;
        // Callers never read more than `N` bytes.
        rest.first_chunk().copied().unwrap_or([0; SIZE])
    }

    #[inline]
    pub fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    #[inline]
    pub fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    #[inline]
    pub fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }
}

/// Declares the struct for an on-disk record. The fields are in on-disk order.
macro_rules! record {
    (
        $(#[$about:meta])*
        $name:ident, $record:literal {
            $($(#[$of:meta])* $field:ident: $number:ty,)*
        }
    ) => {
        $(#[$about])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$of])* pub $field: $number,)*
        }

        impl $name {
            pub const RECORD: &'static str = $record;
            /// The size on disk, in bytes.
            pub const SIZE: usize = 0 $(+ size_of::<$number>())*;

            #[inline]
            pub fn read(bytes: &[u8], at: usize) -> Result<Self, Error> {
                let mut fields = Fields::<{ Self::SIZE }>::new(bytes, Self::RECORD, at)?;
                Ok(Self {
                    $($field: <$number>::from_le_bytes(fields.take()),)*
                })
            }

            pub fn write(&self, out: &mut Vec<u8>) {
                $(out.extend_from_slice(&self.$field.to_le_bytes());)*
            }
        }
    };
}
pub(crate) use record;

/// Limits how much of a table the records of a file may claim in total.
///
/// With overlapping records, a small file could expand to a huge model: ten thousand modules could all claim the same
/// ten thousand images. No writer lets records overlap, so the limit does not affect real files.
pub struct Budget {
    what: &'static str,
    available: u64,
    claimed: u64,
}

impl Budget {
    pub fn new(what: &'static str, available: u64) -> Self {
        Self {
            what,
            available,
            claimed: 0,
        }
    }

    /// Claims `amount` for the record called `record`, at offset `at`.
    pub fn spend(
        &mut self,
        amount: u64,
        record: impl FnOnce() -> String,
        at: u64,
    ) -> Result<(), Error> {
        self.claimed = self.claimed.saturating_add(amount);
        if self.claimed <= self.available {
            return Ok(());
        }
        let kind = ErrorKind::Shared {
            what: self.what,
            claimed: self.claimed,
            available: self.available,
        };
        Err(Error::new(record(), at, kind))
    }
}

/// Returns the bytes `start..start + size` of `table`. For errors, `what` names the table, `record` names the
/// header that specifies the range, and `at` is the offset of that header.
#[inline]
pub fn slice<'a>(
    table: &'a [u8],
    (start, size): (u64, u64),
    what: &'static str,
    record: impl FnOnce() -> String,
    at: u64,
) -> Result<&'a [u8], Error> {
    let range = || {
        let from = usize::try_from(start).ok()?;
        let to = from.checked_add(usize::try_from(size).ok()?)?;
        table.get(from..to)
    };
    range().ok_or_else(|| beyond(record(), at, (start, size), what, table.len()))
}

/// Returns the error for an invalid range. A separate cold function keeps the hot path small.
#[cold]
pub(crate) fn beyond(
    record: String,
    at: u64,
    (start, size): (u64, u64),
    what: &'static str,
    available: usize,
) -> Error {
    let kind = ErrorKind::Range {
        start,
        size,
        what,
        available: available as u64,
    };
    Error::new(record, at, kind)
}

/// The records of SYCLBIN version 1. A file consists of a file header, three arrays of headers and two byte tables.
pub mod v1 {
    use alloc::vec::Vec;

    use super::Fields;
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
                let kind = ErrorKind::magic("a SYCLBIN file", bytes);
                return Err(Error::new(Self::RECORD, 0, kind));
            }
            // Version 0 is accepted because the reference runtime treats it like version 1. No writer produces it.
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
}

/// The strings of SYCLBIN version 2. A file is an OffloadBinary with an entry for each part. A string in each entry
/// records the entry's role.
///
/// This is a draft that no released runtime reads yet. Pull request 22089 of intel/llvm describes it.
pub mod v2 {
    /// Keys of an entry's strings.
    pub mod key {
        /// The version, [`VERSION`](super::VERSION). Present in all entries.
        pub const FORMAT_VERSION: &str = "sycl_format_version";
        /// The role of the entry, one of [`role`](super::role).
        pub const ROLE: &str = "role";
        /// The index of the abstract module that the entry belongs to, in decimal. Present in all entries except the
        /// global metadata.
        pub const AM_INDEX: &str = "am_index";
        /// The language of an IR image: the number of its [`IrType`](crate::IrType), in decimal.
        pub const IR_TYPE: &str = "ir_type";
        /// The target triple of an image.
        pub const TRIPLE: &str = "triple";
        /// The architecture of a native image.
        pub const ARCH: &str = "arch";

        pub const ALL: [&str; 6] = [FORMAT_VERSION, ROLE, AM_INDEX, IR_TYPE, TRIPLE, ARCH];
    }

    /// Values of [`key::ROLE`].
    pub mod role {
        /// The text of the global property sets.
        pub const GLOBAL_METADATA: &str = "global_metadata";
        /// The text of an abstract module's property sets.
        pub const AM_METADATA: &str = "am_metadata";
        /// An IR image: the size of its metadata as a 64-bit number, the metadata, and the code.
        pub const IR: &str = "ir";
        /// A native image, with the same layout as [`IR`].
        pub const NATIVE: &str = "native";

        pub const ALL: [&str; 4] = [GLOBAL_METADATA, AM_METADATA, IR, NATIVE];
    }

    /// The value of [`key::FORMAT_VERSION`].
    pub const VERSION: &str = "2";
    /// The size in bytes of the number that precedes an image's metadata.
    pub const METADATA_SIZE: usize = 8;
}
