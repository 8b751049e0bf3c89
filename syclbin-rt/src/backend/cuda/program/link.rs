// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linking: one native code of several modules.

use std::ffi::{CString, c_void};
use std::sync::Arc;

use crate::backend::cuda::context::Context;
use crate::backend::cuda::errors::INVALID_VALUE;
use crate::backend::cuda::program::jit::Jit;
use crate::backend::cuda::program::{Kind, Module, aligned, terminated, warn};
use crate::backend::cuda::sys::{CUjitInputType, CUlinkState, Functions};
use crate::backend::failure::BuildError;

/// The magic number at the start of a fat binary.
const FAT: [u8; 4] = [0x50, 0xED, 0x55, 0xBA];

/// An owned linker. What it was given has to outlive it.
struct Linker<'j> {
    context: &'j Arc<Context>,
    functions: &'static Functions,
    handle: CUlinkState,
    /// Its options and logs, which the driver uses until the linker is destroyed.
    jit: Box<Jit>,
}

/// Links all `modules` into native code for the device of `context`.
pub(in crate::backend::cuda) fn link(
    context: &Arc<Context>,
    modules: &[Module<'_>],
    max_registers: Option<u32>,
) -> Result<Vec<u8>, BuildError> {
    let mut linker = Linker::new(context, max_registers)?;
    for (number, module) in modules.iter().enumerate() {
        linker.add(number, module)?;
    }
    let binary = linker.complete()?;
    warn(context, &linker.jit.remarks());
    Ok(binary)
}

impl<'j> Linker<'j> {
    fn new(context: &'j Arc<Context>, max_registers: Option<u32>) -> Result<Self, BuildError> {
        let functions = context.enter()?;
        let mut jit = Box::new(Jit::new(max_registers));
        let mut handle = std::ptr::null_mut();
        // SAFETY: the context is current; there are as many options and values as it says, and they
        // live as long as the linker; one handle is written.
        let code = unsafe {
            (functions.cuLinkCreate_v2.pass())(
                jit.count(),
                jit.names(),
                jit.values(),
                &raw mut handle,
            )
        };
        context.check("cuLinkCreate", code)?;
        Ok(Self {
            context,
            functions,
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
        let code = unsafe {
            (self.functions.cuLinkAddData_v2.pass())(
                self.handle,
                kind,
                words.as_ptr().cast::<c_void>().cast_mut(),
                size,
                name.as_ptr(),
                0,
                std::ptr::null_mut(),
                std::ptr::null_mut(),
            )
        };
        self.or_log("cuLinkAddData", code)
    }

    fn complete(&mut self) -> Result<Vec<u8>, BuildError> {
        let call = "cuLinkComplete";
        let (mut binary, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the linker is alive; an address and a size are written.
        let code = unsafe {
            (self.functions.cuLinkComplete.pass())(self.handle, &raw mut binary, &raw mut size)
        };
        self.or_log(call, code)?;
        if binary.is_null() {
            return self.or_log(call, INVALID_VALUE).map(|()| Vec::new());
        }
        // SAFETY: the driver says that there are as many bytes, which it owns until the linker is
        // destroyed.
        let bytes = unsafe { std::slice::from_raw_parts(binary.cast::<u8>(), size) };
        Ok(bytes.to_vec())
    }

    fn or_log(&self, call: &'static str, code: i32) -> Result<(), BuildError> {
        self.context.check(call, code).map_err(|failure| {
            let log = self.jit.errors();
            BuildError {
                failure,
                log,
                advice: None,
            }
        })
    }
}

impl Drop for Linker<'_> {
    fn drop(&mut self) {
        if self.context.enter().is_ok() {
            // SAFETY: the linker is owned.
            unsafe { (self.functions.cuLinkDestroy.pass())(self.handle) };
        }
    }
}
