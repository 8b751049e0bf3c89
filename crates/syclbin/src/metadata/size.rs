// SPDX-License-Identifier: MIT OR Apache-2.0
//! Work-group sizes: OpenCL's order in files, SYCL's order in sources.

use alloc::vec::Vec;

use super::value::{Property, records};
use crate::property::Value;

/// How many dimensions a kernel has: 1, 2 or 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimensions(u8);

impl Dimensions {
    /// One dimension.
    pub const ONE: Self = Self(1);
    /// Two dimensions.
    pub const TWO: Self = Self(2);
    /// Three dimensions.
    pub const THREE: Self = Self(3);

    /// Creates a number of dimensions, or returns `None` unless it is 1, 2 or 3.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::ONE),
            2 => Some(Self::TWO),
            3 => Some(Self::THREE),
            _ => None,
        }
    }

    /// Returns the number.
    #[must_use]
    pub fn get(self) -> usize {
        usize::from(self.0)
    }
}

impl Property for Dimensions {
    const EXPECTED: &'static str = "1, 2 or 3 dimensions";

    fn from_value(value: &Value) -> Option<Self> {
        u32::from_value(value).and_then(Self::new)
    }

    fn to_value(&self) -> Value {
        Value::U32(u32::from(self.0))
    }
}

/// A size of a work-group, in work-items along each dimension.
///
/// Files use OpenCL's order: x, the fastest, comes first. SYCL uses the reverse, so a source's
/// `work_group_size<2, 4, 8>` is 8, 4, 2 in the file. Compilers fill sizes of fewer dimensions up with 1, so
/// `<2, 8>` is 8, 2, 1. A second property then says that the size has two dimensions.
///
/// ```
/// use syclbin::metadata::{Dimensions, WorkGroupSize};
///
/// let size = WorkGroupSize::from_sycl(&[2u32, 8]).ok_or("one to three numbers")?;
/// assert_eq!(size.xyz(), [8, 2, 1]);
/// assert_eq!(size.to_sycl(Some(Dimensions::TWO)), [2, 8]);
/// # Ok::<(), &str>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct WorkGroupSize<T> {
    xyz: [T; 3],
    // Old writers leave out trailing dimensions instead of filling them up.
    given: Dimensions,
}

impl<T: Copy + From<u8>> WorkGroupSize<T> {
    /// Creates a size from one to three numbers in OpenCL's order, x first, as files have them.
    #[must_use]
    pub fn from_xyz(sizes: &[T]) -> Option<Self> {
        let given = Dimensions::new(sizes.len().try_into().ok()?)?;
        let mut xyz = [T::from(1); 3];
        xyz[..sizes.len()].copy_from_slice(sizes);
        Some(Self { xyz, given })
    }

    /// Creates a size from one to three numbers in SYCL's order, as sources have them, and fills it up as
    /// compilers do.
    #[must_use]
    pub fn from_sycl(sizes: &[T]) -> Option<Self> {
        let reversed: Vec<T> = sizes.iter().rev().copied().collect();
        Self::from_xyz(&reversed).map(|size| Self {
            given: Dimensions::THREE,
            ..size
        })
    }

    /// Returns the work-items along x, y and z; 1 where the file does not say.
    #[must_use]
    pub const fn xyz(&self) -> [T; 3] {
        self.xyz
    }

    /// Returns the numbers in SYCL's order. `dimensions` is the number that the file gives beside the size.
    /// Without it, the result has as many numbers as the size.
    #[must_use]
    pub fn to_sycl(&self, dimensions: Option<Dimensions>) -> Vec<T> {
        let count = dimensions.unwrap_or(self.given).get();
        self.xyz.iter().take(count).rev().copied().collect()
    }

    /// Returns the numbers in the file.
    fn given(&self) -> &[T] {
        &self.xyz[..self.given.get()]
    }
}

impl Property for WorkGroupSize<u32> {
    const EXPECTED: &'static str = "one to three 32-bit numbers";

    fn from_value(value: &Value) -> Option<Self> {
        Self::from_xyz(&Vec::<u32>::from_value(value)?)
    }

    fn to_value(&self) -> Value {
        self.given().to_vec().to_value()
    }
}

impl Property for WorkGroupSize<u64> {
    const EXPECTED: &'static str = "one to three 64-bit numbers";

    fn from_value(value: &Value) -> Option<Self> {
        let numbers = records(value)?.iter();
        let numbers: Vec<_> = numbers.map(|bytes| u64::from_le_bytes(*bytes)).collect();
        Self::from_xyz(&numbers)
    }

    fn to_value(&self) -> Value {
        let bytes: Vec<u8> = self.given().iter().flat_map(|n| n.to_le_bytes()).collect();
        Value::from(bytes)
    }
}

impl From<WorkGroupSize<u32>> for WorkGroupSize<u64> {
    fn from(size: WorkGroupSize<u32>) -> Self {
        Self {
            xyz: size.xyz.map(u64::from),
            given: size.given,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::vec;

    #[test]
    fn sycl_order_is_reverse_of_file_order() {
        let size = WorkGroupSize::from_sycl(&[2u32, 4, 8]).unwrap();
        assert_eq!(size.xyz(), [8, 4, 2]);
        assert_eq!(size.to_sycl(None), [2, 4, 8]);
        assert_eq!(size.to_value(), vec![8u32, 4, 2].to_value());
        let flat = WorkGroupSize::from_sycl(&[64u32]).unwrap();
        assert_eq!(flat.xyz(), [64, 1, 1]);
        assert_eq!(flat.to_sycl(Some(Dimensions::ONE)), [64]);
    }

    #[test]
    fn short_size_is_padded_but_written_short() {
        let value = vec![8u32, 2].to_value();
        let size = WorkGroupSize::<u32>::from_value(&value).unwrap();
        assert_eq!(size.xyz(), [8, 2, 1]);
        assert_eq!(size.to_sycl(None), [2, 8]);
        assert_eq!(size.to_value(), value);
    }

    #[test]
    fn sizes_need_one_to_three_numbers() {
        for bytes in [0, 7, 16] {
            let value = Value::from(vec![1; bytes]);
            assert_eq!(WorkGroupSize::<u32>::from_value(&value), None, "{bytes}");
        }
        for bytes in [0, 12, 32] {
            let value = Value::from(vec![1; bytes]);
            assert_eq!(WorkGroupSize::<u64>::from_value(&value), None, "{bytes}");
        }
        assert_eq!(WorkGroupSize::from_sycl(&[1u32; 5]), None);
        assert_eq!(Dimensions::from_value(&Value::U32(0)), None);
        assert_eq!(Dimensions::from_value(&Value::U32(4)), None);
    }
}
