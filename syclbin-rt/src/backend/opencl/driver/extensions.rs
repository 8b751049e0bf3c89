// SPDX-License-Identifier: MIT OR Apache-2.0
//! Extension functions of a platform: memory that has an address, and device globals.

use std::ffi::{CStr, c_char, c_void};
use std::ptr::NonNull;

use opencl_sys as cl;

use opencl_sys::{cl_command_buffer_khr, cl_mutable_command_khr, cl_sync_point_khr};
use opencl_sys::{
    clCommandCopyBufferKHR_t, clCommandFillBufferKHR_t, clCommandNDRangeKernelKHR_t,
    clCreateCommandBufferKHR_t, clDeviceMemAllocINTEL_t, clEnqueueCommandBufferKHR_t,
    clEnqueueMemFillINTEL_t, clEnqueueMemcpyINTEL_t, clFinalizeCommandBufferKHR_t,
    clHostMemAllocINTEL_t, clMemFreeINTEL_t, clReleaseCommandBufferKHR_t,
    clSetKernelArgMemPointerINTEL_t, clSharedMemAllocINTEL_t,
};
use opencl3::types::{
    cl_bitfield, cl_bool, cl_command_queue, cl_device_id, cl_event, cl_int, cl_mem, cl_platform_id,
    cl_program, cl_uint,
};

use crate::backend::opencl::driver::info;
use crate::backend::opencl::driver::sys::{EntryPoint, Functions};
use crate::backend::process::gate::Gated;

type CreateCommandBuffer = <clCreateCommandBufferKHR_t as EntryPoint>::Function;
type CommandKernel = <clCommandNDRangeKernelKHR_t as EntryPoint>::Function;
pub(in crate::backend::opencl) type CommandCopy =
    <clCommandCopyBufferKHR_t as EntryPoint>::Function;
pub(in crate::backend::opencl) type CommandFill =
    <clCommandFillBufferKHR_t as EntryPoint>::Function;
/// The types of version 0.9.4, in which these functions take no properties.
pub(in crate::backend::opencl) type OldCommandCopy = unsafe extern "C" fn(
    cl_command_buffer_khr,
    cl_command_queue,
    cl_mem,
    cl_mem,
    usize,
    usize,
    usize,
    cl_uint,
    *const cl_sync_point_khr,
    *mut cl_sync_point_khr,
    *mut cl_mutable_command_khr,
) -> cl_int;
pub(in crate::backend::opencl) type OldCommandFill = unsafe extern "C" fn(
    cl_command_buffer_khr,
    cl_command_queue,
    cl_mem,
    *const c_void,
    usize,
    usize,
    usize,
    cl_uint,
    *const cl_sync_point_khr,
    *mut cl_sync_point_khr,
    *mut cl_mutable_command_khr,
) -> cl_int;
type FinalizeCommandBuffer = <clFinalizeCommandBufferKHR_t as EntryPoint>::Function;
type EnqueueCommandBuffer = <clEnqueueCommandBufferKHR_t as EntryPoint>::Function;
type ReleaseCommandBuffer = <clReleaseCommandBufferKHR_t as EntryPoint>::Function;
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
    pub(in crate::backend::opencl) command_buffers: Option<CommandBuffers>,
}

/// A function whose type changed with version 0.9.5 of its extension.
pub(in crate::backend::opencl) enum Versioned<O, N> {
    Old(Gated<O>),
    New(Gated<N>),
}

/// Functions of `cl_khr_command_buffer`, and what the device does with it.
pub(in crate::backend::opencl) struct CommandBuffers {
    pub(in crate::backend::opencl) create: Gated<CreateCommandBuffer>,
    pub(in crate::backend::opencl) kernel: Gated<CommandKernel>,
    pub(in crate::backend::opencl) copy: Versioned<OldCommandCopy, CommandCopy>,
    pub(in crate::backend::opencl) fill: Versioned<OldCommandFill, CommandFill>,
    pub(in crate::backend::opencl) finalize: Gated<FinalizeCommandBuffer>,
    pub(in crate::backend::opencl) enqueue: Gated<EnqueueCommandBuffer>,
    pub(in crate::backend::opencl) release: Gated<ReleaseCommandBuffer>,
    /// Whether a command buffer can be enqueued again before it has finished.
    pub(in crate::backend::opencl) simultaneous: bool,
    /// Whether out-of-order queues support command buffers.
    pub(in crate::backend::opencl) out_of_order: bool,
}

/// The device's answers about its command buffers.
#[derive(Clone, Copy)]
pub(in crate::backend::opencl) struct CommandBufferAbilities {
    pub(in crate::backend::opencl) simultaneous: bool,
    pub(in crate::backend::opencl) out_of_order: bool,
    /// Whether all functions that record a command take properties: since version 0.9.5.
    takes_properties: bool,
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

impl<O: Copy, N: Copy> Versioned<O, N> {
    /// # Safety
    ///
    /// The function at `address` has the type of the version that the device has.
    unsafe fn at(address: NonNull<c_void>, abilities: CommandBufferAbilities) -> Self {
        // SAFETY: as the caller says.
        unsafe {
            if abilities.takes_properties {
                Self::New(Gated::at(address))
            } else {
                Self::Old(Gated::at(address))
            }
        }
    }
}

impl CommandBufferAbilities {
    /// What device `id` says; none where its extension is older than the functions here, and where it
    /// asks for queues that are not usual.
    ///
    /// # Safety
    ///
    /// `id` is a device of the library of `functions`.
    pub(in crate::backend::opencl) unsafe fn of(
        functions: &Functions,
        id: cl_device_id,
    ) -> Option<Self> {
        /// Version 0.9.4.
        const OLDEST: u32 = (9 << 12) | 4;
        const NAME: &[u8] = b"cl_khr_command_buffer\0";
        const SIMULTANEOUS_USE: cl_bitfield = 1 << 2;
        const OUT_OF_ORDER: cl_bitfield = 1 << 3;
        let call = "clGetDeviceInfo";
        let device = |name| {
            move |size, value, returned| {
                // SAFETY: the caller vouches for `id`; `value` is null or holds `size` bytes.
                unsafe { (functions.clGetDeviceInfo.pass())(id, name, size, value, returned) }
            }
        };
        // Entries of a number of 32 bits and a name of 64 bytes (OpenCL 3.0, cl_name_version).
        let listed: Vec<u32> =
            info::values(call, &device(cl::CL_DEVICE_EXTENSIONS_WITH_VERSION)).ok()?;
        let version = listed.chunks_exact(17).find_map(|entry| {
            let (version, name) = entry.split_first()?;
            let name: &[u8] = bytemuck::cast_slice(name);
            name.starts_with(NAME).then_some(*version)
        })?;
        let bits = |name| info::value::<cl_bitfield>(call, &device(name)).unwrap_or(0);
        let required = bits(cl::CL_DEVICE_COMMAND_BUFFER_REQUIRED_QUEUE_PROPERTIES_KHR);
        if version < OLDEST || required != 0 {
            return None;
        }
        let abilities = bits(cl::CL_DEVICE_COMMAND_BUFFER_CAPABILITIES_KHR);
        let supported = bits(cl::CL_DEVICE_COMMAND_BUFFER_SUPPORTED_QUEUE_PROPERTIES_KHR);
        Some(Self {
            takes_properties: version > OLDEST,
            simultaneous: abilities & SIMULTANEOUS_USE != 0,
            // An ability at first, a property since 0.9.6.
            out_of_order: abilities & OUT_OF_ORDER != 0
                || supported & cl::CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0,
        })
    }
}

impl Extensions {
    /// Looks them up for a device of `platform` that has unified shared memory or not, and command
    /// buffers or none.
    ///
    /// # Safety
    ///
    /// `platform` is one of the library of `functions`.
    pub(in crate::backend::opencl) unsafe fn load(
        functions: &Functions,
        platform: cl_platform_id,
        has_usm: bool,
        command_buffers: Option<CommandBufferAbilities>,
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
        let recorded = |abilities: CommandBufferAbilities| {
            // SAFETY: as for unified shared memory; the version of the extension is one whose
            // functions have these types.
            Some(unsafe {
                CommandBuffers {
                    create: Gated::at(address(c"clCreateCommandBufferKHR")?),
                    kernel: Gated::at(address(c"clCommandNDRangeKernelKHR")?),
                    copy: Versioned::at(address(c"clCommandCopyBufferKHR")?, abilities),
                    fill: Versioned::at(address(c"clCommandFillBufferKHR")?, abilities),
                    finalize: Gated::at(address(c"clFinalizeCommandBufferKHR")?),
                    enqueue: Gated::at(address(c"clEnqueueCommandBufferKHR")?),
                    release: Gated::at(address(c"clReleaseCommandBufferKHR")?),
                    simultaneous: abilities.simultaneous,
                    out_of_order: abilities.out_of_order,
                }
            })
        };
        Self {
            usm: has_usm.then(usm).flatten(),
            globals: globals(),
            command_buffers: command_buffers.and_then(recorded),
        }
    }
}
