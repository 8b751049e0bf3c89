// SPDX-License-Identifier: MIT OR Apache-2.0
//! The on-disk records of SYCLBIN and OffloadBinary, named as in the specifications. All numbers are little-endian.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "for the crates of this project; the specifications describe the fields"
)]

pub mod offload_binary;
pub mod v1;
pub mod v2;

use alloc::string::String;

use crate::error::{Error, ErrorKind};

/// A cursor that reads the fields of a record of `N` bytes in order. The size is part of the type, so no field needs a
/// bounds check.
pub struct Fields<'a, const N: usize> {
    bytes: &'a [u8; N],
    at: usize,
}

impl<'a, const N: usize> Fields<'a, N> {
    /// Creates a cursor over the record at offset `at`. In errors, `record` is the name of the record.
    #[inline]
    pub fn new(bytes: &'a [u8], record: &'static str, at: usize) -> Result<Self, Error> {
        match bytes.get(at..).and_then(<[u8]>::first_chunk) {
            Some(bytes) => Ok(Self { bytes, at: 0 }),
            None => Err(beyond(
                record.into(),
                at as u64,
                (at as u64, N as u64),
                "file",
                bytes.len(),
            )),
        }
    }

    #[inline]
    fn take<const SIZE: usize>(&mut self) -> [u8; SIZE] {
        let mut field = [0; SIZE];
        // Callers never read more than `N` bytes.
        if let Some(bytes) = self.bytes.get(self.at..self.at + SIZE) {
            field.copy_from_slice(bytes);
        }
        self.at += SIZE;
        field
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

/// Declares an on-disk record by its fields, in order.
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
/// header that contains the range, and `at` is the offset of that header.
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
    match range() {
        Some(bytes) => Ok(bytes),
        None => Err(beyond(record(), at, (start, size), what, table.len())),
    }
}

/// Returns the error for an invalid range. A separate cold function keeps the hot path small.
#[cold]
fn beyond(
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
