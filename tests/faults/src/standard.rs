// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of OpenCL itself.
#![allow(
    clippy::too_many_arguments,
    non_upper_case_globals,
    non_snake_case,
    reason = "they are those of OpenCL"
)]

use std::ffi::{c_char, c_void};

use opencl_sys::cl_function_types::*;
use opencl_sys::*;

use crate::events::{self, Callback};
use crate::extensions;
use crate::functions::functions;
use crate::gpu;
use crate::live::{self, Kind};
use crate::pass::Role;

type ContextCallback =
    Option<unsafe extern "C" fn(*const c_char, *const c_void, usize, *mut c_void)>;
type ProgramCallback = Option<unsafe extern "C" fn(cl_program, *mut c_void)>;

functions! {
    clGetPlatformIDs: clGetPlatformIDs_t(num_entries: cl_uint, platforms: *mut cl_platform_id,
        num_platforms: *mut cl_uint) -> cl_int,
        Role::plain();
    clGetPlatformInfo: clGetPlatformInfo_t(platform: cl_platform_id, name: cl_platform_info,
        size: usize, value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain();
    clGetDeviceIDs: clGetDeviceIDs_t(platform: cl_platform_id, device_type: cl_device_type,
        num_entries: cl_uint, devices: *mut cl_device_id, num_devices: *mut cl_uint) -> cl_int,
        Role::plain();
    clGetDeviceInfo: clGetDeviceInfo_t(device: cl_device_id, name: cl_device_info, size: usize,
        value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain(),
        |real| match gpu::info(name, size, value, returned) {
            Some(code) => code,
            None => real(device, name, size, value, returned),
        };
    clCreateSubDevices: clCreateSubDevices_t(in_device: cl_device_id,
        properties: *const cl_device_partition_property, num_devices: cl_uint,
        out_devices: *mut cl_device_id, num_devices_ret: *mut cl_uint) -> cl_int,
        Role::plain().usually(CL_DEVICE_PARTITION_FAILED),
        |real| {
            let mut count = 0;
            let code = real(in_device, properties, num_devices, out_devices, &raw mut count);
            made(code, count.min(num_devices), count, out_devices, num_devices_ret)
        };
    clRetainDevice: clRetainDevice_t(device: cl_device_id) -> cl_int,
        Role::retains(Kind::Device, device);
    clReleaseDevice: clReleaseDevice_t(device: cl_device_id) -> cl_int,
        Role::releases(Kind::Device, device);

    clCreateContext: clCreateContext_t(properties: *const cl_context_properties,
        num_devices: cl_uint, devices: *const cl_device_id, callback: ContextCallback,
        data: *mut c_void, status: *mut cl_int) -> cl_context,
        Role::creates(Kind::Context, status).usually(CL_DEVICE_NOT_AVAILABLE);
    clRetainContext: clRetainContext_t(context: cl_context) -> cl_int,
        Role::retains(Kind::Context, context);
    clReleaseContext: clReleaseContext_t(context: cl_context) -> cl_int,
        Role::releases(Kind::Context, context);
    clGetContextInfo: clGetContextInfo_t(context: cl_context, name: cl_context_info, size: usize,
        value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain();

    clCreateCommandQueue: clCreateCommandQueue_t(context: cl_context, device: cl_device_id,
        properties: cl_command_queue_properties, status: *mut cl_int) -> cl_command_queue,
        Role::creates(Kind::Queue, status);
    clCreateCommandQueueWithProperties: clCreateCommandQueueWithProperties_t(context: cl_context,
        device: cl_device_id, properties: *const cl_queue_properties,
        status: *mut cl_int) -> cl_command_queue,
        Role::creates(Kind::Queue, status);
    clRetainCommandQueue: clRetainCommandQueue_t(queue: cl_command_queue) -> cl_int,
        Role::retains(Kind::Queue, queue);
    clReleaseCommandQueue: clReleaseCommandQueue_t(queue: cl_command_queue) -> cl_int,
        Role::releases(Kind::Queue, queue);
    clGetCommandQueueInfo: clGetCommandQueueInfo_t(queue: cl_command_queue,
        name: cl_command_queue_info, size: usize, value: *mut c_void,
        returned: *mut usize) -> cl_int,
        Role::plain();
    clFlush: clFlush_t(queue: cl_command_queue) -> cl_int,
        Role::plain();
    clFinish: clFinish_t(queue: cl_command_queue) -> cl_int,
        Role::plain();

    clCreateBuffer: clCreateBuffer_t(context: cl_context, flags: cl_mem_flags, size: usize,
        host_ptr: *mut c_void, status: *mut cl_int) -> cl_mem,
        Role::creates(Kind::Memory, status).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE),
        |real| {
            let flags = gpu::flags("clCreateBuffer", flags, size);
            real(context, flags, size, host_ptr, status)
        };
    clCreateBufferWithProperties: clCreateBufferWithProperties_t(context: cl_context,
        properties: *const cl_mem_properties, flags: cl_mem_flags, size: usize,
        host_ptr: *mut c_void, status: *mut cl_int) -> cl_mem,
        Role::creates(Kind::Memory, status).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clCreateSubBuffer: clCreateSubBuffer_t(buffer: cl_mem, flags: cl_mem_flags,
        buffer_create_type: cl_buffer_create_type, buffer_create_info: *const c_void,
        status: *mut cl_int) -> cl_mem,
        Role::creates(Kind::Memory, status);
    clRetainMemObject: clRetainMemObject_t(memobj: cl_mem) -> cl_int,
        Role::retains(Kind::Memory, memobj);
    clReleaseMemObject: clReleaseMemObject_t(memobj: cl_mem) -> cl_int,
        Role::releases(Kind::Memory, memobj);
    clGetMemObjectInfo: clGetMemObjectInfo_t(memobj: cl_mem, name: cl_mem_info, size: usize,
        value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain();

    clGetSupportedImageFormats: clGetSupportedImageFormats_t(context: cl_context, flags: cl_mem_flags,
        image_type: cl_mem_object_type, num_entries: cl_uint, formats: *mut cl_image_format,
        num_formats: *mut cl_uint) -> cl_int,
        Role::plain();
    clCreateImage: clCreateImage_t(context: cl_context, flags: cl_mem_flags,
        format: *const cl_image_format, desc: *const cl_image_desc, host_ptr: *mut c_void,
        status: *mut cl_int) -> cl_mem,
        Role::creates(Kind::Memory, status).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clEnqueueReadImage: clEnqueueReadImage_t(queue: cl_command_queue, image: cl_mem,
        blocking_read: cl_bool, origin: *const usize, region: *const usize, row_pitch: usize,
        slice_pitch: usize, ptr: *mut c_void, waits: cl_uint, list: *const cl_event,
        event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clEnqueueWriteImage: clEnqueueWriteImage_t(queue: cl_command_queue, image: cl_mem,
        blocking_write: cl_bool, origin: *const usize, region: *const usize, row_pitch: usize,
        slice_pitch: usize, ptr: *const c_void, waits: cl_uint, list: *const cl_event,
        event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE);

    clEnqueueReadBuffer: clEnqueueReadBuffer_t(queue: cl_command_queue, buffer: cl_mem,
        blocking_read: cl_bool, offset: usize, size: usize, ptr: *mut c_void, waits: cl_uint,
        list: *const cl_event, event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clEnqueueWriteBuffer: clEnqueueWriteBuffer_t(queue: cl_command_queue, buffer: cl_mem,
        blocking_write: cl_bool, offset: usize, size: usize, ptr: *const c_void, waits: cl_uint,
        list: *const cl_event, event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clEnqueueFillBuffer: clEnqueueFillBuffer_t(queue: cl_command_queue, buffer: cl_mem,
        pattern: *const c_void, pattern_size: usize, offset: usize, size: usize, waits: cl_uint,
        list: *const cl_event, event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clEnqueueCopyBuffer: clEnqueueCopyBuffer_t(queue: cl_command_queue, src_buffer: cl_mem,
        dst_buffer: cl_mem, src_offset: usize, dst_offset: usize, size: usize, waits: cl_uint,
        list: *const cl_event, event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clEnqueueMapBuffer: clEnqueueMapBuffer_t(queue: cl_command_queue, buffer: cl_mem,
        blocking_map: cl_bool, map_flags: cl_map_flags, offset: usize, size: usize, waits: cl_uint,
        list: *const cl_event, event: *mut cl_event, status: *mut cl_int) -> *mut c_void,
        Role::creates(Kind::Mapping, status).with_command(queue, (waits, list), event).usually(CL_MAP_FAILURE);
    clEnqueueUnmapMemObject: clEnqueueUnmapMemObject_t(queue: cl_command_queue, memobj: cl_mem,
        mapped_ptr: *mut c_void, waits: cl_uint, list: *const cl_event,
        event: *mut cl_event) -> cl_int,
        Role::releases(Kind::Mapping, mapped_ptr).with_command(queue, (waits, list), event);

    clCreateProgramWithSource: clCreateProgramWithSource_t(context: cl_context, count: cl_uint,
        strings: *mut *const c_char, lengths: *const usize, status: *mut cl_int) -> cl_program,
        Role::creates(Kind::Program, status);
    clCreateProgramWithBinary: clCreateProgramWithBinary_t(context: cl_context,
        num_devices: cl_uint, device_list: *const cl_device_id, lengths: *const usize,
        binaries: *mut *const ::core::ffi::c_uchar, binary_status: *mut cl_int,
        status: *mut cl_int) -> cl_program,
        Role::creates(Kind::Program, status).usually(CL_INVALID_BINARY);
    clCreateProgramWithIL: clCreateProgramWithIL_t(context: cl_context, il: *const c_void,
        length: usize, status: *mut cl_int) -> cl_program,
        Role::creates(Kind::Program, status);
    clSetProgramSpecializationConstant: clSetProgramSpecializationConstant_t(program: cl_program,
        spec_id: cl_uint, spec_size: usize, spec_value: *const c_void) -> cl_int,
        Role::plain();
    clBuildProgram: clBuildProgram_t(program: cl_program, num_devices: cl_uint,
        device_list: *const cl_device_id, options: *const c_char, callback: ProgramCallback,
        data: *mut c_void) -> cl_int,
        Role::plain().usually(CL_BUILD_PROGRAM_FAILURE),
        |real| {
            let options = gpu::options("clBuildProgram", options);
            real(program, num_devices, device_list, options.as_ptr(), callback, data)
        };
    clCompileProgram: clCompileProgram_t(program: cl_program, num_devices: cl_uint,
        device_list: *const cl_device_id, options: *const c_char, num_input_headers: cl_uint,
        input_headers: *const cl_program, header_include_names: *mut *const c_char,
        callback: ProgramCallback, data: *mut c_void) -> cl_int,
        Role::plain().usually(CL_COMPILE_PROGRAM_FAILURE),
        |real| {
            let options = gpu::options("clCompileProgram", options);
            real(program, num_devices, device_list, options.as_ptr(), num_input_headers, input_headers,
                header_include_names, callback, data)
        };
    clLinkProgram: clLinkProgram_t(context: cl_context, num_devices: cl_uint,
        device_list: *const cl_device_id, options: *const c_char, num_input_programs: cl_uint,
        input_programs: *const cl_program, callback: ProgramCallback, data: *mut c_void,
        status: *mut cl_int) -> cl_program,
        Role::creates(Kind::Program, status).usually(CL_LINK_PROGRAM_FAILURE);
    clRetainProgram: clRetainProgram_t(program: cl_program) -> cl_int,
        Role::retains(Kind::Program, program);
    clReleaseProgram: clReleaseProgram_t(program: cl_program) -> cl_int,
        Role::releases(Kind::Program, program);
    clGetProgramInfo: clGetProgramInfo_t(program: cl_program, name: cl_program_info, size: usize,
        value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain();
    clGetProgramBuildInfo: clGetProgramBuildInfo_t(program: cl_program, device: cl_device_id,
        name: cl_program_build_info, size: usize, value: *mut c_void,
        returned: *mut usize) -> cl_int,
        Role::plain();

    clCreateSampler: clCreateSampler_t(context: cl_context, normalized_coords: cl_bool,
        addressing_mode: cl_addressing_mode, filter_mode: cl_filter_mode,
        status: *mut cl_int) -> cl_sampler,
        Role::creates(Kind::Sampler, status);
    clCreateSamplerWithProperties: clCreateSamplerWithProperties_t(context: cl_context,
        sampler_properties: *const cl_sampler_properties, status: *mut cl_int) -> cl_sampler,
        Role::creates(Kind::Sampler, status);
    clRetainSampler: clRetainSampler_t(sampler: cl_sampler) -> cl_int,
        Role::retains(Kind::Sampler, sampler);
    clReleaseSampler: clReleaseSampler_t(sampler: cl_sampler) -> cl_int,
        Role::releases(Kind::Sampler, sampler);

    clCreateKernel: clCreateKernel_t(program: cl_program, kernel_name: *const c_char,
        status: *mut cl_int) -> cl_kernel,
        Role::creates(Kind::Kernel, status);
    clCloneKernel: clCloneKernel_t(source_kernel: cl_kernel, status: *mut cl_int) -> cl_kernel,
        Role::creates(Kind::Kernel, status);
    clRetainKernel: clRetainKernel_t(kernel: cl_kernel) -> cl_int,
        Role::retains(Kind::Kernel, kernel);
    clReleaseKernel: clReleaseKernel_t(kernel: cl_kernel) -> cl_int,
        Role::releases(Kind::Kernel, kernel);
    clSetKernelArg: clSetKernelArg_t(kernel: cl_kernel, arg_index: cl_uint, arg_size: usize,
        arg_value: *const c_void) -> cl_int,
        Role::plain();
    clSetKernelExecInfo: clSetKernelExecInfo_t(kernel: cl_kernel, name: cl_kernel_exec_info,
        size: usize, value: *const c_void) -> cl_int,
        Role::plain();
    clGetKernelInfo: clGetKernelInfo_t(kernel: cl_kernel, name: cl_kernel_info, size: usize,
        value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain();
    clGetKernelArgInfo: clGetKernelArgInfo_t(kernel: cl_kernel, arg_index: cl_uint,
        name: cl_kernel_arg_info, size: usize, value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain();
    clGetKernelWorkGroupInfo: clGetKernelWorkGroupInfo_t(kernel: cl_kernel, device: cl_device_id,
        name: cl_kernel_work_group_info, size: usize, value: *mut c_void,
        returned: *mut usize) -> cl_int,
        Role::plain();
    clGetKernelSubGroupInfo: clGetKernelSubGroupInfo_t(kernel: cl_kernel, device: cl_device_id,
        name: cl_kernel_sub_group_info, input_value_size: usize, input_value: *const c_void,
        size: usize, value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain();

    clEnqueueNDRangeKernel: clEnqueueNDRangeKernel_t(queue: cl_command_queue, kernel: cl_kernel,
        work_dim: cl_uint, global_work_offset: *const usize, global_work_size: *const usize,
        local_work_size: *const usize, waits: cl_uint, list: *const cl_event,
        event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event).usually(CL_MEM_OBJECT_ALLOCATION_FAILURE);
    clEnqueueMarkerWithWaitList: clEnqueueMarkerWithWaitList_t(queue: cl_command_queue,
        waits: cl_uint, list: *const cl_event, event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event);
    clEnqueueBarrierWithWaitList: clEnqueueBarrierWithWaitList_t(queue: cl_command_queue,
        waits: cl_uint, list: *const cl_event, event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event);

    clWaitForEvents: clWaitForEvents_t(num_events: cl_uint, event_list: *const cl_event) -> cl_int,
        Role::plain(),
        |real| events::waited(real(num_events, event_list), num_events, event_list);
    clGetEventInfo: clGetEventInfo_t(event: cl_event, name: cl_event_info, size: usize,
        value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain(),
        |real| events::told(real(event, name, size, value, returned), event, name, size, value);
    clGetEventProfilingInfo: clGetEventProfilingInfo_t(event: cl_event, name: cl_profiling_info,
        size: usize, value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain().usually(CL_PROFILING_INFO_NOT_AVAILABLE);
    clCreateUserEvent: clCreateUserEvent_t(context: cl_context, status: *mut cl_int) -> cl_event,
        Role::creates(Kind::Event, status);
    clSetUserEventStatus: clSetUserEventStatus_t(event: cl_event,
        execution_status: cl_int) -> cl_int,
        Role::plain();
    clRetainEvent: clRetainEvent_t(event: cl_event) -> cl_int,
        Role::retains(Kind::Event, event);
    clReleaseEvent: clReleaseEvent_t(event: cl_event) -> cl_int,
        Role::releases(Kind::Event, event);
    clSetEventCallback: clSetEventCallback_t(event: cl_event, command_exec_callback_type: cl_int,
        callback: Callback, data: *mut c_void) -> cl_int,
        Role::plain(),
        |real| {
            let (callback, data) = events::wrapped(event, callback, data);
            real(event, command_exec_callback_type, callback, data)
        };

    clGetExtensionFunctionAddressForPlatform: clGetExtensionFunctionAddressForPlatform_t(
        platform: cl_platform_id, func_name: *const c_char) -> *mut c_void,
        Role::plain(),
        |real| extensions::found(func_name, real(platform, func_name));
    clGetHostTimer: clGetHostTimer_t(device: cl_device_id, host_timestamp: *mut cl_ulong) -> cl_int,
        Role::plain();
    clGetDeviceAndHostTimer: clGetDeviceAndHostTimer_t(device: cl_device_id,
        device_timestamp: *mut cl_ulong, host_timestamp: *mut cl_ulong) -> cl_int,
        Role::plain();
}

/// Puts a marker into a queue, which no plan fails.
///
/// # Safety
///
/// The queue is alive, and an event may be written to `event`.
pub(crate) unsafe fn marker(queue: cl_command_queue, event: *mut cl_event) -> cl_int {
    type Marker =
        unsafe extern "C" fn(cl_command_queue, cl_uint, *const cl_event, *mut cl_event) -> cl_int;
    let real = slots::clEnqueueMarkerWithWaitList.real();
    if real.is_null() {
        return CL_INVALID_OPERATION;
    }
    // SAFETY: that is its type; the caller vouches for the arguments.
    unsafe { std::mem::transmute::<*mut c_void, Marker>(real)(queue, 0, std::ptr::null(), event) }
}

/// Accounts for devices that a call has made.
///
/// # Safety
///
/// `devices` is null or has `room` handles if `code` is a success; `told` is null or may be written.
unsafe fn made(
    code: cl_int,
    room: cl_uint,
    count: cl_uint,
    devices: *const cl_device_id,
    told: *mut cl_uint,
) -> cl_int {
    if code != CL_SUCCESS {
        return code;
    }
    if !devices.is_null() {
        // SAFETY: it is not null, and the caller vouches for its length.
        for device in unsafe { std::slice::from_raw_parts(devices, room as usize) } {
            live::add(Kind::Device, device.addr());
        }
    }
    if !told.is_null() {
        // SAFETY: it is not null, and the caller vouches for the rest.
        unsafe { *told = count };
    }
    code
}
