// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: modules that the driver has compiled, linked and loaded into a context.

use std::ffi::{CStr, CString, c_uint, c_void};
use std::ptr::{null_mut, without_provenance_mut};
use std::sync::{Arc, Mutex, PoisonError};

use super::*;

pub(crate) struct Program {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: Raw<CUmodule>,
    kind: Kind,
    code: Vec<u8>,
    /// Keeps alive the memory that the program's variables point to.
    memory: Mutex<Vec<Arc<AnyMemory>>>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// NUL-terminated PTX.
    Ptx,
    /// A cubin or a fat binary.
    Native,
}

impl Builds for Context {
    fn build(self: Arc<Self>, sources: &[Source<'_>]) -> Result<AnyProgram, BuildError> {
        Ok(Arc::new(Program::build(&self, sources, Kind::Ptx)?))
    }

    fn build_native(self: Arc<Self>, source: &Source<'_>) -> Result<AnyProgram, BuildError> {
        let sources = std::slice::from_ref(source);
        Ok(Arc::new(Program::build(&self, sources, Kind::Native)?))
    }
}

impl Program {
    /// Compiles the modules if they are PTX, links them if there are several, and loads the code.
    ///
    /// Then initializes the variables that hold specialization constants. Skips variables that the compiler removed
    /// because no code reads them.
    pub(crate) fn build(
        context: &Arc<Context>,
        sources: &[Source<'_>],
        kind: Kind,
    ) -> Result<Self, BuildError> {
        let codes = sources.iter().map(|source| match kind {
            Kind::Ptx => terminated(&source.code),
            Kind::Native => source.code.to_vec(),
        });
        let program = match <[Vec<u8>; 1]>::try_from(codes.collect::<Vec<_>>()) {
            Ok([code]) => Self::load(context, kind, code)?,
            Err(codes) => Self::load(context, Kind::Native, link(context, &codes)?)?,
        };
        for (name, bytes) in sources.iter().flat_map(|source| &source.constants) {
            program.set(name, bytes)?;
        }
        Ok(program)
    }

    fn load(context: &Arc<Context>, kind: Kind, code: Vec<u8>) -> Result<Self, BuildError> {
        let (mut jit, mut handle, words) = (Jit::new(), null_mut(), aligned(&code));
        // SAFETY: the context is current. The code is aligned to 8 bytes; PTX is NUL-terminated, and other code carries
        // its own length. There are `OPTIONS` names and values, and the log buffers that they point to are alive.
        let loaded = unsafe {
            call!(context => cuModuleLoadDataEx(
                &raw mut handle, words.as_ptr().cast::<c_void>(), OPTIONS, jit.names.as_mut_ptr(),
                jit.values.as_mut_ptr()
            ))
        };
        gate::close_at_exit(&raw const *context.device.functions, Stage::FirstProgram);
        loaded.map_err(|failure| jit.failed(failure))?;
        log_warnings(&context.device.facts, || text(&jit.remarks));
        Ok(Self {
            context: Arc::clone(context),
            handle: Raw(handle),
            kind,
            code,
            memory: Mutex::default(),
        })
    }

    /// Sets a variable before any kernel runs. Does nothing if the code lacks the variable.
    fn set(&self, name: &str, bytes: &[u8]) -> Result<()> {
        let refused = invalid("cuModuleGetGlobal");
        let name = CString::new(name).map_err(|_| refused)?;
        let (address, size) = match self.variable(&name) {
            Err(failure) if failure.code() == Some(Code::Cuda(NOT_FOUND)) => return Ok(()),
            found => found?,
        };
        if bytes.len() > size {
            return Err(refused);
        }
        let from = bytes.as_ptr().expose_provenance() as u64;
        // Not the default stream, which waits for streams of other libraries and fails while one of them captures.
        let stream = self.context.allocating.0;
        // SAFETY: the context is current, and the variable is at least as long as `bytes`. `settle` waits for the
        // stream, so `bytes` outlives the copy, and kernels on every queue read the new value.
        unsafe {
            let queued = call!(self.context => cuMemcpyAsync(address, from, bytes.len(), stream));
            queued.and(self.context.settle(stream))
        }
    }

    /// Returns the address and size in bytes of the variable `name`.
    pub(crate) fn variable(&self, name: &CStr) -> Result<(CUdeviceptr, usize)> {
        let (mut address, mut size) = (0, 0);
        // SAFETY: the module is loaded, and the name is NUL-terminated; the call writes two values through valid
        // pointers.
        unsafe {
            let (address, size) = (&raw mut address, &raw mut size);
            call!(self.context => cuModuleGetGlobal_v2(address, size, self.handle.0, name.as_ptr()))
        }?;
        Ok((address, size))
    }

    /// Keeps `memory` alive as long as the program.
    pub(crate) fn keep(&self, memory: &Arc<AnyMemory>) {
        let mut kept = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Arc::clone(memory));
    }
}

impl DriverProgram for Program {
    fn kernel(self: Arc<Self>, symbol: CString, declared: Declared) -> Result<AnyKernel> {
        Kernel::new(self, &symbol, declared).map(AnyKernel::from)
    }

    /// Returns the native code that was loaded, or compiles the PTX to native code. Specialization constants have their
    /// default values.
    fn binary(&self) -> Result<Vec<u8>> {
        match self.kind {
            Kind::Native => Ok(self.code.clone()),
            Kind::Ptx => {
                let linked = link(&self.context, std::slice::from_ref(&self.code));
                linked.map_err(|error| error.failure)
            }
        }
    }
}

/// The suffix that the compiler appends to a kernel's name for the variant that takes an offset.
pub(crate) const OFFSET_VARIANT: &str = "_with_offset";

impl Drop for Program {
    fn drop(&mut self) {
        // Wait, because the program's kernels may still be running. If waiting fails, leak the program.
        if self.context.finish_all().is_ok() {
            // SAFETY: the module is owned. Its kernels keep this value alive, so none are left.
            let _ = unsafe { call!(self.context => cuModuleUnload(self.handle.0)) };
        }
    }
}

/// Returns the PTX up to its first NUL, where drivers stop reading, followed by a terminating NUL.
fn terminated(text: &[u8]) -> Vec<u8> {
    let text = text.iter().take_while(|byte| **byte != 0);
    text.copied().chain([0]).collect()
}

/// Copies the bytes to an 8-byte-aligned address: binaries require this alignment, but a file may store them unaligned.
fn aligned(bytes: &[u8]) -> Vec<u64> {
    let mut words = vec![0; bytes.len().div_ceil(8)];
    bytemuck::cast_slice_mut(&mut words)[..bytes.len()].copy_from_slice(bytes);
    words
}

/// Links NUL-terminated PTX into native code for the device of `context`.
fn link(context: &Arc<Context>, codes: &[Vec<u8>]) -> Result<Vec<u8>, BuildError> {
    let mut linker = Linker::new(context)?;
    let linked = linker.link(codes);
    let binary = linked.map_err(|failure| linker.jit.failed(failure))?;
    log_warnings(&context.device.facts, || text(&linker.jit.remarks));
    Ok(binary)
}

struct Linker<'j> {
    context: &'j Arc<Context>,
    handle: CUlinkState,
    /// Options and logs, which the driver uses until the linker is destroyed.
    jit: Box<Jit>,
}

impl<'j> Linker<'j> {
    fn new(context: &'j Arc<Context>) -> Result<Self, BuildError> {
        let (mut jit, mut handle) = (Box::new(Jit::new()), null_mut());
        let (names, values) = (jit.names.as_mut_ptr(), jit.values.as_mut_ptr());
        // SAFETY: the context is current. There are `OPTIONS` names and values, which live as long as the linker. The
        // call writes one handle through a valid pointer.
        unsafe { call!(context => cuLinkCreate_v2(OPTIONS, names, values, &raw mut handle)) }?;
        Ok(Self {
            context,
            handle,
            jit,
        })
    }

    fn link(&mut self, codes: &[Vec<u8>]) -> Result<Vec<u8>> {
        let kind = CUjitInputType::CU_JIT_INPUT_PTX;
        for (number, code) in codes.iter().enumerate() {
            // The driver's messages contain this name.
            let name = CString::new(format!("module {number}")).unwrap_or_default();
            let words = aligned(code);
            // SAFETY: the linker is alive, and `words` holds at least `code.len()` bytes. The driver neither modifies
            // them nor keeps a reference after the call (CUDA driver API, cuLinkAddData).
            unsafe {
                call!(self.context => cuLinkAddData_v2(
                    self.handle, kind, words.as_ptr().cast::<c_void>().cast_mut(), code.len(),
                    name.as_ptr(), 0, null_mut(), null_mut()
                ))
            }?;
        }
        let (mut binary, mut size) = (null_mut(), 0);
        // SAFETY: the linker is alive; the call writes two values through valid pointers.
        unsafe {
            call!(self.context => cuLinkComplete(self.handle, &raw mut binary, &raw mut size))
        }?;
        if binary.is_null() {
            return Err(invalid("cuLinkComplete"));
        }
        // SAFETY: `binary` points to `size` bytes, which the driver keeps alive until the linker is destroyed.
        let bytes = unsafe { std::slice::from_raw_parts(binary.cast::<u8>(), size) };
        Ok(bytes.to_vec())
    }
}

impl Drop for Linker<'_> {
    fn drop(&mut self) {
        // SAFETY: the linker is owned.
        let _ = unsafe { call!(self.context => cuLinkDestroy(self.handle)) };
    }
}

/// The maximum size of each log in bytes.
const LOG: usize = 16 << 10;

const OPTIONS: c_uint = 4;

/// Compilation options, and the buffers for the driver's logs.
struct Jit {
    names: [CUjit_option; OPTIONS as usize],
    /// Numbers and addresses that the driver reads, and in some cases overwrites.
    values: [*mut c_void; OPTIONS as usize],
    errors: Vec<u8>,
    remarks: Vec<u8>,
}

impl Jit {
    fn new() -> Self {
        let (mut errors, mut remarks) = (vec![0; LOG], vec![0; LOG]);
        let size = without_provenance_mut(LOG);
        Self {
            names: [
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER,
                CUjit_option::CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES,
                CUjit_option::CU_JIT_INFO_LOG_BUFFER,
                CUjit_option::CU_JIT_INFO_LOG_BUFFER_SIZE_BYTES,
            ],
            values: [
                errors.as_mut_ptr().cast(),
                size,
                remarks.as_mut_ptr().cast(),
                size,
            ],
            errors,
            remarks,
        }
    }

    /// Combines the failure of a call with the driver's log.
    fn failed(&self, failure: Failure) -> BuildError {
        BuildError {
            log: text(&self.errors),
            ..failure.into()
        }
    }
}

/// Returns the log up to its first NUL.
fn text(log: &[u8]) -> String {
    let said = log.split(|byte| *byte == 0).next().unwrap_or_default();
    String::from_utf8_lossy(said).trim_end().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn log_ends_at_a_zero_byte() {
        assert_eq!(text(&Jit::new().errors), "");
        assert_eq!(text(b"ptxas fatal\n\0rest"), "ptxas fatal");
        assert_eq!(text(b"no end"), "no end");
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
