// SPDX-License-Identifier: MIT OR Apache-2.0
//! Property: what one value means, in both directions; the building block of every view.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;

use super::malformed::{Malformed, describe, whole};
use crate::property::{PropertySets, Value};
use crate::{Aspect, IrType, State};

/// A meaning that a value of a property can have.
///
/// Numbers are read from any form that occurs in files. Documents and writers disagree: some numbers are of
/// type 1, others are byte arrays of four or eight bytes. Numbers are written in the form that the reference
/// compiler writes.
pub trait Property: Sized {
    /// What a value must look like, for errors: "expected ...".
    const EXPECTED: &'static str;

    /// Returns the meaning of `value`, if it has such a meaning.
    fn from_value(value: &Value) -> Option<Self>;

    /// Returns the value with this meaning.
    fn to_value(&self) -> Value;
}

impl PropertySets<'_> {
    /// Returns the value of `key` in the set called `set`, or `None` where the file has none.
    ///
    /// # Errors
    ///
    /// When the value does not have a meaning of this type.
    pub fn read<T: Property>(&self, set: &str, key: &str) -> Result<Option<T>, Malformed> {
        self.get(set, key)
            .map(|value| read_value(set, key, value))
            .transpose()
    }
}

pub(in crate::metadata) fn read_value<T: Property>(
    set: &str,
    key: &str,
    value: &Value,
) -> Result<T, Malformed> {
    T::from_value(value).ok_or_else(|| Malformed::new(set, key, T::EXPECTED, describe(value)))
}

/// Writes the property, or removes it.
pub(in crate::metadata) fn put<'a, T: Property>(
    sets: &mut PropertySets<'a>,
    set: &'static str,
    key: impl Into<Cow<'a, str>>,
    property: Option<&T>,
) {
    let key = key.into();
    match property {
        Some(property) => sets.insert(set, key, property.to_value()),
        None if sets.get(set, &key).is_some() => sets.retain(set, |other| other != key),
        None => {}
    }
}

/// Writes a list. An empty list means the same as a missing list, so it is only written in place of another.
/// Some writers write empty lists and some do not.
pub(in crate::metadata) fn put_list<T: Property + Default + PartialEq>(
    sets: &mut PropertySets<'_>,
    set: &'static str,
    key: &'static str,
    list: &T,
) {
    if *list != T::default() || sets.get(set, key).is_some() {
        sets.insert(set, key, list.to_value());
    }
}

/// The bytes of a byte array without bits over.
pub(super) fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Bytes { bits, data } if whole(*bits, data) => Some(data),
        _ => None,
    }
}

/// The bytes as records of `N` bytes each.
pub(in crate::metadata) fn records<const N: usize>(value: &Value) -> Option<&[[u8; N]]> {
    match bytes(value)?.as_chunks() {
        (records, []) => Some(records),
        _ => None,
    }
}

fn number(value: &Value) -> Option<u64> {
    if let Value::U32(number) = value {
        return Some(u64::from(*number));
    }
    let bytes = bytes(value)?;
    let short = || bytes.try_into().ok().map(u32::from_le_bytes);
    let long = || bytes.try_into().ok().map(u64::from_le_bytes);
    short().map(u64::from).or_else(long)
}

impl Property for u32 {
    const EXPECTED: &'static str = "a 32-bit number";

    fn from_value(value: &Value) -> Option<Self> {
        number(value)?.try_into().ok()
    }

    fn to_value(&self) -> Value {
        Value::U32(*self)
    }
}

impl Property for bool {
    const EXPECTED: &'static str = "0 or 1";

    fn from_value(value: &Value) -> Option<Self> {
        match number(value)? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        Value::U32(u32::from(*self))
    }
}

impl Property for String {
    const EXPECTED: &'static str = "UTF-8 text";

    fn from_value(value: &Value) -> Option<Self> {
        core::str::from_utf8(bytes(value)?).ok().map(Self::from)
    }

    fn to_value(&self) -> Value {
        Value::from(self.as_str())
    }
}

impl Property for Vec<u8> {
    const EXPECTED: &'static str = "bytes";

    fn from_value(value: &Value) -> Option<Self> {
        bytes(value).map(<[u8]>::to_vec)
    }

    fn to_value(&self) -> Value {
        Value::from(self.clone())
    }
}

impl Property for Vec<u32> {
    const EXPECTED: &'static str = "32-bit numbers";

    fn from_value(value: &Value) -> Option<Self> {
        let numbers = records(value)?.iter();
        Some(numbers.map(|bytes| u32::from_le_bytes(*bytes)).collect())
    }

    fn to_value(&self) -> Value {
        let bytes: Vec<u8> = self.iter().flat_map(|n| n.to_le_bytes()).collect();
        Value::from(bytes)
    }
}

impl Property for Vec<Aspect> {
    const EXPECTED: &'static str = "32-bit numbers of aspects";

    fn from_value(value: &Value) -> Option<Self> {
        let numbers = Vec::<u32>::from_value(value)?;
        Some(numbers.into_iter().map(Aspect).collect())
    }

    fn to_value(&self) -> Value {
        let numbers: Vec<u32> = self.iter().map(|aspect| aspect.number()).collect();
        numbers.to_value()
    }
}

impl Property for State {
    const EXPECTED: &'static str = u32::EXPECTED;

    fn from_value(value: &Value) -> Option<Self> {
        u32::from_value(value).map(Self::from_number)
    }

    fn to_value(&self) -> Value {
        self.number().to_value()
    }
}

impl Property for IrType {
    const EXPECTED: &'static str = u32::EXPECTED;

    fn from_value(value: &Value) -> Option<Self> {
        u32::from_value(value).map(Self::from_number)
    }

    fn to_value(&self) -> Value {
        self.number().to_value()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;
    use alloc::vec;

    #[test]
    fn number_is_read_from_type_and_bytes() {
        for value in [
            Value::U32(7),
            vec![7, 0, 0, 0].into(),
            vec![7, 0, 0, 0, 0, 0, 0, 0].into(),
        ] {
            assert_eq!(u32::from_value(&value), Some(7));
        }
        assert_eq!(7u32.to_value(), Value::U32(7));
        for value in [
            vec![7].into(),
            vec![7, 0, 0, 0, 1, 0, 0, 0].into(),
            Value::Bytes {
                bits: 31,
                data: vec![7, 0, 0, 0],
            },
            Value::Other {
                ty: 3,
                text: "7".into(),
            },
        ] {
            assert_eq!(u32::from_value(&value), None, "{value:?}");
        }
    }

    #[test]
    fn error_names_set_key_and_value_found() {
        let mut sets = PropertySets::default();
        sets.insert("s", "flag", 2);
        sets.insert("s", "text", vec![0xff, b'a']);
        sets.insert("s", "words", vec![0; 13]);
        let odd = Value::Bytes {
            bits: 3,
            data: vec![5],
        };
        sets.insert("s", "odd", odd);
        let other = Value::Other {
            ty: 9,
            text: "x".into(),
        };
        sets.insert("s", "other", other);
        let errors = [
            sets.read::<bool>("s", "flag").unwrap_err(),
            sets.read::<String>("s", "text").unwrap_err(),
            sets.read::<Vec<u32>>("s", "words").unwrap_err(),
            sets.read::<Vec<u8>>("s", "odd").unwrap_err(),
            sets.read::<State>("s", "other").unwrap_err(),
        ];
        assert_eq!(
            errors.map(|error| error.to_string()),
            [
                "set `s`, key `flag`: expected 0 or 1, found the number 2",
                "set `s`, key `text`: expected UTF-8 text, found 2 bytes: ff 61",
                "set `s`, key `words`: expected 32-bit numbers, found 13 bytes",
                "set `s`, key `odd`: expected bytes, found 3 bits",
                "set `s`, key `other`: expected a 32-bit number, found a value of type 9",
            ]
        );
        assert_eq!(sets.read::<u32>("s", "absent"), Ok(None));
    }

    #[test]
    fn empty_list_replaces_but_does_not_add() {
        let mut sets = PropertySets::default();
        put_list(&mut sets, "s", "k", &Vec::<u32>::new());
        assert!(sets.is_empty());
        put_list(&mut sets, "s", "k", &vec![1u32]);
        put_list(&mut sets, "s", "k", &Vec::<u32>::new());
        assert_eq!(sets.get("s", "k"), Some(&Value::from(Vec::new())));
    }
}
