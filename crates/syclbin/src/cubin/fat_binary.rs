// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA's fat binaries: code for several GPUs, from which the driver takes what fits.

use super::{u16_at, u32_at, u64_at};
use crate::error::{Error, ErrorKind};
use crate::ptx::{Suffix, Target};

/// The first bytes.
const MAGIC: u32 = 0xba55_ed50;
/// The bytes of the header that are known.
const HEADER: usize = 16;
/// The bytes of an entry's header that are known.
const ENTRY: usize = 64;

const ZSTD: u64 = 0x8000;
const LZ4: u64 = 0x2000;
const ARCHITECTURE: u64 = 0x10_0000;
const FAMILY: u64 = 0x20_0000;

/// An entry of a fat binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// What it holds.
    pub kind: EntryKind,
    /// The GPUs it is for.
    pub target: Target,
    /// Whether its bytes are compressed, and how.
    pub compression: Option<Compression>,
    /// Its bytes as stored. PTX that is not compressed may have zero bytes at its end.
    pub bytes: &'a [u8],
    /// How many bytes there are without the compression.
    pub size: u64,
}

/// What an entry holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// PTX.
    Ptx,
    /// Native code, an ELF file.
    Elf,
    /// Several entries that were compressed together (`fatbinary --concat`); its target means nothing.
    Several,
    /// Something else, by its number.
    Other(u16),
}

/// How an entry is compressed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// By zstd.
    Zstd,
    /// By LZ4.
    Lz4,
}

/// Returns the entries of a fat binary, in file order.
///
/// # Errors
///
/// When it is not a fat binary. An entry that reaches beyond its end is an error in its place, and the last
/// item.
pub fn entries(
    bytes: &[u8],
) -> Result<impl Iterator<Item = Result<Entry<'_>, Error>> + Clone, Error> {
    let magic = u32_at(bytes, 0);
    if magic != Some(MAGIC) {
        let found = &bytes[..bytes.len().min(4)];
        let kind = ErrorKind::magic("a CUDA fat binary", found);
        return Err(Error::new("fat binary", 0, kind));
    }
    let header = u16_at(bytes, 6).map(usize::from);
    let (Some(header), Some(size)) = (header, u64_at(bytes, 8)) else {
        return Err(fail(bytes.len(), "its header is cut off"));
    };
    if header < HEADER {
        return Err(fail(6, "its header is too short"));
    }
    let end = usize::try_from(size)
        .ok()
        .and_then(|size| header.checked_add(size));
    let all = end.and_then(|end| bytes.get(..end)).ok_or_else(|| {
        Error::new(
            "fat binary",
            8,
            ErrorKind::Range {
                start: header as u64,
                size,
                what: "fat binary",
                available: bytes.len() as u64,
            },
        )
    })?;
    Ok(Entries {
        bytes: all,
        at: header,
    })
}

#[derive(Clone)]
struct Entries<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.at >= self.bytes.len() {
            return None;
        }
        let entry = self.entry();
        if entry.is_err() {
            self.at = self.bytes.len();
        }
        Some(entry)
    }
}

impl<'a> Entries<'a> {
    fn entry(&mut self) -> Result<Entry<'a>, Error> {
        let start = self.at;
        let head = self.bytes.get(start..).unwrap_or_default();
        let (
            Some(kind),
            Some(header),
            Some(padded),
            Some(compressed),
            Some(number),
            Some(flags),
            Some(full),
        ) = (
            u16_at(head, 0),
            u32_at(head, 4).and_then(|size| usize::try_from(size).ok()),
            u64_at(head, 8),
            u32_at(head, 16),
            u32_at(head, 28),
            u64_at(head, 40),
            u64_at(head, 56),
        )
        else {
            return Err(fail(start, "an entry is cut off"));
        };
        if header < ENTRY {
            return Err(fail(start + 4, "an entry's header is too short"));
        }
        let payload = usize::try_from(padded)
            .ok()
            .and_then(|size| head.get(header..)?.get(..size))
            .ok_or_else(|| fail(start + 8, "an entry reaches beyond it"))?;
        let compression = match (flags & ZSTD, flags & LZ4) {
            (0, 0) => None,
            (0, _) => Some(Compression::Lz4),
            _ => Some(Compression::Zstd),
        };
        let (bytes, size) = match compression {
            None => (payload, padded),
            Some(_) => {
                let size = usize::try_from(compressed).unwrap_or(usize::MAX);
                let bytes = payload.get(..size);
                let bytes = bytes
                    .ok_or_else(|| fail(start + 16, "an entry has fewer bytes than it says"))?;
                (bytes, full)
            }
        };
        let suffix = match (flags & ARCHITECTURE, flags & FAMILY) {
            (0, 0) => None,
            (0, _) => Some(Suffix::Family),
            _ => Some(Suffix::Architecture),
        };
        // The header has at least `ENTRY` bytes, so this ends.
        self.at = start + header + payload.len();
        Ok(Entry {
            kind: match kind {
                1 => EntryKind::Ptx,
                2 => EntryKind::Elf,
                0x100 => EntryKind::Several,
                other => EntryKind::Other(other),
            },
            target: Target { number, suffix },
            compression,
            bytes,
            size,
        })
    }
}

fn fail(offset: usize, reason: &'static str) -> Error {
    Error::new("fat binary", offset as u64, ErrorKind::Cuda(reason))
}
