// SPDX-License-Identifier: MIT OR Apache-2.0
//! Facts: a driver's answers about a device, read once and without effect on it.

use std::collections::BTreeSet;
use std::fmt;

use syclbin::__private::spirv::portable::Version;
use syclbin::Aspect;
use syclbin::architecture::Architecture;

use crate::device::partition::Abilities as Partitions;

/// The kind of a device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(test, derive(Default))]
#[non_exhaustive]
pub enum DeviceKind {
    /// A graphics processor.
    Gpu,
    /// The host's processor.
    Cpu,
    /// Another processor made for computing, such as an FPGA.
    Accelerator,
    /// Anything else; OpenCL's "custom" devices run only kernels of their own.
    #[cfg_attr(test, default)]
    Other,
}

/// A driver's answers about a device, read once.
#[derive(Clone, Debug)]
#[cfg_attr(test, derive(Default))]
pub(crate) struct Facts {
    pub(crate) name: String,
    pub(crate) vendor: String,
    pub(crate) platform: String,
    pub(crate) version: String,
    pub(crate) driver_version: String,
    pub(crate) kind: DeviceKind,
    pub(crate) takes_spirv: bool,
    /// The versions of SPIR-V that it takes, where the driver lists them.
    pub(crate) spirv_versions: Vec<Version>,
    /// The code that a CUDA device takes; `None` for all other devices.
    pub(crate) ptx: Option<PtxFacts>,
    /// Whether it takes debug information in SPIR-V.
    pub(crate) debug_info: bool,
    /// Whether it links only modules of one version of SPIR-V.
    pub(crate) links_one_version: bool,
    /// Whether the work-items of a work-group can compute something together, such as a sum.
    pub(crate) work_group_functions: bool,
    /// Whether kernels read wrong members from packed structs that are passed by value.
    pub(crate) misreads_packed: bool,
    /// Whether kernels lose the results of negations at barriers.
    pub(crate) loses_negations: bool,
    /// Whether device globals become arguments of kernels, because the driver has no functions that read and
    /// write variables.
    pub(crate) lifts_variables: bool,
    pub(crate) memory_bytes: u64,
    /// The largest buffer without special requests.
    pub(crate) max_buffer_bytes: u64,
    pub(crate) local_memory_bytes: u64,
    pub(crate) images: bool,
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
