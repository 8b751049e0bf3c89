// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches.

use std::ffi::{c_uint, c_void};
use std::sync::Arc;

use cudarc::driver::sys::{CUfunction, CUlaunchConfig_st, CUstream};

use super::function::active;
use super::handle;
use crate::call::{Code, Outcome, functions, read};
use crate::device::module::Function;
use crate::device::work::Kernel;
use crate::device::{context, table};

functions! {
    fn cuLaunchKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
        extra: *mut *mut c_void,
    ) {
        let context = context::current()?;
        let stream = context.stream(handle(stream))?;
        let sizes = Sizes {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared: shared as usize,
        };
        stream.submit(&context, kernel(handle(function), &sizes, parameters, extra)?.into())
    }

    fn cuLaunchCooperativeKernel(
        function: CUfunction,
        grid_x: c_uint,
        grid_y: c_uint,
        grid_z: c_uint,
        block_x: c_uint,
        block_y: c_uint,
        block_z: c_uint,
        shared: c_uint,
        stream: CUstream,
        parameters: *mut *mut c_void,
    ) {
        let context = context::current()?;
        let stream = context.stream(handle(stream))?;
        let sizes = Sizes {
            grid: [grid_x, grid_y, grid_z],
            block: [block_x, block_y, block_z],
            shared: shared as usize,
        };
        let kernel = kernel(handle(function), &sizes, parameters, std::ptr::null_mut())?;
        stream.submit(&context, cooperative(kernel)?.into())
    }

    // None of the attributes is looked at.
    fn cuLaunchKernelEx(config: *const CUlaunchConfig_st, function: CUfunction, parameters: *mut *mut c_void, extra: *mut *mut c_void) {
        let context = context::current()?;
        let config = read(config)?;
        let stream = context.stream(handle(config.hStream))?;
        let sizes = Sizes {
            grid: [config.gridDimX, config.gridDimY, config.gridDimZ],
            block: [config.blockDimX, config.blockDimY, config.blockDimZ],
            shared: config.sharedMemBytes as usize,
        };
        stream.submit(&context, kernel(handle(function), &sizes, parameters, extra)?.into())
    }
}

/// How large a launch is.
pub(super) struct Sizes {
    pub(super) grid: [u32; 3],
    pub(super) block: [u32; 3],
    pub(super) shared: usize,
}

/// A launch with a copy of its arguments.
///
/// # Safety
/// There are as many pointers to arguments as the kernel has parameters, each to as many bytes as
/// its parameter has; or the other array names a buffer of all of them.
pub(super) unsafe fn kernel(
    function: u64,
    sizes: &Sizes,
    parameters: *mut *mut c_void,
    extra: *mut *mut c_void,
) -> Outcome<Kernel> {
    let function: Arc<Function> = table::find(function)?;
    function.check(sizes.grid, sizes.block, sizes.shared)?;
    let routine = function.routine();
    let mut bytes = vec![0u8; routine.parameter_bytes];
    if !parameters.is_null() {
        for (number, parameter) in routine.parameters.iter().enumerate() {
            // SAFETY: there is a pointer for each parameter, by the contract.
            let from = unsafe { parameters.add(number).read() };
            if from.is_null() {
                return Err(Code::CUDA_ERROR_INVALID_VALUE);
            }
            let to = &mut bytes[parameter.offset..parameter.offset + parameter.size];
            // SAFETY: there are as many bytes as the parameter has, by the contract.
            unsafe {
                from.cast::<u8>()
                    .copy_to_nonoverlapping(to.as_mut_ptr(), parameter.size);
            };
        }
    } else if !extra.is_null() {
        // SAFETY: by the contract.
        let (from, size) = unsafe { buffer(extra)? };
        if from.is_null() || size < bytes.len() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        // SAFETY: the buffer has so many bytes, by the contract.
        unsafe { from.copy_to_nonoverlapping(bytes.as_mut_ptr(), bytes.len()) };
    } else if !bytes.is_empty() {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    Ok(Kernel {
        grid: sizes.grid,
        block: sizes.block,
        shared: sizes.shared,
        cooperative: false,
        parameters: bytes,
        function,
    })
}

/// The launch with all blocks at the same time. A device holds no more than its one multiprocessor.
pub(super) fn cooperative(kernel: Kernel) -> Outcome<Kernel> {
    let threads: u32 = kernel.block.iter().product();
    let most = active(&kernel.function, threads.cast_signed(), kernel.shared)?;
    let mut left = u64::try_from(most).unwrap_or(0);
    for size in kernel.grid {
        left /= u64::from(size);
    }
    if left == 0 {
        return Err(Code::CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE);
    }
    Ok(Kernel {
        cooperative: true,
        ..kernel
    })
}

/// The buffer of all arguments, from a list of names and values that ends with 0.
///
/// # Safety
/// It is such a list.
unsafe fn buffer(mut extra: *mut *mut c_void) -> Outcome<(*mut u8, usize)> {
    let mut found = (std::ptr::null_mut::<u8>(), 0);
    loop {
        // SAFETY: the list has not ended.
        match unsafe { extra.read() }.addr() {
            0 => return Ok(found),
            // SAFETY: a value follows the name.
            1 => found.0 = unsafe { extra.add(1).read() }.cast(),
            // SAFETY: a value follows the name, and is a pointer to the size.
            2 => found.1 = unsafe { extra.add(1).read().cast::<usize>().read() },
            _ => return Err(Code::CUDA_ERROR_INVALID_VALUE),
        }
        extra = extra.wrapping_add(2);
    }
}
