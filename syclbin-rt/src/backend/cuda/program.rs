// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program: a module that is loaded into a context.

use std::ffi::{CStr, CString, c_void};
use std::sync::{Arc, Mutex, PoisonError};

use crate::backend::cuda::context::Context;
use crate::backend::cuda::errors::NOT_FOUND;
use crate::backend::cuda::invalid;
use crate::backend::cuda::kernel::Kernel;
use crate::backend::cuda::link::{Jit, link};
use crate::backend::cuda::sys::{CUdeviceptr, CUmodule};
use crate::backend::device::DriverContext as _;
use crate::backend::failure::{BuildError, Code as DriverCode, Failure};
use crate::backend::gate::{self, Stage};
use crate::backend::kernel::{Kernel as AnyKernel, Slot};
use crate::backend::memory::Memory;
use crate::backend::program::{DriverProgram, Source, log_warnings};

/// An owned, loaded program.
pub(crate) struct Program {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: CUmodule,
    code: Code,
    max_registers: Option<u32>,
    /// The memory that its variables point to.
    memory: Mutex<Vec<Arc<Memory>>>,
}

/// What it was made of.
enum Code {
    /// As a driver takes it, with a zero byte at its end.
    Ptx(Vec<u8>),
    Binary(Vec<u8>),
}

/// What the code of a module is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Ptx,
    /// A cubin or a fat binary.
    Binary,
}

/// Code, and what is set in it.
pub(crate) struct Module<'m> {
    pub(crate) code: &'m [u8],
    pub(crate) kind: Kind,
    /// The values that variables have before the first launch: values of specialization constants. A variable
    /// that the code does not have is skipped: the compiler removed it because no code reads it.
    pub(crate) settings: &'m [(String, Vec<u8>)],
    pub(crate) max_registers: Option<u32>,
}

impl<'m> Module<'m> {
    fn new(source: &'m Source<'_>, kind: Kind) -> Self {
        Self {
            code: &source.code,
            kind,
            settings: &source.constants,
            max_registers: None,
        }
    }
}

// SAFETY: modules are of a context, not of a thread, and all functions of the driver are safe to call
// from several threads.
unsafe impl Send for Program {}
// SAFETY: as for Send.
unsafe impl Sync for Program {}

impl Program {
    /// Compiles PTX and loads it. Several modules are linked to each other.
    pub(crate) fn build(
        context: &Arc<Context>,
        sources: &[Source<'_>],
    ) -> Result<Self, BuildError> {
        let modules = sources.iter().map(|source| Module::new(source, Kind::Ptx));
        Self::of(context, &modules.collect::<Vec<_>>())
    }

    /// Loads native code of a file.
    pub(crate) fn from_file(
        context: &Arc<Context>,
        source: &Source<'_>,
    ) -> Result<Self, BuildError> {
        Self::of(context, &[Module::new(source, Kind::Binary)])
    }

    /// Loads code. Several modules are linked to each other. PTX is compiled first.
    pub(crate) fn of(context: &Arc<Context>, modules: &[Module<'_>]) -> Result<Self, BuildError> {
        // One program is one native code. As of other backends the first module decides.
        let max_registers = modules.first().and_then(|module| module.max_registers);
        let code = match modules {
            [module] => match module.kind {
                Kind::Ptx => Code::Ptx(terminated(module.code)),
                Kind::Binary => Code::Binary(module.code.to_vec()),
            },
            modules => Code::Binary(link(context, modules, max_registers)?),
        };
        let program = Self::load(context, code, max_registers)?;
        for (name, bytes) in modules.iter().flat_map(|module| module.settings) {
            program.set(name, bytes)?;
        }
        Ok(program)
    }

    fn load(
        context: &Arc<Context>,
        code: Code,
        max_registers: Option<u32>,
    ) -> Result<Self, BuildError> {
        let mut jit = Jit::new(max_registers);
        let mut handle = std::ptr::null_mut();
        let bytes = match &code {
            Code::Ptx(text) => aligned(text),
            Code::Binary(binary) => aligned(binary),
        };
        // SAFETY: the context is current. Code begins at a multiple of eight, text ends with a zero
        // byte, and what else the driver reads says itself how long it is. There are as many options
        // and values as it says, and the logs that they name are alive.
        let loaded = unsafe {
            let (handle, start) = (&raw mut handle, bytes.as_ptr().cast::<c_void>());
            let (count, names, values) = (jit.count(), jit.names(), jit.values());
            call!(
                context,
                cuModuleLoadDataEx(handle, start, count, names, values)
            )
        };
        gate::close_at_exit(&raw const *context.device.functions, Stage::FirstProgram);
        loaded.map_err(|failure| jit.failed(failure))?;
        log_warnings(&context.device.facts, || jit.remarks());
        Ok(Self {
            context: Arc::clone(context),
            handle,
            code,
            max_registers,
            memory: Mutex::default(),
        })
    }

    /// Gives a variable its value before any kernel runs.
    fn set(&self, name: &str, bytes: &[u8]) -> Result<(), Failure> {
        let refused = invalid("cuModuleGetGlobal");
        let name = CString::new(name).map_err(|_| refused)?;
        let (address, size) = match self.variable(&name) {
            Err(failure) if failure.code() == Some(DriverCode::Cuda(NOT_FOUND)) => return Ok(()),
            found => found?,
        };
        if bytes.len() > size {
            return Err(refused);
        }
        let (null, from) = (
            std::ptr::null_mut(),
            bytes.as_ptr().expose_provenance() as u64,
        );
        // SAFETY: the context is current; the variable has that many bytes. The stream that every
        // context has is waited for, so `bytes` outlive the copy, and every queue sees it.
        unsafe {
            let queued = call!(
                self.context,
                cuMemcpyAsync(address, from, bytes.len(), null)
            );
            queued.and(self.context.settle(null))
        }
    }

    /// Returns the address of the variable `name` of its code, and its size in bytes.
    pub(crate) fn variable(&self, name: &CStr) -> Result<(CUdeviceptr, usize), Failure> {
        let (mut address, mut size) = (0, 0);
        // SAFETY: the module is loaded, the name NUL-terminated; an address and a size are written.
        unsafe {
            let (address, size) = (&raw mut address, &raw mut size);
            call!(
                self.context,
                cuModuleGetGlobal_v2(address, size, self.handle, name.as_ptr())
            )
        }?;
        Ok((address, size))
    }

    /// Keeps `memory` as long as the program.
    pub(crate) fn keep(&self, memory: &Arc<Memory>) {
        let mut kept = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Arc::clone(memory));
    }
}

impl DriverProgram for Program {
    fn kernel(
        self: Arc<Self>,
        symbol: CString,
        slots: Option<Vec<Slot>>,
    ) -> Result<AnyKernel, Failure> {
        Kernel::new(self, &symbol, slots).map(AnyKernel::from)
    }

    /// The code that was loaded, or that the driver makes of the PTX. Specialization constants have their defaults in it.
    fn binary(&self) -> Result<Vec<u8>, Failure> {
        match &self.code {
            Code::Binary(binary) => Ok(binary.clone()),
            Code::Ptx(text) => {
                let module = Module {
                    code: text.strip_suffix(&[0]).unwrap_or(text),
                    kind: Kind::Ptx,
                    settings: &[],
                    max_registers: None,
                };
                let linked = link(&self.context, &[module], self.max_registers);
                linked.map_err(|error| error.failure)
            }
        }
    }

    /// Leaves out the twins that only take an offset. Drivers older than CUDA 12.4 do not report kernels.
    fn kernel_names(&self) -> Result<Vec<String>, Failure> {
        let functions = self.context.enter()?;
        let (Some(count), Some(enumerate), Some(name)) = (
            functions.cuModuleGetFunctionCount,
            functions.cuModuleEnumerateFunctions,
            functions.cuFuncGetName,
        ) else {
            return Err(Failure::Missing {
                function: "cuModuleEnumerateFunctions",
                needs: "a driver of CUDA 12.4",
            });
        };
        let mut found = 0;
        // SAFETY: the module is loaded; one number is written.
        let code = unsafe { (count.pass())(&raw mut found, self.handle) };
        self.context.check("cuModuleGetFunctionCount", code)?;
        let mut kernels = vec![std::ptr::null_mut(); found as usize];
        // SAFETY: as above; as many handles are written as there are places.
        let code = unsafe { (enumerate.pass())(kernels.as_mut_ptr(), found, self.handle) };
        self.context.check("cuModuleEnumerateFunctions", code)?;
        let mut names = Vec::with_capacity(kernels.len());
        for kernel in kernels {
            let mut text = std::ptr::null();
            // SAFETY: the kernel is one of the module; one pointer is written.
            let code = unsafe { (name.pass())(&raw mut text, kernel) };
            self.context.check("cuFuncGetName", code)?;
            if !text.is_null() {
                // SAFETY: the driver's names end with a zero byte, and live as long as the module.
                let text = unsafe { CStr::from_ptr(text) };
                names.push(text.to_string_lossy().into_owned());
            }
        }
        Ok(without_twins(names))
    }
}

/// The suffix that the compiler adds to the name of a kernel for its twin that takes an offset.
pub(crate) const TWIN: &str = "_with_offset";

/// Removes the twins of other kernels from `names`.
fn without_twins(names: Vec<String>) -> Vec<String> {
    let is_twin = |name: &String| {
        name.strip_suffix(TWIN)
            .is_some_and(|plain| names.iter().any(|other| other == plain))
    };
    let kernels = names.iter().filter(|name| !is_twin(name));
    kernels.cloned().collect()
}

/// Converts text for drivers.
pub(crate) fn terminated(text: &[u8]) -> Vec<u8> {
    // What is behind a zero byte would not be read.
    let end = text.iter().position(|byte| *byte == 0);
    let mut text = text
        .get(..end.unwrap_or(text.len()))
        .unwrap_or(text)
        .to_vec();
    text.push(0);
    text
}

/// The bytes at an address that is a multiple of eight, as binaries want it. In a file they may lie
/// anywhere.
pub(crate) fn aligned(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0; bytes.len().div_ceil(8)];
    let places = bytemuck::cast_slice_mut::<u64, u8>(&mut words);
    places[..bytes.len()].copy_from_slice(bytes);
    words
}

impl Drop for Program {
    fn drop(&mut self) {
        // A kernel of it may still run. Where that cannot be waited for, it stays.
        if self.context.finish_all().is_ok()
            && let Ok(functions) = self.context.enter()
        {
            // SAFETY: the module is owned; kernels made from it keep it.
            unsafe { (functions.cuModuleUnload.pass())(self.handle) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_twin_is_no_kernel_of_its_own() {
        let names = ["copy", "copy_with_offset", "other_with_offset"].map(str::to_owned);
        let kernels = without_twins(names.to_vec());
        assert_eq!(kernels, ["copy", "other_with_offset"]);
    }

    #[test]
    fn ptx_is_terminated_and_binaries_are_padded() {
        assert_eq!(terminated(b".version"), b".version\0");
        assert_eq!(terminated(b".version\0more"), b".version\0");
        let bytes: Vec<u8> = (1..=11).collect();
        let words = aligned(&bytes);
        let passed = bytemuck::cast_slice::<u64, u8>(&words);
        assert_eq!(passed, [&bytes[..], &[0; 5]].concat());
    }
}
