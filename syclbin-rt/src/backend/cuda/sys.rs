//! The functions of the CUDA driver, under the names of its header.
//!
//! Types come from `cudarc`, and so does the loading of the library. Its calls are not used: they
//! panic where a driver lacks a function, and what they return is an enumeration of Rust, which a
//! driver that is newer than the crate and returns another number would make undefined behaviour of.
#![allow(
    non_snake_case,
    reason = "fields are called like the functions they point to"
)]

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

use crate::backend::gate::Gated;
use cudarc::driver::sys;
pub(super) use cudarc::driver::sys::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent,
    CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode, CUjit_option,
    CUjitInputType, CUlinkState, CUmemAttach_flags, CUmemorytype, CUmodule, CUstream,
};

macro_rules! functions {
    (
        $(#[$meta:meta])*
        required { $($name:ident($($arg:ty),* $(,)?);)* }
        optional { $($since:ident($($since_arg:ty),* $(,)?);)* }
    ) => {
        $(#[$meta])*
        pub(super) struct Functions {
            $(pub(super) $name: Gated<unsafe extern "C" fn($($arg),*) -> c_int>,)*
            $(pub(super) $since: Option<Gated<unsafe extern "C" fn($($since_arg),*) -> c_int>>,)*
        }

        // They take what the header says they take.
        $(const _: unsafe fn($($arg),*) -> sys::CUresult = sys::$name;)*
        $(const _: unsafe fn($($since_arg),*) -> sys::CUresult = sys::$since;)*

        /// All of them.
        #[cfg(test)]
        pub(super) const NAMES: &[&str] = &[$(stringify!($name),)* $(stringify!($since),)*];

        impl Functions {
            /// Looks every function up in the library.
            ///
            /// # Errors
            ///
            /// The names of those that are required and missing.
            ///
            /// # Safety
            ///
            /// The library is there (`is_culib_present`), and it is the CUDA driver.
            pub(super) unsafe fn load() -> Result<Self, Vec<&'static str>> {
                // SAFETY: the caller has seen that it loads. It is never unloaded.
                let library = unsafe { sys::culib() };
                let mut missing = Vec::new();
                $(
                    let name = concat!(stringify!($name), "\0").as_bytes();
                    // SAFETY: the type is that of the header, as checked above; an enumeration of
                    // four bytes is returned as an `int` is.
                    let $name = unsafe {
                        library.get::<unsafe extern "C" fn($($arg),*) -> c_int>(name)
                    };
                    if $name.is_err() {
                        missing.push(stringify!($name));
                    }
                )*
                $(
                    let name = concat!(stringify!($since), "\0").as_bytes();
                    // SAFETY: as above.
                    let $since = unsafe {
                        library.get::<unsafe extern "C" fn($($since_arg),*) -> c_int>(name)
                    };
                )*
                match ($($name,)*) {
                    ($(Ok($name),)*) => Ok(Self {
                        $($name: Gated::new(*$name),)*
                        $($since: $since.ok().map(|function| Gated::new(*function)),)*
                    }),
                    _ => Err(missing),
                }
            }
        }
    };
}

functions! {
    /// Function pointers of the driver.
    ///
    /// Required are functions of CUDA 11 and before. Of optional ones something else is done where
    /// they are missing.
    required {
        cuInit(c_uint);
        cuDriverGetVersion(*mut c_int);
        cuDeviceGetCount(*mut c_int);
        cuDeviceGet(*mut CUdevice, c_int);
        cuDeviceGetName(*mut c_char, c_int, CUdevice);
        cuDeviceTotalMem_v2(*mut usize, CUdevice);
        cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
        cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
        cuDevicePrimaryCtxRelease_v2(CUdevice);
        cuDevicePrimaryCtxReset_v2(CUdevice);
        cuCtxGetCurrent(*mut CUcontext);
        cuCtxSetCurrent(CUcontext);
        cuMemAlloc_v2(*mut CUdeviceptr, usize);
        cuMemFree_v2(CUdeviceptr);
        cuMemAllocManaged(*mut CUdeviceptr, usize, c_uint);
        cuMemHostAlloc(*mut *mut c_void, usize, c_uint);
        cuMemFreeHost(*mut c_void);
        cuMemcpyAsync(CUdeviceptr, CUdeviceptr, usize, CUstream);
        cuMemsetD8Async(CUdeviceptr, c_uchar, usize, CUstream);
        cuMemsetD16Async(CUdeviceptr, c_ushort, usize, CUstream);
        cuMemsetD32Async(CUdeviceptr, c_uint, usize, CUstream);
        cuMemsetD2D8Async(CUdeviceptr, usize, c_uchar, usize, usize, CUstream);
        cuMemsetD2D16Async(CUdeviceptr, usize, c_ushort, usize, usize, CUstream);
        cuMemsetD2D32Async(CUdeviceptr, usize, c_uint, usize, usize, CUstream);
        cuStreamCreate(*mut CUstream, c_uint);
        cuStreamDestroy_v2(CUstream);
        cuStreamSynchronize(CUstream);
        cuStreamWaitEvent(CUstream, CUevent, c_uint);
        cuEventCreate(*mut CUevent, c_uint);
        cuEventDestroy_v2(CUevent);
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
            CUfunction, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, c_uint, CUstream,
            *mut *mut c_void, *mut *mut c_void,
        );
        cuGraphCreate(*mut CUgraph, c_uint);
        cuGraphAddMemcpyNode(
            *mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const CUDA_MEMCPY3D, CUcontext,
        );
        cuGraphAddMemsetNode(
            *mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const CUDA_MEMSET_NODE_PARAMS,
            CUcontext,
        );
        cuGraphLaunch(CUgraphExec, CUstream);
        cuGraphDestroy(CUgraph);
        cuGraphExecDestroy(CUgraphExec);
    }
    optional {
        cuGraphInstantiateWithFlags(*mut CUgraphExec, CUgraph, c_ulonglong);
        cuGraphAddKernelNode_v2(
            *mut CUgraphNode, CUgraph, *const CUgraphNode, usize, *const CUDA_KERNEL_NODE_PARAMS,
        );
        cuFuncGetName(*mut *const c_char, CUfunction);
        cuFuncGetParamInfo(CUfunction, usize, *mut usize, *mut usize);
        cuModuleGetFunctionCount(*mut c_uint, CUmodule);
        cuModuleEnumerateFunctions(*mut CUfunction, c_uint, CUmodule);
    }
}
