// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices and their primary contexts.

use std::ffi::{c_char, c_int, c_uint};

use cudarc::driver::sys::{CUcontext, CUdevice_attribute_enum as Attribute};

use super::pointer;
use crate::call::{Code, functions, give, give_if};
use crate::device::context;
use crate::device::module::{MOST_THREADS, SHARED_MOST, SHARED_PLAIN};
use crate::settings::Settings;

/// What devices are called.
pub const NAME: &str = "Simulated CUDA device";

functions! {
    fn cuDeviceGetCount(count: *mut c_int) {
        context::initialized()?;
        give(count, Settings::get().devices)
    }

    fn cuDeviceGet(device: *mut c_int, ordinal: c_int) {
        give(device, context::device(ordinal)?)
    }

    fn cuDeviceGetName(name: *mut c_char, length: c_int, device: c_int) {
        context::device(device)?;
        let length = usize::try_from(length).unwrap_or(0);
        if name.is_null() || length == 0 {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let bytes = NAME.as_bytes();
        let bytes = &bytes[..bytes.len().min(length - 1)];
        name.cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
        name.add(bytes.len()).write(0);
        Ok(())
    }

    fn cuDeviceGetUuid_v2(uuid: *mut [u8; 16], device: c_int) {
        let mut bytes = *b"simulated-cuda-0";
        bytes[15] += u8::try_from(context::device(device)?).unwrap_or(0);
        give(uuid, bytes)
    }

    fn cuDeviceGetUuid(uuid: *mut [u8; 16], device: c_int) {
        let mut bytes = *b"simulated-cuda-0";
        bytes[15] += u8::try_from(context::device(device)?).unwrap_or(0);
        give(uuid, bytes)
    }

    fn cuDeviceGetPCIBusId(id: *mut c_char, length: c_int, device: c_int) {
        let text = format!("0000:0{}:00.0\0", context::device(device)? + 1);
        if usize::try_from(length).unwrap_or(0) < text.len() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        id.cast::<u8>().copy_from_nonoverlapping(text.as_ptr(), text.len());
        Ok(())
    }

    fn cuDeviceTotalMem_v2(bytes: *mut usize, device: c_int) {
        context::device(device)?;
        give(bytes, usize::try_from(Settings::get().memory).unwrap_or(usize::MAX))
    }

    fn cuDeviceGetAttribute(value: *mut c_int, attribute: c_uint, device: c_int) {
        context::device(device)?;
        give(value, attribute_value(attribute, device).ok_or(Code::CUDA_ERROR_INVALID_VALUE)?)
    }

    fn cuDeviceComputeCapability(major: *mut c_int, minor: *mut c_int, device: c_int) {
        context::device(device)?;
        give(major, sm() / 10)?;
        give(minor, sm() % 10)
    }

    fn cuDeviceCanAccessPeer(can: *mut c_int, device: c_int, other: c_int) {
        context::device(device)?;
        context::device(other)?;
        give(can, c_int::from(device != other))
    }

    fn cuDevicePrimaryCtxRetain(to: *mut CUcontext, device: c_int) {
        let device = context::device(device)?;
        if to.is_null() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        give(to, pointer(context::retain_primary(device)))
    }

    fn cuDevicePrimaryCtxRelease_v2(device: c_int) {
        context::release_primary(context::device(device)?)
    }

    fn cuDevicePrimaryCtxReset_v2(device: c_int) {
        context::reset_primary(context::device(device)?)
    }

    fn cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) {
        context::set_primary_flags(context::device(device)?, flags);
        Ok(())
    }

    fn cuDevicePrimaryCtxGetState(device: c_int, flags: *mut c_uint, active: *mut c_int) {
        let (set, there) = context::primary_state(context::device(device)?);
        give_if(flags, set);
        give(active, c_int::from(there))
    }
}

fn sm() -> i32 {
    i32::try_from(Settings::get().sm).unwrap_or(0)
}

/// What a device of the generation has; nothing for attributes that the simulation has no answer to.
fn attribute_value(attribute: u32, device: i32) -> Option<i32> {
    let is = |known: Attribute| known as u32 == attribute;
    let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
    use Attribute as A;
    Some(match attribute {
        _ if is(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_BLOCK)
            || is(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_X)
            || is(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Y) =>
        {
            MOST_THREADS.cast_signed()
        }
        _ if is(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCK_DIM_Z) => 64,
        _ if is(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_X) => i32::MAX,
        _ if is(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Y)
            || is(A::CU_DEVICE_ATTRIBUTE_MAX_GRID_DIM_Z) =>
        {
            0xffff
        }
        _ if is(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK) => number(SHARED_PLAIN),
        _ if is(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN) => number(SHARED_MOST),
        _ if is(A::CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_MULTIPROCESSOR) => 228 << 10,
        _ if is(A::CU_DEVICE_ATTRIBUTE_RESERVED_SHARED_MEMORY_PER_BLOCK) => 1024,
        _ if is(A::CU_DEVICE_ATTRIBUTE_TOTAL_CONSTANT_MEMORY)
            || is(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_BLOCK)
            || is(A::CU_DEVICE_ATTRIBUTE_MAX_REGISTERS_PER_MULTIPROCESSOR) =>
        {
            0x1_0000
        }
        _ if is(A::CU_DEVICE_ATTRIBUTE_WARP_SIZE)
            || is(A::CU_DEVICE_ATTRIBUTE_MAX_BLOCKS_PER_MULTIPROCESSOR) =>
        {
            32
        }
        _ if is(A::CU_DEVICE_ATTRIBUTE_MAX_PITCH) => i32::MAX,
        _ if is(A::CU_DEVICE_ATTRIBUTE_CLOCK_RATE) => 1_000_000,
        _ if is(A::CU_DEVICE_ATTRIBUTE_MEMORY_CLOCK_RATE) => 1_000_000,
        _ if is(A::CU_DEVICE_ATTRIBUTE_GLOBAL_MEMORY_BUS_WIDTH) => 64,
        _ if is(A::CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE) => 1 << 20,
        _ if is(A::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT) => 1,
        _ if is(A::CU_DEVICE_ATTRIBUTE_MAX_THREADS_PER_MULTIPROCESSOR) => 2048,
        _ if is(A::CU_DEVICE_ATTRIBUTE_TEXTURE_ALIGNMENT)
            || is(A::CU_DEVICE_ATTRIBUTE_SURFACE_ALIGNMENT) =>
        {
            512
        }
        _ if is(A::CU_DEVICE_ATTRIBUTE_TEXTURE_PITCH_ALIGNMENT) => 32,
        _ if is(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR) => sm() / 10,
        _ if is(A::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR) => sm() % 10,
        _ if is(A::CU_DEVICE_ATTRIBUTE_PCI_BUS_ID) => device + 1,
        _ if is(A::CU_DEVICE_ATTRIBUTE_ASYNC_ENGINE_COUNT) => 2,
        _ if is(A::CU_DEVICE_ATTRIBUTE_GPU_OVERLAP)
            || is(A::CU_DEVICE_ATTRIBUTE_CAN_MAP_HOST_MEMORY)
            || is(A::CU_DEVICE_ATTRIBUTE_CONCURRENT_KERNELS)
            || is(A::CU_DEVICE_ATTRIBUTE_UNIFIED_ADDRESSING)
            || is(A::CU_DEVICE_ATTRIBUTE_STREAM_PRIORITIES_SUPPORTED)
            || is(A::CU_DEVICE_ATTRIBUTE_MANAGED_MEMORY)
            || is(A::CU_DEVICE_ATTRIBUTE_COOPERATIVE_LAUNCH)
            || is(A::CU_DEVICE_ATTRIBUTE_CONCURRENT_MANAGED_ACCESS)
            || is(A::CU_DEVICE_ATTRIBUTE_HOST_NATIVE_ATOMIC_SUPPORTED)
            || is(A::CU_DEVICE_ATTRIBUTE_COMPUTE_PREEMPTION_SUPPORTED)
            || is(A::CU_DEVICE_ATTRIBUTE_CAN_USE_HOST_POINTER_FOR_REGISTERED_MEM)
            || is(A::CU_DEVICE_ATTRIBUTE_HOST_REGISTER_SUPPORTED)
            || is(A::CU_DEVICE_ATTRIBUTE_GLOBAL_L1_CACHE_SUPPORTED)
            || is(A::CU_DEVICE_ATTRIBUTE_LOCAL_L1_CACHE_SUPPORTED) =>
        {
            1
        }
        _ if is(A::CU_DEVICE_ATTRIBUTE_SINGLE_TO_DOUBLE_PRECISION_PERF_RATIO) => 2,
        _ if is(A::CU_DEVICE_ATTRIBUTE_MEMORY_POOLS_SUPPORTED) => {
            i32::from(Settings::get().driver >= 11_020)
        }
        // Textures, surfaces, clusters: none of these.
        1..=140 => 0,
        _ => return None,
    })
}
