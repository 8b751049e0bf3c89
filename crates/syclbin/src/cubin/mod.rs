// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native code for NVIDIA GPUs: which GPUs an ELF file (a cubin) or a fat binary is for.
//!
//! Neither form is documented. What is read here was seen in files of NVIDIA's assembler and of its
//! tool `fatbinary`, CUDA 13.5, and in what LLVM knows of both.
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

mod fat_binary;

pub use fat_binary::{Compression, Entry, EntryKind, entries};

use crate::error::{Error, ErrorKind};
use crate::ptx::{Suffix, Target, is_ptx};

/// The machine that ELF files for CUDA name.
pub const MACHINE: u16 = 190;
/// From this version of their ABI on the flags have the target in their second byte.
const SECOND_BYTE: u8 = 8;
/// The flag of the older ABI for code that uses features of a single architecture.
const ACCELERATED: u32 = 0x800;

/// Returns the GPUs that an ELF file for CUDA is for. Only the flags of the older ABI say whether the target
/// has a suffix, so code for `sm_90a` may be read as `sm_90`.
///
/// # Errors
///
/// When it is not such a file, or names no target.
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
        return Err(fail(bytes.len() as u64, "its header is cut off"));
    };
    if (*class, *order) != (2, 1) {
        return Err(fail(4, "it is not a little-endian ELF file of 64 bits"));
    }
    if machine != MACHINE {
        return Err(fail(18, "it is an ELF file for another machine"));
    }
    let (number, suffix) = if *abi >= SECOND_BYTE {
        (flags >> 8 & 0xff, None)
    } else {
        let suffix = (flags & ACCELERATED != 0).then_some(Suffix::Architecture);
        (flags & 0xff, suffix)
    };
    if number == 0 {
        return Err(fail(48, "its flags name no target"));
    }
    Ok(Target { number, suffix })
}

/// Returns uncompressed PTX: `bytes` themselves, or the PTX in the fat binary that they are.
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
            (good[..20].to_vec(), "its header is cut off"),
            (Vec::new(), "not ELF: it begins with nothing"),
            (changed(18, 62), "for another machine"),
            (changed(4, 1), "64 bits"),
            (changed(49, 0), "no target"),
        ] {
            let error = target(&bytes).map_or_else(|error| error.to_string(), |t| t.to_string());
            assert!(error.contains(expected), "{error}");
        }
    }
}
