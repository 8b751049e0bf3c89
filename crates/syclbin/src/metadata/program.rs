// SPDX-License-Identifier: MIT OR Apache-2.0
//! Program metadata: sizes of kernels, and names of device globals in the code.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::named::Named;
use super::size::{Dimensions, WorkGroupSize};
use super::value::Malformed;
use super::value::{Property, read_value};
use crate::property::{PropertySet, PropertySets, Value, key, set};

const SET: &str = set::PROGRAM_METADATA;

/// What the set [`PROGRAM_METADATA`](set::PROGRAM_METADATA) says of kernels and device globals.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProgramMetadata {
    /// The sizes of each kernel that has some, by its symbol.
    pub kernels: Named<KernelSizes>,
    /// The name in the code of each device global, by its unique identifier
    /// (`global_id_mapping`). CUDA and HIP look variables up by it.
    pub global_names: Named<String>,
}

/// The sizes that a kernel can be launched with.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KernelSizes {
    /// The only size of work-groups, in work-items (`reqd_work_group_size`).
    pub required: Option<WorkGroupSize<u32>>,
    /// How many dimensions it has; compilers leave three out (`work_group_num_dim`).
    pub dimensions: Option<Dimensions>,
    /// The most work-items along each dimension of a work-group (`max_work_group_size`).
    pub maximum: Option<WorkGroupSize<u32>>,
    /// The most work-items of a work-group (`max_linear_work_group_size`).
    pub maximum_linear: Option<u32>,
    /// The only size of sub-groups, in work-items (`reqd_sub_group_size`).
    pub required_sub_group: Option<u32>,
}

impl ProgramMetadata {
    /// Reads the set. Unknown keys are left alone.
    ///
    /// # Errors
    ///
    /// When a value is malformed.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        let mut program = Self::default();
        for (key, value) in sets.set(SET).into_iter().flat_map(PropertySet::iter) {
            // Symbols may have a `@` themselves.
            let Some((name, what)) = key.rsplit_once('@') else {
                continue;
            };
            if what == key::GLOBAL_ID_MAPPING {
                program
                    .global_names
                    .insert(name, read_value(SET, key, value)?);
            } else if KernelSizes::KEYS.contains(&what) {
                program.kernels.entry(name).take(key, what, value)?;
            }
        }
        Ok(program)
    }

    /// Writes the set. Unknown keys are left alone.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        sets.retain(SET, |key| match key.rsplit_once('@') {
            Some((name, key::GLOBAL_ID_MAPPING)) => self.global_names.get(name).is_some(),
            Some((name, what)) if KernelSizes::KEYS.contains(&what) => {
                let sizes = self.kernels.get(name);
                sizes.is_some_and(|sizes| sizes.value(what).is_some())
            }
            _ => true,
        });
        for (name, sizes) in self.kernels.iter() {
            for what in KernelSizes::KEYS {
                if let Some(value) = sizes.value(what) {
                    sets.insert(SET, format!("{name}@{what}"), value);
                }
            }
        }
        for (name, in_code) in self.global_names.iter() {
            let key = format!("{name}@{}", key::GLOBAL_ID_MAPPING);
            sets.insert(SET, key, in_code.to_value());
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

    /// Returns the required size of work-groups in SYCL's order, with as many numbers as the kernel has
    /// dimensions.
    #[must_use]
    pub fn required_sycl(&self) -> Option<Vec<u32>> {
        Some(self.required?.to_sycl(self.dimensions))
    }

    /// Returns the largest size of work-groups in SYCL's order, with as many numbers as the kernel has
    /// dimensions.
    #[must_use]
    pub fn maximum_sycl(&self) -> Option<Vec<u32>> {
        Some(self.maximum?.to_sycl(self.dimensions))
    }

    fn take(&mut self, key: &str, what: &str, value: &Value) -> Result<(), Malformed> {
        match what {
            key::REQD_WORK_GROUP_SIZE => self.required = Some(read_value(SET, key, value)?),
            key::WORK_GROUP_NUM_DIM => self.dimensions = Some(read_value(SET, key, value)?),
            key::MAX_WORK_GROUP_SIZE => self.maximum = Some(read_value(SET, key, value)?),
            key::MAX_LINEAR_WORK_GROUP_SIZE => {
                self.maximum_linear = Some(read_value(SET, key, value)?);
            }
            key::REQD_SUB_GROUP_SIZE => {
                self.required_sub_group = Some(read_value(SET, key, value)?);
            }
            _ => {}
        }
        Ok(())
    }

    fn value(&self, what: &str) -> Option<Value> {
        fn value<T: Property>(property: Option<&T>) -> Option<Value> {
            property.map(T::to_value)
        }
        match what {
            key::REQD_WORK_GROUP_SIZE => value(self.required.as_ref()),
            key::WORK_GROUP_NUM_DIM => value(self.dimensions.as_ref()),
            key::MAX_WORK_GROUP_SIZE => value(self.maximum.as_ref()),
            key::MAX_LINEAR_WORK_GROUP_SIZE => value(self.maximum_linear.as_ref()),
            key::REQD_SUB_GROUP_SIZE => value(self.required_sub_group.as_ref()),
            _ => None,
        }
    }
}
