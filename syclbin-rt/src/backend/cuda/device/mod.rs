// SPDX-License-Identifier: MIT OR Apache-2.0
//! The devices of the driver, with everything a program asks of them read once.

pub(super) mod library;

use std::collections::BTreeSet;
use std::ffi::{CStr, c_int};

use syclbin::Aspect;
use syclbin::ptx::Version;

use crate::backend::cuda::check;
use crate::backend::cuda::device::library::Library;
use crate::backend::cuda::errors::INVALID_VALUE;
use crate::backend::cuda::sys::{CUdevice, CUdevice_attribute as Attribute, Functions};
use crate::backend::failure::Failure;
use crate::backend::native::DeviceHandle;
use crate::device::facts::{DeviceKind, Facts, PtxFacts};
use crate::device::partition::{Abilities, PartPosition, Partition};

/// The number of threads of a device that run in step.
pub(in crate::backend::cuda) const WARP: usize = 32;

/// A device of the driver. It lives as long as the process.
pub(crate) struct DriverDevice {
    library: &'static str,
    pub(in crate::backend::cuda) functions: &'static Functions,
    pub(in crate::backend::cuda) device: CUdevice,
    facts: Facts,
    /// The most work-groups of a launch in each dimension, x first.
    pub(in crate::backend::cuda) max_grid: [usize; 3],
}

impl DriverDevice {
    /// Returns its handle.
    pub(crate) fn native(&self) -> DeviceHandle {
        DeviceHandle::Cuda(self.device)
    }

    /// Returns the driver's answers about the device.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// Returns `None`: the device is not a part.
    pub(crate) fn part(&self) -> Option<PartPosition<&'static Self>> {
        None
    }

    /// Returns no parts: according to its facts, the device cannot be divided.
    pub(crate) fn partition(
        &'static self,
        _how: Partition<'_>,
    ) -> Result<&'static [Self], Failure> {
        Ok(&[])
    }

    /// Returns the name of the library that offers it.
    pub(crate) fn library(&self) -> &'static str {
        self.library
    }
}

impl Library {
    /// Returns its devices. A list that is not empty is stored, because devices compare by identity.
    pub(crate) fn devices(&'static self) -> Result<&'static [DriverDevice], Failure> {
        if let Some(devices) = self.devices.get() {
            return Ok(devices);
        }
        let mut count = 0;
        if self.has_devices {
            // SAFETY: one number is written.
            check("cuDeviceGetCount", unsafe {
                (self.functions.cuDeviceGetCount.pass())(&raw mut count)
            })?;
        }
        // A device that fails must not hide the others.
        let mut failed = None;
        let mut devices = Vec::new();
        for number in 0..count {
            match self.device(number) {
                Ok(device) => devices.push(device),
                Err(failure) => {
                    failed.get_or_insert(failure);
                }
            }
        }
        if devices.is_empty() {
            return failed.map_or(Ok(&[]), Err);
        }
        Ok(self.devices.get_or_init(|| devices))
    }

    fn device(&'static self, number: c_int) -> Result<DriverDevice, Failure> {
        let functions = &self.functions;
        let mut device = 0;
        // SAFETY: one handle is written; it is a number that is good as long as the process.
        check("cuDeviceGet", unsafe {
            (functions.cuDeviceGet.pass())(&raw mut device, number)
        })?;
        let told = Told::of(functions, device)?;
        Ok(DriverDevice {
            library: self.name,
            functions,
            device,
            facts: told.facts(self.version),
            max_grid: told.max_grid,
        })
    }
}

/// The driver's answers.
#[cfg_attr(test, derive(Default))]
struct Told {
    name: String,
    sm: u32,
    memory_bytes: u64,
    local_memory_bytes: u64,
    compute_units: u32,
    max_work_group_size: usize,
    max_block: [usize; 3],
    max_grid: [usize; 3],
    managed: bool,
    pageable: bool,
    host_memory: bool,
}

impl Told {
    fn of(functions: &Functions, device: CUdevice) -> Result<Self, Failure> {
        let mut bytes = [0u8; 256];
        let mut memory = 0usize;
        // SAFETY: the device is one of the driver. The name is written to as many bytes as there
        // are, with a zero at its end, and the size to one number.
        unsafe {
            let name = bytes.as_mut_ptr().cast();
            check(
                "cuDeviceGetName",
                (functions.cuDeviceGetName.pass())(name, 256, device),
            )?;
            check(
                "cuDeviceTotalMem",
                (functions.cuDeviceTotalMem_v2.pass())(&raw mut memory, device),
            )?;
        }
        let name = CStr::from_bytes_until_nul(&bytes).unwrap_or_default();
        let number = |attribute: Attribute| -> Result<usize, Failure> {
            let call = "cuDeviceGetAttribute";
            let mut value = 0;
            // SAFETY: as above; one number is written.
            let code = unsafe {
                (functions.cuDeviceGetAttribute.pass())(&raw mut value, attribute, device)
            };
            check(call, code)?;
            let code = INVALID_VALUE;
            usize::try_from(value).map_err(|_| Failure::cuda(call, code))
        };
        // What a driver does not know, its device has not.
        let flag = |attribute| number(attribute).is_ok_and(|flag| flag != 0);
        let major = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = number(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        // More than the other where code asks for it.
        let local = number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN)
            .unwrap_or_default()
            .max(number(
                Attribute::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK,
            )?);
        Ok(Self {
            name: name.to_string_lossy().into_owned(),
            sm: u32::try_from(major * 10 + minor).unwrap_or(u32::MAX),
            memory_bytes: memory as u64,
            local_memory_bytes: local as u64,
            compute_units: u32::try_from(number(
                Attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT,
            )?)
            .unwrap_or(u32::MAX),
            max_work_group_size: number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)?,
            max_block: [
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z)?,
            ],
            max_grid: [
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)?,
                number(Attribute::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z)?,
            ],
            // Without the latter the host must not touch such memory while any kernel runs.
            managed: flag(Attribute::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)
                && flag(Attribute::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS),
            pageable: flag(Attribute::CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS),
            // The host's pointer is the device's only then.
            host_memory: flag(Attribute::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY)
                && flag(Attribute::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING),
        })
    }

    fn facts(&self, driver: c_int) -> Facts {
        let driver = u32::try_from(driver).unwrap_or_default();
        let ptx = Version::of_driver(driver);
        let version = format!("CUDA {}.{}", driver / 1000, driver % 1000 / 10);
        Facts {
            name: self.name.clone(),
            vendor: "NVIDIA Corporation".to_owned(),
            platform: "NVIDIA CUDA".to_owned(),
            driver_version: version.clone(),
            version,
            kind: DeviceKind::Gpu,
            takes_spirv: false,
            spirv_versions: Vec::new(),
            debug_info: true,
            links_one_version: false,
            work_group_functions: true,
            misreads_packed: false,
            loses_negations: false,
            lifts_variables: false,
            memory_bytes: self.memory_bytes,
            max_buffer_bytes: self.memory_bytes,
            local_memory_bytes: self.local_memory_bytes,
            images: false,
            compute_units: self.compute_units,
            buffer_alignment: 1,
            partitions: Abilities {
                max_parts: 0,
                equally: false,
                counts: false,
                units: false,
                affinities: Vec::new(),
            },
            max_work_group_size: self.max_work_group_size,
            max_work_item_sizes: self.max_block,
            sub_group_sizes: vec![WARP],
            aspects: self.aspects(),
            architecture: format!("nvidia_gpu_sm_{}", self.sm).parse().ok(),
            extensions: String::new(),
            ptx: Some(PtxFacts {
                sm: self.sm,
                ptx: ptx.map_or((0, 0), |version| (version.major, version.minor)),
                driver,
            }),
        }
    }

    /// Returns its aspects, in SYCL's names: the aspects of all NVIDIA GPUs that drivers still support, and the
    /// aspects that came with a compute capability. CUDA features that this crate does not offer are left out.
    fn aspects(&self) -> BTreeSet<Aspect> {
        let mut aspects = BTreeSet::from([
            Aspect::GPU,
            Aspect::FP64,
            Aspect::INT64_BASE_ATOMICS,
            Aspect::INT64_EXTENDED_ATOMICS,
            Aspect::ONLINE_COMPILER,
            Aspect::ONLINE_LINKER,
            Aspect::QUEUE_PROFILING,
            Aspect::USM_DEVICE_ALLOCATIONS,
            Aspect::EXT_ONEAPI_NATIVE_ASSERT,
            Aspect::EXT_ONEAPI_FRAGMENT,
            Aspect::EXT_ONEAPI_CHUNK,
            Aspect::EXT_ONEAPI_TANGLE,
        ]);
        let mut add = |held: bool, wanted: &[Aspect]| {
            if held {
                aspects.extend(wanted);
            }
        };
        add(self.sm >= 53, &[Aspect::FP16]);
        // From there on also of one operation with the host and other devices.
        let system_atomics = self.sm >= 60;
        add(system_atomics, &[Aspect::ATOMIC64]);
        add(self.host_memory, &[Aspect::USM_HOST_ALLOCATIONS]);
        add(
            self.host_memory && system_atomics,
            &[Aspect::USM_ATOMIC_HOST_ALLOCATIONS],
        );
        add(
            self.managed,
            &[
                Aspect::USM_SHARED_ALLOCATIONS,
                Aspect::USM_RESTRICTED_SHARED_ALLOCATIONS,
            ],
        );
        add(
            self.managed && system_atomics,
            &[Aspect::USM_ATOMIC_SHARED_ALLOCATIONS],
        );
        add(self.pageable, &[Aspect::USM_SYSTEM_ALLOCATIONS]);
        add(self.sm >= 80, &[Aspect::EXT_ONEAPI_CUDA_ASYNC_BARRIER]);
        add(self.sm >= 90, &[Aspect::EXT_ONEAPI_CUDA_CLUSTER_GROUP]);
        aspects
    }
}

#[cfg(test)]
mod tests {
    use syclbin::architecture::Architecture;

    use super::*;

    #[test]
    fn compute_capability_determines_architecture_and_aspects() {
        let told = |sm| Told {
            sm,
            managed: true,
            ..Told::default()
        };
        let facts = told(90).facts(12_040);
        let architecture = facts.architecture.and_then(Architecture::name);
        assert_eq!(architecture, Some("nvidia_gpu_sm_90"));
        assert_eq!(facts.version, "CUDA 12.4");
        let expected = PtxFacts {
            sm: 90,
            ptx: (8, 4),
            driver: 12_040,
        };
        assert_eq!(facts.ptx, Some(expected));
        assert!(
            facts
                .aspects
                .contains(&Aspect::EXT_ONEAPI_CUDA_CLUSTER_GROUP)
        );
        assert!(
            facts
                .aspects
                .contains(&Aspect::USM_ATOMIC_SHARED_ALLOCATIONS)
        );
        assert!(!facts.aspects.contains(&Aspect::USM_HOST_ALLOCATIONS));
        let old = told(50).facts(11_080);
        assert_eq!(old.version, "CUDA 11.8");
        for aspect in [Aspect::FP16, Aspect::ATOMIC64, Aspect::IMAGE] {
            assert!(!old.aspects.contains(&aspect), "{aspect}");
        }
    }
}
