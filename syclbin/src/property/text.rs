//! The text form of property sets: lines `[set]` and `key=type|value`.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt::Write as _;

use super::{PropertySets, Value, base64};
use crate::error::{Error, ErrorKind};

const RECORD: &str = "property sets";

impl PropertySets {
    /// Reads the text form. The empty text has no sets; a set or key that comes twice is merged
    /// and the last value counts, as in LLVM's reader.
    ///
    /// # Errors
    ///
    /// When a line does not follow the grammar; the offset is that of the line.
    pub fn parse(text: &[u8]) -> Result<Self, Error> {
        let text = core::str::from_utf8(text)
            .map_err(|error| Error::new(RECORD, error.valid_up_to() as u64, ErrorKind::Utf8))?;
        let mut sets = Self::default();
        let mut current: Option<&str> = None;
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
                let end = rest.rfind(']').ok_or_else(|| fail("no `]`"))?;
                sets.insert_set(&rest[..end]);
                current = Some(&rest[..end]);
                continue;
            }
            let set = current.ok_or_else(|| fail("a property before any set"))?;
            let (key, rest) = line.split_once('=').ok_or_else(|| fail("no `=`"))?;
            let (ty, value) = rest.split_once('|').ok_or_else(|| fail("no `|`"))?;
            if key.is_empty() {
                return Err(fail("no key"));
            }
            let value = match ty {
                "1" => decimal(value).map(Value::U32),
                "2" => byte_array(value),
                _ => Err("the type is neither 1 nor 2"),
            };
            sets.insert(set, key, value.map_err(fail)?);
        }
        Ok(sets)
    }

    /// The text form.
    #[must_use]
    pub fn to_text(&self) -> String {
        let mut text = String::new();
        for set in self.iter().filter(|set| !set.name().contains('\n')) {
            let _ = writeln!(text, "[{}]", set.name());
            for (key, value) in set.iter() {
                if key.is_empty() || key.starts_with('[') || key.contains(['\n', '=']) {
                    continue; // not expressible; see `insert`
                }
                let _ = match value {
                    Value::U32(number) => writeln!(text, "{key}=1|{number}"),
                    Value::Bytes { bits, data } => {
                        // A count that does not fit the bytes would not be read again.
                        let all = data.len() as u64 * 8;
                        let fits = bits.div_ceil(8) == data.len() as u64;
                        let bits = if fits { *bits } else { all };
                        let mut bytes = Vec::from(bits.to_le_bytes());
                        bytes.extend_from_slice(data);
                        writeln!(text, "{key}=2|{}", base64::encode(&bytes))
                    }
                };
            }
        }
        text
    }
}

fn decimal(value: &str) -> Result<u32, &'static str> {
    // `u32::from_str` would take a sign.
    if value.is_empty() || !value.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err("the value is no decimal number");
    }
    value.parse().map_err(|_| "the number does not fit 32 bits")
}

fn byte_array(value: &str) -> Result<Value, &'static str> {
    let mut bytes = base64::decode(value).ok_or("the value is no base64")?;
    if bytes.len() < 8 {
        return Err("the byte array is shorter than its bit count");
    }
    let data = bytes.split_off(8);
    let bits = bytes
        .iter()
        .rev()
        .fold(0, |bits, byte| bits << 8 | u64::from(*byte));
    if bits.div_ceil(8) != data.len() as u64 {
        return Err("the bit count does not fit the byte array");
    }
    Ok(Value::Bytes { bits, data })
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn text_survives_a_round_trip() {
        let text = "[SYCL/kernel param opt]\n[a]\nk@x y$=1|4294967295\nmask=2|IAAAAAAAAAAA\n[b]\n";
        let sets = PropertySets::parse(text.as_bytes()).unwrap();
        assert_eq!(sets.to_text(), text);
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
    fn line_ends_of_windows_blank_lines_and_a_missing_last_one_are_read() {
        let sets = PropertySets::parse(b"[a]\r\n\r\nk=1|2").unwrap();
        assert_eq!(sets.to_text(), "[a]\nk=1|2\n");
    }

    #[test]
    fn the_last_of_two_values_counts_and_sets_merge() {
        let sets = PropertySets::parse(b"[a]\nk=1|1\n[b]\n[a]\nk=1|2\nl=1|3\n").unwrap();
        assert_eq!(sets.to_text(), "[a]\nk=1|2\nl=1|3\n[b]\n");
    }

    #[test]
    fn whatever_is_inserted_can_be_read_again() {
        let mut sets = PropertySets::default();
        for key in ["", "[x", "a=b", "a\nb", "good"] {
            sets.insert("s", key, Value::U32(1));
        }
        let bits = 3;
        let data = vec![1, 2];
        sets.insert("s", "bytes", Value::Bytes { bits, data });
        let read = PropertySets::parse(sets.to_text().as_bytes()).unwrap();
        let keys: Vec<_> = read.set("s").unwrap().keys().collect();
        assert_eq!(keys, ["good", "bytes"]);
        assert_eq!(read.get("s", "bytes"), Some(&Value::from(vec![1, 2])));
    }

    #[test]
    fn every_line_that_is_wrong_is_named() {
        for (text, expected) in [
            ("k=1|1", "line 1: a property before any set"),
            ("[a]\n[b\n", "line 2: no `]`"),
            ("[a]\n [b]", "line 2: no `=`"),
            ("[a]\nk", "line 2: no `=`"),
            ("[a]\n=1|2", "line 2: no key"),
            ("[a]\nk=1", "line 2: no `|`"),
            ("[a]\nk=0|", "line 2: the type is neither 1 nor 2"),
            ("[a]\nk=1|-1", "line 2: the value is no decimal number"),
            ("[a]\nk=1|+1", "line 2: the value is no decimal number"),
            (
                "[a]\nk=1|4294967296",
                "line 2: the number does not fit 32 bits",
            ),
            ("[a]\nk=2|!", "line 2: the value is no base64"),
            (
                "[a]\nk=2|AAAA",
                "line 2: the byte array is shorter than its bit count",
            ),
            (
                "[a]\nk=2|IAAAAAAAAAA",
                "line 2: the bit count does not fit the byte array",
            ),
        ] {
            let error = PropertySets::parse(text.as_bytes()).unwrap_err();
            assert_eq!(error.kind().to_string(), expected, "{text:?}");
        }
        assert_eq!(PropertySets::parse(b"[a]\n\xff").unwrap_err().offset(), 4);
    }
}
