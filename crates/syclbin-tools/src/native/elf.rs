// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sections of little-endian ELF files of 64 bits, the form of native code for GPUs.

const HEADER: usize = 64;

/// A section with content.
pub(super) struct Section<'a> {
    pub(super) name: &'a [u8],
    pub(super) info: u32,
    /// Its size in the memory of the device.
    pub(super) size: u64,
    /// Its bytes in the file; empty if it has none there.
    pub(super) bytes: &'a [u8],
}

/// Returns the sections of `bytes`. Skips sections that exceed the file, and names that together exceed it: a hostile
/// file could give every section the same long name.
pub(super) fn sections(bytes: &[u8]) -> impl Iterator<Item = Section<'_>> {
    let is_elf = bytes.starts_with(b"\x7fELF\x02\x01");
    let table = is_elf.then(|| at(u64_at(bytes, 40)?)).flatten();
    let count = u16_at(bytes, 60).unwrap_or(0);
    let names = u16_at(bytes, 62).unwrap_or(0);
    let header = move |index: u16| {
        let start = table?.checked_add(usize::from(index) * HEADER)?;
        bytes.get(start..)?.get(..HEADER)
    };
    let names = header(names)
        .and_then(|header| content(bytes, header))
        .unwrap_or_default();
    let mut budget = bytes.len();
    (0..count).filter_map(move |index| {
        let header = header(index)?;
        let name = names.get(at(u32_at(header, 0)?.into())?..)?;
        let Some(end) = name.iter().take(budget).position(|byte| *byte == 0) else {
            budget = 0;
            return None;
        };
        budget -= end;
        Some(Section {
            name: &name[..end],
            info: u32_at(header, 44)?,
            size: u64_at(header, 32)?,
            bytes: content(bytes, header)?,
        })
    })
}

/// Returns the bytes of the section with this header.
fn content<'a>(bytes: &'a [u8], header: &[u8]) -> Option<&'a [u8]> {
    /// The type of a section that has no bytes in the file.
    const NO_BITS: u32 = 8;
    if u32_at(header, 4)? == NO_BITS {
        return Some(&[]);
    }
    bytes
        .get(at(u64_at(header, 24)?)?..)?
        .get(..at(u64_at(header, 32)?)?)
}

fn at(offset: u64) -> Option<usize> {
    usize::try_from(offset).ok()
}

fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}

fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(*bytes.get(at..)?.first_chunk()?))
}
