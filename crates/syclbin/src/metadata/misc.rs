// SPDX-License-Identifier: MIT OR Apache-2.0
//! Miscellaneous properties: how the module was compiled, and its device libraries.

use alloc::string::{String, ToString as _};
use core::fmt;

use super::value::malformed::Malformed;
use super::value::property::{Property, put};
use crate::property::{PropertySets, Value, key, set};

/// How a module was compiled (set [`MISC_PROPERTIES`](set::MISC_PROPERTIES)). A property that the file lacks
/// is `None`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MiscProperties {
    /// Whether it is code of the explicit-SIMD extension, which drivers compile another way
    /// (`isEsimdImage`).
    pub esimd: Option<bool>,
    /// How registers are allocated, as old compilers write it: 0 automatic, 2 large
    /// (`sycl-register-alloc-mode`).
    pub register_alloc_mode: Option<u32>,
    /// How many registers a thread of an Intel GPU has: 128, 256 ..., or 0 for automatic
    /// (`sycl-grf-size`).
    pub grf_size: Option<u32>,
    /// The level of optimization, 0 to 3 (`optLevel`).
    pub opt_level: Option<u32>,
    /// The sanitizer that the code reports to (`sanUsed`).
    pub sanitizer: Option<Sanitizer>,
    /// Whether specialization constants have been replaced by their default values, so that they
    /// cannot be set (`specConstsReplacedWithDefault`).
    pub specialized_with_defaults: Option<bool>,
    /// The largest id of a work-item that the code counts with (`idQueriesRange`); compilers leave
    /// [`IdRange::Int`] out.
    pub id_range: Option<IdRange>,
}

/// A sanitizer.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Sanitizer {
    /// AddressSanitizer, `asan`.
    Address,
    /// MemorySanitizer, `msan`.
    Memory,
    /// ThreadSanitizer, `tsan`.
    Thread,
    /// A sanitizer this crate does not know.
    Other(String),
}

impl fmt::Display for Sanitizer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Address => "asan",
            Self::Memory => "msan",
            Self::Thread => "tsan",
            Self::Other(name) => name,
        })
    }
}

impl Property for Sanitizer {
    const EXPECTED: &'static str = String::EXPECTED;

    fn from_value(value: &Value) -> Option<Self> {
        Some(match String::from_value(value)? {
            name if name == "asan" => Self::Address,
            name if name == "msan" => Self::Memory,
            name if name == "tsan" => Self::Thread,
            other => Self::Other(other),
        })
    }

    fn to_value(&self) -> Value {
        Value::from(self.to_string())
    }
}

/// The largest id of a work-item that code counts with (option `-fsycl-id-queries-range`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum IdRange {
    /// What fits an `int`.
    Int,
    /// What fits an `unsigned int`.
    UnsignedInt,
    /// What fits a `size_t`.
    Size,
    /// A number this crate does not know.
    Other(u32),
}

impl Property for IdRange {
    const EXPECTED: &'static str = u32::EXPECTED;

    fn from_value(value: &Value) -> Option<Self> {
        Some(match u32::from_value(value)? {
            0 => Self::Int,
            1 => Self::UnsignedInt,
            2 => Self::Size,
            other => Self::Other(other),
        })
    }

    fn to_value(&self) -> Value {
        Value::U32(match self {
            Self::Int => 0,
            Self::UnsignedInt => 1,
            Self::Size => 2,
            Self::Other(number) => *number,
        })
    }
}

impl MiscProperties {
    /// Reads the set.
    ///
    /// # Errors
    ///
    /// When a value is malformed.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        let name = set::MISC_PROPERTIES;
        Ok(Self {
            esimd: sets.read(name, key::IS_ESIMD_IMAGE)?,
            register_alloc_mode: sets.read(name, key::REGISTER_ALLOC_MODE)?,
            grf_size: sets.read(name, key::GRF_SIZE)?,
            opt_level: sets.read(name, key::OPT_LEVEL)?,
            sanitizer: sets.read(name, key::SAN_USED)?,
            specialized_with_defaults: sets.read(name, key::SPEC_CONSTS_REPLACED)?,
            id_range: sets.read(name, key::ID_QUERIES_RANGE)?,
        })
    }

    /// Writes the set. Unknown keys are left alone.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        let name = set::MISC_PROPERTIES;
        put(sets, name, key::IS_ESIMD_IMAGE, self.esimd.as_ref());
        put(
            sets,
            name,
            key::REGISTER_ALLOC_MODE,
            self.register_alloc_mode.as_ref(),
        );
        put(sets, name, key::GRF_SIZE, self.grf_size.as_ref());
        put(sets, name, key::OPT_LEVEL, self.opt_level.as_ref());
        put(sets, name, key::SAN_USED, self.sanitizer.as_ref());
        put(
            sets,
            name,
            key::SPEC_CONSTS_REPLACED,
            self.specialized_with_defaults.as_ref(),
        );
        put(sets, name, key::ID_QUERIES_RANGE, self.id_range.as_ref());
    }
}

/// Device libraries: which of them a module needs, or what it implements as a library.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceLibraries {
    /// A bit for each library that the module needs, as old compilers say it (set
    /// [`DEVICELIB_REQ_MASK`](set::DEVICELIB_REQ_MASK)).
    pub required: Option<u32>,
    /// How the module, itself a library, converts `bfloat16` (set
    /// [`DEVICELIB_METADATA`](set::DEVICELIB_METADATA)).
    pub bfloat16: Option<Bfloat16>,
}

/// How a device library converts `bfloat16`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bfloat16 {
    /// With arithmetic that every device has.
    Fallback,
    /// With instructions that not every device has.
    Native,
    /// A number this crate does not know.
    Other(u32),
}

impl Property for Bfloat16 {
    const EXPECTED: &'static str = u32::EXPECTED;

    fn from_value(value: &Value) -> Option<Self> {
        Some(match u32::from_value(value)? {
            0 => Self::Fallback,
            1 => Self::Native,
            other => Self::Other(other),
        })
    }

    fn to_value(&self) -> Value {
        Value::U32(match self {
            Self::Fallback => 0,
            Self::Native => 1,
            Self::Other(number) => *number,
        })
    }
}

impl DeviceLibraries {
    /// Reads the two sets.
    ///
    /// # Errors
    ///
    /// When a value is malformed.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            required: sets.read(set::DEVICELIB_REQ_MASK, key::DEVICELIB_REQ_MASK)?,
            bfloat16: sets.read(set::DEVICELIB_METADATA, key::BFLOAT16)?,
        })
    }

    /// Writes the two sets. Unknown keys are left alone.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        let mask = self.required.as_ref();
        put(sets, set::DEVICELIB_REQ_MASK, key::DEVICELIB_REQ_MASK, mask);
        put(
            sets,
            set::DEVICELIB_METADATA,
            key::BFLOAT16,
            self.bfloat16.as_ref(),
        );
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_have_one_meaning_and_unknown_survive() {
        for (name, meaning) in [
            ("asan", Sanitizer::Address),
            ("msan", Sanitizer::Memory),
            ("tsan", Sanitizer::Thread),
            ("usan", Sanitizer::Other("usan".into())),
        ] {
            let value = Value::from(name);
            assert_eq!(meaning.to_value(), value);
            assert_eq!(Sanitizer::from_value(&value), Some(meaning));
        }
        for (number, range, conversion) in [
            (0, IdRange::Int, Bfloat16::Fallback),
            (1, IdRange::UnsignedInt, Bfloat16::Native),
            (2, IdRange::Size, Bfloat16::Other(2)),
            (9, IdRange::Other(9), Bfloat16::Other(9)),
        ] {
            let value = Value::U32(number);
            assert_eq!(
                (range.to_value(), conversion.to_value()),
                (value.clone(), value.clone())
            );
            assert_eq!(IdRange::from_value(&value), Some(range));
            assert_eq!(Bfloat16::from_value(&value), Some(conversion));
        }
    }
}
