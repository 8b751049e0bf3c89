// SPDX-License-Identifier: MIT OR Apache-2.0
//! Determines the target GPUs of native NVIDIA code in ELF files (cubins) and fat binaries.
//!
//! Neither format is documented. This module is based on the output of NVIDIA's assembler and `fatbinary` tool
//! from CUDA 13.5, and on LLVM's source code.
//!
//! ```
//! use syclbin::cubin;
//!
//! let mut elf = [0u8; 64];
//! elf[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x41\x08");
//! elf[18] = 190;
//! elf[48..52].copy_from_slice(&0x0600_5004u32.to_le_bytes());
//! assert_eq!(cubin::target(&elf)?.to_string(), "sm_80");
//! # Ok::<(), syclbin::Error>(())
//! ```

use crate::error::{Error, ErrorKind};
use crate::ptx::{Suffix, Target, is_ptx};

/// The ELF machine number of CUDA.
pub const MACHINE: u16 = 190;
/// The first ABI version that stores the target in the second byte of the ELF flags.
const SECOND_BYTE: u8 = 8;
/// The ELF flag that marks code with architecture-specific features in the older ABI.
const ACCELERATED: u32 = 0x800;

/// Returns the target GPUs of a CUDA ELF file. Only the older ABI records whether the target has a suffix, so code
/// for `sm_90a` may be reported as `sm_90`.
///
/// # Errors
///
/// Returns an error if `bytes` is not a CUDA ELF file, or if its flags do not specify a target.
pub fn target(bytes: &[u8]) -> Result<Target, Error> {
    let fail = |offset, reason| Error::new("cubin", offset, ErrorKind::Cuda(reason));
    if !bytes.starts_with(b"\x7fELF") {
        let found = &bytes[..bytes.len().min(4)];
        return Err(Error::new("cubin", 0, ErrorKind::magic("ELF", found)));
    }
    let ([Some(class), Some(order), Some(abi)], Some(machine), Some(flags)) = (
        [4, 5, 8].map(|at| bytes.get(at)),
        u16_at(bytes, 18),
        u32_at(bytes, 48),
    ) else {
        return Err(fail(bytes.len() as u64, "its header is truncated"));
    };
    if (*class, *order) != (2, 1) {
        return Err(fail(4, "it is not a 64-bit little-endian ELF file"));
    }
    if machine != MACHINE {
        return Err(fail(18, "it is an ELF file for a different machine"));
    }
    let (number, suffix) = if *abi >= SECOND_BYTE {
        (flags >> 8 & 0xff, None)
    } else {
        let suffix = (flags & ACCELERATED != 0).then_some(Suffix::Architecture);
        (flags & 0xff, suffix)
    };
    if number == 0 {
        return Err(fail(48, "its flags do not specify a target"));
    }
    Ok(Target { number, suffix })
}

/// Returns uncompressed PTX: `bytes` itself if it is PTX, or the first uncompressed PTX entry of a fat binary.
#[must_use]
pub fn ptx(bytes: &[u8]) -> Option<&[u8]> {
    if is_ptx(bytes) {
        return Some(bytes);
    }
    let mut entries = entries(bytes).ok()?.flatten();
    let text = entries.find(|entry| entry.kind == EntryKind::Ptx && entry.compression.is_none());
    text.map(|entry| entry.bytes).filter(|bytes| is_ptx(bytes))
}

fn array<const N: usize>(bytes: &[u8], at: usize) -> Option<[u8; N]> {
    bytes.get(at..)?.first_chunk().copied()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    array(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    array(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    array(bytes, at).map(u64::from_le_bytes)
}

const MAGIC: u32 = 0xba55_ed50;
/// The size of the known part of the header, in bytes.
const HEADER: usize = 16;
/// The size of the known part of an entry's header, in bytes.
const ENTRY: usize = 64;

const ZSTD: u64 = 0x8000;
const LZ4: u64 = 0x2000;
const ARCHITECTURE: u64 = 0x10_0000;
const FAMILY: u64 = 0x20_0000;

/// An entry of a fat binary.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Entry<'a> {
    /// The kind of content.
    pub kind: EntryKind,
    /// The GPUs that the entry was compiled for.
    pub target: Target,
    /// The compression method, or `None` if the bytes are not compressed.
    pub compression: Option<Compression>,
    /// The bytes as stored. Uncompressed PTX may end in zero bytes.
    pub bytes: &'a [u8],
    /// The uncompressed size in bytes.
    pub size: u64,
}

/// The kind of content in an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EntryKind {
    /// PTX.
    Ptx,
    /// Native code in an ELF file.
    Elf,
    /// Several entries that were compressed together (`fatbinary --concat`). [`Entry::target`] is meaningless.
    Several,
    /// An unknown kind, identified by its number.
    Other(u16),
}

/// The compression method of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Zstd.
    Zstd,
    /// LZ4.
    Lz4,
}

/// Returns the entries of a fat binary, in file order.
///
/// # Errors
///
/// Returns an error if `bytes` is not a fat binary. At a malformed entry, the iterator yields an error and
/// ends.
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
        return Err(fail(bytes.len(), "its header is truncated"));
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
    let mut at = header;
    Ok(core::iter::from_fn(move || {
        if at >= all.len() {
            return None;
        }
        let entry = entry(all, at);
        at = entry.as_ref().map_or(all.len(), |(_, end)| *end);
        Some(entry.map(|(entry, _)| entry))
    }))
}

/// Reads the entry at `start`. Also returns its end.
fn entry(all: &[u8], start: usize) -> Result<(Entry<'_>, usize), Error> {
    let head = all.get(start..).unwrap_or_default();
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
        return Err(fail(start, "an entry is truncated"));
    };
    if header < ENTRY {
        return Err(fail(start + 4, "an entry's header is too short"));
    }
    let payload = usize::try_from(padded)
        .ok()
        .and_then(|size| head.get(header..)?.get(..size))
        .ok_or_else(|| {
            fail(
                start + 8,
                "an entry extends beyond the end of the fat binary",
            )
        })?;
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
            let bytes = bytes.ok_or_else(|| {
                fail(
                    start + 16,
                    "an entry is shorter than its recorded compressed size",
                )
            })?;
            (bytes, full)
        }
    };
    let suffix = match (flags & ARCHITECTURE, flags & FAMILY) {
        (0, 0) => None,
        (0, _) => Some(Suffix::Family),
        _ => Some(Suffix::Architecture),
    };
    // The header is at least `ENTRY` bytes long, so every step makes progress.
    let end = start + header + payload.len();
    let entry = Entry {
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
    };
    Ok((entry, end))
}

fn fail(offset: usize, reason: &'static str) -> Error {
    Error::new("fat binary", offset as u64, ErrorKind::Cuda(reason))
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec::Vec;

    /// The header of an ELF file for CUDA.
    fn elf(abi: u8, flags: u32) -> Vec<u8> {
        let mut elf = alloc::vec![0; 64];
        elf[..6].copy_from_slice(b"\x7fELF\x02\x01");
        (elf[8], elf[18]) = (abi, 190);
        elf[48..52].copy_from_slice(&flags.to_le_bytes());
        elf
    }

    #[test]
    fn flags_of_both_abis_tell_the_target() {
        for (abi, flags, expected) in [
            (8, 0x0600_4b04, "sm_75"),
            (8, 0x0600_5a04, "sm_90"),
            (8, 0x0600_7802, "sm_120"),
            (7, 0x0050_0550, "sm_80"),
            (7, 0x005a_055a, "sm_90"),
            (7, 0x005a_0d5a, "sm_90a"),
        ] {
            let target = target(&elf(abi, flags)).map(|target| target.to_string());
            assert_eq!(target.as_deref(), Ok(expected));
        }
    }

    #[test]
    fn invalid_cubin_error_says_why() {
        let good = elf(8, 0x0600_5004);
        let changed = |at: usize, value| {
            let mut bytes = good.clone();
            bytes[at] = value;
            bytes
        };
        for (bytes, expected) in [
            (good[..20].to_vec(), "its header is truncated"),
            (Vec::new(), "not ELF: it begins with nothing"),
            (changed(18, 62), "for a different machine"),
            (changed(4, 1), "not a 64-bit"),
            (changed(49, 0), "do not specify a target"),
        ] {
            let error = target(&bytes).map_or_else(|error| error.to_string(), |t| t.to_string());
            assert!(error.contains(expected), "{error}");
        }
    }
}
