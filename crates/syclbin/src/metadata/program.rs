// SPDX-License-Identifier: MIT OR Apache-2.0
//! The view of the set `PROGRAM_METADATA`: the work-group and sub-group sizes of kernels, and the names that the code
//! uses for device globals. Files store work-group sizes in OpenCL order, whereas sources use SYCL order.

use super::named::Named;
use super::value::{Malformed, Property, records};
use crate::prelude::*;
use crate::property::{PropertySets, Value, key, set};

const SET: &str = set::PROGRAM_METADATA;

/// The contents of the set [`PROGRAM_METADATA`](set::PROGRAM_METADATA).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramMetadata {
    /// The work-group and sub-group sizes, by kernel symbol. Contains only kernels with at least one such property.
    pub kernels: Named<KernelSizes>,
    /// The name that the code uses for each device global, by unique identifier (`global_id_mapping`). CUDA and HIP
    /// look up variables by this name.
    pub global_names: Named<String>,
}

/// The launch sizes that a kernel requires or permits.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSizes {
    /// The required work-group size, in work-items (`reqd_work_group_size`).
    pub required: Option<WorkGroupSize<u32>>,
    /// The number of dimensions. Compilers omit the value 3 (`work_group_num_dim`).
    pub dimensions: Option<Dimensions>,
    /// The maximum number of work-items in each dimension of a work-group (`max_work_group_size`).
    pub maximum: Option<WorkGroupSize<u32>>,
    /// The maximum number of work-items in a work-group (`max_linear_work_group_size`).
    pub maximum_linear: Option<u32>,
    /// The required sub-group size, in work-items (`reqd_sub_group_size`).
    pub required_sub_group: Option<u32>,
}

impl ProgramMetadata {
    /// Reads the set. Unknown keys are ignored.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is malformed.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        let mut program = Self::default();
        for key in sets.keys(SET) {
            // Symbols may contain `@`.
            let Some((name, what)) = key.rsplit_once('@') else {
                continue;
            };
            if what == key::GLOBAL_ID_MAPPING {
                let in_code = sets.read(SET, key)?.unwrap_or_default();
                program.global_names.insert(name, in_code);
            } else if KernelSizes::KEYS.contains(&what) && program.kernels.get(name).is_none() {
                program.kernels.insert(name, KernelSizes::read(sets, name)?);
            }
        }
        Ok(program)
    }

    /// Writes the set. Unknown keys are preserved.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        let mut all: Named<Value> = Named::default();
        for (name, sizes) in self.kernels.iter() {
            for (what, value) in KernelSizes::KEYS.into_iter().zip(sizes.values()) {
                if let Some(value) = value {
                    all.insert(format!("{name}@{what}"), value);
                }
            }
        }
        for (name, in_code) in self.global_names.iter() {
            let key = format!("{name}@{}", key::GLOBAL_ID_MAPPING);
            all.insert(key, in_code.to_value());
        }
        let is_known =
            |what: &str| what == key::GLOBAL_ID_MAPPING || KernelSizes::KEYS.contains(&what);
        sets.retain(SET, |key| {
            let own = key.rsplit_once('@').is_some_and(|(_, what)| is_known(what));
            !own || all.get(key).is_some()
        });
        for (key, value) in all {
            sets.insert(SET, key, value);
        }
    }
}

impl KernelSizes {
    const KEYS: [&'static str; 5] = [
        key::REQD_WORK_GROUP_SIZE,
        key::WORK_GROUP_NUM_DIM,
        key::MAX_WORK_GROUP_SIZE,
        key::MAX_LINEAR_WORK_GROUP_SIZE,
        key::REQD_SUB_GROUP_SIZE,
    ];

    /// Reads the sizes of one kernel.
    pub(crate) fn read(sets: &PropertySets<'_>, kernel: &str) -> Result<Self, Malformed> {
        let name = |what| format!("{kernel}@{what}");
        Ok(Self {
            required: sets.read(SET, &name(key::REQD_WORK_GROUP_SIZE))?,
            dimensions: sets.read(SET, &name(key::WORK_GROUP_NUM_DIM))?,
            maximum: sets.read(SET, &name(key::MAX_WORK_GROUP_SIZE))?,
            maximum_linear: sets.read(SET, &name(key::MAX_LINEAR_WORK_GROUP_SIZE))?,
            required_sub_group: sets.read(SET, &name(key::REQD_SUB_GROUP_SIZE))?,
        })
    }

    /// Returns the value of each of the [keys](Self::KEYS).
    fn values(&self) -> [Option<Value>; 5] {
        [
            self.required.map(|size| size.to_value()),
            self.dimensions.map(|count| count.to_value()),
            self.maximum.map(|size| size.to_value()),
            self.maximum_linear.map(Value::U32),
            self.required_sub_group.map(Value::U32),
        ]
    }
}

/// The number of dimensions of a kernel: 1, 2 or 3.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Dimensions(u8);

impl Dimensions {
    /// One dimension.
    pub const ONE: Self = Self(1);
    /// Two dimensions.
    pub const TWO: Self = Self(2);
    /// Three dimensions.
    pub const THREE: Self = Self(3);

    /// Converts a number to dimensions. Returns `None` unless `number` is 1, 2 or 3.
    #[must_use]
    pub const fn new(number: u32) -> Option<Self> {
        match number {
            1 => Some(Self::ONE),
            2 => Some(Self::TWO),
            3 => Some(Self::THREE),
            _ => None,
        }
    }

    /// Returns the number of dimensions.
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

/// A work-group size, in work-items along each dimension.
///
/// Files use OpenCL order: x, the fastest-varying dimension, comes first. SYCL uses the reverse order, so
/// `work_group_size<2, 4, 8>` in the source becomes 8, 4, 2 in the file. Compilers pad sizes to three dimensions with
/// ones, so `<2, 8>` becomes 8, 2, 1. A second property then records that the kernel has two dimensions.
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
    // The number of dimensions in the file. Old writers omit trailing dimensions instead of padding them.
    given: Dimensions,
}

impl<T: Copy + From<u8>> WorkGroupSize<T> {
    /// Creates a size from one to three numbers in OpenCL order (x first), as in files.
    #[must_use]
    pub fn from_xyz(sizes: &[T]) -> Option<Self> {
        let given = Dimensions::new(sizes.len().try_into().ok()?)?;
        let mut xyz = [T::from(1); 3];
        xyz[..sizes.len()].copy_from_slice(sizes);
        Some(Self { xyz, given })
    }

    /// Creates a size from one to three numbers in SYCL order, as in sources, and pads it as compilers do.
    #[must_use]
    pub fn from_sycl(sizes: &[T]) -> Option<Self> {
        let reversed: Vec<T> = sizes.iter().rev().copied().collect();
        let given = Dimensions::THREE;
        Self::from_xyz(&reversed).map(|size| Self { given, ..size })
    }

    /// Returns the number of work-items along x, y and z, or 1 for dimensions that the file omits.
    #[must_use]
    pub const fn xyz(&self) -> [T; 3] {
        self.xyz
    }

    /// Returns the numbers in SYCL order. `dimensions` is the number of dimensions that the file records along with
    /// the size. If `dimensions` is `None`, the result contains as many numbers as the size in the file.
    #[must_use]
    pub fn to_sycl(&self, dimensions: Option<Dimensions>) -> Vec<T> {
        let count = dimensions.unwrap_or(self.given).get();
        self.xyz.iter().take(count).rev().copied().collect()
    }

    /// Returns the numbers in the file, without padding.
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
        let (xyz, given) = (size.xyz.map(u64::from), size.given);
        Self { xyz, given }
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
