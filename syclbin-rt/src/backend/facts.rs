// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device facts: everything that a driver reports about a device, including SYCL aspects and ways to partition the
//! device. Facts are queried once, without side effects.

use std::collections::BTreeSet;
use std::fmt;
use std::io::{BufRead as _, BufReader};

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
    /// Another compute processor, such as an FPGA.
    Accelerator,
    /// Any other device, such as an OpenCL "custom" device, which runs only built-in kernels.
    #[default]
    Other,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct Facts {
    /// The path or file name under which the driver's library was loaded.
    pub(crate) library: &'static str,
    pub(crate) name: String,
    pub(crate) vendor: String,
    pub(crate) platform: String,
    pub(crate) version: String,
    pub(crate) driver_version: String,
    pub(crate) kind: DeviceKind,
    /// The system that native code for this CPU must target, unless it is x86-64 Linux.
    pub(crate) other_system: Option<String>,
    pub(crate) takes_spirv: bool,
    /// The SPIR-V versions that the driver accepts, if it lists them.
    pub(crate) spirv_versions: Vec<Version>,
    /// The PTX that a CUDA device accepts; `None` for all other devices.
    pub(crate) ptx: Option<PtxFacts>,
    /// Whether the driver accepts debug information in SPIR-V.
    pub(crate) debug_info: bool,
    /// Whether the driver accepts work-group limits (`SPV_INTEL_kernel_attributes`) in SPIR-V.
    pub(crate) work_group_limits: bool,
    /// Whether the driver can link modules only if their SPIR-V versions match.
    pub(crate) links_one_version: bool,
    /// Whether the device supports work-group collective functions, such as a sum.
    pub(crate) work_group_functions: bool,
    /// Whether kernels misread members of packed structs passed by value.
    pub(crate) misreads_packed: bool,
    /// Whether kernels lose the results of floating-point negations at work-group barriers.
    pub(crate) loses_negations: bool,
    /// Whether device globals must be passed as kernel arguments because the driver cannot access program variables.
    pub(crate) lifts_variables: bool,
    /// Whether commands run anyway, or never end, if an event in their wait list has already failed.
    pub(crate) ignores_failed_dependencies: bool,
    /// Whether the device supports unified shared memory.
    pub(crate) has_addresses: bool,
    /// Whether `SYCLBIN_GUARD` works, that is, whether kernels can access a buffer at any host address that the program
    /// provides, regardless of its alignment.
    pub(crate) guards_buffers: bool,
    pub(crate) memory_bytes: u64,
    /// The largest buffer that can be allocated without special options.
    pub(crate) max_buffer_bytes: u64,
    pub(crate) local_memory_bytes: u64,
    pub(crate) images: bool,
    pub(crate) queues: QueueAbilities,
    pub(crate) compute_units: u32,
    /// The required alignment of a sub-buffer, in bytes.
    pub(crate) buffer_alignment: usize,
    /// The alignment that the device guarantees for every allocation, in bytes.
    pub(crate) least_alignment: u64,
    pub(crate) partitions: Partitions,
    pub(crate) max_work_group_size: usize,
    /// The maximum number of work-items in each dimension of a work-group, x first.
    pub(crate) max_work_item_sizes: [usize; 3],
    /// The supported sub-group sizes; empty if the driver does not accept a required size.
    pub(crate) sub_group_sizes: Vec<usize>,
    pub(crate) aspects: BTreeSet<Aspect>,
    /// The architecture that native code must target, if the driver reports it.
    pub(crate) architecture: Option<Architecture>,
    /// Whether this machine's CPU has matrix instructions for half precision (AMX-FP16). Unused for GPUs.
    pub(crate) half_matrices: bool,
    pub(crate) uuid: Option<[u8; 16]>,
    pub(crate) pci_address: Option<String>,
    /// Extension names, separated by spaces.
    pub(crate) extensions: String,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PtxFacts {
    /// The compute capability as 10 × major + minor: 90 for `sm_90`.
    pub(crate) sm: u32,
    /// The highest PTX version that the driver accepts.
    pub(crate) ptx: (u32, u32),
    /// The driver's CUDA version as 1000 × major + 10 × minor.
    pub(crate) driver: u32,
}

impl Facts {
    /// Returns whether the device can run kernels from SYCLBIN files, as SPIR-V or as PTX.
    pub(crate) fn is_usable(&self) -> bool {
        self.takes_spirv || self.ptx.is_some()
    }

    /// Returns the name of the backend, as device selectors spell it.
    pub(crate) fn backend(&self) -> &'static str {
        match self.ptx {
            Some(_) => "cuda",
            None => "opencl",
        }
    }

    /// Returns whether the driver is Intel's. Other drivers for Intel's devices report other vendors: rusticl "Intel",
    /// and PoCL "GenuineIntel".
    pub(crate) fn has_intel_driver(&self) -> bool {
        self.vendor.starts_with("Intel(R)")
    }

    /// Returns whether this is a GPU with Intel's driver, which accepts private options and flags that no query
    /// reveals.
    pub(crate) fn is_intel_gpu(&self) -> bool {
        self.kind == DeviceKind::Gpu && self.has_intel_driver()
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        let mut known = self.extensions.split_whitespace();
        known.any(|known| known == name)
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

/// How to partition a device. Used with [`Device::partition`](crate::Device::partition).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Partition<'p> {
    /// Parts of this many compute units each. Leftover units are not used.
    Equally(u32),
    /// One part for each number, with that many compute units.
    Counts(&'p [u32]),
    /// Parts whose compute units share this resource.
    Affinity(Affinity),
}

/// A resource that compute units can share.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Affinity {
    /// Memory near the compute units (a NUMA node).
    Numa,
    /// A level 4 cache.
    L4Cache,
    /// A level 3 cache.
    L3Cache,
    /// A level 2 cache.
    L2Cache,
    /// A level 1 cache.
    L1Cache,
    /// The first of these resources by which the device can be partitioned. On a GPU, the parts are its tiles.
    Next,
}

/// The ways to partition a device that its driver supports.
#[derive(Clone, Debug, Default)]
pub(crate) struct Partitions {
    pub(crate) max_parts: u32,
    pub(crate) equally: bool,
    pub(crate) counts: bool,
    pub(crate) affinities: Vec<Affinity>,
}

/// The position of a part among all parts of its parent.
#[derive(Clone, Copy)]
pub(crate) struct PartPosition {
    pub(crate) parent: Device,
    pub(crate) index: usize,
    pub(crate) of: usize,
}

/// The reported capabilities that determine an OpenCL device's aspects, in addition to its facts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Abilities {
    pub(crate) doubles: bool,
    pub(crate) compiler: bool,
    pub(crate) linker: bool,
    /// The values of `cl_device_unified_shared_memory_capabilities_intel` for host, device, shared and system memory.
    pub(crate) memory: [u64; 4],
    /// Whether the device is a CPU with matrix instructions (AMX).
    pub(crate) matrix_units: bool,
}

/// Bits of `cl_device_unified_shared_memory_capabilities_intel`.
const ACCESS: u64 = 1;
const ATOMIC_ACCESS: u64 = 2;

/// Returns every aspect about which OpenCL drivers provide information, and whether the device supports it.
fn reported(facts: &Facts, abilities: &Abilities) -> [(Aspect, bool); 26] {
    let has = |extension| facts.has(extension);
    let [base, extended] = ["cl_khr_int64_base_atomics", "cl_khr_int64_extended_atomics"].map(has);
    let access = |memory: u64| memory & ACCESS != 0;
    let atomics = |memory: u64| memory & ATOMIC_ACCESS != 0;
    let [host, device, shared, system] = abilities.memory;
    let is = |kind| facts.kind == kind;
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
        (Aspect::IMAGE, facts.images),
        (Aspect::EXT_INTEL_LEGACY_IMAGE, facts.images),
        (Aspect::ONLINE_COMPILER, abilities.compiler),
        (Aspect::ONLINE_LINKER, abilities.linker),
        (Aspect::QUEUE_PROFILING, facts.queues.profiling),
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
        (Aspect::EXT_INTEL_ESIMD, facts.is_intel_gpu()),
        (
            Aspect::EXT_INTEL_MATRIX,
            has("cl_intel_subgroup_matrix_multiply_accumulate") || abilities.matrix_units,
        ),
        // No query reveals this aspect. Intel's drivers support function pointers in SPIR-V; other drivers fail at
        // launch or crash.
        (
            Aspect::EXT_ONEAPI_VIRTUAL_FUNCTIONS,
            facts.has_intel_driver(),
        ),
    ]
}

pub(crate) fn aspects_of(facts: &Facts, abilities: &Abilities) -> BTreeSet<Aspect> {
    held_aspects(reported(facts, abilities))
}

/// Returns the aspects whose flag is `true`.
pub(crate) fn held_aspects<const N: usize>(aspects: [(Aspect, bool); N]) -> BTreeSet<Aspect> {
    let held = aspects.into_iter().filter(|(_, held)| *held);
    held.map(|(aspect, _)| aspect).collect()
}

/// Returns the features of this machine's CPU, such as `amx_tile`, as Linux lists them on x86-64 and Arm. Empty
/// elsewhere.
pub(crate) fn host_features() -> String {
    let Ok(file) = std::fs::File::open("/proc/cpuinfo") else {
        return String::new();
    };
    // The file has a section for each processor, so do not read all of it.
    let mut lines = BufReader::new(file).lines().map_while(Result::ok);
    let features = lines.find(|line| line.starts_with("flags") || line.starts_with("Features"));
    features.unwrap_or_default()
}

/// Returns whether this machine's CPU has the feature `wanted`.
pub(crate) fn host_has(wanted: &str) -> bool {
    host_features()
        .split_whitespace()
        .any(|flag| flag == wanted)
}

/// Returns the aspects in `wanted` that are missing from `held`. Skips known aspects that OpenCL drivers do not report:
/// if the device lacks such an aspect, the driver rejects the code at build time.
pub(crate) fn lacking(wanted: &[Aspect], held: &BTreeSet<Aspect>) -> Vec<Aspect> {
    let known = reported(&Facts::default(), &Abilities::default()).map(|(aspect, _)| aspect);
    let lacks = |aspect: &&Aspect| {
        (known.contains(aspect) || aspect.name().is_none()) && !held.contains(aspect)
    };
    wanted.iter().filter(lacks).copied().collect()
}

#[cfg(test)]
mod aspects_tests {
    use super::*;

    fn device(kind: DeviceKind, vendor: &str, extensions: &str) -> Facts {
        Facts {
            kind,
            vendor: vendor.to_owned(),
            extensions: extensions.to_owned(),
            ..Facts::default()
        }
    }

    fn cpu(extensions: &str) -> Facts {
        device(DeviceKind::Cpu, "Intel(R) Corporation", extensions)
    }

    const ABILITIES: Abilities = Abilities {
        doubles: true,
        compiler: false,
        linker: false,
        memory: [3, 0, 0, 0],
        matrix_units: false,
    };

    fn held() -> BTreeSet<Aspect> {
        aspects_of(&cpu("cl_khr_fp16 cl_khr_int64_base_atomics"), &ABILITIES)
    }

    #[test]
    fn reported_abilities_get_sycl_names() {
        let names: Vec<String> = held().iter().map(ToString::to_string).collect();
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
        let both = cpu("cl_khr_int64_base_atomics cl_khr_int64_extended_atomics");
        assert!(aspects_of(&both, &ABILITIES).contains(&Aspect::ATOMIC64));
    }

    #[test]
    fn only_reported_aspects_can_be_missing() {
        let wanted = [
            Aspect::FP64,
            Aspect::ATOMIC64,
            Aspect::EXT_ONEAPI_GRAPH,
            Aspect(12_345),
        ];
        let lacking = lacking(&wanted, &held());
        assert_eq!(lacking, [Aspect::ATOMIC64, Aspect(12_345)]);
    }

    #[test]
    fn explicit_simd_is_for_gpus_of_intel() {
        let gpu = |vendor| device(DeviceKind::Gpu, vendor, "");
        let simd = |facts: &Facts| aspects_of(facts, &ABILITIES).contains(&Aspect::EXT_INTEL_ESIMD);
        assert!(simd(&gpu("Intel(R) Corporation")));
        assert!(!simd(&gpu("Another")) && !simd(&cpu("")));
    }

    #[test]
    fn matrices_come_with_extension_or_processor() {
        let matrices = |facts: &Facts, abilities: &Abilities| {
            aspects_of(facts, abilities).contains(&Aspect::EXT_INTEL_MATRIX)
        };
        assert!(!matrices(&cpu(""), &ABILITIES));
        let extended = cpu("cl_intel_subgroup_matrix_multiply_accumulate");
        assert!(matrices(&extended, &ABILITIES));
        let with_units = Abilities {
            matrix_units: true,
            ..ABILITIES
        };
        assert!(matrices(&cpu(""), &with_units));
    }
}
