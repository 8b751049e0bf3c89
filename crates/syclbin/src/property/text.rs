// SPDX-License-Identifier: MIT OR Apache-2.0
//! Parses and writes the text form of property sets, with lines `[set]` and `key=type|value`.

use core::fmt::Write as _;

use super::{PropertySet, PropertySets, Value};
use crate::error::{Error, ErrorKind};
use crate::prelude::*;
use crate::text::is_decimal;

const RECORD: &str = "property sets";

/// A property, or the name of a set, that the text form cannot represent.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("set `{set}`, key `{key}`: {reason}")]
pub struct Inexpressible {
    set: String,
    key: String,
    reason: &'static str,
}

impl<'a> PropertySets<'a> {
    /// Parses the text form. Empty text contains no sets. Repeated sets are merged, and the last value of a
    /// repeated key wins, as in LLVM's reader.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not UTF-8, with the offset of the first invalid byte, or if a line is invalid,
    /// with the offset of the line.
    pub fn parse(text: &'a [u8]) -> Result<Self, Error> {
        let text = core::str::from_utf8(text)
            .map_err(|error| Error::new(RECORD, error.valid_up_to() as u64, ErrorKind::Utf8))?;
        let mut sets = Self::default();
        let mut current: Option<&mut PropertySet<'a>> = None;
        let mut offset = 0;
        for (index, line) in text.split('\n').enumerate() {
            let start = offset;
            offset += line.len() as u64 + 1;
            let line = line.strip_suffix('\r').unwrap_or(line);
            let fail = |problem| {
                let line = index + 1;
                Error::new(RECORD, start, ErrorKind::Property { line, problem })
            };
            if line.is_empty() {
                continue;
            }
            if let Some(rest) = line.strip_prefix('[') {
                let end = rest.rfind(']').ok_or_else(|| fail("missing `]`"))?;
                current = Some(sets.set_mut(Cow::Borrowed(&rest[..end])));
                continue;
            }
            let set = current.as_mut();
            let set = set.ok_or_else(|| fail("a property before any set"))?;
            let (key, rest) = line.split_once('=').ok_or_else(|| fail("missing `=`"))?;
            let (ty, value) = rest.split_once('|').ok_or_else(|| fail("missing `|`"))?;
            if key.is_empty() {
                return Err(fail("missing key"));
            }
            let ty = decimal(ty).map_err(|_| fail("the type is not a number"))?;
            let value = match ty {
                1 => decimal(value).map(Value::U32),
                2 => byte_array(value),
                _ => Ok(Value::Other {
                    ty,
                    text: value.into(),
                }),
            };
            set.insert(key, value.map_err(fail)?);
        }
        Ok(sets)
    }

    /// Returns the text form.
    ///
    /// # Errors
    ///
    /// Returns an error if the text form cannot represent a name or a value.
    pub fn to_text(&self) -> Result<String, Inexpressible> {
        let mut text = String::new();
        for (name, set) in self.iter() {
            let fail = |key: &str, reason| Inexpressible {
                set: name.into(),
                key: key.into(),
                reason,
            };
            if name.contains('\n') {
                return Err(fail("", "the name of the set contains a line feed"));
            }
            let _ = writeln!(text, "[{name}]");
            for (key, value) in set.iter() {
                if let Some(problem) = key_problem(key) {
                    return Err(fail(key, problem));
                }
                write_value(&mut text, key, value).map_err(|problem| fail(key, problem))?;
            }
        }
        Ok(text)
    }
}

/// Returns why the text form cannot represent `key`, or `None` if it can.
pub fn key_problem(key: &str) -> Option<&'static str> {
    match key {
        "" => Some("the key is empty"),
        _ if key.starts_with('[') => Some("the key begins with `[`"),
        _ if key.contains('=') => Some("the key contains `=`"),
        _ if key.contains('\n') => Some("the key contains a line feed"),
        _ => None,
    }
}

fn write_value(out: &mut String, key: &str, value: &Value) -> Result<(), &'static str> {
    let _ = match value {
        Value::U32(number) => writeln!(out, "{key}=1|{number}"),
        Value::Bytes { bits, data } => {
            if bits.div_ceil(8) != data.len() as u64 {
                return Err("the bit count does not match the bytes");
            }
            let bytes = [&bits.to_le_bytes(), &data[..]].concat();
            writeln!(out, "{key}=2|{}", encode(&bytes))
        }
        Value::Other { ty: 1 | 2, .. } => {
            return Err("types 1 and 2 are reserved for numbers and byte arrays");
        }
        Value::Other { text, .. } if text.contains('\n') => {
            return Err("the value contains a line feed");
        }
        // A reader treats a trailing carriage return as part of the line ending, so another one protects the
        // value.
        Value::Other { ty, text } if text.ends_with('\r') => writeln!(out, "{key}={ty}|{text}\r"),
        Value::Other { ty, text } => writeln!(out, "{key}={ty}|{text}"),
    };
    Ok(())
}

fn decimal(value: &str) -> Result<u32, &'static str> {
    if !is_decimal(value) {
        return Err("the value is not a decimal number");
    }
    let number = value.parse();
    number.map_err(|_| "the number does not fit into 32 bits")
}

fn byte_array(value: &str) -> Result<Value, &'static str> {
    let bytes = decode(value).ok_or("the value is not base64")?;
    let (bits, data) = { bytes.split_first_chunk() }
        .ok_or("the byte array is too short to contain its 8-byte bit count")?;
    let (bits, data) = (u64::from_le_bytes(*bits), data.to_vec());
    if bits.div_ceil(8) != data.len() as u64 {
        return Err("the bit count does not match the byte array");
    }
    Ok(Value::Bytes { bits, data })
}

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// Encodes `bytes` in LLVM's variant of base64: lowest bits first, without padding.
#[must_use]
pub(super) fn encode(bytes: &[u8]) -> String {
    let mut text = String::with_capacity((bytes.len() * 4).div_ceil(3));
    for group in bytes.chunks(3) {
        let mut bits = 0u32;
        for (index, byte) in group.iter().enumerate() {
            bits |= u32::from(*byte) << (8 * index);
        }
        for index in 0..=group.len() {
            text.push(char::from(ALPHABET[(bits >> (6 * index) & 0x3f) as usize]));
        }
    }
    text
}

/// Decodes `text`. Returns `None` for a character outside the alphabet, or an impossible length (`4n + 1`).
#[must_use]
pub(super) fn decode(text: &str) -> Option<Vec<u8>> {
    if text.len() % 4 == 1 {
        return None;
    }
    let mut bytes = Vec::with_capacity(text.len() * 3 / 4);
    for group in text.as_bytes().chunks(4) {
        let mut bits = 0u32;
        for (index, character) in group.iter().enumerate() {
            bits |= u32::from(digit(*character)?) << (6 * index);
        }
        bytes.extend_from_slice(&bits.to_le_bytes()[..group.len() * 6 / 8]);
    }
    Some(bytes)
}

const fn digit(character: u8) -> Option<u8> {
    match character {
        b'A'..=b'Z' => Some(character - b'A'),
        b'a'..=b'z' => Some(character - b'a' + 26),
        b'0'..=b'9' => Some(character - b'0' + 52),
        b'+' => Some(62),
        b'/' => Some(63),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;
    use alloc::vec;

    use super::*;

    #[test]
    fn text_survives_a_round_trip() {
        let text = "[SYCL/kernel param opt]\n[a]\nk@x y$=1|4294967295\nmask=2|IAAAAAAAAAAA\n[b]\n";
        let sets = PropertySets::parse(text.as_bytes()).unwrap();
        assert_eq!(sets.to_text().unwrap(), text);
        assert_eq!(
            sets.get("a", "k@x y$").and_then(Value::as_u32),
            Some(u32::MAX)
        );
        let mask = Value::Bytes {
            bits: 8,
            data: vec![0],
        };
        assert_eq!(sets.get("a", "mask"), Some(&mask));
    }

    #[test]
    fn windows_and_blank_lines_are_accepted() {
        let sets = PropertySets::parse(b"[a]\r\n\r\nk=1|2").unwrap();
        assert_eq!(sets.to_text().unwrap(), "[a]\nk=1|2\n");
    }

    #[test]
    fn last_value_counts_and_equal_sets_merge() {
        let sets = PropertySets::parse(b"[a]\nk=1|1\n[b]\n[a]\nk=1|2\nl=1|3\n").unwrap();
        assert_eq!(sets.to_text().unwrap(), "[a]\nk=1|2\nl=1|3\n[b]\n");
    }

    #[test]
    fn values_without_a_text_form_are_refused() {
        let other = |ty, text: &str| Value::Other {
            ty,
            text: text.into(),
        };
        let short = Value::Bytes {
            bits: 3,
            data: vec![1, 2],
        };
        for (set, key, value, expected) in [
            ("s", "", Value::U32(1), "set `s`, key ``: the key is empty"),
            (
                "s",
                "[x",
                Value::U32(1),
                "key `[x`: the key begins with `[`",
            ),
            ("s", "a=b", Value::U32(1), "key `a=b`: the key contains `=`"),
            ("s", "a\nb", Value::U32(1), "the key contains a line feed"),
            (
                "s\n",
                "k",
                Value::U32(1),
                "the name of the set contains a line feed",
            ),
            ("s", "k", short, "the bit count does not match the bytes"),
            (
                "s",
                "k",
                other(1, "x"),
                "types 1 and 2 are reserved for numbers and byte arrays",
            ),
            ("s", "k", other(3, "x\n"), "the value contains a line feed"),
        ] {
            let mut sets = PropertySets::default();
            sets.insert(set, key, value);
            let error = sets.to_text().unwrap_err().to_string();
            assert!(error.contains(expected), "{error}");
        }
    }

    #[test]
    fn unknown_types_survive() {
        let text = "[a]\nk=3|any | thing=\nnone=0|\n";
        let sets = PropertySets::parse(text.as_bytes()).unwrap();
        assert_eq!(sets.to_text().unwrap(), text);
        let value = Value::Other {
            ty: 3,
            text: "any | thing=".into(),
        };
        assert_eq!(sets.get("a", "k"), Some(&value));
    }

    #[test]
    fn trailing_carriage_return_of_a_value_survives() {
        let text = "[a]\nk=3|x\r\r\nl=0|\r\r\r\n";
        let sets = PropertySets::parse(text.as_bytes()).unwrap();
        let value = Value::Other {
            ty: 3,
            text: "x\r".into(),
        };
        assert_eq!(sets.get("a", "k"), Some(&value));
        assert_eq!(sets.to_text().unwrap(), text);
    }

    #[test]
    fn sets_may_be_empty_and_are_counted() {
        let mut sets = PropertySets::default();
        assert!(sets.is_empty());
        sets.insert_set("a");
        assert!(!sets.is_empty());
        assert_eq!(sets.set("a").map(PropertySet::len), Some(0));
        assert_eq!(sets.set("a").map(PropertySet::is_empty), Some(true));
        sets.insert("a", "k", 1);
        sets.insert("a", "l", 2);
        // The set already exists.
        sets.insert_set("a");
        assert_eq!(sets.to_text().unwrap(), "[a]\nk=1|1\nl=1|2\n");
        assert_eq!(sets.set("a").map(PropertySet::len), Some(2));
        assert_eq!(sets.set("a").map(PropertySet::is_empty), Some(false));
    }

    #[test]
    fn removing_a_set_leaves_the_others() {
        let mut sets = PropertySets::parse(b"[a]\n[b]\nk=1|1\n[c]\nk=1|2\n").unwrap();
        let removed = sets.remove_set("b").unwrap();
        assert!(removed.iter().eq([("k", &Value::U32(1))]));
        assert!(sets.remove_set("b").is_none());
        assert_eq!(sets.get("c", "k"), Some(&Value::U32(2)));
        assert_eq!(sets.to_text().unwrap(), "[a]\n[c]\nk=1|2\n");
    }

    #[test]
    fn every_line_that_is_wrong_is_named() {
        for (text, expected) in [
            ("k=1|1", "line 1: a property before any set"),
            ("[a]\n[b\n", "line 2: missing `]`"),
            ("[a]\n [b]", "line 2: missing `=`"),
            ("[a]\nk", "line 2: missing `=`"),
            ("[a]\n=1|2", "line 2: missing key"),
            ("[a]\nk=1", "line 2: missing `|`"),
            ("[a]\nk=x|1", "line 2: the type is not a number"),
            ("[a]\nk=|1", "line 2: the type is not a number"),
            ("[a]\nk=1|-1", "line 2: the value is not a decimal number"),
            ("[a]\nk=1|+1", "line 2: the value is not a decimal number"),
            (
                "[a]\nk=1|4294967296",
                "line 2: the number does not fit into 32 bits",
            ),
            ("[a]\nk=2|!", "line 2: the value is not base64"),
            (
                "[a]\nk=2|AAAA",
                "line 2: the byte array is too short to contain its 8-byte bit count",
            ),
            (
                "[a]\nk=2|IAAAAAAAAAA",
                "line 2: the bit count does not match the byte array",
            ),
        ] {
            let error = PropertySets::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.kind().to_string(), expected, "{text:?}");
        }
        assert_eq!(PropertySets::parse(b"[a]\n\xff").unwrap_err().offset(), 4);
    }

    // The reference compiler writes these constants for an empty array and for a mask of eight zero bits.
    #[test]
    fn constants_of_the_reference_compiler_decode() {
        assert_eq!(decode("AAAAAAAAAAA"), Some(vec![0; 8]));
        assert_eq!(
            decode("IAAAAAAAAAAA"),
            Some(vec![8, 0, 0, 0, 0, 0, 0, 0, 0])
        );
    }

    #[test]
    fn every_length_survives_a_round_trip() {
        let bytes: Vec<u8> = (0..=255).collect();
        for length in 0..=bytes.len() {
            let text = encode(&bytes[..length]);
            assert_eq!(decode(&text).as_deref(), Some(&bytes[..length]));
        }
    }

    #[test]
    fn invalid_characters_and_lengths_are_rejected() {
        for text in ["A", "AAAAA", "AA=A", "ÄA", "A A"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
