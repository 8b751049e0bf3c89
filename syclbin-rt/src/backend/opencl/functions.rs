// SPDX-License-Identifier: MIT OR Apache-2.0
//! A table of one OpenCL library's functions, named as in the specification.
//!
//! Macros call them through the gate and convert the return values to results.
#![allow(
    non_snake_case,
    non_camel_case_types,
    reason = "fields have the names of the functions they point to"
)]

use std::ffi::{c_char, c_void};
use std::ptr::{NonNull, null_mut};

use bytemuck::{AnyBitPattern, Pod};
use opencl_sys::cl_function_types::*;
use opencl_sys::{
    clDeviceMemAllocINTEL_t, clEnqueueMemFillINTEL_t, clEnqueueMemcpyINTEL_t,
    clGetKernelSuggestedLocalWorkSizeKHR_t, clHostMemAllocINTEL_t, clMemFreeINTEL_t,
    clSetKernelArgMemPointerINTEL_t, clSharedMemAllocINTEL_t,
};
use opencl3::types::{
    cl_bool, cl_command_queue, cl_device_id, cl_event, cl_int, cl_platform_id, cl_program, cl_uint,
};

use super::*;

/// Calls a function that returns a status.
macro_rules! call {
    ($functions:expr => $name:ident($($argument:expr),* $(,)?)) => {
        $crate::backend::opencl::check(stringify!($name), ($functions.$name.pass())($($argument),*))
    };
}

/// Calls a function that returns a handle and writes a status to its last argument. For an optional function, pass the
/// function itself after `with`.
macro_rules! create {
    ($functions:expr => $name:ident $arguments:tt) => {
        create!(with $functions.$name => $name $arguments)
    };
    (with $function:expr => $name:ident($($argument:expr),* $(,)?)) => {{
        let mut status = 0;
        let handle = ($function.pass())($($argument,)* &raw mut status);
        $crate::backend::opencl::check_handle(stringify!($name), handle, status)
    }};
}

/// Calls a function that enqueues a command after the events in `$after`, and returns the command's event. Extension
/// functions come from `$table`.
macro_rules! enqueue {
    ($queue:expr, $after:expr => $name:ident $arguments:tt) => {
        enqueue!($queue, $after, $queue.functions => $name $arguments)
    };
    ($queue:expr, $after:expr, $table:expr => $name:ident($($argument:expr),* $(,)?)) => {{
        let after = $crate::backend::opencl::event::Handles::new($after)?;
        let mut event = std::ptr::null_mut();
        let (count, list) = after.raw();
        let status =
            ($table.$name.pass())($queue.handle.0, $($argument,)* count, list, &raw mut event);
        $crate::backend::opencl::event::Event::enqueued(
            $queue.functions,
            stringify!($name),
            event,
            status,
        )
    }};
}

/// Enqueues a copy to or from `$host` with `$read` or `$write`, whose last argument is the host address.
macro_rules! enqueue_copy {
    ($queue:expr, $after:expr, $table:expr => $read:ident | $write:ident($($argument:expr),*), $host:expr) => {
        match $host {
            HostBytes::To(to) => enqueue!($queue, $after, $table => $read($($argument,)* to)),
            HostBytes::From(from) => enqueue!($queue, $after, $table => $write($($argument,)* from)),
        }
    };
}

/// Binds the arguments of a `clGet*Info` function, and returns a `Query`. For an optional function, pass the function
/// itself after `with`.
macro_rules! query {
    ($functions:expr => $name:ident $arguments:tt) => {
        query!(with $functions.$name => $name $arguments)
    };
    (with $function:expr => $name:ident($($argument:expr),* $(,)?)) => {
        $crate::backend::opencl::functions::Query {
            call: stringify!($name),
            get: move |size, value, returned| {
                ($function.pass())($($argument,)* size, value, returned)
            },
        }
    };
}

/// A `clGet*Info` function, bound to all arguments except the final three: size, pointer, returned size.
///
/// The pointer must be null, or valid for writing as many bytes as the size states. The creator of a query guarantees
/// that the other arguments are valid.
pub(crate) struct Query<F> {
    pub(crate) call: &'static str,
    pub(crate) get: F,
}

impl<F: Fn(usize, *mut c_void, *mut usize) -> cl_int> Query<F> {
    /// Queries the size, and then the bytes.
    fn bytes(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        check(self.call, (self.get)(0, null_mut(), &raw mut size))?;
        let mut value = vec![0; size];
        let pointer = value.as_mut_ptr().cast();
        check(self.call, (self.get)(size, pointer, null_mut()))?;
        Ok(value)
    }

    /// Returns the value as text, without trailing NULs or surrounding white space.
    pub(crate) fn text(&self) -> Result<String> {
        let bytes = self.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.trim_end_matches('\0').trim().to_owned())
    }

    pub(crate) fn value<T: AnyBitPattern>(&self) -> Result<T> {
        bytemuck::try_pod_read_unaligned(&self.bytes()?).map_err(|_| invalid(self.call))
    }

    pub(crate) fn values<T: Pod>(&self) -> Result<Vec<T>> {
        Ok(bytemuck::pod_collect_to_vec(&self.bytes()?))
    }
}

/// Queries a list with a function that also returns its length, such as `clGetPlatformIDs`. The second call overwrites
/// the placeholder `empty` in each entry.
pub(crate) fn list<T: Copy>(
    call: &'static str,
    empty: T,
    query: impl Fn(cl_uint, *mut T, *mut cl_uint) -> cl_int,
) -> Result<Vec<T>> {
    let mut count = 0;
    check(call, query(0, null_mut(), &raw mut count))?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut list = vec![empty; count as usize];
    let mut found = 0;
    check(call, query(count, list.as_mut_ptr(), &raw mut found))?;
    list.truncate(found as usize);
    Ok(list)
}

functions! {
    /// Pointers to a library's functions.
    ///
    /// The required functions are part of OpenCL 1.2 or earlier, and every loader exports them. Most optional functions
    /// are newer, so check the device's version before a call. `clGetExtensionFunctionAddressForPlatform` is part of
    /// OpenCL 1.2, but only extensions need it.
    Functions
    required {
        clGetPlatformIDs: clGetPlatformIDs_fn,
        clGetPlatformInfo: clGetPlatformInfo_fn,
        clGetDeviceIDs: clGetDeviceIDs_fn,
        clGetDeviceInfo: clGetDeviceInfo_fn,
        clCreateSubDevices: clCreateSubDevices_fn,
        clReleaseDevice: clReleaseDevice_fn,
        clCreateContext: clCreateContext_fn,
        clRetainContext: clRetainContext_fn,
        clReleaseContext: clReleaseContext_fn,
        clCreateCommandQueue: clCreateCommandQueue_fn,
        clRetainCommandQueue: clRetainCommandQueue_fn,
        clReleaseCommandQueue: clReleaseCommandQueue_fn,
        clGetCommandQueueInfo: clGetCommandQueueInfo_fn,
        clEnqueueBarrierWithWaitList: clEnqueueBarrierWithWaitList_fn,
        clFlush: clFlush_fn,
        clFinish: clFinish_fn,
        clCreateBuffer: clCreateBuffer_fn,
        clCreateSubBuffer: clCreateSubBuffer_fn,
        clGetSupportedImageFormats: clGetSupportedImageFormats_fn,
        clCreateImage: clCreateImage_fn,
        clRetainMemObject: clRetainMemObject_fn,
        clReleaseMemObject: clReleaseMemObject_fn,
        clGetMemObjectInfo: clGetMemObjectInfo_fn,
        clEnqueueReadBuffer: clEnqueueReadBuffer_fn,
        clEnqueueWriteBuffer: clEnqueueWriteBuffer_fn,
        clEnqueueCopyBuffer: clEnqueueCopyBuffer_fn,
        clEnqueueFillBuffer: clEnqueueFillBuffer_fn,
        clEnqueueReadImage: clEnqueueReadImage_fn,
        clEnqueueWriteImage: clEnqueueWriteImage_fn,
        clEnqueueMapBuffer: clEnqueueMapBuffer_fn,
        clEnqueueUnmapMemObject: clEnqueueUnmapMemObject_fn,
        clCreateProgramWithBinary: clCreateProgramWithBinary_fn,
        clBuildProgram: clBuildProgram_fn,
        clCompileProgram: clCompileProgram_fn,
        clLinkProgram: clLinkProgram_fn,
        clReleaseProgram: clReleaseProgram_fn,
        clGetProgramInfo: clGetProgramInfo_fn,
        clGetProgramBuildInfo: clGetProgramBuildInfo_fn,
        clCreateSampler: clCreateSampler_fn,
        clReleaseSampler: clReleaseSampler_fn,
        clCreateKernel: clCreateKernel_fn,
        clReleaseKernel: clReleaseKernel_fn,
        clSetKernelArg: clSetKernelArg_fn,
        clGetKernelInfo: clGetKernelInfo_fn,
        clGetKernelWorkGroupInfo: clGetKernelWorkGroupInfo_fn,
        clEnqueueNDRangeKernel: clEnqueueNDRangeKernel_fn,
        clWaitForEvents: clWaitForEvents_fn,
        clSetEventCallback: clSetEventCallback_fn,
        clGetEventInfo: clGetEventInfo_fn,
        clGetEventProfilingInfo: clGetEventProfilingInfo_fn,
        clRetainEvent: clRetainEvent_fn,
        clReleaseEvent: clReleaseEvent_fn,
    }
    optional {
        clCreateCommandQueueWithProperties: clCreateCommandQueueWithProperties_fn,
        clCreateProgramWithIL: clCreateProgramWithIL_fn,
        clSetKernelExecInfo: clSetKernelExecInfo_fn,
        clGetKernelSubGroupInfo: clGetKernelSubGroupInfo_fn,
        clGetExtensionFunctionAddressForPlatform: clGetExtensionFunctionAddressForPlatform_fn,
    }
}

pub(crate) const USM: &str = "cl_intel_unified_shared_memory";

functions! {
    /// Functions of `cl_intel_unified_shared_memory`.
    Usm
    required {
        clDeviceMemAllocINTEL: clDeviceMemAllocINTEL_t,
        clHostMemAllocINTEL: clHostMemAllocINTEL_t,
        clSharedMemAllocINTEL: clSharedMemAllocINTEL_t,
        clMemFreeINTEL: clMemFreeINTEL_t,
        clSetKernelArgMemPointerINTEL: clSetKernelArgMemPointerINTEL_t,
        clEnqueueMemFillINTEL: clEnqueueMemFillINTEL_t,
        clEnqueueMemcpyINTEL: clEnqueueMemcpyINTEL_t,
    }
}

functions! {
    /// Functions that access program variables by name. No published extension defines them, but the reference SYCL
    /// runtime calls them.
    Globals
    required {
        clEnqueueWriteGlobalVariableINTEL: clEnqueueWriteGlobalVariableINTEL_t,
        clEnqueueReadGlobalVariableINTEL: clEnqueueReadGlobalVariableINTEL_t,
        clGetDeviceGlobalVariablePointerINTEL: clGetDeviceGlobalVariablePointerINTEL_t,
    }
}

functions! {
    /// The function of `cl_khr_suggested_local_work_size`.
    Suggestions
    required {
        clGetKernelSuggestedLocalWorkSizeKHR: clGetKernelSuggestedLocalWorkSizeKHR_t,
    }
}

/// A function that copies between a program variable and host memory. `P` is the type of the host pointer.
type EnqueueGlobalVariable<P> = unsafe extern "C" fn(
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
type clEnqueueWriteGlobalVariableINTEL_t = Option<EnqueueGlobalVariable<*const c_void>>;
type clEnqueueReadGlobalVariableINTEL_t = Option<EnqueueGlobalVariable<*mut c_void>>;
/// A function that returns the size and address of a variable.
type clGetDeviceGlobalVariablePointerINTEL_t = Option<
    unsafe extern "C" fn(
        cl_device_id,
        cl_program,
        *const c_char,
        *mut usize,
        *mut *mut c_void,
    ) -> cl_int,
>;

#[derive(Default)]
pub(crate) struct Extensions {
    pub(crate) usm: Option<Usm>,
    pub(crate) globals: Option<Globals>,
    pub(crate) suggestions: Option<Suggestions>,
}

impl Extensions {
    /// Looks up the extension functions for a device of `platform`. `has` returns whether the device supports an
    /// extension. This matters because the platform may provide a function only for its other devices.
    ///
    /// # Safety
    ///
    /// `platform` must belong to the library of `functions`.
    pub(crate) unsafe fn load(
        functions: &Functions,
        platform: cl_platform_id,
        has: impl Fn(&str) -> bool,
    ) -> Self {
        let Some(get) = functions.clGetExtensionFunctionAddressForPlatform else {
            return Self::default();
        };
        let find = |name: &'static str| {
            // SAFETY: the caller guarantees that the platform is valid; the name is NUL-terminated.
            NonNull::new(unsafe { (get.pass())(platform, name.as_ptr().cast()) }).ok_or(())
        };
        let has = |extension| has(extension).then_some(());
        // SAFETY: the functions have the types that a supported extension defines; the functions for variables have the
        // types with which the reference runtime calls them. The platform is trusted to return the functions with these
        // names.
        unsafe {
            Self {
                usm: has(USM).and_then(|()| Usm::load(find).ok()),
                globals: Globals::load(find).ok(),
                suggestions: has("cl_khr_suggested_local_work_size")
                    .and_then(|()| Suggestions::load(find).ok()),
            }
        }
    }
}
