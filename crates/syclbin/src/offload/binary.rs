// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes a single OffloadBinary. Opening it validates only the header. Each entry is validated when it is
//! read.
#![allow(
    missing_docs,
    clippy::missing_errors_doc,
    reason = "internal to this project"
)]

use super::{Entry, ImageKind, OffloadKind, Strings};
use crate::error::{Error, ErrorKind};
use crate::prelude::*;
use crate::raw::offload_binary::{self as raw, header_size};
use crate::raw::{Budget, beyond, slice};
use crate::write;

/// An OffloadBinary with a validated header, whose entries are read on demand.
#[derive(Clone, Copy, Debug)]
pub struct Binary<'a> {
    pub bytes: &'a [u8],
    pub version: u32,
    pub entry_offset: u64,
    pub count: usize,
}

impl<'a> Binary<'a> {
    /// Reads the OffloadBinary at the start of `bytes`. Trailing bytes are ignored.
    #[inline]
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        const RECORD: &str = raw::Header::RECORD;
        let header = raw::Header::read(bytes)?;
        if header.inflated_size != 0 {
            let remedy = "it is compressed; unpack it with `syclbin::offload::unpack`, which needs the \
                          feature `compression`";
            return Err(Error::new(RECORD, 32, ErrorKind::Unsupported(remedy)));
        }
        let whole = slice(bytes, (0, header.size), "file", || RECORD.into(), 8)?;
        let count = match header.version {
            1 if header.entry_size_or_count == raw::Entry::SIZE as u64 => 1,
            1 => {
                let (found, size) = (header.entry_size_or_count, raw::Entry::SIZE);
                let problem = format!("the entry size is {found}; expected {size}");
                return Err(Error::inconsistent(RECORD, 24, problem));
            }
            _ => header.entry_size_or_count,
        };
        let start = header.entry_offset;
        let size = count.saturating_mul(raw::Entry::SIZE as u64);
        let entries = slice(whole, (start, size), "file", || RECORD.into(), 16)?;
        if start < header_size(header.version) as u64 {
            let problem = format!("the entries start at {start:#x}, inside the header");
            return Err(Error::inconsistent(RECORD, 16, problem));
        }
        Ok(Self {
            bytes: whole,
            version: header.version,
            entry_offset: start,
            count: entries.len() / raw::Entry::SIZE,
        })
    }

    pub fn entry_at(&self, index: usize) -> u64 {
        // `parse` has validated that the entries are inside the file.
        self.entry_offset + (index * raw::Entry::SIZE) as u64
    }

    #[inline]
    pub fn raw_entry(&self, index: usize) -> Result<raw::Entry, Error> {
        // An offset beyond `usize` is beyond the file as well.
        let at = usize::try_from(self.entry_at(index)).unwrap_or(usize::MAX);
        raw::Entry::read(self.bytes, at)
    }

    #[inline]
    pub fn image(&self, entry: &raw::Entry, index: usize) -> Result<&'a [u8], Error> {
        let range = (entry.image_offset, entry.image_size);
        slice(self.bytes, range, "file", name(index), self.entry_at(index))
    }

    pub fn entries(&self) -> impl Iterator<Item = Result<Entry<'a>, Error>> + use<'a> {
        let size = self.bytes.len() as u64;
        let records = size / raw::StringEntry::size(self.version) as u64;
        let mut reader = EntryReader {
            binary: *self,
            // Entries may share strings, such as keys. This budget allows hundreds of bytes for each string entry, and
            // still bounds the work by the file size.
            text: Budget::new("string bytes", size.saturating_mul(16)),
            images: Budget::new("image bytes", size),
            records: Budget::new("string entries", records),
        };
        (0..self.count).map(move |index| reader.read(index))
    }
}

/// Returns a function that names an entry in errors.
fn name(index: usize) -> impl Fn() -> String + Copy {
    move || format!("{} {index}", raw::Entry::RECORD)
}

/// Reads the entries of a [`Binary`], and rejects entries that together claim more than the file contains.
struct EntryReader<'a> {
    binary: Binary<'a>,
    text: Budget,
    records: Budget,
    images: Budget,
}

impl<'a> EntryReader<'a> {
    #[inline]
    fn read(&mut self, index: usize) -> Result<Entry<'a>, Error> {
        let entry = self.binary.raw_entry(index)?;
        let at = self.binary.entry_at(index);
        self.images.spend(entry.image_size, name(index), at)?;
        let strings = match entry.string_count {
            0 => Vec::new(), // without strings, the offset has no meaning
            _ => self.strings(&entry, index)?,
        };
        Ok(Entry {
            image_kind: ImageKind(entry.image_kind),
            offload_kind: OffloadKind(entry.offload_kind),
            flags: entry.flags,
            strings,
            image: Cow::Borrowed(self.binary.image(&entry, index)?),
        })
    }

    fn strings(&mut self, entry: &raw::Entry, index: usize) -> Result<Strings<'a>, Error> {
        let Binary { bytes, version, .. } = self.binary;
        let (record, at) = (name(index), self.binary.entry_at(index));
        let size = raw::StringEntry::size(version);
        let range = entry.string_count.saturating_mul(size as u64);
        let table = slice(bytes, (entry.string_offset, range), "file", record, at)?;
        self.records.spend(entry.string_count, record, at)?;
        let mut strings = Vec::with_capacity(table.len() / size);
        for number in 0..table.len() / size {
            let place = entry.string_offset + (number * size) as u64;
            let string = raw::StringEntry::read(table, number * size, version)?;
            let key = until_nul(bytes, string.key_offset, record, place)?;
            let value = match string.value_size {
                Some(size) => slice(bytes, (string.value_offset, size), "file", record, place)?,
                None => until_nul(bytes, string.value_offset, record, place)?,
            };
            let length = (key.len() + value.len()) as u64;
            self.text.spend(length, record, place)?;
            let fail = |_| Error::new(record(), string.key_offset, ErrorKind::Utf8);
            let key = core::str::from_utf8(key).map_err(fail)?;
            strings.push((Cow::Borrowed(key), Cow::Borrowed(value)));
        }
        Ok(strings)
    }
}

fn until_nul(
    bytes: &[u8],
    start: u64,
    record: impl Fn() -> String,
    at: u64,
) -> Result<&[u8], Error> {
    let from = usize::try_from(start).ok();
    let rest = from.and_then(|from| bytes.get(from..));
    let rest = rest.ok_or_else(|| beyond(record(), at, (start, 1), "file", bytes.len()))?;
    let end = rest.iter().position(|byte| *byte == 0);
    let unterminated = || Error::inconsistent(record(), start, "a string has no terminating NUL");
    Ok(&rest[..end.ok_or_else(unterminated)?])
}

/// Writes an OffloadBinary of this version, without compression. Version 1 holds exactly one entry.
pub(crate) fn write(version: u32, entries: &[Entry<'_>]) -> Result<Vec<u8>, write::Error> {
    let string_count: usize = entries.iter().map(|entry| entry.strings.len()).sum();
    let header_size = header_size(version);
    let strings_start = header_size + entries.len() * raw::Entry::SIZE;
    let table_start = strings_start + string_count * raw::StringEntry::size(version);
    let mut table = StringTable {
        // As in LLVM, a table with strings begins with NUL.
        bytes: vec![0; usize::from(string_count > 0)],
        start: table_start,
        offsets: BTreeMap::new(),
    };
    let mut string_entries = Vec::new();
    for (key, value) in entries.iter().flat_map(|entry| &entry.strings) {
        // NUL terminates keys in all versions, and values in version 1.
        if key.contains('\0') || (version == 1 && value.contains(&0)) {
            return Err(write::Error::Nul(key.as_ref().into()));
        }
        let string = raw::StringEntry {
            key_offset: table.add(key.as_bytes()),
            value_offset: table.add(value),
            value_size: (version != 1).then_some(value.len() as u64),
        };
        string.write(&mut string_entries);
    }
    let images_start = (table_start + table.bytes.len()).next_multiple_of(8);
    let images_size: usize = entries.iter().map(|entry| entry.image.len()).sum();
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
        raw::Entry {
            image_kind: entry.image_kind.0,
            offload_kind: entry.offload_kind.0,
            flags: entry.flags,
            // For an entry without strings, this matches LLVM in version 1, and the reference runtime in version 2.
            string_offset: match entry.strings[..] {
                [] if version != 1 => 0,
                _ => string_offset as u64,
            },
            string_count: entry.strings.len() as u64,
            image_offset: image_offset as u64,
            image_size: entry.image.len() as u64,
        }
        .write(&mut out);
        string_offset += entry.strings.len() * raw::StringEntry::size(version);
        image_offset += entry.image.len();
    }
    out.extend_from_slice(&string_entries);
    out.extend_from_slice(&table.bytes);
    out.resize(images_start, 0);
    for entry in entries {
        out.extend_from_slice(&entry.image);
    }
    out.resize(size, 0);
    Ok(out)
}

/// The maximum length of shared strings, in bytes. The reader limits the total length of all strings to 16 times the
/// file size. Each string entry adds at least 16 bytes to the file, which allows 256 bytes for its key and value. With
/// longer shared strings, the reader could reject the file as hostile.
const SHARED: usize = 128;

/// A table of NUL-terminated strings, in which short strings are deduplicated.
struct StringTable {
    bytes: Vec<u8>,
    /// The offset of the table in the file.
    start: usize,
    offsets: BTreeMap<Vec<u8>, u64>,
}

impl StringTable {
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

/// The key of the string that lists an image's symbols.
pub const SYMBOLS_KEY: &str = "symbols";

/// Returns the names in the string `symbols`, which LLVM's `clang-sycl-linker` adds to each image, or `None`
/// if the format of the string is unknown.
///
/// Until LLVM 22, the string lists the names, separated by line feeds. Since April 2026, it is a table that begins
/// with the number of names, followed by the offset (from the start of the table) and the length of each name, all
/// as 32-bit numbers. The NUL-terminated names follow.
#[must_use]
pub fn listed_symbols(symbols: &[u8]) -> Option<Vec<String>> {
    table(symbols).or_else(|| {
        let text = core::str::from_utf8(symbols).ok()?;
        let names: Vec<_> = text.lines().filter(|name| !name.is_empty()).collect();
        let is_plain = |name: &&str| !name.contains(char::is_control);
        let is_list = names.iter().all(is_plain);
        is_list.then(|| names.into_iter().map(String::from).collect())
    })
}

fn table(bytes: &[u8]) -> Option<Vec<String>> {
    let number = |at: usize| {
        let number = bytes.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*number)).ok()
    };
    let count = number(0)?;
    let first_name = count.checked_mul(8)?.checked_add(4)?;
    // With overlapping names, a small table could expand to a huge list.
    let mut left = bytes.len().checked_sub(first_name)?;
    let names = (0..count).map(|index| {
        let (start, size) = (number(4 + index * 8)?, number(8 + index * 8)?);
        left = left.checked_sub(size.checked_add(1)?)?;
        let name = bytes.get(start..start.checked_add(size)?)?;
        let closed = start >= first_name && bytes.get(start + size) == Some(&0);
        let name = core::str::from_utf8(name).ok().filter(|_| closed)?;
        Some(name.to_string())
    });
    names.collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn both_symbol_list_forms_are_read() {
        let mut bytes = Vec::new();
        for number in [2u32, 20, 1, 22, 2] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"a\0bc\0");
        let expected = ["a".to_string(), "bc".to_string()];
        assert_eq!(listed_symbols(&bytes).as_deref(), Some(&expected[..]));
        assert_eq!(listed_symbols(b"a\nbc").as_deref(), Some(&expected[..]));
        assert_eq!(listed_symbols(b""), Some(Vec::new()));
    }

    #[test]
    fn a_table_whose_names_overlap_is_no_list() {
        let mut bytes = Vec::new();
        for number in [2u32, 20, 2, 20, 2] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(b"bc\0");
        assert_eq!(listed_symbols(&bytes), None);
    }

    #[test]
    fn names_in_a_table_are_terminated() {
        let table = |start: u32, size: u32, names: &[u8]| {
            let numbers = [1, start, size].into_iter().flat_map(u32::to_le_bytes);
            let bytes: Vec<u8> = numbers.chain(names.iter().copied()).collect();
            listed_symbols(&bytes)
        };
        assert_eq!(table(12, 1, b"a\0"), Some(vec!["a".to_string()]));
        assert_eq!(table(12, 1, b"ab"), None);
        // The second byte of the count is NUL, but names follow the numbers.
        assert_eq!(table(1, 0, b"\0"), None);
    }

    /// An entry with these strings, and without an image.
    fn entry(strings: &[(&'static str, Vec<u8>)]) -> Entry<'static> {
        let strings = strings.iter().cloned();
        Entry {
            strings: strings
                .map(|(key, value)| (key.into(), value.into()))
                .collect(),
            ..Entry::default()
        }
    }

    #[test]
    fn short_strings_are_stored_once() {
        for (length, copies) in [(128, 1), (129, 2)] {
            let strings = ["a", "b"].map(|key| (key, vec![b'x'; length]));
            let bytes = write(2, &[entry(&strings)]).unwrap();
            let runs = bytes.split(|byte| *byte != b'x');
            assert_eq!(runs.filter(|run| run.len() == length).count(), copies);
        }
    }

    #[test]
    fn errors_in_strings_have_their_offset() {
        let strings = [("a", vec![1]), ("b", vec![2])];
        let mut bytes = write(2, &[entry(&strings)]).unwrap();
        // The size of the second value. The header has 32 bytes, and the entry has 40.
        let place = 32 + 40 + 24;
        bytes[place + 16 + 7] = 1;
        let entries = Binary::parse(&bytes).unwrap().entries();
        let errors: Vec<_> = entries.map(|entry| entry.unwrap_err().offset()).collect();
        assert_eq!(errors, [place as u64]);
    }

    #[test]
    fn offset_without_strings_has_no_meaning() {
        let mut bytes = write(2, &[entry(&[])]).unwrap();
        bytes[32 + 8..32 + 16].fill(0xff);
        let entries = Binary::parse(&bytes).unwrap().entries();
        let entries: Result<Vec<_>, _> = entries.collect();
        assert_eq!(entries, Ok(vec![entry(&[])]));
    }
}
