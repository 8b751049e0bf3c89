// SPDX-License-Identifier: MIT OR Apache-2.0
//! Splits images that linkers concatenated in a section, finds images in LLVM bitcode, and reads the names of AMD
//! kernels.

use alloc::string::String;
use alloc::vec::Vec;

use super::found::InputSlice;
use object::{Object as _, ObjectSymbol as _};
use syclbin::__private::raw;
use syclbin::__private::raw::offload_binary::{Header, MAGIC};
use syclbin::__private::spirv::words::{self, HEADER_WORDS, MAGIC_BYTES, op};
use syclbin::{Content, Error, ErrorKind};

const HEADER_SIZE: usize = HEADER_WORDS * 4;
const PHYSICAL_32: u32 = 1;

pub(super) fn bundled<'a>(
    slice: &InputSlice<'a>,
    sizes: Option<&[u8]>,
    big_endian: bool,
) -> Result<Vec<&'a [u8]>, Error> {
    let is_empty = |image: &[u8]| image.iter().all(|byte| *byte == 0);
    let Some(sizes) = sizes else {
        return Ok(match Content::of(slice.bytes) {
            _ if is_empty(slice.bytes) => Vec::new(), // a placeholder that contains no device code
            Content::SpirV => split(slice.bytes),
            _ => [slice.bytes].into(),
        });
    };
    let (mut images, mut start) = (Vec::new(), 0);
    for size in sizes.as_chunks().0 {
        let size = u64::from_le_bytes(*size);
        let size = if big_endian { size.swap_bytes() } else { size };
        let record = || "size of an image".into();
        let image = raw::slice(slice.bytes, (start, size), "section", record, 0);
        let image = slice.located(image)?;
        if !is_empty(image) {
            images.push(image);
        }
        start += size;
    }
    Ok(images)
}

/// Returns the concatenated SPIR-V modules in `bytes`, which may be separated by zeros. If an instruction extends
/// beyond `bytes`, the remaining bytes belong to the last module.
pub(super) fn split(bytes: &[u8]) -> Vec<&[u8]> {
    let mut found = Vec::new();
    let mut start = 0;
    let mut at = 0;
    while let Some(rest) = bytes.get(at..).filter(|rest| !rest.is_empty()) {
        let size = word(rest, 0).unwrap_or(0) as usize >> 16;
        if starts_module(rest) {
            if at > start {
                found.push(&bytes[start..at]);
            }
            (start, at) = (at, at + HEADER_SIZE);
        } else if size > 0 {
            at += size * 4;
        } else {
            // Padding before the next module, or the end of the recognizable modules.
            let zeros = rest.iter().take_while(|byte| **byte == 0).count();
            let next = &rest[zeros..];
            if zeros > 0 && (next.is_empty() || starts_module(next)) {
                found.push(&bytes[start..at]);
                (start, at) = (at + zeros, at + zeros);
            } else {
                break;
            }
        }
    }
    if start < bytes.len() {
        found.push(&bytes[start..]);
    }
    found
}

/// Checks for the magic, a version and a zero schema. No instruction contains all three.
fn starts_module(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC_BYTES)
        && bytes.len() >= HEADER_SIZE
        && word(bytes, 1).is_some_and(|version| version & 0xff00_00ff == 0)
        && word(bytes, 4) == Some(0)
}

/// Derives the triple of a SPIR-V module from its addressing model.
pub(super) fn triple(bytes: &[u8]) -> &'static str {
    let words = words::words(bytes).unwrap_or_default();
    let mut instructions = words::instructions(&words).flatten();
    let model = instructions.find(|instruction| instruction.opcode == op::MEMORY_MODEL);
    match model.and_then(|model| model.operands.first()) {
        Some(&PHYSICAL_32) => "spir-unknown-unknown",
        _ => "spir64-unknown-unknown",
    }
}

fn word(bytes: &[u8], index: usize) -> Option<u32> {
    let word = bytes.as_chunks().0.get(index)?;
    Some(u32::from_le_bytes(*word))
}

/// Returns the OffloadBinaries in host code that a compiler stored as LLVM bitcode, for link-time optimization.
///
/// Clang embeds them as global byte arrays, each with one or more OffloadBinaries. Bitcode stores the bytes of an
/// array in sequence, starting at any bit offset.
///
/// # Errors
///
/// Fails if an OffloadBinary, or the module in Apple's wrapper, extends beyond the file.
pub(super) fn in_bitcode(bytes: &[u8]) -> Result<Vec<Vec<u8>>, Error> {
    let malformed = |offset: usize| {
        let kind = ErrorKind::Object(String::from("the bitcode is truncated or malformed"));
        Error::new("LLVM bitcode", offset as u64, kind)
    };
    let bytes = unwrapped(bytes).ok_or_else(|| malformed(0))?;
    let mut found: Vec<(usize, Vec<u8>)> = Vec::new();
    for shift in 0..8 {
        let pairs = bytes.iter().zip(bytes.iter().skip(1).chain(&[0]));
        let shifted: Vec<u8> = pairs
            .map(|(low, high)| (u16::from_le_bytes([*low, *high]) >> shift).to_le_bytes()[0])
            .collect();
        let (mut next, mut last_end) = (0, None);
        while let Some(at) = shifted[next..].windows(4).position(|word| word == MAGIC) {
            let start = next + at;
            next = start + MAGIC.len();
            let Ok(header) = Header::read(&shifted[start..]) else {
                continue; // other bytes that happen to equal the magic
            };
            let size = usize::try_from(header.size).ok();
            let Some(end) = size.and_then(|size| start.checked_add(size)) else {
                continue;
            };
            let binary = shifted.get(start..end).ok_or_else(|| malformed(start))?;
            match found.last_mut() {
                Some((_, array)) if last_end == Some(start) => array.extend_from_slice(binary),
                _ => found.push((start * 8 + shift, binary.to_vec())),
            }
            next = end.max(next);
            last_end = Some(end);
        }
    }
    found.sort_unstable();
    Ok(found.into_iter().map(|(_, binary)| binary).collect())
}

/// Strips the wrapper that Apple's tools add to bitcode.
fn unwrapped(bytes: &[u8]) -> Option<&[u8]> {
    const WRAPPER_MAGIC: &[u8] = &[0xde, 0xc0, 0x17, 0x0b];
    if !bytes.starts_with(WRAPPER_MAGIC) {
        return Some(bytes);
    }
    let field = |index| usize::try_from(word(bytes, index)?).ok();
    let (start, size) = (field(2)?, field(3)?);
    bytes.get(start..start.checked_add(size)?)
}

/// Returns the names of the kernels in native AMD code, which contains a kernel descriptor `NAME.kd` for each kernel
/// (LLVM's "User Guide for AMDGPU Backend", code object symbols).
pub(super) fn amd_kernels(bytes: &[u8]) -> Option<Vec<String>> {
    let file = object::File::parse(bytes).ok()?;
    let mut left = bytes.len();
    let mut names = Vec::new();
    for symbol in file.dynamic_symbols() {
        let name = symbol.name_bytes().ok()?;
        left = left.checked_sub(name.len())?;
        if let Some(kernel) = name.strip_suffix(b".kd") {
            names.push(String::from_utf8(kernel.to_vec()).ok()?);
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(words: &[u32]) -> Vec<u8> {
        let header = [0x0723_0203, 0x0001_0400, 0, 9, 0];
        let words = header.iter().chain(words);
        words.flat_map(|word| word.to_le_bytes()).collect()
    }

    #[test]
    fn modules_are_told_apart_with_padding_and_without() {
        // A constant that equals the magic does not start a module: it lies inside an instruction.
        let first = module(&[4 << 16 | 43, 1, 2, 0x0723_0203, 1 << 16 | 56]);
        let second = module(&[3 << 16 | 14, 2, 2]);
        let third = module(&[3 << 16 | 14, 1, 2]);
        let empty = module(&[]);
        let bytes = [&first[..], &second, &[0; 12], &third, &[0; 3]].concat();
        assert_eq!(split(&bytes), [&first[..], &second, &third]);
        let bytes = [&first[..], &[0; 4], &empty].concat();
        assert_eq!(split(&bytes), [&first[..], &empty]);
        for (length, word, value) in [
            (20, 4, 1),
            (20, 1, 1),
            (20, 1, 1 << 24),
            (16, 0, 0x0723_0203),
        ] {
            let mut other = empty.clone();
            other[word * 4..word * 4 + 4].copy_from_slice(&u32::to_le_bytes(value));
            let bytes = [&first[..], &other[..length]].concat();
            assert_eq!(split(&bytes), [&bytes[..]], "word {word} is {value}");
        }
        let bytes = [&first[..], &[0; 8], b"junk"].concat();
        assert_eq!(split(&bytes), [&bytes[..]]);
        assert_eq!(triple(&second), "spir64-unknown-unknown");
        assert_eq!(triple(&third), "spir-unknown-unknown");
    }

    #[test]
    fn offload_binaries_are_found_at_any_bit() {
        let mut binary = Vec::new();
        let header = Header {
            version: 1,
            size: 40,
            entry_offset: 32,
            entry_size_or_count: 0,
            inflated_size: 0,
        };
        header.write(&mut binary);
        binary.extend(*b"contents");
        for shift in 0..8 {
            let bits = [&[0xff; 3], &*binary, &MAGIC, &binary, &binary, &[0xff; 2]].concat();
            let mut before = 0xffu8;
            let shifted = bits.into_iter().map(|byte| {
                let pair = u16::from_le_bytes([before, byte]);
                before = byte;
                (pair >> (8 - shift)).to_le_bytes()[0]
            });
            let bytes: Vec<u8> = shifted.collect();
            let two = [&binary[..], &binary].concat();
            assert_eq!(in_bitcode(&bytes).unwrap(), [&binary[..], &two]);
            assert!(in_bitcode(&bytes[..bytes.len() - 10]).is_err());
            // The bits before the first binary are less than a byte.
            let found = in_bitcode(&bytes[3..]).unwrap();
            assert_eq!(found, [&binary[..], &two]);
        }
    }

    #[test]
    fn unreadable_rest_stays_with_last_module() {
        let first = module(&[1 << 16 | 56]);
        let second = module(&[100 << 16 | 1, 7, 7]);
        let bytes = [&first[..], &second].concat();
        assert_eq!(split(&bytes), [&first[..], &second]);
    }
}
