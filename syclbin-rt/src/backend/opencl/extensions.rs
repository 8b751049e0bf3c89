//! Extension functions of a platform: memory that has an address, and device globals.

use std::ffi::{CStr, c_char, c_void};

use opencl_sys::{
    clDeviceMemAllocINTEL_t, clEnqueueMemFillINTEL_t, clEnqueueMemcpyINTEL_t,
    clMemBlockingFreeINTEL_t, clSetKernelArgMemPointerINTEL_t,
};
use opencl3::types::{
    cl_bool, cl_command_queue, cl_event, cl_int, cl_platform_id, cl_program, cl_uint,
};

use super::sys::{EntryPoint, Functions};

type DeviceMemAlloc = <clDeviceMemAllocINTEL_t as EntryPoint>::Function;
type MemBlockingFree = <clMemBlockingFreeINTEL_t as EntryPoint>::Function;
type SetKernelArgMemPointer = <clSetKernelArgMemPointerINTEL_t as EntryPoint>::Function;
type EnqueueMemFill = <clEnqueueMemFillINTEL_t as EntryPoint>::Function;
type EnqueueMemcpy = <clEnqueueMemcpyINTEL_t as EntryPoint>::Function;
/// Copies between a variable of a program and the host, where a `P` points to. In no published
/// extension, but what every SYCL runtime calls.
pub(super) type EnqueueGlobalVariable<P> = unsafe extern "C" fn(
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

/// What a device offers beyond OpenCL itself.
#[derive(Default)]
pub(super) struct Extensions {
    pub(super) usm: Option<Usm>,
    pub(super) globals: Option<Globals>,
}

/// Functions of `cl_intel_unified_shared_memory`.
pub(super) struct Usm {
    pub(super) device_mem_alloc: DeviceMemAlloc,
    pub(super) mem_blocking_free: MemBlockingFree,
    pub(super) set_kernel_arg_mem_pointer: SetKernelArgMemPointer,
    pub(super) enqueue_mem_fill: EnqueueMemFill,
    pub(super) enqueue_memcpy: EnqueueMemcpy,
}

/// Functions that reach variables of programs by name.
pub(super) struct Globals {
    pub(super) enqueue_write: EnqueueWriteGlobalVariable,
    pub(super) enqueue_read: EnqueueReadGlobalVariable,
}

impl Extensions {
    /// Looks them up for a device of `platform` that has unified shared memory or not.
    ///
    /// # Safety
    ///
    /// `platform` is one of the library of `functions`.
    pub(super) unsafe fn load(
        functions: &Functions,
        platform: cl_platform_id,
        has_usm: bool,
    ) -> Self {
        let Some(get) = functions.clGetExtensionFunctionAddressForPlatform else {
            return Self::default();
        };
        let address = |name: &CStr| {
            // SAFETY: the caller vouches for the platform; the name is NUL-terminated.
            let address = unsafe { get(platform, name.as_ptr()) };
            (!address.is_null()).then_some(address)
        };
        // A function may be there for devices of the platform other than this one.
        let usm = || {
            // SAFETY: the functions have the types of the extension, which the device has. That
            // the platform means its own functions by these names is taken on trust from it.
            Some(unsafe {
                Usm {
                    device_mem_alloc: std::mem::transmute::<*mut c_void, DeviceMemAlloc>(address(
                        c"clDeviceMemAllocINTEL",
                    )?),
                    mem_blocking_free: std::mem::transmute::<*mut c_void, MemBlockingFree>(
                        address(c"clMemBlockingFreeINTEL")?,
                    ),
                    set_kernel_arg_mem_pointer: std::mem::transmute::<
                        *mut c_void,
                        SetKernelArgMemPointer,
                    >(address(
                        c"clSetKernelArgMemPointerINTEL",
                    )?),
                    enqueue_mem_fill: std::mem::transmute::<*mut c_void, EnqueueMemFill>(address(
                        c"clEnqueueMemFillINTEL",
                    )?),
                    enqueue_memcpy: std::mem::transmute::<*mut c_void, EnqueueMemcpy>(address(
                        c"clEnqueueMemcpyINTEL",
                    )?),
                }
            })
        };
        let globals = || {
            // SAFETY: as above; the types are those the reference runtime calls them with.
            Some(unsafe {
                Globals {
                    enqueue_write: std::mem::transmute::<*mut c_void, EnqueueWriteGlobalVariable>(
                        address(c"clEnqueueWriteGlobalVariableINTEL")?,
                    ),
                    enqueue_read: std::mem::transmute::<*mut c_void, EnqueueReadGlobalVariable>(
                        address(c"clEnqueueReadGlobalVariableINTEL")?,
                    ),
                }
            })
        };
        Self {
            usm: has_usm.then(usm).flatten(),
            globals: globals(),
        }
    }
}
