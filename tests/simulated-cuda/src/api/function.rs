// SPDX-License-Identifier: MIT OR Apache-2.0
//! What kernels are like, and how many blocks of one a device holds.

use std::ffi::{c_int, c_uint};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use cudarc::driver::sys::{CUfunction, CUfunction_attribute_enum as Attribute, CUmodule};

use super::{handle, pointer};
use crate::call::{Code, Outcome, functions, give, give_if};
use crate::device::module::{Function, SHARED_MOST};
use crate::device::{context, table};
use crate::settings::Settings;

/// The registers that a device has, and threads, at a time.
const REGISTERS: u32 = 0x1_0000;
const RESIDENT: u32 = 2048;

type SharedOf = Option<unsafe extern "C" fn(c_int) -> usize>;

fn find(function: CUfunction) -> Outcome<Arc<Function>> {
    context::current()?;
    table::find(handle(function))
}

functions! {
    fn cuFuncGetModule(module: *mut CUmodule, function: CUfunction) {
        give(module, pointer(find(function)?.module.handle))
    }

    fn cuFuncGetAttribute(value: *mut c_int, attribute: c_uint, function: CUfunction) {
        let function = find(function)?;
        let routine = function.routine();
        let is = |known: Attribute| known as u32 == attribute;
        let number = |value: usize| i32::try_from(value).unwrap_or(i32::MAX);
        let sm = Settings::get().sm.cast_signed();
        give(value, match attribute {
            _ if is(Attribute::CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK) => function.most_threads().cast_signed(),
            _ if is(Attribute::CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES) => number(routine.shared_bytes),
            _ if is(Attribute::CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES) => number(routine.local_bytes),
            _ if is(Attribute::CU_FUNC_ATTRIBUTE_NUM_REGS) => number(routine.registers.clamp(16, 64)),
            _ if is(Attribute::CU_FUNC_ATTRIBUTE_PTX_VERSION) => sm,
            _ if is(Attribute::CU_FUNC_ATTRIBUTE_BINARY_VERSION) => sm,
            _ if is(Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES) => {
                number(function.most_shared.load(Ordering::Relaxed))
            }
            _ if is(Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT) => -1,
            0..=15 => 0,
            _ => return Err(Code::CUDA_ERROR_INVALID_VALUE),
        })
    }

    fn cuFuncSetAttribute(function: CUfunction, attribute: c_uint, value: c_int) {
        let function = find(function)?;
        let most = Attribute::CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES;
        let carveout = Attribute::CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT;
        if attribute == carveout as u32 {
            return Ok(());
        }
        let value = usize::try_from(value).map_err(|_| Code::CUDA_ERROR_INVALID_VALUE)?;
        let room = SHARED_MOST - function.routine().shared_bytes;
        if attribute != most as u32 || value > room {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        function.most_shared.store(value, Ordering::Relaxed);
        Ok(())
    }

    fn cuFuncSetCacheConfig(function: CUfunction, _config: c_uint) {
        find(function).map(|_| ())
    }

    fn cuFuncGetParamInfo(function: CUfunction, number: usize, offset: *mut usize, size: *mut usize) {
        let function = find(function)?;
        let parameter = function.routine().parameters.get(number);
        let parameter = parameter.ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        give(offset, parameter.offset)?;
        give_if(size, parameter.size);
        Ok(())
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: *mut c_int, function: CUfunction, threads: c_int, shared: usize) {
        let function = find(function)?;
        give(blocks, active(&function, threads, shared)?)
    }

    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: *mut c_int, function: CUfunction, threads: c_int, shared: usize, _flags: c_uint) {
        let function = find(function)?;
        give(blocks, active(&function, threads, shared)?)
    }

    fn cuOccupancyMaxPotentialBlockSize(grid: *mut c_int, block: *mut c_int, function: CUfunction, shared_of: SharedOf, shared: usize, limit: c_int) {
        let function = find(function)?;
        let (blocks, threads) = best(&function, limit, |threads| match shared_of {
            Some(shared_of) => shared_of(threads),
            None => shared,
        })?;
        give(grid, blocks)?;
        give(block, threads)
    }

    fn cuOccupancyMaxPotentialBlockSizeWithFlags(grid: *mut c_int, block: *mut c_int, function: CUfunction, shared_of: SharedOf, shared: usize, limit: c_int, _flags: c_uint) {
        let function = find(function)?;
        let (blocks, threads) = best(&function, limit, |threads| match shared_of {
            Some(shared_of) => shared_of(threads),
            None => shared,
        })?;
        give(grid, blocks)?;
        give(block, threads)
    }
}

/// Blocks that a device holds at a time.
pub(super) fn active(function: &Function, threads: i32, shared: usize) -> Outcome<i32> {
    let threads = u32::try_from(threads).unwrap_or(0);
    if threads == 0 {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    let routine = function.routine();
    let all_shared = shared + routine.shared_bytes;
    if threads > function.most_threads() || all_shared > SHARED_MOST {
        return Ok(0);
    }
    let warps = threads.div_ceil(32);
    let registers = u32::try_from(routine.registers.clamp(16, 64)).unwrap_or(64);
    let by_threads = RESIDENT / (warps * 32);
    let by_registers = REGISTERS / (registers * warps * 32);
    let by_shared = (228 << 10) / (all_shared + 1024);
    let by_shared = u32::try_from(by_shared).unwrap_or(u32::MAX);
    Ok(by_threads
        .min(by_registers)
        .min(by_shared)
        .min(32)
        .cast_signed())
}

/// How many blocks of how many threads keep most threads on a device.
fn best(function: &Function, limit: i32, shared: impl Fn(i32) -> usize) -> Outcome<(i32, i32)> {
    let mut most = function.most_threads().cast_signed();
    if limit > 0 {
        most = most.min(limit);
    }
    let mut found = (0, 0);
    for threads in (1..=most)
        .rev()
        .filter(|threads| threads % 32 == 0 || *threads == most)
    {
        let blocks = active(function, threads, shared(threads))?;
        if blocks * threads > found.0 * found.1 {
            found = (blocks, threads);
        }
    }
    match found {
        (0, _) => Err(Code::CUDA_ERROR_INVALID_VALUE),
        found => Ok(found),
    }
}
