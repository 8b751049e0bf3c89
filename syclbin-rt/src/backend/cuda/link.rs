// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver's compiler and linker, which makes one native code of several modules.

use std::ffi::{CString, c_uint, c_void};
use std::sync::Arc;

use crate::backend::cuda::context::Context;
use crate::backend::cuda::errors::INVALID_VALUE;
use crate::backend::cuda::program::{Kind, Module, aligned, terminated};
use crate::backend::cuda::sys::{CUjit_option, CUjitInputType, CUlinkState};
use crate::backend::failure::{BuildError, Failure};
use crate::backend::program::log_warnings;

/// The magic number at the start of a fat binary.
const FAT: [u8; 4] = [0x50, 0xED, 0x55, 0xBA];

/// An owned linker. What it was given has to outlive it.
struct Linker<'j> {
    context: &'j Arc<Context>,
    handle: CUlinkState,
    /// Its options and logs, which the driver uses until the linker is destroyed.
    jit: Box<Jit>,
}

/// Links all `modules` into native code for the device of `context`.
pub(crate) fn link(
    context: &Arc<Context>,
    modules: &[Module<'_>],
    max_registers: Option<u32>,
) -> Result<Vec<u8>, BuildError> {
    let mut linker = Linker::new(context, max_registers)?;
    for (number, module) in modules.iter().enumerate() {
        linker.add(number, module)?;
    }
    let binary = linker.complete()?;
    log_warnings(&context.device.facts, || linker.jit.remarks());
    Ok(binary)
}

impl<'j> Linker<'j> {
    fn new(context: &'j Arc<Context>, max_registers: Option<u32>) -> Result<Self, BuildError> {
        let mut jit = Box::new(Jit::new(max_registers));
        let mut handle = std::ptr::null_mut();
        // SAFETY: the context is current; there are as many options and values as it says, and they
        // live as long as the linker; one handle is written.
        unsafe {
            let (count, names, values) = (jit.count(), jit.names(), jit.values());
            call!(
                context,
                cuLinkCreate_v2(count, names, values, &raw mut handle)
            )
        }?;
        Ok(Self {
            context,
            handle,
            jit,
        })
    }

    fn add(&mut self, number: usize, module: &Module<'_>) -> Result<(), BuildError> {
        let (kind, words, size) = match module.kind {
            Kind::Ptx => {
                let text = terminated(module.code);
                (CUjitInputType::CU_JIT_INPUT_PTX, aligned(&text), text.len())
            }
            Kind::Binary => {
                let kind = if module.code.starts_with(&FAT) {
                    CUjitInputType::CU_JIT_INPUT_FATBINARY
                } else {
                    CUjitInputType::CU_JIT_INPUT_CUBIN
                };
                (kind, aligned(module.code), module.code.len())
            }
        };
        // For messages.
        let name = CString::new(format!("module {number}")).unwrap_or_default();
        // SAFETY: the linker is alive; the code has that many bytes, and is not changed: the driver
        // keeps no reference to it after the call (CUDA driver API, cuLinkAddData).
        let added = unsafe {
            let (start, name) = (words.as_ptr().cast::<c_void>().cast_mut(), name.as_ptr());
            let (options, values) = (std::ptr::null_mut(), std::ptr::null_mut());
            call!(
                self.context,
                cuLinkAddData_v2(self.handle, kind, start, size, name, 0, options, values)
            )
        };
        added.map_err(|failure| self.jit.failed(failure))
    }

    fn complete(&mut self) -> Result<Vec<u8>, BuildError> {
        let (mut binary, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the linker is alive; an address and a size are written.
        let mut completed = unsafe {
            let (binary, size) = (&raw mut binary, &raw mut size);
            call!(self.context, cuLinkComplete(self.handle, binary, size))
        };
        if binary.is_null() {
            completed = completed.and(self.context.check("cuLinkComplete", INVALID_VALUE));
        }
        completed.map_err(|failure| self.jit.failed(failure))?;
        // SAFETY: the driver says that there are as many bytes, which it owns until the linker is
        // destroyed.
        let bytes = unsafe { std::slice::from_raw_parts(binary.cast::<u8>(), size) };
        Ok(bytes.to_vec())
    }
}

impl Drop for Linker<'_> {
    fn drop(&mut self) {
        if let Ok(functions) = self.context.enter() {
            // SAFETY: the linker is owned.
            unsafe { (functions.cuLinkDestroy.pass())(self.handle) };
        }
    }
}

/// The maximum size of each log in bytes.
const LOG: usize = 16 << 10;

/// Options of a compilation, with the places that the driver writes its logs to.
pub(crate) struct Jit {
    names: Vec<CUjit_option>,
    /// What the driver reads: numbers and addresses. It also writes to some of them.
    values: Vec<*mut c_void>,
    errors: Vec<u8>,
    remarks: Vec<u8>,
}

impl Jit {
    pub(crate) fn new(max_registers: Option<u32>) -> Self {
        let mut jit = Self {
            names: Vec::new(),
            values: Vec::new(),
            errors: vec![0; LOG],
            remarks: vec![0; LOG],
        };
        let number = |number: usize| std::ptr::without_provenance_mut(number);
        let (errors, remarks) = (jit.errors.as_mut_ptr(), jit.remarks.as_mut_ptr());
        for (name, value) in [
            (CUjit_option::CU_JIT_ERROR_LOG_BUFFER, errors.cast()),
            (
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                number(LOG),
            ),
            (CUjit_option::CU_JIT_INFO_LOG_BUFFER, remarks.cast()),
            (CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES, number(LOG)),
        ] {
            jit.names.push(name);
            jit.values.push(value);
        }
        if let Some(registers) = max_registers {
            jit.names.push(CUjit_option::CU_JIT_MAX_REGISTERS);
            jit.values.push(number(registers as usize));
        }
        jit
    }

    pub(crate) fn count(&self) -> c_uint {
        // A handful.
        c_uint::try_from(self.names.len()).unwrap_or_default()
    }

    /// Where as many names begin as [`Jit::count`] says, as long as this lives.
    pub(crate) fn names(&mut self) -> *mut CUjit_option {
        self.names.as_mut_ptr()
    }

    /// Where as many values begin, as long as this lives and its logs are not read.
    pub(crate) fn values(&mut self) -> *mut *mut c_void {
        self.values.as_mut_ptr()
    }

    /// Returns the error of a call that failed, with the driver's log.
    pub(crate) fn failed(&self, failure: Failure) -> BuildError {
        BuildError {
            failure,
            log: text(&self.errors),
            advice: None,
        }
    }

    /// Returns the driver's other log.
    pub(crate) fn remarks(&self) -> String {
        text(&self.remarks)
    }
}

/// Returns the text before the first zero byte.
fn text(log: &[u8]) -> String {
    let end = log.iter().position(|byte| *byte == 0);
    let said = log.get(..end.unwrap_or(log.len())).unwrap_or_default();
    String::from_utf8_lossy(said).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_paired_and_logs_terminated() {
        let plain = Jit::new(None);
        assert_eq!((plain.count(), plain.values.len()), (4, 4));
        let limited = Jit::new(Some(64));
        assert_eq!((limited.count(), limited.values.len()), (5, 5));
        assert_eq!(limited.values[4].addr(), 64);
        assert_eq!(text(&plain.errors), "");
        assert_eq!(text(b"ptxas fatal\n\0rest"), "ptxas fatal");
        assert_eq!(text(b"no end"), "no end");
    }
}
