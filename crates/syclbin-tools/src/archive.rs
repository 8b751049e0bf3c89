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

#[cfg(test)]
mod tests {
    use alloc::format;
    use alloc::string::ToString as _;
    use alloc::vec::Vec;

    use super::*;

    fn header(name: &str, size: usize) -> Vec<u8> {
        format!("{name:<16}{:<32}{size:<10}`\n", 0).into_bytes()
    }

    /// Returns the names and bytes of the members, or the error.
    fn read(magic: &[u8], parts: &[&[u8]]) -> Result<Vec<(String, Vec<u8>)>, String> {
        let bytes = [magic, &parts.concat()].concat();
        let found = members(&bytes).map_err(|error| error.to_string())?;
        let all = found.into_iter();
        Ok(all.map(|one| (one.name, one.bytes.to_vec())).collect())
    }

    #[test]
    fn names_of_all_formats_are_read() {
        let long = "n".repeat(300);
        let table = format!("first.o/\n{long}/\nlast\0");
        let mut size = table.len();
        size += size % 2;
        for (parts, name, bytes) in [
            ([&header("a.o/", 2)[..], b"aa", b""], "a.o", &b"aa"[..]),
            ([&header("a.o", 1), b"a", b"\n"], "a.o", b"a"),
            ([&header("a\u{1}b/", 2), b"aa", b""], "a\u{fffd}b", b"aa"),
            ([&header("#1/6", 8), b"name\0\0", b"aa"], "name", b"aa"),
            ([&header("#1/2", 2), b"ab", b""], "ab", b""),
            ([&header("/0", 2), b"aa", b""], "first.o", b"aa"),
            ([&header("/9", 2), b"aa", b""], &long[..256], b"aa"),
            ([&header("/311", 2), b"aa", b""], "last", b"aa"),
        ] {
            let names = [&header("//", size), table.as_bytes(), b"\n"].concat();
            let names = &names[..60 + size];
            let tables = [
                &header("/", 2)[..],
                b"aa",
                &header("/SYM64/", 0),
                &header("__.SYMDEF", 0),
            ];
            let parts = [&tables.concat(), names, &parts.concat()];
            let expected = (String::from(name), bytes.to_vec());
            assert_eq!(read(ARCHIVE_MAGIC, &parts), Ok([expected].into()));
        }
    }

    #[test]
    fn thin_archives_keep_whole_paths() {
        let path = format!("{}/a.o", "d".repeat(1000));
        let names = format!("{path}/\n");
        let parts = [
            &header("//", names.len())[..],
            names.as_bytes(),
            &header("/0", 7),
            &header("b.o/", 9),
        ];
        let expected = [(path, Vec::new()), ("b.o".into(), Vec::new())];
        assert_eq!(read(THIN_MAGIC, &parts), Ok(expected.into()));
        let mut invalid = header("b.o/", 0);
        invalid[0] = 0xff;
        let error = read(THIN_MAGIC, &[&invalid]).unwrap_err();
        assert!(error.contains("a member's path is not UTF-8"), "{error}");
        let found = read(ARCHIVE_MAGIC, &[&invalid]).unwrap();
        assert_eq!(found, [("\u{fffd}.o".into(), Vec::new())]);
    }

    #[test]
    fn damage_errors_give_offset_and_problem() {
        let with = |at: usize, byte: u8| {
            let mut bytes = header("a/", 22);
            bytes[at] = byte;
            bytes
        };
        for (member, problem) in [
            (
                header("a/", 2)[..59].to_vec(),
                "a member header is truncated",
            ),
            (with(58, b'x'), "a member header is malformed"),
            (with(59, b'x'), "a member header is malformed"),
            (with(48, b'x'), "a member's size is not a decimal number"),
            (with(48, b'+'), "a member's size is not a decimal number"),
            (header("a/", 3), "a member extends beyond the archive"),
            (
                header("/1", 2),
                "a member's name is not in the long-name table",
            ),
            (header("#1/3", 2), "a member is shorter than its name"),
        ] {
            let parts = [&header("b/", 1)[..], b"b\n", &member, b"aa"];
            let end = if member.len() < 60 { 3 } else { 4 };
            let error = read(ARCHIVE_MAGIC, &parts[..end]).unwrap_err();
            let expected = format!("archive: {problem} (at offset 0x46)");
            assert_eq!(error, expected);
        }
    }
}
