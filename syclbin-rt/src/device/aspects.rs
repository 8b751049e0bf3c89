// SPDX-License-Identifier: MIT OR Apache-2.0
//! Aspects: the abilities of a device, in SYCL's names, derived from its driver's answers.

use std::collections::BTreeSet;

use syclbin::Aspect;

use crate::device::facts::DeviceKind;

/// A driver's answers about the abilities of its device.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Abilities<'d> {
    pub(crate) kind: DeviceKind,
    pub(crate) vendor: &'d str,
    /// The names of its extensions, with spaces between.
    pub(crate) extensions: &'d str,
    pub(crate) doubles: bool,
    pub(crate) images: bool,
    pub(crate) compiler: bool,
    pub(crate) linker: bool,
    pub(crate) profiling: bool,
    /// `cl_device_unified_shared_memory_capabilities_intel` of host, device, shared and system
    /// memory.
    pub(crate) host_memory: u64,
    pub(crate) device_memory: u64,
    pub(crate) shared_memory: u64,
    pub(crate) system_memory: u64,
    /// Whether it is a processor with matrix instructions (AMX).
    pub(crate) matrix_units: bool,
}

/// The aspects that an OpenCL driver reports as present or absent. A device may have any of the other aspects.
const TOLD: [Aspect; 26] = [
    Aspect::HOST,
    Aspect::CPU,
    Aspect::GPU,
    Aspect::ACCELERATOR,
    Aspect::CUSTOM,
    Aspect::FP16,
    Aspect::FP64,
    Aspect::INT64_BASE_ATOMICS,
    Aspect::INT64_EXTENDED_ATOMICS,
    Aspect::IMAGE,
    Aspect::ONLINE_COMPILER,
    Aspect::ONLINE_LINKER,
    Aspect::QUEUE_PROFILING,
    Aspect::USM_DEVICE_ALLOCATIONS,
    Aspect::USM_HOST_ALLOCATIONS,
    Aspect::USM_SHARED_ALLOCATIONS,
    Aspect::USM_RESTRICTED_SHARED_ALLOCATIONS,
    Aspect::USM_SYSTEM_ALLOCATIONS,
    Aspect::USM_ATOMIC_HOST_ALLOCATIONS,
    Aspect::USM_ATOMIC_SHARED_ALLOCATIONS,
    Aspect::ATOMIC64,
    Aspect::EXT_ONEAPI_NATIVE_ASSERT,
    Aspect::EXT_INTEL_LEGACY_IMAGE,
    Aspect::EXT_INTEL_ESIMD,
    Aspect::EXT_INTEL_MATRIX,
    Aspect::EXT_ONEAPI_VIRTUAL_FUNCTIONS,
];

/// Bits of `cl_device_unified_shared_memory_capabilities_intel`.
const ACCESS: u64 = 1;
const ATOMIC_ACCESS: u64 = 2;

/// Returns the aspects of a device.
pub(crate) fn of_device(told: &Abilities<'_>) -> BTreeSet<Aspect> {
    let has = |extension| {
        told.extensions
            .split_whitespace()
            .any(|name| name == extension)
    };
    let [base, extended] = ["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"].map(has);
    let can = |memory: u64, bit| memory & bit != 0;
    let held = |aspect| match aspect {
        Aspect::CPU => told.kind == DeviceKind::Cpu,
        Aspect::GPU => told.kind == DeviceKind::Gpu,
        Aspect::ACCELERATOR => told.kind == DeviceKind::Accelerator,
        Aspect::CUSTOM => told.kind == DeviceKind::Other,
        Aspect::FP16 => has("cl_khr_fp16"),
        Aspect::FP64 => told.doubles || has("cl_khr_fp64"),
        Aspect::INT64_BASE_ATOMICS => base,
        Aspect::INT64_EXTENDED_ATOMICS => extended,
        Aspect::ATOMIC64 => base && extended,
        Aspect::IMAGE | Aspect::EXT_INTEL_LEGACY_IMAGE => told.images,
        Aspect::ONLINE_COMPILER => told.compiler,
        Aspect::ONLINE_LINKER => told.linker,
        Aspect::QUEUE_PROFILING => told.profiling,
        Aspect::USM_DEVICE_ALLOCATIONS => can(told.device_memory, ACCESS),
        Aspect::USM_HOST_ALLOCATIONS => can(told.host_memory, ACCESS),
        Aspect::USM_ATOMIC_HOST_ALLOCATIONS => can(told.host_memory, ATOMIC_ACCESS),
        Aspect::USM_SHARED_ALLOCATIONS | Aspect::USM_RESTRICTED_SHARED_ALLOCATIONS => {
            can(told.shared_memory, ACCESS)
        }
        Aspect::USM_ATOMIC_SHARED_ALLOCATIONS => can(told.shared_memory, ATOMIC_ACCESS),
        Aspect::USM_SYSTEM_ALLOCATIONS => can(told.system_memory, ACCESS),
        Aspect::EXT_ONEAPI_NATIVE_ASSERT => has("cl_intel_devicelib_assert"),
        Aspect::EXT_INTEL_ESIMD => told.kind == DeviceKind::Gpu && told.vendor.contains("Intel"),
        Aspect::EXT_INTEL_MATRIX => {
            has("cl_intel_subgroup_matrix_multiply_accumulate") || told.matrix_units
        }
        // No query shows it. Intel's drivers have function pointers in SPIR-V; others fail at the launch or crash.
        Aspect::EXT_ONEAPI_VIRTUAL_FUNCTIONS => told.vendor.starts_with("Intel(R)"),
        _ => false,
    };
    TOLD.into_iter().filter(|aspect| held(*aspect)).collect()
}

/// Returns whether the processor of this machine has matrix instructions (AMX), as far as Linux reports it.
pub(crate) fn host_has_matrix_units() -> bool {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let mut lines = text.lines();
    let flags = lines.find(|line| line.starts_with("flags"));
    flags.is_some_and(|flags| flags.split_whitespace().any(|flag| flag == "amx_tile"))
}

/// Returns the aspects of `wanted` that a device with the aspects `held` lacks. An aspect that no driver
/// reports is left to the driver, which refuses it when it builds the code.
pub(crate) fn lacking(wanted: &[Aspect], held: &BTreeSet<Aspect>) -> Vec<Aspect> {
    let told = |aspect: &Aspect| TOLD.contains(aspect) || aspect.name().is_none();
    let lacks = |aspect: &&Aspect| told(aspect) && !held.contains(aspect);
    wanted.iter().filter(lacks).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cpu() -> Abilities<'static> {
        Abilities {
            kind: DeviceKind::Cpu,
            vendor: "Intel(R) Corporation",
            extensions: "cl_khr_fp16 cl_khr_int64_base_atomics",
            doubles: true,
            host_memory: 3,
            ..Abilities::default()
        }
    }

    #[test]
    fn what_a_driver_tells_becomes_sycls_names() {
        let names: Vec<String> = of_device(&cpu()).iter().map(ToString::to_string).collect();
        assert_eq!(
            names,
            [
                "cpu",
                "fp16",
                "fp64",
                "int64_base_atomics",
                "usm_host_allocations",
                "usm_atomic_host_allocations",
                "ext_oneapi_virtual_functions"
            ]
        );
        let both = Abilities {
            extensions: "cl_khr_int64_base_atomics cl_khr_int64_extended_atomics",
            ..cpu()
        };
        assert!(of_device(&both).contains(&Aspect::ATOMIC64));
    }

    #[test]
    fn only_reported_aspects_can_be_missing() {
        let held = of_device(&cpu());
        let wanted = [
            Aspect::FP64,
            Aspect::ATOMIC64,
            Aspect::EXT_ONEAPI_GRAPH,
            Aspect(12_345),
        ];
        let lacking = lacking(&wanted, &held);
        assert_eq!(lacking, [Aspect::ATOMIC64, Aspect(12_345)]);
    }

    #[test]
    fn explicit_simd_is_for_gpus_of_intel() {
        let gpu = |vendor| Abilities {
            kind: DeviceKind::Gpu,
            vendor,
            ..Abilities::default()
        };
        let simd = |told: &Abilities<'_>| of_device(told).contains(&Aspect::EXT_INTEL_ESIMD);
        assert!(simd(&gpu("Intel(R) Corporation")));
        assert!(!simd(&gpu("Another")) && !simd(&cpu()));
    }

    #[test]
    fn matrices_come_with_extension_or_processor() {
        let matrices = |told: &Abilities<'_>| of_device(told).contains(&Aspect::EXT_INTEL_MATRIX);
        assert!(!matrices(&cpu()));
        assert!(matrices(&Abilities {
            extensions: "cl_intel_subgroup_matrix_multiply_accumulate",
            ..cpu()
        }));
        assert!(matrices(&Abilities {
            matrix_units: true,
            ..cpu()
        }));
    }
}
