// SPDX-License-Identifier: MIT OR Apache-2.0
//! Handles, numbers and structures of the CUDA driver.
//!
//! Each group is a table that a macro expands: here to declarations, in the tests to a comparison.

use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

/// A device, as a number.
pub(in crate::backend::cuda) type CUdevice = c_int;

/// An address in device memory.
pub(in crate::backend::cuda) type CUdeviceptr = c_ulonglong;

/// Host memory counts as pinned in every context.
pub(in crate::backend::cuda) const CU_MEMHOSTALLOC_PORTABLE: c_uint = 1;

/// Host memory has an address on the device.
pub(in crate::backend::cuda) const CU_MEMHOSTALLOC_DEVICEMAP: c_uint = 2;

/// Expands `$with` over each handle and the type that it points to.
macro_rules! for_each_handle {
    ($with:ident) => {
        $with! {
            CUarray -> CUarray_st;
            CUcontext -> CUctx_st;
            CUevent -> CUevent_st;
            CUfunction -> CUfunc_st;
            CUgraph -> CUgraph_st;
            CUgraphExec -> CUgraphExec_st;
            CUgraphNode -> CUgraphNode_st;
            CUkernel -> CUkern_st;
            CUlinkState -> CUlinkState_st;
            CUmodule -> CUmod_st;
            CUstream -> CUstream_st;
        }
    };
}

/// Expands `$with` over each C enumeration and the values of it that this crate uses.
macro_rules! for_each_enumeration {
    ($with:ident) => {
        $with! {
            CUdevice_attribute {
                CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 1;
                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X = 2;
                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y = 3;
                CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z = 4;
                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X = 5;
                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y = 6;
                CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z = 7;
                CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK = 8;
                CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = 16;
                CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY = 19;
                CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING = 41;
                CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = 75;
                CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = 76;
                CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY = 83;
                CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88;
                CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89;
                CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
            }
            CUevent_flags {
                CU_EVENT_BLOCKING_SYNC = 1;
                CU_EVENT_DISABLE_TIMING = 2;
            }
            CUfunction_attribute {
                CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK = 0;
                CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES = 1;
                CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES = 3;
                CU_FUNC_ATTRIBUTE_NUM_REGS = 4;
                CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES = 8;
            }
            CUjitInputType {
                CU_JIT_INPUT_CUBIN = 0;
                CU_JIT_INPUT_PTX = 1;
                CU_JIT_INPUT_FATBINARY = 2;
            }
            CUjit_option {
                CU_JIT_MAX_REGISTERS = 0;
                CU_JIT_INFO_LOG_BUFFER = 3;
                CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4;
                CU_JIT_ERROR_LOG_BUFFER = 5;
                CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
            }
            CUmemAttach_flags {
                CU_MEM_ATTACH_GLOBAL = 1;
            }
            CUmemorytype {
                CU_MEMORYTYPE_DEVICE = 2;
                CU_MEMORYTYPE_UNIFIED = 4;
            }
            CUstream_flags {
                CU_STREAM_NON_BLOCKING = 1;
            }
        }
    };
}

/// Expands `$with` over each structure and its fields.
macro_rules! for_each_structure {
    ($with:ident) => {
        $with! {
            CUDA_KERNEL_NODE_PARAMS {
                func: CUfunction,
                gridDimX: c_uint,
                gridDimY: c_uint,
                gridDimZ: c_uint,
                blockDimX: c_uint,
                blockDimY: c_uint,
                blockDimZ: c_uint,
                sharedMemBytes: c_uint,
                kernelParams: *mut *mut c_void,
                extra: *mut *mut c_void,
                kern: CUkernel,
                ctx: CUcontext,
            }
            CUDA_MEMCPY3D {
                srcXInBytes: usize,
                srcY: usize,
                srcZ: usize,
                srcLOD: usize,
                srcMemoryType: CUmemorytype,
                srcHost: *const c_void,
                srcDevice: CUdeviceptr,
                srcArray: CUarray,
                reserved0: *mut c_void,
                srcPitch: usize,
                srcHeight: usize,
                dstXInBytes: usize,
                dstY: usize,
                dstZ: usize,
                dstLOD: usize,
                dstMemoryType: CUmemorytype,
                dstHost: *mut c_void,
                dstDevice: CUdeviceptr,
                dstArray: CUarray,
                reserved1: *mut c_void,
                dstPitch: usize,
                dstHeight: usize,
                WidthInBytes: usize,
                Height: usize,
                Depth: usize,
            }
            CUDA_MEMSET_NODE_PARAMS {
                dst: CUdeviceptr,
                pitch: usize,
                value: c_uint,
                elementSize: c_uint,
                width: usize,
                height: usize,
            }
        }
    };
}

#[cfg(test)]
pub(super) use {for_each_enumeration, for_each_handle, for_each_structure};

macro_rules! declare_handles {
    ($($handle:ident -> $target:ident;)*) => {
        $(
            /// Only the driver knows what is in it.
            #[repr(C)]
            pub(in crate::backend::cuda) struct $target {
                _private: [u8; 0],
            }

            pub(in crate::backend::cuda) type $handle = *mut $target;
        )*
    };
}

macro_rules! declare_enumerations {
    ($($name:ident { $($value:ident = $number:literal;)* })*) => {
        $(
            #[repr(transparent)]
            #[derive(Clone, Copy)]
            pub(in crate::backend::cuda) struct $name(pub(in crate::backend::cuda) c_uint);

            impl $name {
                $(pub(in crate::backend::cuda) const $value: Self = Self($number);)*
            }
        )*
    };
}

macro_rules! declare_structures {
    ($($name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            #[repr(C)]
            pub(in crate::backend::cuda) struct $name {
                $(pub(in crate::backend::cuda) $field: $type,)*
            }
        )*
    };
}

for_each_handle!(declare_handles);
for_each_enumeration!(declare_enumerations);
for_each_structure!(declare_structures);
