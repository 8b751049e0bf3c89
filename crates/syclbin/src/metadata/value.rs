// SPDX-License-Identifier: MIT OR Apache-2.0
//! Converts between property values and Rust types. All views are built on these conversions. An invalid value
//! of a known property results in [`Malformed`].

use core::fmt::Write as _;

use crate::Aspect;
use crate::prelude::*;
use crate::property::{PropertySets, Value};
use crate::text::counted;

/// A type that a property value can be converted to and from.
///
/// Compilers and the specification encode numbers differently: as a 32-bit number (type 1), or as a byte array of four
/// or eight bytes. Reading accepts all of these. Writing uses the reference compiler's encoding.
pub trait Property: Sized {
    /// A description of the valid values. In error messages, it follows the word "expected".
    const EXPECTED: &'static str;

    /// Converts a property value. Returns `None` if the value is invalid for this type.
    fn from_value(value: &Value) -> Option<Self>;

    /// Converts to a property value.
    fn to_value(&self) -> Value;
}

impl PropertySets<'_> {
    /// Returns the value of `key` in the set called `set`, or `None` if it does not exist.
    ///
    /// # Errors
    ///
    /// Returns an error if the value is not valid for `T`.
    pub fn read<T: Property>(&self, set: &str, key: &str) -> Result<Option<T>, Malformed> {
        let value = self.get(set, key);
        value.map(|value| read_value(set, key, value)).transpose()
    }
}

pub(super) fn read_value<T: Property>(set: &str, key: &str, value: &Value) -> Result<T, Malformed> {
    T::from_value(value).ok_or_else(|| Malformed::new(set, key, T::EXPECTED, describe(value)))
}

/// Returns the bytes of a byte array, or `None` if `value` has another type or does not consist of whole bytes.
fn bytes(value: &Value) -> Option<&[u8]> {
    match value {
        Value::Bytes { bits, data } if whole(*bits, data) => Some(data),
        _ => None,
    }
}

pub(super) fn records<const N: usize>(value: &Value) -> Option<&[[u8; N]]> {
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
    const EXPECTED: &'static str = "aspects as 32-bit numbers";

    fn from_value(value: &Value) -> Option<Self> {
        Some(Vec::from_value(value)?.into_iter().map(Aspect).collect())
    }

    fn to_value(&self) -> Value {
        let numbers: Vec<u32> = self.iter().map(|aspect| aspect.number()).collect();
        numbers.to_value()
    }
}

/// The unused kernel arguments that the compiler removed (set
/// [`KERNEL_PARAM_OPT`](crate::property::set::KERNEL_PARAM_OPT), keyed by kernel).
///
/// Arguments are counted as on the device, before the removal: a pointer is one argument, an accessor is four.
/// Arguments past the end of the mask are not removed, so an empty mask removes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentMask {
    /// For each argument, whether the compiler removed it.
    pub removed: Vec<bool>,
}

impl ArgumentMask {
    /// Returns whether the argument with the zero-based `index` is removed and must not be passed.
    #[must_use]
    pub fn is_removed(&self, index: usize) -> bool {
        self.removed.get(index).copied().unwrap_or(false)
    }
}

impl Property for ArgumentMask {
    const EXPECTED: &'static str = "one bit for each argument";

    fn from_value(value: &Value) -> Option<Self> {
        match value {
            // The condition prevents a huge allocation and keeps the index in range.
            Value::Bytes { bits, data } if bits.div_ceil(8) == data.len() as u64 => {
                let bits = 0..usize::try_from(*bits).ok()?;
                let is_removed = |bit| data[bit / 8] >> (bit % 8) & 1 == 1;
                let removed = bits.map(is_removed).collect();
                Some(Self { removed })
            }
            _ => None,
        }
    }

    fn to_value(&self) -> Value {
        let byte = |bits: &[bool]| {
            let bits = bits.iter().rev();
            bits.fold(0, |byte, bit| byte << 1 | u8::from(*bit))
        };
        Value::Bytes {
            bits: self.removed.len() as u64,
            data: self.removed.chunks(8).map(byte).collect(),
        }
    }
}

/// A known property with an invalid value.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("set `{set}`, key `{key}`: expected {expected}, found {found}")]
#[non_exhaustive]
pub struct Malformed {
    /// The name of the property set.
    pub set: String,
    /// The key of the property.
    pub key: String,
    /// A description of the valid values.
    pub expected: Cow<'static, str>,
    /// A description of the value in the file.
    pub found: String,
}

impl Malformed {
    pub(super) fn new(
        set: &str,
        key: &str,
        expected: impl Into<Cow<'static, str>>,
        found: impl Into<String>,
    ) -> Self {
        Self {
            set: set.into(),
            key: key.into(),
            expected: expected.into(),
            found: found.into(),
        }
    }
}

pub(super) fn describe(value: &Value) -> String {
    match value {
        Value::U32(number) => format!("the number {number}"),
        Value::Bytes { bits, data } if whole(*bits, data) => {
            let mut text = counted(data.len(), "byte");
            // A few bytes are helpful, but many would clutter the message.
            if (1..=12).contains(&data.len()) {
                text.push(':');
                for byte in data {
                    let _ = write!(text, " {byte:02x}");
                }
            }
            text
        }
        Value::Bytes { bits, .. } => counted(*bits, "bit"),
        Value::Other { ty, .. } => format!("a value of type {ty}"),
    }
}

/// Returns whether `data` contains exactly `bits` bits, in whole bytes.
pub(super) fn whole(bits: u64, data: &[u8]) -> bool {
    (data.len() as u64).checked_mul(8) == Some(bits)
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
        sets.insert("s", "word", vec![9]);
        let odd = Value::Bytes {
            bits: 1,
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
            sets.read::<Vec<u32>>("s", "word").unwrap_err(),
            sets.read::<Vec<u8>>("s", "odd").unwrap_err(),
            sets.read::<crate::State>("s", "other").unwrap_err(),
        ];
        assert_eq!(
            errors.map(|error| error.to_string()),
            [
                "set `s`, key `flag`: expected 0 or 1, found the number 2",
                "set `s`, key `text`: expected UTF-8 text, found 2 bytes: ff 61",
                "set `s`, key `words`: expected 32-bit numbers, found 13 bytes",
                "set `s`, key `word`: expected 32-bit numbers, found 1 byte: 09",
                "set `s`, key `odd`: expected bytes, found 1 bit",
                "set `s`, key `other`: expected a 32-bit number, found a value of type 9",
            ]
        );
        assert_eq!(sets.read::<u32>("s", "absent"), Ok(None));
        for value in [false, true] {
            assert_eq!(bool::from_value(&value.to_value()), Some(value));
        }
    }

    #[test]
    fn bit_count_survives_a_round_trip() {
        for (bits, data, removed) in [
            (0, vec![], vec![]),
            (1, vec![1], vec![true]),
            (5, vec![0x0e], vec![false, true, true, true, false]),
            (
                9,
                vec![0x80, 1],
                vec![false, false, false, false, false, false, false, true, true],
            ),
        ] {
            let value = Value::Bytes { bits, data };
            let mask = ArgumentMask { removed };
            assert_eq!(ArgumentMask::from_value(&value), Some(mask.clone()));
            assert_eq!(mask.to_value(), value);
        }
    }

    #[test]
    fn bit_count_that_contradicts_bytes_is_refused() {
        for (bits, data) in [(9, vec![0]), (u64::MAX, vec![0]), (0, vec![0]), (1, vec![])] {
            assert_eq!(ArgumentMask::from_value(&Value::Bytes { bits, data }), None);
        }
        assert_eq!(ArgumentMask::from_value(&Value::U32(1)), None);
    }
}
