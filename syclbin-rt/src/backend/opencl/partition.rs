// SPDX-License-Identifier: MIT OR Apache-2.0
//! Sub-devices, which are created once per device and partition scheme, and live until the process ends.

use std::sync::{Mutex, PoisonError};

use opencl_sys as cl;
use opencl3::types::cl_bitfield;

use super::*;

/// The sub-devices created so far, each list with the properties used to create it. They are never released, because
/// devices compare by identity and a program may hold a device forever. The leak is small, because programs create only
/// a few sub-devices.
static MADE: Mutex<Vec<Made>> = Mutex::new(Vec::new());

struct Made {
    parent: &'static DriverDevice,
    how: Vec<isize>,
    parts: &'static [DriverDevice],
}

/// The affinities, with their bits in `cl_device_affinity_domain`.
const AFFINITIES: [(Affinity, cl_bitfield); 6] = [
    (Affinity::Numa, cl::CL_DEVICE_AFFINITY_DOMAIN_NUMA),
    (Affinity::L4Cache, cl::CL_DEVICE_AFFINITY_DOMAIN_L4_CACHE),
    (Affinity::L3Cache, cl::CL_DEVICE_AFFINITY_DOMAIN_L3_CACHE),
    (Affinity::L2Cache, cl::CL_DEVICE_AFFINITY_DOMAIN_L2_CACHE),
    (Affinity::L1Cache, cl::CL_DEVICE_AFFINITY_DOMAIN_L1_CACHE),
    (
        Affinity::Next,
        cl::CL_DEVICE_AFFINITY_DOMAIN_NEXT_PARTITIONABLE,
    ),
];

/// Returns the affinities in a `cl_device_affinity_domain`.
pub(crate) fn affinities(bits: cl_bitfield) -> Vec<Affinity> {
    let held = AFFINITIES.iter().filter(|(_, bit)| bits & bit != 0);
    held.map(|(by, _)| *by).collect()
}

/// Returns the property list for `clCreateSubDevices` (OpenCL 3.0, table 8).
fn properties(how: Partition<'_>) -> Vec<isize> {
    let number = |number: u32| isize::try_from(number).unwrap_or(isize::MAX);
    match how {
        Partition::Equally(units) => vec![cl::CL_DEVICE_PARTITION_EQUALLY, number(units), 0],
        Partition::Counts(counts) => {
            let mut list = vec![cl::CL_DEVICE_PARTITION_BY_COUNTS];
            list.extend(counts.iter().copied().map(number));
            list.extend([cl::CL_DEVICE_PARTITION_BY_COUNTS_LIST_END, 0]);
            list
        }
        Partition::Affinity(by) => {
            let entry = AFFINITIES.iter().find(|(known, _)| *known == by);
            let domain = entry.and_then(|(_, bit)| isize::try_from(*bit).ok());
            let domain = domain.unwrap_or_default();
            vec![cl::CL_DEVICE_PARTITION_BY_AFFINITY_DOMAIN, domain, 0]
        }
    }
}

impl DriverDevice {
    /// Returns the sub-devices for a partition scheme, creating them on first use.
    pub(crate) fn parts(&'static self, how: Partition<'_>) -> Result<&'static [Self]> {
        let how = properties(how);
        let _guard = CallGuard::new();
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = made.iter();
        if let Some(known) = known.find(|made| std::ptr::eq(made.parent, self) && made.how == how) {
            return Ok(known.parts);
        }
        let call = "clCreateSubDevices";
        let ids = list(call, std::ptr::null_mut(), |count, list, found| {
            let create = self.functions.clCreateSubDevices.pass();
            // SAFETY: the properties end with 0; `list` is null or has room for `count` devices.
            unsafe { create(self.id, how.as_ptr(), count, list, found) }
        })?;
        if ids.iter().any(|id| id.is_null()) {
            return Err(invalid(call));
        }
        let of = ids.len();
        let parts = ids.iter().enumerate().map(|(index, id)| {
            let part = PartPosition {
                parent: self,
                index,
                of,
            };
            let library = self.facts.library;
            Self::new(self.functions, library, self.platform, *id, Some(part))
        });
        let parts = parts.collect::<Result<Vec<_>>>().inspect_err(|_| {
            for id in &ids {
                // SAFETY: the sub-devices were just created, and nothing else uses them yet.
                unsafe { (self.functions.clReleaseDevice.pass())(*id) };
            }
        });
        let parts = Vec::leak(parts?);
        made.push(Made {
            parent: self,
            how,
            parts,
        });
        Ok(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn affinities_are_read_from_their_bits() {
        assert_eq!(affinities(0), []);
        // Bits of OpenCL 1.2: NUMA, the L1 cache, and next.
        let some = [Affinity::Numa, Affinity::L1Cache, Affinity::Next];
        assert_eq!(affinities(1 | 16 | 32), some);
    }

    #[test]
    fn lists_end_as_the_specifications_say() {
        assert_eq!(properties(Partition::Equally(3)), [0x1086, 3, 0]);
        let counts = properties(Partition::Counts(&[1, 2]));
        assert_eq!(counts, [0x1087, 1, 2, 0, 0]);
        let next = properties(Partition::Affinity(Affinity::Next));
        assert_eq!(next, [0x1088, 32, 0]);
    }
}
