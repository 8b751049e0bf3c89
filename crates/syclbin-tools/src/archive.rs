// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads the members of `ar` archives in GNU, BSD and Microsoft format.
//!
//! This module does not use the `object` crate, because that crate searches the rest of the long-name table for the end
//! of each member's name. On a hostile table, that takes quadratic time.

use alloc::string::String;
use alloc::vec::Vec;

use syclbin::__private::content::ARCHIVE_MAGIC;
use syclbin::{Error, ErrorKind};

pub(crate) const THIN_MAGIC: &[u8; 8] = b"!<thin>\n";
const HEADER_SIZE: usize = 60;
const RECORD: &str = "archive";

pub(crate) struct Member<'a> {
    pub(crate) name: String,
    /// Empty in a thin archive.
    pub(crate) bytes: &'a [u8],
    /// The size in the member's header, even if the archive does not contain the bytes.
    pub(crate) size: usize,
}

/// The maximum length of a member's path in a thin archive, in bytes.
const PATH_LIMIT: usize = 4096;

/// Returns the members of the archive `bytes`, except its symbol and name tables. A thin archive contains only tables
/// and member headers.
pub(crate) fn members(bytes: &[u8]) -> Result<Vec<Member<'_>>, Error> {
    let mut found = Vec::new();
    let mut long_names: &[u8] = &[];
    let mut next = ARCHIVE_MAGIC.len();
    let thin = bytes.starts_with(THIN_MAGIC);
    while next < bytes.len() {
        let at = next;
        let fail =
            |problem: &str| Error::new(RECORD, at as u64, ErrorKind::Object(String::from(problem)));
        let header = bytes.get(at..at + HEADER_SIZE);
        let header = header.ok_or_else(|| fail("a member header is truncated"))?;
        if header[58..] != *b"`\n" {
            return Err(fail("a member header is malformed"));
        }
        let size = number(&header[48..58])
            .ok_or_else(|| fail("a member's size is not a decimal number"))?;
        let is_table = header[0] == b'/' && !header[1].is_ascii_digit();
        let stored = if thin && !is_table { 0 } else { size };
        let start = at + HEADER_SIZE;
        let end = start.checked_add(stored);
        let content = end.and_then(|end| bytes.get(start..end));
        let mut content = content.ok_or_else(|| fail("a member extends beyond the archive"))?;
        // Members start at even offsets.
        next = (start + stored).next_multiple_of(2);

        let name: &[u8] = match header[..16].trim_ascii_end() {
            // GNU and Microsoft symbol tables.
            b"/" | b"/SYM64/" | b"/<ECSYMBOLS>/" | b"/<XFGHASHMAP>/" => continue,
            b"//" => {
                long_names = content;
                continue;
            }
            [b'/', digits @ ..] => {
                let name = number(digits).and_then(|place| long_names.get(place..));
                let lacking = || fail("a member's name is not in the long-name table");
                let name = name.ok_or_else(lacking)?;
                let limit = if thin { PATH_LIMIT } else { NAME_LIMIT };
                let mut parts =
                    name[..name.len().min(limit)].split(|byte| [0, b'\n'].contains(byte));
                parts.next().unwrap_or_default()
            }
            [b'#', b'1', b'/', digits @ ..] => {
                let name = number(digits).and_then(|size| content.split_at_checked(size));
                let (name, rest) = name.ok_or_else(|| fail("a member is shorter than its name"))?;
                content = rest;
                name.split(|byte| *byte == 0).next().unwrap_or_default()
            }
            short => short,
        };
        if name.starts_with(b"__.SYMDEF") {
            continue;
        }
        let name = name.strip_suffix(b"/").unwrap_or(name);
        let name = match core::str::from_utf8(name) {
            Ok(path) if thin => String::from(path),
            Err(_) if thin => return Err(fail("a member's path is not UTF-8")),
            _ => shown(name),
        };
        found.push(Member {
            name,
            bytes: content,
            size,
        });
    }
    Ok(found)
}

/// The maximum length of a section or member name that is shown or compared, in bytes.
pub(crate) const NAME_LIMIT: usize = 256;

/// Decodes a name from a file for display. Truncates it to [`NAME_LIMIT`] bytes, and replaces control characters and
/// invalid UTF-8.
pub(crate) fn shown(name: &[u8]) -> String {
    let name = &name[..name.len().min(NAME_LIMIT)];
    let clean = |c: char| if c.is_control() { '\u{fffd}' } else { c };
    String::from_utf8_lossy(name).chars().map(clean).collect()
}

/// Parses a decimal number with trailing spaces.
fn number(digits: &[u8]) -> Option<usize> {
    let digits = core::str::from_utf8(digits.trim_ascii_end()).ok()?;
    // `parse` would accept a plus sign.
    digits.parse().ok().filter(|_| !digits.starts_with('+'))
}
