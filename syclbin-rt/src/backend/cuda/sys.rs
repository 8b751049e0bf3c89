// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CUDA driver API: types and a table of functions, named as in the C header.
//!
//! Values that the driver returns are integers, never Rust enums, because a driver newer than this crate may return
//! unknown values. Tests compare every declaration with the crate `cudarc`. It is not a regular dependency, because its
//! features for CUDA versions are mutually exclusive: a program that selects a different version would not compile.
#![allow(
    non_camel_case_types,
    non_snake_case,
    reason = "types, fields and functions are named as in the C header"
)]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

use crate::backend::{EntryPoint, Gated, Result};

pub(crate) type CUdevice = c_int;

pub(crate) type CUresult = c_uint;

pub(crate) type CUdeviceptr = c_ulonglong;

/// Every context treats the host memory as pinned.
pub(crate) const CU_MEMHOSTALLOC_PORTABLE: c_uint = 1;

/// The host memory is mapped into the device's address space.
pub(crate) const CU_MEMHOSTALLOC_DEVICEMAP: c_uint = 2;

/// Invokes the macro `$with` with all handles and the types that they point to.
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

/// Invokes the macro `$with` with all C enumerations and the enumerators that this crate uses.
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
                CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED = 86;
                CU_DEVICE_ATTRIBUTE_PAGEABLE_MEMORY_ACCESS = 88;
                CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS = 89;
                CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH = 95;
                CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN = 97;
                CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED = 115;
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
                CU_JIT_INPUT_PTX = 1;
            }
            CUjit_option {
                CU_JIT_INFO_LOG_BUFFER = 3;
                CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES = 4;
                CU_JIT_ERROR_LOG_BUFFER = 5;
                CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES = 6;
            }
            CUlaunchAttributeID {
                CU_LAUNCH_ATTRIBUTE_COOPERATIVE = 2;
            }
            CUmemAttach_flags {
                CU_MEM_ATTACH_GLOBAL = 1;
            }
            CUmemorytype {
                CU_MEMORYTYPE_DEVICE = 2;
                CU_MEMORYTYPE_UNIFIED = 4;
            }
            CUstreamCaptureMode {
                CU_STREAM_CAPTURE_MODE_THREAD_LOCAL = 1;
            }
            CUstream_flags {
                CU_STREAM_NON_BLOCKING = 1;
            }
        }
    };
}

/// Invokes the macro `$with` with all structures and their fields.
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
            CUuuid_st {
                bytes: [c_char; 16],
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

macro_rules! declare_handles {
    ($($handle:ident -> $target:ident;)*) => {
        $(
            /// Opaque: only the driver accesses the contents.
            #[repr(C)]
            pub(crate) struct $target {
                _private: [u8; 0],
            }

            pub(crate) type $handle = *mut $target;
        )*
    };
}

macro_rules! declare_enumerations {
    ($($name:ident { $($value:ident = $number:literal;)* })*) => {
        $(
            #[repr(transparent)]
            #[derive(Clone, Copy)]
            pub(crate) struct $name(pub(crate) c_uint);

            impl $name {
                $(pub(crate) const $value: Self = Self($number);)*
            }
        )*
    };
}

macro_rules! declare_structures {
    ($($name:ident { $($field:ident: $type:ty,)* })*) => {
        $(
            #[repr(C)]
            pub(crate) struct $name {
                $(pub(crate) $field: $type,)*
            }

            // SAFETY: the fields are numbers and pointers, for which zero is a valid value.
            unsafe impl bytemuck::Zeroable for $name {}
        )*
    };
}

for_each_handle!(declare_handles);
for_each_enumeration!(declare_enumerations);
for_each_structure!(declare_structures);

/// The value of a launch attribute: in the C header, a union of 64 bytes.
#[repr(C, align(8))]
pub(crate) struct CUlaunchAttributeValue([c_int; 16]);

/// The attribute of a cooperative launch, and its value: an integer at the start of the union.
pub(crate) const COOPERATIVE: (CUlaunchAttributeID, *const CUlaunchAttributeValue) = (
    CUlaunchAttributeID::CU_LAUNCH_ATTRIBUTE_COOPERATIVE,
    &CUlaunchAttributeValue([1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0]),
);

/// Invokes the macro `$with` with all functions and their argument types. Every function returns an error code.
///
/// Required functions have existed since CUDA 11 or earlier. The crate works without the optional functions.
macro_rules! for_each_function {
    ($with:ident) => {
        $with! {
            required {
                cuInit(c_uint);
                cuGetErrorName(CUresult, *mut *const c_char);
                cuDriverGetVersion(*mut c_int);
                cuDeviceGetCount(*mut c_int);
                cuDeviceGet(*mut CUdevice, c_int);
                cuDeviceGetName(*mut c_char, c_int, CUdevice);
                cuDeviceGetPCIBusId(*mut c_char, c_int, CUdevice);
                cuDeviceTotalMem_v2(*mut usize, CUdevice);
                cuDeviceCanAccessPeer(*mut c_int, CUdevice, CUdevice);
                cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
                cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
                cuCtxGetCurrent(*mut CUcontext);
                cuCtxSetCurrent(CUcontext);
                cuCtxGetStreamPriorityRange(*mut c_int, *mut c_int);
                cuCtxEnablePeerAccess(CUcontext, c_uint);
                cuMemAlloc_v2(*mut CUdeviceptr, usize);
                cuMemFree_v2(CUdeviceptr);
                cuMemAllocManaged(*mut CUdeviceptr, usize, c_uint);
                cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
                cuMemFreeHost(*mut c_void);
                cuMemcpyAsync(CUdeviceptr, CUdeviceptr, usize, CUstream);
                cuMemcpyPeerAsync(CUdeviceptr, CUcontext, CUdeviceptr, CUcontext, usize, CUstream);
                cuMemsetD8Async(CUdeviceptr, c_uchar, usize, CUstream);
                cuMemsetD16Async(CUdeviceptr, c_ushort, usize, CUstream);
                cuMemsetD32Async(CUdeviceptr, c_uint, usize, CUstream);
                cuMemsetD2D8Async(CUdeviceptr, usize, c_uchar, usize, usize, CUstream);
                cuMemsetD2D16Async(CUdeviceptr, usize, c_ushort, usize, usize, CUstream);
                cuMemsetD2D32Async(CUdeviceptr, usize, c_uint, usize, usize, CUstream);
                cuStreamCreateWithPriority(*mut CUstream, c_uint, c_int);
                cuStreamDestroy_v2(CUstream);
                cuStreamSynchronize(CUstream);
                cuStreamWaitEvent(CUstream, CUevent, c_uint);
                cuStreamBeginCapture_v2(CUstream, CUstreamCaptureMode);
                cuStreamEndCapture(CUstream, *mut CUgraph);
                cuEventCreate(*mut CUevent, c_uint);
                cuEventRecord(CUevent, CUstream);
                cuEventQuery(CUevent);
                cuEventSynchronize(CUevent);
                cuEventElapsedTime(*mut f32, CUevent, CUevent);
                cuModuleLoadDataEx(*mut CUmodule, *const c_void, c_uint, *mut CUjit_option, *mut *mut c_void);
                cuModuleUnload(CUmodule);
                cuModuleGetFunction(*mut CUfunction, CUmodule, *const c_char);
                cuModuleGetGlobal_v2(*mut CUdeviceptr, *mut usize, CUmodule, *const c_char);
                cuLinkCreate_v2(c_uint, *mut CUjit_option, *mut *mut c_void, *mut CUlinkState);
                cuLinkAddData_v2(
                    CUlinkState, CUjitInputType, *mut c_void, usize, *const c_char, c_uint,
                    *mut CUjit_option, *mut *mut c_void,
                );
                cuLinkComplete(CUlinkState, *mut *mut c_void, *mut usize);
                cuLinkDestroy(CUlinkState);
                cuFuncGetAttribute(*mut c_int, CUfunction_attribute, CUfunction);
                cuFuncSetAttribute(CUfunction, CUfunction_attribute, c_int);
                cuLaunchKernel(
                    CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void,
                    *mut *mut c_void,
                );
                cuLaunchCooperativeKernel(
                    CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream, *mut *mut c_void,
                );
                cuOccupancyMaxActiveBlocksPerMultiprocessor(*mut c_int, CUfunction, c_int, usize);
                cuGraphCreate(*mut CUgraph, c_uint);
                cuGraphAddMemcpyNode(
                    *mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const CUDA_MEMCPY3D, CUcontext,
                );
                cuGraphAddMemsetNode(
                    *mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const CUDA_MEMSET_NODE_PARAMS, CUcontext,
                );
                cuGraphAddChildGraphNode(*mut CUgraphNode, CUgraph, *const CUgraphNode, usize, CUgraph);
                cuGraphGetNodes(CUgraph, *mut CUgraphNode, *mut usize);
                cuGraphKernelNodeSetAttribute(CUgraphNode, CUlaunchAttributeID, *const CUlaunchAttributeValue);
                cuGraphLaunch(CUgraphExec, CUstream);
                cuGraphDestroy(CUgraph);
                cuGraphExecDestroy(CUgraphExec);
            }
            optional {
                cuDeviceGetUuid_v2(*mut CUuuid_st, CUdevice);
                cuMemAllocAsync(*mut CUdeviceptr, usize, CUstream);
                cuMemFreeAsync(CUdeviceptr, CUstream);
                cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
                cuGraphAddKernelNode_v2(
                    *mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const CUDA_KERNEL_NODE_PARAMS,
                );
                cuFuncGetParamInfo(CUfunction, usize, *mut usize, *mut usize);
            }
        }
    };
}

// The header declares a four-byte enumeration as the return type; `c_int` has the same ABI.
macro_rules! declare {
    (
        required { $($name:ident($($arg:ty),* $(,)?);)* }
        optional { $($since:ident($($since_arg:ty),* $(,)?);)* }
    ) => {
        functions! {
            Functions
            required { $($name: Option<unsafe extern "C" fn($($arg),*) -> c_int>,)* }
            optional { $($since: Option<unsafe extern "C" fn($($since_arg),*) -> c_int>,)* }
        }

        #[cfg(test)]
        pub(crate) const NAMES: &[&str] =
            &[$(stringify!($name),)* $(stringify!($since),)*];
    };
}

for_each_function!(declare);

#[cfg(test)]
#[path = "sys_tests.rs"]
mod tests;
