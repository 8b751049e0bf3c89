// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table of the driver's functions.

use std::ffi::{c_char, c_int, c_uchar, c_uint, c_ulonglong, c_ushort, c_void};

use libloading::Library;

use super::types::{
    CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D, CUDA_MEMSET_NODE_PARAMS, CUcontext, CUdevice,
    CUdevice_attribute, CUdeviceptr, CUevent, CUfunction, CUfunction_attribute, CUgraph,
    CUgraphExec, CUgraphNode, CUjit_option, CUjitInputType, CUlinkState, CUmodule, CUstream,
};
use crate::backend::process::gate::Gated;

/// Expands `$with` over the functions and the types of their arguments. Each returns an error code.
///
/// Required functions exist since CUDA 11 or earlier. This crate works without the optional functions.
macro_rules! for_each_function {
    ($with:ident) => {
        $with! {
            required {
                cuInit(c_uint);
                cuDriverGetVersion(*mut c_int);
                cuDeviceGetCount(*mut c_int);
                cuDeviceGet(*mut CUdevice, c_int);
                cuDeviceGetName(*mut c_char, c_int, CUdevice);
                cuDeviceTotalMem_v2(*mut usize, CUdevice);
                cuDeviceCanAccessPeer(*mut c_int, CUdevice, CUdevice);
                cuDeviceGetAttribute(*mut c_int, CUdevice_attribute, CUdevice);
                cuDevicePrimaryCtxRetain(*mut CUcontext, CUdevice);
                cuDevicePrimaryCtxRelease_v2(CUdevice);
                cuCtxGetCurrent(*mut CUcontext);
                cuCtxSetCurrent(CUcontext);
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
    };
}

#[cfg(test)]
pub(super) use for_each_function;

macro_rules! declare {
    (
        required { $($name:ident($($arg:ty),* $(,)?);)* }
        optional { $($since:ident($($since_arg:ty),* $(,)?);)* }
    ) => {
        /// Function pointers of the driver.
        pub(in crate::backend::cuda) struct Functions {
            $(pub(in crate::backend::cuda) $name: Gated<unsafe extern "C" fn($($arg),*) -> c_int>,)*
            $(pub(in crate::backend::cuda) $since:
                Option<Gated<unsafe extern "C" fn($($since_arg),*) -> c_int>>,)*
        }

        /// The names of all functions.
        #[cfg(test)]
        pub(in crate::backend::cuda) const NAMES: &[&str] =
            &[$(stringify!($name),)* $(stringify!($since),)*];

        impl Functions {
            /// Looks every function up in `library`.
            ///
            /// The pointers are copied out of their borrow, hence `'static`: a library whose
            /// functions are in a table must never be unloaded.
            ///
            /// # Errors
            ///
            /// Returns the names of required functions that are missing.
            ///
            /// # Safety
            ///
            /// What `library` exports under these names must be the functions of the CUDA driver.
            pub(in crate::backend::cuda) unsafe fn load(
                library: &'static Library,
            ) -> Result<Self, Vec<&'static str>> {
                let mut missing = Vec::new();
                $(
                    let name = concat!(stringify!($name), "\0").as_bytes();
                    // SAFETY: the caller vouches for the function. Its type is the header's, which
                    // the tests check; an enumeration of four bytes is returned as an `int` is.
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

for_each_function!(declare);
