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
use crate::raw::{Fields, beyond};

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
        return Err(Error::new("cubin", 0, ErrorKind::magic("ELF", bytes)));
    }
    let Some(header) = bytes.first_chunk::<52>() else {
        return Err(fail(bytes.len() as u64, "its header is truncated"));
    };
    if header[4..6] != [2, 1] {
        return Err(fail(4, "it is not a 64-bit little-endian ELF file"));
    }
    let machine = u16::from_le_bytes([header[18], header[19]]);
    let flags = u32::from_le_bytes([header[48], header[49], header[50], header[51]]);
    if machine != MACHINE {
        return Err(fail(18, "it is an ELF file for a different machine"));
    }
    let (number, suffix) = if header[8] >= SECOND_BYTE {
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

const MAGIC: [u8; 4] = 0xba55_ed50u32.to_le_bytes();
/// The size of the known part of the header, in bytes.
const HEADER: usize = 16;
/// The size of the known part of an entry's header, in bytes.
const ENTRY: usize = 64;

const RECORD: &str = "fat binary";

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
    if !bytes.starts_with(&MAGIC) {
        let kind = ErrorKind::magic("a CUDA fat binary", bytes);
        return Err(Error::new(RECORD, 0, kind));
    }
    let mut fields = Fields::<HEADER>::new(bytes, RECORD, 0)
        .map_err(|_| fail(bytes.len(), "its header is truncated"))?;
    let (_magic, _version) = (fields.u32(), fields.u16());
    let (header, size) = (usize::from(fields.u16()), fields.u64());
    if header < HEADER {
        return Err(fail(6, "its header is too short"));
    }
    let end = usize::try_from(size).ok();
    let end = end.and_then(|size| header.checked_add(size));
    let range = (header as u64, size);
    let all = end.and_then(|end| bytes.get(..end));
    let all = all.ok_or_else(|| beyond(RECORD.into(), 8, range, RECORD, bytes.len()))?;
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
    let mut fields = Fields::<ENTRY>::new(all, RECORD, start)
        .map_err(|_| fail(start, "an entry is truncated"))?;
    let (kind, _version) = (fields.u16(), fields.u16());
    let (header, padded) = (fields.u32() as usize, fields.u64());
    let (compressed, _options) = (fields.u32() as usize, fields.u64());
    let (number, _name) = (fields.u32(), fields.u64());
    let (flags, _reserved, full) = (fields.u64(), fields.u64(), fields.u64());
    if header < ENTRY {
        return Err(fail(start + 4, "an entry's header is too short"));
    }
    let payload = all[start..].get(header..).zip(usize::try_from(padded).ok());
    let payload = payload.and_then(|(rest, size)| rest.get(..size));
    let problem = "an entry extends beyond the end of the fat binary";
    let payload = payload.ok_or_else(|| fail(start + 8, problem))?;
    let compression = match (flags & ZSTD, flags & LZ4) {
        (0, 0) => None,
        (0, _) => Some(Compression::Lz4),
        _ => Some(Compression::Zstd),
    };
    let (bytes, size) = match compression {
        None => (payload, padded),
        Some(_) => {
            let problem = "an entry is shorter than its recorded compressed size";
            let bytes = payload.get(..compressed);
            (bytes.ok_or_else(|| fail(start + 16, problem))?, full)
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
    Error::new(RECORD, offset as u64, ErrorKind::Cuda(reason))
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
            (Vec::new(), "not ELF: it is empty"),
            (changed(18, 62), "for a different machine"),
            (changed(4, 1), "not a 64-bit"),
            (changed(49, 0), "do not specify a target"),
        ] {
            let error = target(&bytes).map_or_else(|error| error.to_string(), |t| t.to_string());
            assert!(error.contains(expected), "{error}");
        }
    }
}
