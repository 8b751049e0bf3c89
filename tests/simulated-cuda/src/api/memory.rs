// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of devices and of the host.

use std::ffi::{c_int, c_uint, c_void};

use cudarc::driver::sys::{CUmemorytype, CUpointer_attribute_enum as Attribute, CUstream};

use super::{handle, pointer};
use crate::call::{Code, Outcome, functions, give, give_if};
use crate::device::context::{self, Context};
use crate::device::memory::{Kind, Memory};
use crate::device::work::Work;
use crate::settings::Settings;

functions! {
    fn cuMemGetInfo_v2(free: *mut usize, total: *mut usize) {
        let context = context::current()?;
        give_if(free, Memory::get()?.free_bytes(context.device) as usize);
        give_if(total, Settings::get().memory as usize);
        Ok(())
    }

    fn cuMemAlloc_v2(to: *mut u64, bytes: usize) {
        let context = context::current()?;
        let new = Memory::get()?.on_device(Kind::Device, context.device, context.handle, bytes as u64, 256)?;
        give(to, new)
    }

    // It waits for all work of the context, which may still use the memory.
    fn cuMemFree_v2(address: u64) {
        let context = context::current()?;
        if address == 0 {
            return Ok(());
        }
        free(&context, address, &[Kind::Device, Kind::Managed, Kind::Pooled])
    }

    // The memory is there at once. If there is not enough of it, the call waits for what is being freed.
    fn cuMemAllocAsync(to: *mut u64, bytes: usize, stream: CUstream) {
        let context = context::current()?;
        let stream = context.stream(handle(stream))?;
        let allocate = || Memory::get()?.on_device(Kind::Pooled, context.device, context.handle, bytes as u64, 512);
        let new = allocate().or_else(|error| match error {
            Code::CUDA_ERROR_OUT_OF_MEMORY => {
                context.wait();
                allocate()
            }
            other => Err(other),
        })?;
        stream.submit(&context, Work::Nothing)?;
        give(to, new)
    }

    fn cuMemFreeAsync(address: u64, stream: CUstream) {
        let context = context::current()?;
        let found = Memory::get()?.find(address).filter(|found| found.begin == address);
        if found.is_none_or(|found| found.kind != Kind::Pooled) {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        context.stream(handle(stream))?.submit(&context, Work::Free(address))
    }

    fn cuMemAllocManaged(to: *mut u64, bytes: usize, flags: c_uint) {
        let context = context::current()?;
        if flags != 1 && flags != 2 {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let new = Memory::get()?.on_host(Kind::Managed, context.device, context.handle, bytes as u64)?;
        give(to, new)
    }

    fn cuMemHostAlloc(to: *mut *mut c_void, bytes: usize, _flags: c_uint) {
        let context = context::current()?;
        let new = Memory::get()?.on_host(Kind::Host, context.device, context.handle, bytes as u64)?;
        give(to, std::ptr::with_exposed_provenance_mut(new as usize))
    }

    fn cuMemAllocHost_v2(to: *mut *mut c_void, bytes: usize) {
        let context = context::current()?;
        let new = Memory::get()?.on_host(Kind::Host, context.device, context.handle, bytes as u64)?;
        give(to, std::ptr::with_exposed_provenance_mut(new as usize))
    }

    fn cuMemFreeHost(address: *mut c_void) {
        let context = context::current()?;
        free(&context, handle(address), &[Kind::Host])
    }

    fn cuMemHostRegister_v2(address: *mut c_void, bytes: usize, _flags: c_uint) {
        let context = context::current()?;
        let begin = address.expose_provenance() as u64;
        Memory::get()?.register(context.device, context.handle, begin, bytes as u64)
    }

    fn cuMemHostUnregister(address: *mut c_void) {
        let context = context::current()?;
        free(&context, handle(address), &[Kind::Registered])
            .map_err(|_| Code::CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED)
    }

    fn cuMemHostGetDevicePointer_v2(to: *mut u64, address: *mut c_void, _flags: c_uint) {
        context::current()?;
        Memory::get()?.bytes(handle(address), 1, false)?;
        give(to, handle(address))
    }

    fn cuMemGetAddressRange_v2(begin: *mut u64, bytes: *mut usize, address: u64) {
        context::current()?;
        let found = Memory::get()?.find(address).ok_or(Code::CUDA_ERROR_NOT_FOUND)?;
        give_if(begin, found.begin);
        give_if(bytes, found.size as usize);
        Ok(())
    }

    // Memory that both can touch is where it is; it only has to be such.
    fn cuMemPrefetchAsync(address: u64, bytes: usize, device: c_int, stream: CUstream) {
        let context = context::current()?;
        if device != -1 {
            context::device(device)?;
        }
        managed(address, bytes)?;
        context.stream(handle(stream))?.submit(&context, Work::Nothing)
    }

    fn cuMemAdvise(address: u64, bytes: usize, _advice: c_uint, _device: c_int) {
        context::current()?;
        managed(address, bytes)
    }

    fn cuPointerGetAttribute(to: *mut c_void, attribute: c_uint, address: u64) {
        context::initialized()?;
        if to.is_null() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let found = Memory::get()?.find(address).ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        let is = |known: Attribute| known as u32 == attribute;
        let on_host = matches!(found.kind, Kind::Host | Kind::Registered);
        match attribute {
            _ if is(Attribute::CU_POINTER_ATTRIBUTE_CONTEXT) => {
                give(to.cast(), pointer::<c_void>(found.context))
            }
            _ if is(Attribute::CU_POINTER_ATTRIBUTE_MEMORY_TYPE) => give(to.cast(), if on_host {
                CUmemorytype::CU_MEMORYTYPE_HOST
            } else {
                CUmemorytype::CU_MEMORYTYPE_DEVICE
            } as u32),
            _ if is(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_POINTER) => give(to.cast(), address),
            _ if is(Attribute::CU_POINTER_ATTRIBUTE_HOST_POINTER) => {
                if matches!(found.kind, Kind::Device | Kind::Pooled | Kind::Variable) {
                    return Err(Code::CUDA_ERROR_INVALID_VALUE);
                }
                give(to.cast(), address)
            }
            _ if is(Attribute::CU_POINTER_ATTRIBUTE_IS_MANAGED) => {
                give(to.cast(), u8::from(found.kind == Kind::Managed))
            }
            _ if is(Attribute::CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL) => give(to.cast(), found.device),
            _ if is(Attribute::CU_POINTER_ATTRIBUTE_RANGE_START_ADDR) => give(to.cast(), found.begin),
            _ if is(Attribute::CU_POINTER_ATTRIBUTE_RANGE_SIZE) => give(to.cast(), found.size),
            _ if is(Attribute::CU_POINTER_ATTRIBUTE_BUFFER_ID) => give(to.cast(), found.begin),
            _ => Err(Code::CUDA_ERROR_NOT_SUPPORTED),
        }
    }
}

fn free(context: &Context, address: u64, kinds: &[Kind]) -> Outcome<()> {
    context.wait();
    context.shared.check()?;
    Memory::get()?.free(address, kinds)
}

fn managed(address: u64, bytes: usize) -> Outcome<()> {
    let memory = Memory::get()?;
    memory.bytes(address, bytes as u64, false)?;
    let found = memory.find(address);
    match found.map(|found| found.kind) {
        Some(Kind::Managed) => Ok(()),
        _ => Err(Code::CUDA_ERROR_INVALID_VALUE),
    }
}
