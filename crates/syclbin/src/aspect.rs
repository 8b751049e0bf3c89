// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device capabilities, with the numbers and names of SYCL's `aspect` enumeration.

use core::fmt;

/// A device capability, identified by its number in SYCL's `aspect` enumeration. Numbers are never reused, so an
/// unknown number comes from a newer compiler.
///
/// The constants cover aspects 0 to 99, as defined by DPC++ 2026.2. `Display` writes the name, or `aspect 123` for an
/// unknown number.
///
/// ```
/// use syclbin::Aspect;
///
/// assert_eq!(Aspect::FP64.number(), 6);
/// assert_eq!(Aspect::FP64.name(), Some("fp64"));
/// assert_eq!(Aspect(123).to_string(), "aspect 123");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Aspect(pub u32);

macro_rules! aspects {
    ($($constant:ident = $number:literal, $name:literal;)*) => {
        impl Aspect {
            $(
                #[doc = concat!("`", $name, "`.")]
                pub const $constant: Self = Self($number);
            )*

            /// Every known aspect, sorted by number.
            pub const ALL: &'static [Self] = &[$(Self::$constant),*];

            /// Returns the name, if it is known.
            #[must_use]
            pub const fn name(self) -> Option<&'static str> {
                match self.0 {
                    $($number => Some($name),)*
                    _ => None,
                }
            }
        }
    };
}

aspects! {
    HOST = 0, "host";
    CPU = 1, "cpu";
    GPU = 2, "gpu";
    ACCELERATOR = 3, "accelerator";
    CUSTOM = 4, "custom";
    FP16 = 5, "fp16";
    FP64 = 6, "fp64";
    INT64_BASE_ATOMICS = 7, "int64_base_atomics";
    INT64_EXTENDED_ATOMICS = 8, "int64_extended_atomics";
    IMAGE = 9, "image";
    ONLINE_COMPILER = 10, "online_compiler";
    ONLINE_LINKER = 11, "online_linker";
    QUEUE_PROFILING = 12, "queue_profiling";
    USM_DEVICE_ALLOCATIONS = 13, "usm_device_allocations";
    USM_HOST_ALLOCATIONS = 14, "usm_host_allocations";
    USM_SHARED_ALLOCATIONS = 15, "usm_shared_allocations";
    USM_RESTRICTED_SHARED_ALLOCATIONS = 16, "usm_restricted_shared_allocations";
    USM_SYSTEM_ALLOCATIONS = 17, "usm_system_allocations";
    EXT_INTEL_PCI_ADDRESS = 18, "ext_intel_pci_address";
    EXT_INTEL_GPU_EU_COUNT = 19, "ext_intel_gpu_eu_count";
    EXT_INTEL_GPU_EU_SIMD_WIDTH = 20, "ext_intel_gpu_eu_simd_width";
    EXT_INTEL_GPU_SLICES = 21, "ext_intel_gpu_slices";
    EXT_INTEL_GPU_SUBSLICES_PER_SLICE = 22, "ext_intel_gpu_subslices_per_slice";
    EXT_INTEL_GPU_EU_COUNT_PER_SUBSLICE = 23, "ext_intel_gpu_eu_count_per_subslice";
    EXT_INTEL_MAX_MEM_BANDWIDTH = 24, "ext_intel_max_mem_bandwidth";
    USM_ATOMIC_HOST_ALLOCATIONS = 25, "usm_atomic_host_allocations";
    USM_ATOMIC_SHARED_ALLOCATIONS = 26, "usm_atomic_shared_allocations";
    ATOMIC64 = 27, "atomic64";
    EXT_INTEL_DEVICE_INFO_UUID = 28, "ext_intel_device_info_uuid";
    EXT_ONEAPI_SRGB = 29, "ext_oneapi_srgb";
    EXT_ONEAPI_NATIVE_ASSERT = 30, "ext_oneapi_native_assert";
    HOST_DEBUGGABLE = 31, "host_debuggable";
    EXT_INTEL_GPU_HW_THREADS_PER_EU = 32, "ext_intel_gpu_hw_threads_per_eu";
    EXT_ONEAPI_CUDA_ASYNC_BARRIER = 33, "ext_oneapi_cuda_async_barrier";
    EXT_INTEL_FREE_MEMORY = 34, "ext_intel_free_memory";
    EXT_INTEL_DEVICE_ID = 35, "ext_intel_device_id";
    EXT_INTEL_MEMORY_CLOCK_RATE = 36, "ext_intel_memory_clock_rate";
    EXT_INTEL_MEMORY_BUS_WIDTH = 37, "ext_intel_memory_bus_width";
    EMULATED = 38, "emulated";
    EXT_INTEL_LEGACY_IMAGE = 39, "ext_intel_legacy_image";
    EXT_ONEAPI_BINDLESS_IMAGES = 40, "ext_oneapi_bindless_images";
    EXT_ONEAPI_BINDLESS_IMAGES_SHARED_USM = 41, "ext_oneapi_bindless_images_shared_usm";
    EXT_ONEAPI_BINDLESS_IMAGES_1D_USM = 42, "ext_oneapi_bindless_images_1d_usm";
    EXT_ONEAPI_BINDLESS_IMAGES_2D_USM = 43, "ext_oneapi_bindless_images_2d_usm";
    EXT_ONEAPI_EXTERNAL_MEMORY_IMPORT = 44, "ext_oneapi_external_memory_import";
    EXT_ONEAPI_EXTERNAL_SEMAPHORE_IMPORT = 45, "ext_oneapi_external_semaphore_import";
    EXT_ONEAPI_MIPMAP = 46, "ext_oneapi_mipmap";
    EXT_ONEAPI_MIPMAP_ANISOTROPY = 47, "ext_oneapi_mipmap_anisotropy";
    EXT_ONEAPI_MIPMAP_LEVEL_REFERENCE = 48, "ext_oneapi_mipmap_level_reference";
    EXT_INTEL_ESIMD = 49, "ext_intel_esimd";
    EXT_ONEAPI_FRAGMENT = 50, "ext_oneapi_fragment";
    EXT_ONEAPI_CHUNK = 51, "ext_oneapi_chunk";
    EXT_ONEAPI_TANGLE = 52, "ext_oneapi_tangle";
    EXT_INTEL_MATRIX = 53, "ext_intel_matrix";
    EXT_ONEAPI_IS_COMPOSITE = 54, "ext_oneapi_is_composite";
    EXT_ONEAPI_IS_COMPONENT = 55, "ext_oneapi_is_component";
    EXT_ONEAPI_GRAPH = 56, "ext_oneapi_graph";
    EXT_ONEAPI_LIMITED_GRAPH = 57, "ext_oneapi_limited_graph";
    EXT_ONEAPI_PRIVATE_ALLOCA = 58, "ext_oneapi_private_alloca";
    EXT_ONEAPI_CUBEMAP = 59, "ext_oneapi_cubemap";
    EXT_ONEAPI_CUBEMAP_SEAMLESS_FILTERING = 60, "ext_oneapi_cubemap_seamless_filtering";
    EXT_ONEAPI_BINDLESS_SAMPLED_IMAGE_FETCH_1D_USM = 61, "ext_oneapi_bindless_sampled_image_fetch_1d_usm";
    EXT_ONEAPI_BINDLESS_SAMPLED_IMAGE_FETCH_1D = 62, "ext_oneapi_bindless_sampled_image_fetch_1d";
    EXT_ONEAPI_BINDLESS_SAMPLED_IMAGE_FETCH_2D_USM = 63, "ext_oneapi_bindless_sampled_image_fetch_2d_usm";
    EXT_ONEAPI_BINDLESS_SAMPLED_IMAGE_FETCH_2D = 64, "ext_oneapi_bindless_sampled_image_fetch_2d";
    EXT_ONEAPI_BINDLESS_SAMPLED_IMAGE_FETCH_3D = 65, "ext_oneapi_bindless_sampled_image_fetch_3d";
    EXT_ONEAPI_QUEUE_PROFILING_TAG = 66, "ext_oneapi_queue_profiling_tag";
    EXT_ONEAPI_VIRTUAL_MEM = 67, "ext_oneapi_virtual_mem";
    EXT_ONEAPI_CUDA_CLUSTER_GROUP = 68, "ext_oneapi_cuda_cluster_group";
    EXT_ONEAPI_IMAGE_ARRAY = 69, "ext_oneapi_image_array";
    EXT_ONEAPI_UNIQUE_ADDRESSING_PER_DIM = 70, "ext_oneapi_unique_addressing_per_dim";
    EXT_ONEAPI_BINDLESS_IMAGES_SAMPLE_1D_USM = 71, "ext_oneapi_bindless_images_sample_1d_usm";
    EXT_ONEAPI_BINDLESS_IMAGES_SAMPLE_2D_USM = 72, "ext_oneapi_bindless_images_sample_2d_usm";
    EXT_ONEAPI_ATOMIC16 = 73, "ext_oneapi_atomic16";
    EXT_ONEAPI_VIRTUAL_FUNCTIONS = 74, "ext_oneapi_virtual_functions";
    EXT_INTEL_SPILL_MEMORY_SIZE = 75, "ext_intel_spill_memory_size";
    EXT_ONEAPI_BINDLESS_IMAGES_GATHER = 76, "ext_oneapi_bindless_images_gather";
    EXT_INTEL_CURRENT_CLOCK_THROTTLE_REASONS = 77, "ext_intel_current_clock_throttle_reasons";
    EXT_INTEL_FAN_SPEED = 78, "ext_intel_fan_speed";
    EXT_INTEL_POWER_LIMITS = 79, "ext_intel_power_limits";
    EXT_ONEAPI_ASYNC_MEMORY_ALLOC = 80, "ext_oneapi_async_memory_alloc";
    EXT_INTEL_DEVICE_INFO_LUID = 81, "ext_intel_device_info_luid";
    EXT_INTEL_DEVICE_INFO_NODE_MASK = 82, "ext_intel_device_info_node_mask";
    EXT_ONEAPI_EXPORTABLE_DEVICE_MEM = 83, "ext_oneapi_exportable_device_mem";
    EXT_ONEAPI_CLOCK_SUB_GROUP = 84, "ext_oneapi_clock_sub_group";
    EXT_ONEAPI_CLOCK_WORK_GROUP = 85, "ext_oneapi_clock_work_group";
    EXT_ONEAPI_CLOCK_DEVICE = 86, "ext_oneapi_clock_device";
    EXT_ONEAPI_IS_INTEGRATED_GPU = 87, "ext_oneapi_is_integrated_gpu";
    EXT_ONEAPI_IPC_MEMORY = 88, "ext_oneapi_ipc_memory";
    EXT_ONEAPI_DEVICE_WAIT = 89, "ext_oneapi_device_wait";
    EXT_INTEL_XE_STACK_COUNT = 90, "ext_intel_xe_stack_count";
    EXT_INTEL_XE_REGIONS_PER_STACK = 91, "ext_intel_xe_regions_per_stack";
    EXT_INTEL_XE_CLUSTERS_PER_REGION = 92, "ext_intel_xe_clusters_per_region";
    EXT_INTEL_XE_CORES_PER_CLUSTER = 93, "ext_intel_xe_cores_per_cluster";
    EXT_INTEL_EUS_PER_XE_CORE = 94, "ext_intel_eus_per_xe_core";
    EXT_INTEL_MAX_LANES_PER_HW_THREAD = 95, "ext_intel_max_lanes_per_hw_thread";
    EXT_ONEAPI_IPC_PHYSICAL_MEMORY = 96, "ext_oneapi_ipc_physical_memory";
    EXT_ONEAPI_REGISTER_HOST_MEMORY = 97, "ext_oneapi_register_host_memory";
    EXT_ONEAPI_PER_EVENT_PROFILING = 98, "ext_oneapi_per_event_profiling";
    EXT_ONEAPI_IPC_EVENT = 99, "ext_oneapi_ipc_event";
}

impl Aspect {
    /// Returns the number in SYCL's `aspect` enumeration, as stored in files.
    #[must_use]
    pub const fn number(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Aspect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "aspect {}", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn each_aspect_number_has_one_name() {
        for (number, aspect) in (0..100).zip(Aspect::ALL) {
            assert_eq!(aspect.number(), number);
            assert_eq!(aspect.name(), Some(&*aspect.to_string()));
        }
        assert_eq!(Aspect::ALL.len(), 100);
        // Detects a table that is off by one.
        assert_eq!(Aspect(5).name(), Some("fp16"));
        assert_eq!(Aspect(38).name(), Some("emulated"));
        assert_eq!(Aspect(73).name(), Some("ext_oneapi_atomic16"));
        assert_eq!(Aspect(99).name(), Some("ext_oneapi_ipc_event"));
    }

    #[test]
    fn unknown_numbers_survive() {
        assert_eq!(Aspect(123).to_string(), "aspect 123");
        assert_eq!(Aspect(123).name(), None);
    }
}
