// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts: what a driver reports about a device, queried once and without side effects. They include its aspects, as
//! SYCL names them, and the ways to divide it.

use std::collections::BTreeSet;
use std::fmt;

use syclbin::__private::spirv::portable::Version;
use syclbin::Aspect;
use syclbin::architecture::Architecture;

use crate::backend::{Device, QueueAbilities};

/// The kind of a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeviceKind {
    /// A graphics processor.
    Gpu,
    /// The host's processor.
    Cpu,
    /// Another processor for computing, such as an FPGA.
    Accelerator,
    /// Anything else. OpenCL's "custom" devices run only built-in kernels.
    #[default]
    Other,
}

/// What a driver reports about a device, queried once.
#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) vendor: String,
    pub(crate) platform: String,
    pub(crate) version: String,
    pub(crate) driver_version: String,
    pub(crate) kind: DeviceKind,
    pub(crate) takes_spirv: bool,
    /// The SPIR-V versions that it accepts, if the driver lists them.
    pub(crate) spirv_versions: Vec<Version>,
    /// The code that a CUDA device accepts; `None` for all other devices.
    pub(crate) ptx: Option<PtxFacts>,
    /// Whether it accepts debug information in SPIR-V.
    pub(crate) debug_info: bool,
    /// Whether it only links modules of the same SPIR-V version.
    pub(crate) links_one_version: bool,
    /// Whether it supports work-group collective functions, such as a sum.
    pub(crate) work_group_functions: bool,
    /// Whether kernels read wrong members of packed structs that are passed by value.
    pub(crate) misreads_packed: bool,
    /// Whether kernels lose the results of negations at barriers.
    pub(crate) loses_negations: bool,
    /// Whether device globals become arguments of kernels, because the driver has no functions that read and
    /// write variables.
    pub(crate) lifts_variables: bool,
    pub(crate) memory_bytes: u64,
    /// The largest buffer that can be allocated without special options.
    pub(crate) max_buffer_bytes: u64,
    pub(crate) local_memory_bytes: u64,
    pub(crate) images: bool,
    pub(crate) queues: QueueAbilities,
    pub(crate) compute_units: u32,
    /// The address of a part of a buffer must be a multiple of this number of bytes.
    pub(crate) buffer_alignment: usize,
    pub(crate) partitions: Partitions,
    pub(crate) max_work_group_size: usize,
    /// In the driver's order: x first.
    pub(crate) max_work_item_sizes: [usize; 3],
    /// The sizes that sub-groups can have; empty where the driver takes no required size.
    pub(crate) sub_group_sizes: Vec<usize>,
    pub(crate) aspects: BTreeSet<Aspect>,
    /// The architecture that native code targets, where the driver reports it.
    pub(crate) architecture: Option<Architecture>,
    /// The names of its extensions, with spaces between.
    pub(crate) extensions: String,
}

/// The code that a CUDA device takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PtxFacts {
    /// Its compute capability, 10 times the major number plus the minor one: 90 for `sm_90`.
    pub(crate) sm: u32,
    /// The highest version of PTX that the driver takes.
    pub(crate) ptx: (u32, u32),
    /// The CUDA version of the driver, 1000 times the major number plus 10 times the minor number.
    pub(crate) driver: u32,
}

impl Facts {
    /// Returns whether the device runs kernels of SYCLBIN files: those that are SPIR-V, or those for CUDA.
    pub(crate) fn is_usable(&self) -> bool {
        self.takes_spirv || self.ptx.is_some()
    }

    /// Returns the backend's name in selectors.
    pub(crate) fn backend(&self) -> &'static str {
        match self.ptx {
            Some(_) => "cuda",
            None => "opencl",
        }
    }

    /// Returns whether it is a GPU with Intel's driver. No query names the requests that only this driver takes.
    pub(crate) fn is_intel_gpu(&self) -> bool {
        self.kind == DeviceKind::Gpu && self.vendor.contains("Intel")
    }

    /// Returns whether a buffer of `size` bytes exceeds the driver's limit, and not the device's memory.
    pub(crate) fn needs_unlimited_buffer(&self, size: usize) -> bool {
        let size = size as u64;
        self.is_intel_gpu() && self.max_buffer_bytes < size && size <= self.memory_bytes
    }

    /// Returns whether the device has the extension `name`.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.extensions
            .split_whitespace()
            .any(|known| known == name)
    }
}

impl fmt::Display for DeviceKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Gpu => "gpu",
            Self::Cpu => "cpu",
            Self::Accelerator => "accelerator",
            Self::Other => "other",
        })
    }
}

/// How to divide a device. Used with [`Device::partition`](crate::Device::partition).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partition<'p> {
    /// Parts of this many compute units each. Remaining units are not used.
    Equally(u32),
    /// For each number, a part of this many compute units.
    Counts(&'p [u32]),
    /// A single part that consists of the compute units with these numbers, counted from 0
    /// (`cl_intel_device_partition_by_names`).
    Units(&'p [u32]),
    /// Parts whose compute units share this resource.
    Affinity(Affinity),
}

/// A resource that compute units can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Affinity {
    /// Memory near the compute units (a NUMA node).
    Numa,
    /// A cache of level 4.
    L4Cache,
    /// A cache of level 3.
    L3Cache,
    /// A cache of level 2.
    L2Cache,
    /// A cache of level 1.
    L1Cache,
    /// The first of the above by which the device can be divided. On a GPU, the parts are its tiles.
    Next,
}

/// What a driver reports about the ways to divide its device.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partitions {
    pub(crate) max_parts: u32,
    pub(crate) equally: bool,
    pub(crate) counts: bool,
    pub(crate) units: bool,
    pub(crate) affinities: Vec<Affinity>,
}

/// The device that a part belongs to, and the part's number.
#[derive(Clone, Copy)]
pub(crate) struct PartPosition {
    pub(crate) parent: Device,
    pub(crate) index: usize,
    pub(crate) of: usize,
}

impl Affinity {
    pub(crate) const ALL: [Self; 6] = [
        Self::Numa,
        Self::L4Cache,
        Self::L3Cache,
        Self::L2Cache,
        Self::L1Cache,
        Self::Next,
    ];
}

/// What a driver reports about the capabilities of its device.
#[derive(Clone, Debug, Default)]
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

/// Bits of `cl_device_unified_shared_memory_capabilities_intel`.
const ACCESS: u64 = 1;
const ATOMIC_ACCESS: u64 = 2;

/// Returns each aspect that an OpenCL driver reports as present or absent, and whether a device has it. It may have any of
/// the other aspects.
fn reported(abilities: &Abilities<'_>) -> [(Aspect, bool); 26] {
    let has = |extension| {
        abilities
            .extensions
            .split_whitespace()
            .any(|name| name == extension)
    };
    let [base, extended] = ["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"].map(has);
    let access = |memory: u64| memory & ACCESS != 0;
    let atomics = |memory: u64| memory & ATOMIC_ACCESS != 0;
    let Abilities {
        host_memory: host,
        device_memory: device,
        shared_memory: shared,
        system_memory: system,
        ..
    } = *abilities;
    let is = |kind| abilities.kind == kind;
    [
        (Aspect::HOST, false),
        (Aspect::CPU, is(DeviceKind::Cpu)),
        (Aspect::GPU, is(DeviceKind::Gpu)),
        (Aspect::ACCELERATOR, is(DeviceKind::Accelerator)),
        (Aspect::CUSTOM, is(DeviceKind::Other)),
        (Aspect::FP16, has("cl_khr_fp16")),
        (Aspect::FP64, abilities.doubles || has("cl_khr_fp64")),
        (Aspect::INT64_BASE_ATOMICS, base),
        (Aspect::INT64_EXTENDED_ATOMICS, extended),
        (Aspect::ATOMIC64, base && extended),
        (Aspect::IMAGE, abilities.images),
        (Aspect::EXT_INTEL_LEGACY_IMAGE, abilities.images),
        (Aspect::ONLINE_COMPILER, abilities.compiler),
        (Aspect::ONLINE_LINKER, abilities.linker),
        (Aspect::QUEUE_PROFILING, abilities.profiling),
        (Aspect::USM_DEVICE_ALLOCATIONS, access(device)),
        (Aspect::USM_HOST_ALLOCATIONS, access(host)),
        (Aspect::USM_ATOMIC_HOST_ALLOCATIONS, atomics(host)),
        (Aspect::USM_SHARED_ALLOCATIONS, access(shared)),
        (Aspect::USM_RESTRICTED_SHARED_ALLOCATIONS, access(shared)),
        (Aspect::USM_ATOMIC_SHARED_ALLOCATIONS, atomics(shared)),
        (Aspect::USM_SYSTEM_ALLOCATIONS, access(system)),
        (
            Aspect::EXT_ONEAPI_NATIVE_ASSERT,
            has("cl_intel_devicelib_assert"),
        ),
        (
            Aspect::EXT_INTEL_ESIMD,
            is(DeviceKind::Gpu) && abilities.vendor.contains("Intel"),
        ),
        (
            Aspect::EXT_INTEL_MATRIX,
            has("cl_intel_subgroup_matrix_multiply_accumulate") || abilities.matrix_units,
        ),
        // No query shows it. Intel's drivers have function pointers in SPIR-V; others fail at the launch or crash.
        (
            Aspect::EXT_ONEAPI_VIRTUAL_FUNCTIONS,
            abilities.vendor.starts_with("Intel(R)"),
        ),
    ]
}

/// Returns the aspects of a device.
pub(crate) fn aspects_of(abilities: &Abilities<'_>) -> BTreeSet<Aspect> {
    let held = reported(abilities).into_iter().filter(|(_, held)| *held);
    held.map(|(aspect, _)| aspect).collect()
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
    let known = reported(&Abilities::default()).map(|(aspect, _)| aspect);
    let lacks = |aspect: &&Aspect| {
        (known.contains(aspect) || aspect.name().is_none()) && !held.contains(aspect)
    };
    wanted.iter().filter(lacks).copied().collect()
}

#[cfg(test)]
mod aspects_tests {
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
    fn reported_abilities_get_sycl_names() {
        let names: Vec<String> = aspects_of(&cpu()).iter().map(ToString::to_string).collect();
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
        assert!(aspects_of(&both).contains(&Aspect::ATOMIC64));
    }

    #[test]
    fn only_reported_aspects_can_be_missing() {
        let held = aspects_of(&cpu());
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
        let simd =
            |abilities: &Abilities<'_>| aspects_of(abilities).contains(&Aspect::EXT_INTEL_ESIMD);
        assert!(simd(&gpu("Intel(R) Corporation")));
        assert!(!simd(&gpu("Another")) && !simd(&cpu()));
    }

    #[test]
    fn matrices_come_with_extension_or_processor() {
        let matrices =
            |abilities: &Abilities<'_>| aspects_of(abilities).contains(&Aspect::EXT_INTEL_MATRIX);
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
