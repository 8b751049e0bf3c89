// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes OffloadBinary files: header, entries, string entries, string table, images.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::vec::Vec;

use super::{Entry, ImageKind, OffloadKind};
use crate::raw::offload_binary::{self as raw, HEADER_SIZE, HEADER_SIZE_V3, StringEntry};
use crate::write::Error;

/// An entry to be written. The image consists of parts, so that large images are copied only once.
pub(crate) struct Outgoing<'a> {
    pub(crate) image_kind: ImageKind,
    pub(crate) offload_kind: OffloadKind,
    pub(crate) flags: u32,
    pub(crate) strings: Vec<(&'a str, Cow<'a, [u8]>)>,
    pub(crate) image: Vec<Cow<'a, [u8]>>,
}

impl<'a> Outgoing<'a> {
    pub(crate) fn of(entry: &'a Entry<'_>) -> Self {
        let strings = entry.strings.iter();
        Self {
            image_kind: entry.image_kind,
            offload_kind: entry.offload_kind,
            flags: entry.flags,
            strings: strings
                .map(|(key, value)| (key.as_ref(), Cow::Borrowed(value.as_ref())))
                .collect(),
            image: Vec::from([Cow::Borrowed(entry.image.as_ref())]),
        }
    }
}

pub(crate) fn version_1(entry: &Outgoing<'_>) -> Result<Vec<u8>, Error> {
    version(1, core::slice::from_ref(entry))
}

pub(crate) fn version_2(entries: &[Outgoing<'_>]) -> Result<Vec<u8>, Error> {
    version(2, entries)
}

/// Writes version 3 without compression.
#[cfg(feature = "compression")]
pub(crate) fn version_3(entries: &[Outgoing<'_>]) -> Result<Vec<u8>, Error> {
    version(3, entries)
}

fn version(version: u32, entries: &[Outgoing<'_>]) -> Result<Vec<u8>, Error> {
    let string_count: usize = entries.iter().map(|entry| entry.strings.len()).sum();
    let header_size = match version {
        3 => HEADER_SIZE_V3,
        _ => HEADER_SIZE,
    };
    let strings_start = header_size + entries.len() * raw::Entry::SIZE;
    let table_start = strings_start + string_count * StringEntry::size(version);
    let mut table = StringTable::new(table_start, string_count > 0);
    let mut string_entries = Vec::new();
    for (key, value) in entries.iter().flat_map(|entry| &entry.strings) {
        // NUL terminates keys in all versions, and values in version 1.
        if key.contains('\0') || (version == 1 && value.contains(&0)) {
            return Err(Error::Nul((*key).into()));
        }
        let string = StringEntry {
            key_offset: table.add(key.as_bytes()),
            value_offset: table.add(value),
            value_size: (version != 1).then_some(value.len() as u64),
        };
        string.write(&mut string_entries);
    }
    let images_start = (table_start + table.bytes.len()).next_multiple_of(8);
    let images_size: usize = entries.iter().flat_map(|e| &e.image).map(|p| p.len()).sum();
    let size = (images_start + images_size).next_multiple_of(8);

    let mut out = Vec::with_capacity(size);
    raw::Header {
        version,
        size: size as u64,
        entry_offset: header_size as u64,
        entry_size_or_count: match version {
            1 => raw::Entry::SIZE as u64,
            _ => entries.len() as u64,
        },
        inflated_size: 0,
    }
    .write(&mut out);
    let mut string_offset = strings_start;
    let mut image_offset = images_start;
    for entry in entries {
        let image_size: usize = entry.image.iter().map(|part| part.len()).sum();
        raw::Entry {
            image_kind: entry.image_kind.0,
            offload_kind: entry.offload_kind.0,
            flags: entry.flags,
            // For an entry without strings, this matches LLVM in version 1, and the reference runtime in version 2.
            string_offset: if entry.strings.is_empty() && version != 1 {
                0
            } else {
                string_offset as u64
            },
            string_count: entry.strings.len() as u64,
            image_offset: image_offset as u64,
            image_size: image_size as u64,
        }
        .write(&mut out);
        string_offset += entry.strings.len() * StringEntry::size(version);
        image_offset += image_size;
    }
    out.extend_from_slice(&string_entries);
    out.extend_from_slice(&table.bytes);
    out.resize(images_start, 0);
    for part in entries.iter().flat_map(|entry| &entry.image) {
        out.extend_from_slice(part);
    }
    out.resize(size, 0);
    Ok(out)
}

/// The maximum length of shared strings. The reader limits all strings together to 16 times the file size, and
/// each string record adds at least 16 bytes. With longer shared strings, the reader could reject the file as hostile.
const SHARED: usize = 128;

/// A table of NUL-terminated strings, in which short strings are deduplicated.
struct StringTable {
    bytes: Vec<u8>,
    start: usize,
    offsets: BTreeMap<Vec<u8>, u64>,
}

impl StringTable {
    /// Creates a table for the offset `start`. Like LLVM's tables, it begins with NUL unless it stays empty.
    fn new(start: usize, used: bool) -> Self {
        Self {
            bytes: if used { Vec::from([0]) } else { Vec::new() },
            start,
            offsets: BTreeMap::new(),
        }
    }

    /// Returns the offset of `text` in the file, after adding it if necessary.
    fn add(&mut self, text: &[u8]) -> u64 {
        if let Some(offset) = self.offsets.get(text) {
            return *offset;
        }
        let offset = (self.start + self.bytes.len()) as u64;
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
        if text.len() <= SHARED {
            self.offsets.insert(text.to_vec(), offset);
        }
        offset
    }
}
