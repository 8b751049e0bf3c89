// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requirements that a device must meet to run a module.

use super::Field;
use super::program::{Dimensions, KernelSizes, WorkGroupSize};
use super::value::{Malformed, Property, describe};
use crate::Aspect;
use crate::prelude::*;
use crate::property::{PropertySets, Value, key, set};

const SET: &str = set::DEVICE_REQUIREMENTS;

/// The requirements that a device must meet (set [`DEVICE_REQUIREMENTS`](set::DEVICE_REQUIREMENTS)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DeviceRequirements {
    /// The required aspects (`aspects`).
    pub aspects: Vec<Aspect>,
    /// The permitted targets, numbered as in the option `-fsycl-fixed-targets` (`fixed_target`).
    pub fixed_targets: Vec<u32>,
    /// The required work-group size, in work-items (`reqd_work_group_size_uint64_t`). Old compilers write 32-bit
    /// numbers (`reqd_work_group_size`), which are converted when written back.
    pub work_group: Option<WorkGroupSize<u64>>,
    /// The number of dimensions of the kernels. Compilers omit the value 3 (`work_group_num_dim`).
    pub dimensions: Option<Dimensions>,
    /// The required sub-group size, in work-items (`reqd_sub_group_size`).
    pub sub_group: Option<u32>,
    /// The required matrix types (`joint_matrix`). The fields of each record are the type, use, number of rows and
    /// number of columns, such as `matrix_type::fp32`, `use::a`, `8`, `16`.
    pub matrices: Records,
    /// The required matrix multiplications (`joint_matrix_mad`). The fields of each record are the types of A, B, C
    /// and D, then the sizes M, K and N.
    pub matrix_products: Records,
    /// The required architecture or target, such as `intel_gpu_pvc` or `spir64_x86_64` (`compile_target`). To
    /// compare architectures, use [`same`](crate::architecture::same).
    pub compile_target: Option<String>,
}

/// Records with text fields. Files store them as one string, with `;` between records and `,` between fields.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Records(pub Vec<Vec<String>>);

const MAX_FIELDS: usize = 65536;

impl Property for Records {
    const EXPECTED: &'static str =
        "UTF-8 text: records separated by `;`, with at most 65536 fields";

    fn from_value(value: &Value) -> Option<Self> {
        let text = String::from_value(value)?;
        // A field occupies far more memory than its comma in the file, so a small file could exhaust memory.
        // Compilers write only dozens of fields.
        if text.bytes().filter(|byte| b";,".contains(byte)).count() >= MAX_FIELDS {
            return None;
        }
        let records = text.split(';').filter(|_| !text.is_empty());
        let fields = |record: &str| record.split(',').map(String::from).collect();
        Some(Self(records.map(fields).collect()))
    }

    fn to_value(&self) -> Value {
        let records: Vec<_> = self.0.iter().map(|fields| fields.join(",")).collect();
        Value::from(records.join(";"))
    }
}

impl DeviceRequirements {
    /// Reads the set.
    ///
    /// # Errors
    ///
    /// Returns an error if a value is malformed, or if both forms of the work-group size are present and differ.
    pub fn read(sets: &PropertySets<'_>) -> Result<Self, Malformed> {
        Ok(Self {
            aspects: Field::read(sets, SET, key::ASPECTS)?,
            fixed_targets: Field::read(sets, SET, key::FIXED_TARGET)?,
            work_group: read_work_group(sets)?,
            dimensions: Field::read(sets, SET, key::WORK_GROUP_NUM_DIM)?,
            sub_group: Field::read(sets, SET, key::REQD_SUB_GROUP_SIZE)?,
            matrices: Field::read(sets, SET, key::JOINT_MATRIX)?,
            matrix_products: Field::read(sets, SET, key::JOINT_MATRIX_MAD)?,
            compile_target: Field::read(sets, SET, key::COMPILE_TARGET)?,
        })
    }

    /// Writes the set. Unknown keys are preserved.
    pub fn write(&self, sets: &mut PropertySets<'_>) {
        self.aspects.write(sets, SET, key::ASPECTS);
        self.fixed_targets.write(sets, SET, key::FIXED_TARGET);
        let work_group = &self.work_group;
        work_group.write(sets, SET, key::REQD_WORK_GROUP_SIZE_64);
        None::<u32>.write(sets, SET, key::REQD_WORK_GROUP_SIZE);
        self.dimensions.write(sets, SET, key::WORK_GROUP_NUM_DIM);
        self.sub_group.write(sets, SET, key::REQD_SUB_GROUP_SIZE);
        self.matrices.write(sets, SET, key::JOINT_MATRIX);
        self.matrix_products.write(sets, SET, key::JOINT_MATRIX_MAD);
        self.compile_target.write(sets, SET, key::COMPILE_TARGET);
    }

    /// Adds the number of dimensions to the sizes of a kernel. Compilers record this number for a required work-group
    /// size on the kernel, on the module, or on both.
    #[doc(hidden)]
    #[must_use]
    pub fn complete(&self, mut sizes: KernelSizes) -> KernelSizes {
        if self.work_group.is_some() {
            sizes.dimensions = sizes.dimensions.or(self.dimensions);
        }
        sizes
    }

    /// Returns the work-group size in SYCL order, with one number for each dimension of the kernels.
    #[must_use]
    pub fn work_group_sycl(&self) -> Option<Vec<u64>> {
        Some(self.work_group?.to_sycl(self.dimensions))
    }
}

fn read_work_group(sets: &PropertySets<'_>) -> Result<Option<WorkGroupSize<u64>>, Malformed> {
    let size = sets.read::<WorkGroupSize<u64>>(SET, key::REQD_WORK_GROUP_SIZE_64)?;
    let old = sets.read::<WorkGroupSize<u32>>(SET, key::REQD_WORK_GROUP_SIZE)?;
    let old = old.map(WorkGroupSize::from);
    match (size, old) {
        (Some(size), Some(old)) if size.xyz() != old.xyz() => {
            let (new_key, key) = (key::REQD_WORK_GROUP_SIZE_64, key::REQD_WORK_GROUP_SIZE);
            let expected = format!("the size {:?}, as in `{new_key}`", size.xyz());
            let found = sets.get(SET, key).map(describe).unwrap_or_default();
            Err(Malformed::new(SET, key, expected, found))
        }
        _ => Ok(size.or(old)),
    }
}
