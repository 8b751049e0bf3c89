// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::Arc;

use cudarc::driver::sys::{CUfunction, CUmodule};

use super::{handle, pointer};
use crate::call::{Code, Outcome, functions, give, give_if, name, read_many};
use crate::device::image::{Image, Refused};
use crate::device::module::Module;
use crate::device::{context, table};

/// Where a program wants to be told what was wrong.
pub(super) struct Logs {
    options: Vec<u32>,
    values: *mut *mut c_void,
}

/// `CU_JIT_INFO_LOG_BUFFER` and `CU_JIT_ERROR_LOG_BUFFER`; the size of each is the option after it.
const INFO: u32 = 3;
const ERROR: u32 = 5;

impl Logs {
    /// # Safety
    /// There are so many options and values, until this is used for the last time.
    pub(super) unsafe fn new(
        count: c_uint,
        options: *const c_uint,
        values: *mut *mut c_void,
    ) -> Outcome<Self> {
        // SAFETY: by the contract.
        let options = unsafe { read_many(options, count as usize)? };
        if !options.is_empty() && values.is_null() {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        Ok(Self { options, values })
    }

    fn value(&self, option: u32) -> Option<*mut *mut c_void> {
        let at = self.options.iter().position(|known| *known == option)?;
        Some(self.values.wrapping_add(at))
    }

    /// Writes to a log, as much as there is room for.
    ///
    /// # Safety
    /// The values are those of the options: a buffer with its size.
    unsafe fn write(&self, option: u32, text: &str) {
        let (Some(buffer), Some(size)) = (self.value(option), self.value(option + 1)) else {
            return;
        };
        // SAFETY: by the contract; a size is itself in the place of a pointer.
        let (buffer, room) =
            unsafe { (buffer.read().cast::<u8>(), size.read().addr() & 0xffff_ffff) };
        let written = if buffer.is_null() || room == 0 {
            0
        } else {
            let length = text.len().min(room - 1);
            // SAFETY: the buffer has so much room, and one byte more for the zero.
            unsafe {
                buffer.copy_from_nonoverlapping(text.as_ptr(), length);
                buffer.add(length).write(0);
            }
            length
        };
        // SAFETY: the value of an option can be written to: that is how the driver tells the size.
        unsafe { size.write(std::ptr::without_provenance_mut(written)) };
    }

    /// Writes what came out to the logs.
    ///
    /// # Safety
    /// As for [`Self::write`].
    pub(super) unsafe fn tell<T>(&self, outcome: Result<T, Refused>) -> Outcome<T> {
        let (info, error) = match &outcome {
            Ok(_) => (
                "ptxas info    : simulated; nothing was compiled",
                String::new(),
            ),
            Err(refused) if refused.what.is_empty() => ("", String::new()),
            Err(refused) => ("", format!("ptxas fatal   : {}", refused.what)),
        };
        // SAFETY: by the contract.
        unsafe {
            self.write(INFO, info);
            self.write(ERROR, &error);
        }
        outcome.map_err(|refused| refused.code)
    }
}

functions! {
    fn cuModuleLoadData(to: *mut CUmodule, image: *const c_void) {
        let context = context::current()?;
        let image = Image::read(image.cast(), None);
        let module = image.and_then(|image| Module::load(&context, image));
        give(to, pointer(module.map_err(|refused| refused.code)?.handle))
    }

    fn cuModuleLoadDataEx(to: *mut CUmodule, image: *const c_void, count: c_uint, options: *mut c_uint, values: *mut *mut c_void) {
        let context = context::current()?;
        let logs = Logs::new(count, options, values)?;
        let image = Image::read(image.cast(), None);
        let module = image.and_then(|image| Module::load(&context, image));
        give(to, pointer(logs.tell(module)?.handle))
    }

    fn cuModuleLoadFatBinary(to: *mut CUmodule, image: *const c_void) {
        let context = context::current()?;
        let image = Image::read(image.cast(), None);
        let module = image.and_then(|image| Module::load(&context, image));
        give(to, pointer(module.map_err(|refused| refused.code)?.handle))
    }

    // It waits for all work of the context, which may still run its kernels.
    fn cuModuleUnload(which: CUmodule) {
        let context = context::current()?;
        let module: Arc<Module> = table::find(handle(which))?;
        context.wait();
        table::remove::<Module>(handle(which))?;
        module.unload()
    }

    fn cuModuleGetLoadingMode(mode: *mut c_int) {
        give(mode, 1)
    }

    fn cuModuleGetFunction(to: *mut CUfunction, which: CUmodule, text: *const c_char) {
        context::current()?;
        let module: Arc<Module> = table::find(handle(which))?;
        let name = name(text)?;
        let kernel = module.kernels().find(|(_, code)| code.name == name);
        let kernel = kernel.ok_or(Code::CUDA_ERROR_NOT_FOUND)?.0;
        give(to, pointer(module.function(kernel).handle))
    }

    fn cuModuleGetGlobal_v2(address: *mut u64, bytes: *mut usize, which: CUmodule, text: *const c_char) {
        context::current()?;
        let module: Arc<Module> = table::find(handle(which))?;
        let name = name(text)?;
        let global = module.globals.iter().find(|(known, _, _)| *known == name);
        let (_, begin, size) = global.ok_or(Code::CUDA_ERROR_NOT_FOUND)?;
        give_if(address, *begin);
        give_if(bytes, *size as usize);
        Ok(())
    }
}
