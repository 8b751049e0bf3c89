// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of one OpenCL library, under the names of the specification.
#![allow(
    non_snake_case,
    reason = "fields are called like the functions they point to"
)]

use libloading::Library;
use opencl_sys::cl_function_types as ty;

use crate::backend::process::gate::Gated;

/// `opencl-sys` declares every function pointer as an `Option`; this is the pointer inside.
pub(in crate::backend::opencl) trait EntryPoint {
    type Function;
}

impl<F> EntryPoint for Option<F> {
    type Function = F;
}

macro_rules! functions {
    ($(#[$meta:meta])* required { $($name:ident: $ty:ident,)* } optional { $($since:ident: $since_ty:ident,)* }) => {
        $(#[$meta])*
        pub(in crate::backend::opencl) struct Functions {
            $(pub(in crate::backend::opencl) $name: Gated<<ty::$ty as EntryPoint>::Function>,)*
            $(pub(in crate::backend::opencl) $since: Option<Gated<<ty::$since_ty as EntryPoint>::Function>>,)*
        }

        impl Functions {
            /// Looks every function up in `library`.
            ///
            /// The pointers are copied out of their borrow, hence `'static`: a library whose
            /// functions are in a table must never be unloaded.
            ///
            /// # Safety
            ///
            /// What `library` exports under these names must be the OpenCL functions.
            pub(in crate::backend::opencl) unsafe fn load(library: &'static Library) -> Result<Self, libloading::Error> {
                // SAFETY: the caller vouches for the names; their types are those of the OpenCL
                // headers, as `opencl-sys` transcribes them.
                unsafe {
                    Ok(Self {
                        $($name: Gated::new(
                            *library.get(concat!(stringify!($name), "\0").as_bytes())?
                        ),)*
                        $($since: library
                            .get::<ty::$since_ty>(concat!(stringify!($since), "\0").as_bytes())
                            .ok()
                            .and_then(|symbol| *symbol)
                            .map(Gated::new),)*
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
