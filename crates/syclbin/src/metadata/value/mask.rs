// SPDX-License-Identifier: MIT OR Apache-2.0
//! Argument masks: which arguments of a kernel the compiler removed.

use alloc::vec::Vec;

use super::property::Property;
use crate::property::Value;

/// Which arguments of a kernel the compiler removed because nothing uses them (set
/// [`KERNEL_PARAM_OPT`](crate::property::set::KERNEL_PARAM_OPT), one key per kernel that has one).
///
/// Arguments are counted as the device sees them before the removal: a pointer is one, an accessor
/// is four. Arguments past the end are kept, so an empty mask removes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ArgumentMask {
    /// For each argument, whether it is removed.
    pub removed: Vec<bool>,
}

impl ArgumentMask {
    /// Returns whether the argument `index`, counted from 0, is removed and must not be passed.
    #[must_use]
    pub fn is_removed(&self, index: usize) -> bool {
        self.removed.get(index).copied().unwrap_or(false)
    }

    /// Returns the position of the argument `index` among those that are passed, or `None` if it is removed.
    #[must_use]
    pub fn device_index(&self, index: usize) -> Option<usize> {
        let before = self.removed.iter().take(index);
        (!self.is_removed(index)).then(|| index - before.filter(|removed| **removed).count())
    }
}

impl Property for ArgumentMask {
    const EXPECTED: &'static str = "a bit for each argument";

    fn from_value(value: &Value) -> Option<Self> {
        let Value::Bytes { bits, data } = value else {
            return None;
        };
        // A count allocates nothing unless the file has the bytes.
        if bits.div_ceil(8) != data.len() as u64 {
            return None;
        }
        let bits = usize::try_from(*bits).ok()?;
        let all = data
            .iter()
            .flat_map(|byte| (0..8).map(move |bit| byte >> bit & 1 == 1));
        let removed = all.take(bits).collect();
        Some(Self { removed })
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

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

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

    #[test]
    fn arguments_move_up_when_others_are_removed() {
        let mask = ArgumentMask {
            removed: vec![false, true, true, true, false],
        };
        let places: Vec<_> = (0..7).map(|index| mask.device_index(index)).collect();
        assert_eq!(
            places,
            [Some(0), None, None, None, Some(1), Some(2), Some(3)]
        );
    }
}
