// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of one OpenCL library, under the names of the specification.
//!
//! Macros call them through the gate and turn what they return into results.
#![allow(
    non_snake_case,
    non_camel_case_types,
    reason = "fields are called like the functions they point to"
)]

use std::ffi::{c_char, c_void};
use std::ptr::NonNull;

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

/// Calls a function that returns a handle, and writes a status to its last argument.
macro_rules! create {
    ($functions:expr => $name:ident($($argument:expr),* $(,)?)) => {{
        let mut status = 0;
        let handle = ($functions.$name.pass())($($argument,)* &raw mut status);
        $crate::backend::opencl::check_handle(stringify!($name), handle, status)
    }};
}

/// Calls a function, of `$table` if it is of an extension, that enqueues a command after the events of `$after`, and
/// returns its event.
macro_rules! enqueue {
    ($queue:expr, $after:expr => $name:ident $arguments:tt) => {
        enqueue!($queue, $after, $queue.functions() => $name $arguments)
    };
    ($queue:expr, $after:expr, $table:expr => $name:ident($($argument:expr),* $(,)?)) => {{
        let after = $crate::backend::opencl::event::Handles::new($after)?;
        let mut event = std::ptr::null_mut();
        let (count, list) = (after.count(), after.pointer());
        let status =
            ($table.$name.pass())($queue.handle, $($argument,)* count, list, &raw mut event);
        $crate::backend::opencl::event::Event::enqueued(
            $queue.functions(),
            stringify!($name),
            event,
            status,
        )
    }};
}

/// Returns the query of a `clGet*Info` function.
macro_rules! query {
    ($functions:expr => $name:ident($($argument:expr),* $(,)?)) => {
        $crate::backend::opencl::functions::Query {
            call: stringify!($name),
            get: move |size, value, returned| {
                ($functions.$name.pass())($($argument,)* size, value, returned)
            },
        }
    };
}

/// A `clGet*Info` function with all but the three arguments that all of them end with: size, pointer, size returned.
///
/// The pointer is null or holds as many bytes. The caller who makes a query vouches for the other arguments.
pub(crate) struct Query<F> {
    pub(crate) call: &'static str,
    pub(crate) get: F,
}

impl<F: Fn(usize, *mut c_void, *mut usize) -> cl_int> Query<F> {
    /// Returns the bytes: asks for the size, then for the bytes.
    fn bytes(&self) -> Result<Vec<u8>> {
        let mut size = 0;
        check(
            self.call,
            (self.get)(0, std::ptr::null_mut(), &raw mut size),
        )?;
        let mut value = vec![0; size];
        let pointer = value.as_mut_ptr().cast();
        check(self.call, (self.get)(size, pointer, std::ptr::null_mut()))?;
        Ok(value)
    }

    /// Returns the text, without the NUL that ends it.
    pub(crate) fn text(&self) -> Result<String> {
        let bytes = self.bytes()?;
        let text = String::from_utf8_lossy(&bytes);
        Ok(text.trim_end_matches('\0').trim().to_owned())
    }

    /// Returns the value.
    pub(crate) fn value<T: AnyBitPattern>(&self) -> Result<T> {
        bytemuck::try_pod_read_unaligned(&self.bytes()?).map_err(|_| invalid(self.call))
    }

    /// Returns the values.
    pub(crate) fn values<T: Pod>(&self) -> Result<Vec<T>> {
        Ok(bytemuck::pod_collect_to_vec(&self.bytes()?))
    }
}

/// Returns a list that is queried by count: `clGetPlatformIDs`, `clGetDeviceIDs`.
pub(crate) fn list<T>(
    call: &'static str,
    query: impl Fn(cl_uint, *mut *mut T, *mut cl_uint) -> cl_int,
) -> Result<Vec<*mut T>> {
    let mut count = 0;
    check(call, query(0, std::ptr::null_mut(), &raw mut count))?;
    if count == 0 {
        return Ok(Vec::new());
    }
    let mut list = vec![std::ptr::null_mut(); count as usize];
    let mut found = 0;
    check(call, query(count, list.as_mut_ptr(), &raw mut found))?;
    list.truncate(found as usize);
    Ok(list)
}

/// `opencl-sys` declares every function pointer as an `Option`; this is the pointer inside.
pub(crate) trait EntryPoint {
    type Function;
}

impl<F> EntryPoint for Option<F> {
    type Function = F;
}

macro_rules! functions {
    (
        $(#[$meta:meta])* $table:ident
        required { $($name:ident: $type:ident,)* }
        optional { $($since:ident: $since_type:ident,)* }
    ) => {
        $(#[$meta])*
        pub(crate) struct $table {
            $(pub(crate) $name: Gated<<$type as EntryPoint>::Function>,)*
            $(pub(crate) $since: Option<Gated<<$since_type as EntryPoint>::Function>>,)*
        }

        impl $table {
            /// Looks every function up by `find`, which gets the name with a NUL at its end.
            ///
            /// # Safety
            ///
            /// The addresses are those of the functions with these names, whose types are those of the OpenCL headers,
            /// as `opencl-sys` transcribes them. They stay valid.
            pub(crate) unsafe fn load<E>(
                find: impl Fn(&'static str) -> Result<NonNull<c_void>, E>,
            ) -> Result<Self, E> {
                // SAFETY: as the caller says.
                unsafe {
                    Ok(Self {
                        $($name: Gated::at(find(concat!(stringify!($name), "\0"))?),)*
                        $($since: find(concat!(stringify!($since), "\0"))
                            .ok()
                            .map(|address| Gated::at(address)),)*
                    })
                }
            }
        }
    };
}

functions! {
    /// The function pointers of a library.
    ///
    /// The required functions are of OpenCL 1.2 and before, which every loader exports. The optional functions
    /// came later; a caller first checks that the device has that version. The last function is of 1.2 too, but
    /// its feature may be absent anyway.
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
        clCreateProgramWithIL: clCreateProgramWithIL_fn,
        clSetKernelExecInfo: clSetKernelExecInfo_fn,
        clGetKernelSubGroupInfo: clGetKernelSubGroupInfo_fn,
        clGetExtensionFunctionAddressForPlatform: clGetExtensionFunctionAddressForPlatform_fn,
    }
}

/// The extension for unified shared memory.
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
    optional {}
}

functions! {
    /// Functions that reach variables of programs by name. They are in no published extension, but every SYCL runtime
    /// calls them.
    Globals
    required {
        clEnqueueWriteGlobalVariableINTEL: clEnqueueWriteGlobalVariableINTEL_t,
        clEnqueueReadGlobalVariableINTEL: clEnqueueReadGlobalVariableINTEL_t,
        clGetDeviceGlobalVariablePointerINTEL: clGetDeviceGlobalVariablePointerINTEL_t,
    }
    optional {}
}

functions! {
    /// The function of `cl_khr_suggested_local_work_size`.
    Suggestions
    required {
        clGetKernelSuggestedLocalWorkSizeKHR: clGetKernelSuggestedLocalWorkSizeKHR_t,
    }
    optional {}
}

/// Copies between a variable of a program and the host, where a `P` points to.
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
/// Writes the size and the address of a variable.
type clGetDeviceGlobalVariablePointerINTEL_t = Option<
    unsafe extern "C" fn(
        cl_device_id,
        cl_program,
        *const c_char,
        *mut usize,
        *mut *mut c_void,
    ) -> cl_int,
>;

/// The extension functions of a device.
#[derive(Default)]
pub(crate) struct Extensions {
    pub(crate) usm: Option<Usm>,
    pub(crate) globals: Option<Globals>,
    pub(crate) suggestions: Option<Suggestions>,
}

impl Extensions {
    /// Looks them up for a device of `platform`, which `has` the extensions of these names. A function may be there
    /// for devices of the platform other than this one.
    ///
    /// # Safety
    ///
    /// `platform` is one of the library of `functions`.
    pub(crate) unsafe fn load(
        functions: &Functions,
        platform: cl_platform_id,
        has: impl Fn(&str) -> bool,
    ) -> Self {
        let Some(get) = functions.clGetExtensionFunctionAddressForPlatform else {
            return Self::default();
        };
        let find = |name: &'static str| {
            // SAFETY: the caller vouches for the platform; the name is NUL-terminated.
            NonNull::new(unsafe { (get.pass())(platform, name.as_ptr().cast()) }).ok_or(())
        };
        let has = |extension| has(extension).then_some(());
        // SAFETY: the functions have the types of the extension, which the device has; those for variables, the types
        // that the reference runtime calls them with. That the platform means its own functions by these names is
        // taken on trust from it.
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
