//! The records on disk, by the names the specifications give them. All numbers are little-endian.

pub mod offload_binary;
pub mod v1;
pub mod v2;

use alloc::string::String;

use crate::error::{Error, ErrorKind};

/// A cursor over one record: reads its fields in order, with the record's name in every error.
pub(crate) struct Fields<'a> {
    bytes: &'a [u8],
    record: &'static str,
    at: usize,
}

impl<'a> Fields<'a> {
    /// The record of `size` bytes that starts at `at`.
    pub(crate) fn new(
        bytes: &'a [u8],
        record: &'static str,
        at: usize,
        size: usize,
    ) -> Result<Self, Error> {
        let end = at.checked_add(size).filter(|end| *end <= bytes.len());
        match end {
            Some(_) => Ok(Self { bytes, record, at }),
            None => Err(Error::new(
                record,
                at as u64,
                ErrorKind::Range {
                    start: at as u64,
                    size: size as u64,
                    what: "file",
                    available: bytes.len() as u64,
                },
            )),
        }
    }

    fn take<const N: usize>(&mut self) -> [u8; N] {
        let mut field = [0; N];
        // `new` checked that the record is whole; the callers read no more than its size.
        if let Some(bytes) = self.bytes.get(self.at..self.at + N) {
            field.copy_from_slice(bytes);
        }
        self.at += N;
        field
    }

    pub(crate) fn u16(&mut self) -> u16 {
        u16::from_le_bytes(self.take())
    }

    pub(crate) fn u32(&mut self) -> u32 {
        u32::from_le_bytes(self.take())
    }

    pub(crate) fn u64(&mut self) -> u64 {
        u64::from_le_bytes(self.take())
    }

    /// Reads the magic: an error shows what is there instead.
    pub(crate) fn magic(&mut self, magic: [u8; 4], expected: &'static str) -> Result<(), Error> {
        let at = self.at as u64;
        let found = self.take::<4>();
        if found == magic {
            return Ok(());
        }
        let kind = ErrorKind::magic(expected, &found);
        Err(Error::new(self.record, at, kind))
    }
}

/// How much of a table the records may still claim.
///
/// Records that overlap could make a small file mean a huge one: ten thousand modules that all
/// claim the same ten thousand images. No writer shares, so this costs no real file anything.
pub(crate) struct Budget {
    what: &'static str,
    available: u64,
    claimed: u64,
}

impl Budget {
    pub(crate) fn new(what: &'static str, available: u64) -> Self {
        Self {
            what,
            available,
            claimed: 0,
        }
    }

    /// Claims `amount` for the record that `record` names and that lies at `at`.
    pub(crate) fn spend(
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

/// The bytes `start..start + size` of `table`, which is called `what` and starts at `base` of the
/// file; `record` names the header that gives the range and lies at `at`.
pub(crate) fn slice<'a>(
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
    range().ok_or_else(|| {
        let available = table.len() as u64;
        let kind = ErrorKind::Range {
            start,
            size,
            what,
            available,
        };
        Error::new(record(), at, kind)
    })
}
