// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of extensions, which programs ask a platform for.
#![allow(
    clippy::too_many_arguments,
    non_camel_case_types,
    non_upper_case_globals,
    non_snake_case,
    reason = "they are those of OpenCL's extensions"
)]

use std::ffi::{CStr, c_char, c_void};

use opencl_sys::*;

use crate::functions::functions;
use crate::gpu;
use crate::live::Kind;
use crate::pass::Role;

// In no header: what SYCL runtimes copy to and from variables of programs with.
type clEnqueueWriteGlobalVariableINTEL_t = Option<
    unsafe extern "C" fn(
        cl_command_queue,
        cl_program,
        *const c_char,
        cl_bool,
        usize,
        usize,
        *const c_void,
        cl_uint,
        *const cl_event,
        *mut cl_event,
    ) -> cl_int,
>;
type clEnqueueReadGlobalVariableINTEL_t = Option<
    unsafe extern "C" fn(
        cl_command_queue,
        cl_program,
        *const c_char,
        cl_bool,
        usize,
        usize,
        *mut c_void,
        cl_uint,
        *const cl_event,
        *mut cl_event,
    ) -> cl_int,
>;

// As above: what tells the size and the address of a variable.
type clGetDeviceGlobalVariablePointerINTEL_t = Option<
    unsafe extern "C" fn(
        cl_device_id,
        cl_program,
        *const c_char,
        *mut usize,
        *mut *mut c_void,
    ) -> cl_int,
>;

functions! {
    clGetDeviceGlobalVariablePointerINTEL: clGetDeviceGlobalVariablePointerINTEL_t(
        device: cl_device_id, program: cl_program, name: *const c_char, size: *mut usize,
        address: *mut *mut c_void) -> cl_int,
        Role::plain();
    clEnqueueWriteGlobalVariableINTEL: clEnqueueWriteGlobalVariableINTEL_t(
        queue: cl_command_queue, program: cl_program, name: *const c_char, blocking: cl_bool,
        size: usize, offset: usize, from: *const c_void, waits: cl_uint, list: *const cl_event,
        event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event);
    clEnqueueReadGlobalVariableINTEL: clEnqueueReadGlobalVariableINTEL_t(
        queue: cl_command_queue, program: cl_program, name: *const c_char, blocking: cl_bool,
        size: usize, offset: usize, to: *mut c_void, waits: cl_uint, list: *const cl_event,
        event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event);

    clHostMemAllocINTEL: clHostMemAllocINTEL_t(context: cl_context,
        properties: *const cl_mem_properties_intel, size: usize, alignment: cl_uint,
        status: *mut cl_int) -> *mut c_void,
        Role::creates(Kind::UsmAllocation, status),
        |real| {
            let properties = gpu::properties("clHostMemAllocINTEL", properties, size);
            real(context, properties, size, alignment, status)
        };
    clDeviceMemAllocINTEL: clDeviceMemAllocINTEL_t(context: cl_context, device: cl_device_id,
        properties: *const cl_mem_properties_intel, size: usize, alignment: cl_uint,
        status: *mut cl_int) -> *mut c_void,
        Role::creates(Kind::UsmAllocation, status),
        |real| {
            let properties = gpu::properties("clDeviceMemAllocINTEL", properties, size);
            real(context, device, properties, size, alignment, status)
        };
    clSharedMemAllocINTEL: clSharedMemAllocINTEL_t(context: cl_context, device: cl_device_id,
        properties: *const cl_mem_properties_intel, size: usize, alignment: cl_uint,
        status: *mut cl_int) -> *mut c_void,
        Role::creates(Kind::UsmAllocation, status),
        |real| {
            let properties = gpu::properties("clSharedMemAllocINTEL", properties, size);
            real(context, device, properties, size, alignment, status)
        };
    clMemFreeINTEL: clMemFreeINTEL_t(context: cl_context, ptr: *mut c_void) -> cl_int,
        Role::releases(Kind::UsmAllocation, ptr);
    clMemBlockingFreeINTEL: clMemBlockingFreeINTEL_t(context: cl_context,
        ptr: *mut c_void) -> cl_int,
        Role::releases(Kind::UsmAllocation, ptr);
    clGetMemAllocInfoINTEL: clGetMemAllocInfoINTEL_t(context: cl_context, ptr: *const c_void,
        name: cl_mem_info_intel, size: usize, value: *mut c_void, returned: *mut usize) -> cl_int,
        Role::plain();
    clSetKernelArgMemPointerINTEL: clSetKernelArgMemPointerINTEL_t(kernel: cl_kernel,
        arg_index: cl_uint, arg_value: *const c_void) -> cl_int,
        Role::plain();
    clEnqueueMemFillINTEL: clEnqueueMemFillINTEL_t(queue: cl_command_queue, dst_ptr: *mut c_void,
        pattern: *const c_void, pattern_size: usize, size: usize, waits: cl_uint,
        list: *const cl_event, event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event);
    clEnqueueMemcpyINTEL: clEnqueueMemcpyINTEL_t(queue: cl_command_queue, blocking: cl_bool,
        dst_ptr: *mut c_void, src_ptr: *const c_void, size: usize, waits: cl_uint,
        list: *const cl_event, event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event);
    clEnqueueMemAdviseINTEL: clEnqueueMemAdviseINTEL_t(queue: cl_command_queue, ptr: *const c_void,
        size: usize, advice: cl_mem_advice_intel, waits: cl_uint, list: *const cl_event,
        event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event);
    clEnqueueMigrateMemINTEL: clEnqueueMigrateMemINTEL_t(queue: cl_command_queue,
        ptr: *const c_void, size: usize, flags: cl_mem_migration_flags, waits: cl_uint,
        list: *const cl_event, event: *mut cl_event) -> cl_int,
        Role::enqueues(queue, (waits, list), event);

    clGetKernelSuggestedLocalWorkSizeKHR: clGetKernelSuggestedLocalWorkSizeKHR_t(
        queue: cl_command_queue, kernel: cl_kernel, work_dim: cl_uint,
        global_work_offset: *const usize, global_work_size: *const usize,
        suggested_local_work_size: *mut usize) -> cl_int,
        Role::plain();
    clGetKernelSubGroupInfoKHR: clGetKernelSubGroupInfoKHR_t(in_kernel: cl_kernel,
        in_device: cl_device_id, name: cl_kernel_sub_group_info, input_value_size: usize,
        input_value: *const c_void, size: usize, value: *mut c_void,
        returned: *mut usize) -> cl_int,
        Role::plain();
}

/// What a program gets that asks for an extension function called `name`, which is at `real` in the
/// driver.
///
/// # Safety
///
/// The name is NUL-terminated.
pub(crate) unsafe fn found(name: *const c_char, real: *mut c_void) -> *mut c_void {
    if real.is_null() || name.is_null() {
        return real;
    }
    // SAFETY: it is not null, and the caller vouches for the rest.
    let name = unsafe { CStr::from_ptr(name) };
    let entry = crate::slot::all().find(|entry| entry.slot.name().as_bytes() == name.to_bytes());
    match entry {
        Some(entry) => {
            entry.slot.set_real(real);
            (entry.here)()
        }
        None => real,
    }
}
