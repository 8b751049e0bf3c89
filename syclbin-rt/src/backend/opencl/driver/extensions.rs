// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extension functions of a platform: memory that has an address, and device globals.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use opencl_sys::{
    clDeviceMemAllocINTEL_t, clEnqueueMemFillINTEL_t, clEnqueueMemcpyINTEL_t,
    clHostMemAllocINTEL_t, clMemFreeINTEL_t, clSetKernelArgMemPointerINTEL_t,
    clSharedMemAllocINTEL_t,
};
use opencl3::types::{
    cl_bool, cl_command_queue, cl_device_id, cl_event, cl_int, cl_platform_id, cl_program, cl_uint,
};

use crate::backend::opencl::driver::sys::{EntryPoint, Functions};
use crate::backend::process::gate::Gated;

type DeviceMemAlloc = <clDeviceMemAllocINTEL_t as EntryPoint>::Function;
type HostMemAlloc = <clHostMemAllocINTEL_t as EntryPoint>::Function;
type SharedMemAlloc = <clSharedMemAllocINTEL_t as EntryPoint>::Function;
type MemFree = <clMemFreeINTEL_t as EntryPoint>::Function;
type SetKernelArgMemPointer = <clSetKernelArgMemPointerINTEL_t as EntryPoint>::Function;
type EnqueueMemFill = <clEnqueueMemFillINTEL_t as EntryPoint>::Function;
type EnqueueMemcpy = <clEnqueueMemcpyINTEL_t as EntryPoint>::Function;
/// Copies between a variable of a program and the host, where a `P` points to. In no published
/// extension, but what every SYCL runtime calls.
pub(in crate::backend::opencl) type EnqueueGlobalVariable<P> = unsafe extern "C" fn(
    cl_command_queue,
    cl_program,
    *const c_char,
    cl_bool,
    usize,
    usize,
    P,
    cl_uint,
    *const cl_event,
    *mut cl_event,
) -> cl_int;
type EnqueueWriteGlobalVariable = EnqueueGlobalVariable<*const c_void>;
type EnqueueReadGlobalVariable = EnqueueGlobalVariable<*mut c_void>;
/// Writes the size and the address of a variable. Not in a published extension either.
type GetDeviceGlobalVariablePointer = unsafe extern "C" fn(
    cl_device_id,
    cl_program,
    *const c_char,
    *mut usize,
    *mut *mut c_void,
) -> cl_int;

/// The extension functions of a device.
#[derive(Default)]
pub(in crate::backend::opencl) struct Extensions {
    pub(in crate::backend::opencl) usm: Option<Usm>,
    pub(in crate::backend::opencl) globals: Option<Globals>,
}

/// The extension for unified shared memory.
pub(in crate::backend::opencl) const USM: &str = "cl_intel_unified_shared_memory";

/// Functions of `cl_intel_unified_shared_memory`.
pub(in crate::backend::opencl) struct Usm {
    pub(in crate::backend::opencl) device_mem_alloc: Gated<DeviceMemAlloc>,
    pub(in crate::backend::opencl) host_mem_alloc: Gated<HostMemAlloc>,
    pub(in crate::backend::opencl) shared_mem_alloc: Gated<SharedMemAlloc>,
    pub(in crate::backend::opencl) mem_free: Gated<MemFree>,
    pub(in crate::backend::opencl) set_kernel_arg_mem_pointer: Gated<SetKernelArgMemPointer>,
    pub(in crate::backend::opencl) enqueue_mem_fill: Gated<EnqueueMemFill>,
    pub(in crate::backend::opencl) enqueue_memcpy: Gated<EnqueueMemcpy>,
}

/// Functions that reach variables of programs by name.
pub(in crate::backend::opencl) struct Globals {
    pub(in crate::backend::opencl) enqueue_write: Gated<EnqueueWriteGlobalVariable>,
    pub(in crate::backend::opencl) enqueue_read: Gated<EnqueueReadGlobalVariable>,
    pub(in crate::backend::opencl) get_pointer: Gated<GetDeviceGlobalVariablePointer>,
}

impl Extensions {
    /// Looks them up for a device of `platform`. `has_usm`: it supports unified shared memory.
    ///
    /// # Safety
    ///
    /// `platform` is one of the library of `functions`.
    pub(in crate::backend::opencl) unsafe fn load(
        functions: &Functions,
        platform: cl_platform_id,
        has_usm: bool,
    ) -> Self {
        let Some(get) = functions.clGetExtensionFunctionAddressForPlatform else {
            return Self::default();
        };
        let address = |name: &CStr| {
            // SAFETY: the caller vouches for the platform; the name is NUL-terminated.
            NonNull::new(unsafe { (get.pass())(platform, name.as_ptr()) })
        };
        // A function may be there for devices of the platform other than this one.
        let usm = || {
            // SAFETY: the functions have the types of the extension, which the device has. That
            // the platform means its own functions by these names is taken on trust from it.
            Some(unsafe {
                Usm {
                    device_mem_alloc: Gated::at(address(c"clDeviceMemAllocINTEL")?),
                    host_mem_alloc: Gated::at(address(c"clHostMemAllocINTEL")?),
                    shared_mem_alloc: Gated::at(address(c"clSharedMemAllocINTEL")?),
                    mem_free: Gated::at(address(c"clMemFreeINTEL")?),
                    set_kernel_arg_mem_pointer: Gated::at(address(
                        c"clSetKernelArgMemPointerINTEL",
                    )?),
                    enqueue_mem_fill: Gated::at(address(c"clEnqueueMemFillINTEL")?),
                    enqueue_memcpy: Gated::at(address(c"clEnqueueMemcpyINTEL")?),
                }
            })
        };
        let globals = || {
            // SAFETY: as above; the types are those the reference runtime calls them with.
            Some(unsafe {
                Globals {
                    enqueue_write: Gated::at(address(c"clEnqueueWriteGlobalVariableINTEL")?),
                    enqueue_read: Gated::at(address(c"clEnqueueReadGlobalVariableINTEL")?),
                    get_pointer: Gated::at(address(c"clGetDeviceGlobalVariablePointerINTEL")?),
                }
            })
        };
        Self {
            usm: has_usm.then(usm).flatten(),
            globals: globals(),
        }
    }
}
