// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program: code that the driver has built for one device, from SPIR-V or its own native code.

pub(in crate::backend::opencl) mod hidden;

use std::ffi::{CStr, CString};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, RwLock};

use opencl_sys::{
    CL_PROGRAM_BINARIES, CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_BUILD_LOG, CL_PROGRAM_KERNEL_NAMES,
};
use opencl3::error_codes::{CL_INVALID_BINARY, CL_INVALID_BUILD_OPTIONS, CL_INVALID_VALUE};
use opencl3::types::{cl_program, cl_uint};

use crate::backend::dispatch::memory::Memory;
use crate::backend::failure::{BuildError, Code, Failure};
use crate::backend::opencl::context::Context;
use crate::backend::opencl::driver::info;
use crate::backend::opencl::program::hidden::Hidden;
use crate::backend::opencl::quirks::intel_cpu_target::{BEST_FIRST, CpuTarget, Seen};
use crate::backend::opencl::quirks::rusticl;
use crate::backend::opencl::{check, check_handle};
use crate::backend::process::gate::{self, Passage, Stage};
use crate::backend::source::Source;
use crate::log;
use syclbin::__private::spirv::Uses;

/// An owned, built program.
pub(crate) struct Program {
    context: Arc<Context>,
    pub(super) handle: cl_program,
    /// The memory that its variables point to.
    memory: Mutex<Vec<Arc<Memory>>>,
    /// The hidden arguments of its kernels, if they have any.
    pub(super) hidden: OnceLock<Hidden>,
}

/// The native code that this process has seen. It is read while a driver compiles, and written while native
/// code goes to or comes from the driver. OpenCL allows all of that on all threads at once, but the CPU driver
/// (2026.2) then frees memory twice. Without a lock, 11 of 25 runs of the tests in `tests/it/module/save.rs`
/// died.
static NATIVE: RwLock<Seen> = RwLock::new(Seen::NOTHING);

/// The capability of `SPV_INTEL_bindless_images`. Intel's CPU driver (2026.2) does not have it.
pub(in crate::backend::opencl) const BINDLESS_IMAGES: u32 = 6528;
/// The advice where the driver refuses code with it.
const NO_BINDLESS_IMAGES: &str = "the code has bindless images (BindlessImagesINTEL, 6528), which few drivers support; \
    let its kernels take `sycl::accessor` with `sycl::target::image`";

/// Returns whether a SPIR-V module has bindless images.
fn has_bindless_images(code: &[u8]) -> bool {
    let words: Vec<u32> = bytemuck::pod_collect_to_vec(code);
    Uses::of(&words).capabilities.contains(&BINDLESS_IMAGES)
}

// SAFETY: programs may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Program {}
// SAFETY: as for Send.
unsafe impl Sync for Program {}

impl Program {
    /// Builds SPIR-V modules for the device of `context`. Several modules are linked to each other.
    ///
    /// The modules may only import from each other: the CPU driver ends the process because of an unresolved
    /// import. No two of them may define the same symbol.
    pub(crate) fn build(
        context: &Arc<Context>,
        modules: &[Source<'_>],
    ) -> Result<Self, BuildError> {
        Self::build_all(context, modules).map_err(|mut error| {
            let mut codes = modules.iter();
            if error.advice.is_none() && codes.any(|module| has_bindless_images(&module.code)) {
                error.advice = Some(NO_BINDLESS_IMAGES);
            }
            error
        })
    }

    fn build_all(context: &Arc<Context>, modules: &[Source<'_>]) -> Result<Self, BuildError> {
        let _passage = Passage::new();
        let _compiling = NATIVE.read().unwrap_or_else(PoisonError::into_inner);
        if let [module] = modules {
            let call = "clBuildProgram";
            let options = terminated(call, &module.options.compile)?;
            let program = Self::create(context, module)?;
            let built = program.compile(call, &options, Stage::FirstCompiled);
            return program.or_log(built);
        }
        let mut objects = Vec::new();
        for module in modules {
            let call = "clCompileProgram";
            let options = terminated(call, &module.options.compile)?;
            let object = Self::create(context, module)?;
            let compiled = object.compile(call, &options, Stage::FirstCompiled);
            objects.push(object.or_log(compiled)?);
        }
        // One program is one native code. As of the reference runtime the first module decides.
        let options = modules.first().map(|module| module.options.link.as_str());
        Self::link(context, &objects, options.unwrap_or_default())
    }

    /// Builds native code of a file for the device of `context`. Values of constants are in the code.
    pub(crate) fn from_file(
        context: &Arc<Context>,
        source: &Source<'_>,
    ) -> Result<Self, BuildError> {
        let _passage = Passage::new();
        let mut seen = NATIVE.write().unwrap_or_else(PoisonError::into_inner);
        let program = Self::from_binary(context, &source.code).map_err(|mut error| {
            let invalid = error.failure.code() == Some(Code::OpenCl(CL_INVALID_BINARY));
            if invalid && seen.of_file().is_some() && !seen.fits(&source.code) {
                error.advice = Some(BEST_FIRST);
            }
            error
        })?;
        seen.file(&source.code);
        Ok(program)
    }

    /// Builds native code that an earlier process got from [`Program::binary`]. Returns `None` if it is for
    /// another processor than this process compiles for.
    pub(crate) fn from_cache(
        context: &Arc<Context>,
        binary: &[u8],
    ) -> Result<Option<Self>, BuildError> {
        let _passage = Passage::new();
        let mut seen = NATIVE.write().unwrap_or_else(PoisonError::into_inner);
        if !seen.fits(binary) {
            return Ok(None);
        }
        let program = Self::from_binary(context, binary)?;
        seen.own(binary);
        Ok(Some(program))
    }

    /// Builds native code; the caller holds the lock.
    fn from_binary(context: &Arc<Context>, binary: &[u8]) -> Result<Self, BuildError> {
        let call = "clCreateProgramWithBinary";
        let (size, mut start) = (binary.len(), binary.as_ptr());
        let (mut status, mut code) = (0, 0);
        // SAFETY: there is one device, the context's, and so one size, one pointer to as many
        // bytes, which the driver copies before it returns, and one status.
        let handle = unsafe {
            (context.functions().clCreateProgramWithBinary.pass())(
                context.handle,
                1,
                &raw const context.device().id,
                &raw const size,
                &raw mut start,
                &raw mut status,
                &raw mut code,
            )
        };
        let program = Self::own(context, check_handle(call, handle, code)?);
        check(call, status)?;
        let built = program.compile("clBuildProgram", c"", Stage::FirstProgram);
        program.or_log(built)
    }

    /// Returns the native code that the driver has made, for [`Program::from_cache`] and files.
    pub(crate) fn binary(&self) -> Result<Vec<u8>, Failure> {
        let call = "clGetProgramInfo";
        let query = self.context.functions().clGetProgramInfo;
        let _passage = Passage::new();
        let _alone = NATIVE.write().unwrap_or_else(PoisonError::into_inner);
        let sizes: Vec<usize> = info::values(call, &|size, value, returned| {
            // SAFETY: the program is alive and built; `value` is null or holds `size` bytes.
            unsafe { (query.pass())(self.handle, CL_PROGRAM_BINARY_SIZES, size, value, returned) }
        })?;
        // A context has one device. One without native code says 0.
        let [size @ 1..=usize::MAX] = sizes[..] else {
            let code = CL_INVALID_VALUE;
            return Err(Failure::opencl(call, code));
        };
        let mut binary = vec![0u8; size];
        let mut place = binary.as_mut_ptr();
        // SAFETY: the value is one pointer, as there is one device, and it points to as many bytes
        // as the driver has just said that it writes.
        check(call, unsafe {
            (query.pass())(
                self.handle,
                CL_PROGRAM_BINARIES,
                size_of_val(&place),
                (&raw mut place).cast(),
                std::ptr::null_mut(),
            )
        })?;
        Ok(binary)
    }

    /// Creates a program that is not built yet.
    fn create(context: &Arc<Context>, module: &Source<'_>) -> Result<Self, Failure> {
        let call = "clCreateProgramWithIL";
        // Loaders forward this call to the driver unchecked, and a driver before OpenCL 2.1 has
        // nothing there. `takes_spirv` has seen the version.
        let device = context.device();
        let create = context.functions().clCreateProgramWithIL;
        let Some(create) = create.filter(|_| device.facts().takes_spirv) else {
            return Err(Failure::Missing {
                function: call,
                needs: "OpenCL 2.1",
            });
        };
        // In the file the module may lie at any address; drivers read it by the word.
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&module.code);
        rusticl::refuse_abort(device.facts(), &words)?;
        let mut code = 0;
        // SAFETY: the driver copies the words before it returns (OpenCL 3.0, clCreateProgramWithIL).
        let handle = unsafe {
            (create.pass())(
                context.handle,
                words.as_ptr().cast(),
                size_of_val(words.as_slice()),
                &raw mut code,
            )
        };
        check_handle(call, handle, code).map(|handle| Self::own(context, handle))
    }

    fn own(context: &Arc<Context>, handle: cl_program) -> Self {
        Self {
            context: Arc::clone(context),
            handle,
            memory: Mutex::default(),
            hidden: OnceLock::new(),
        }
    }

    /// Calls `clBuildProgram` or `clCompileProgram`.
    fn compile(&self, call: &'static str, options: &CStr, stage: Stage) -> Result<(), Failure> {
        let functions = self.context.functions();
        let device = &raw const self.context.device().id;
        let options = options.as_ptr();
        // SAFETY: the device is the one of the context, the options are NUL-terminated, there are
        // no headers, and without a callback the call returns when it is done.
        let code = unsafe {
            if call == "clBuildProgram" {
                let data = std::ptr::null_mut();
                (functions.clBuildProgram.pass())(self.handle, 1, device, options, None, data)
            } else {
                (functions.clCompileProgram.pass())(
                    self.handle,
                    1,
                    device,
                    options,
                    0,
                    std::ptr::null(),
                    std::ptr::null_mut(),
                    None,
                    std::ptr::null_mut(),
                )
            }
        };
        gate::close_at_exit(self.context.device().platform, stage);
        check(call, code)
    }

    /// Links compiled programs into a program.
    fn link(context: &Arc<Context>, objects: &[Self], options: &str) -> Result<Self, BuildError> {
        let call = "clLinkProgram";
        let options = terminated(call, options)?;
        let handles: Vec<cl_program> = objects.iter().map(|object| object.handle).collect();
        let count = cl_uint::try_from(handles.len()).unwrap_or(cl_uint::MAX);
        let mut code = 0;
        // SAFETY: the device is the one of the context and of the programs, which are all compiled and
        // alive. The options are NUL-terminated, and without a callback the call returns when it is
        // done.
        let handle = unsafe {
            (context.functions().clLinkProgram.pass())(
                context.handle,
                1,
                &raw const context.device().id,
                options.as_ptr(),
                count,
                handles.as_ptr(),
                None,
                std::ptr::null_mut(),
                &raw mut code,
            )
        };
        if handle.is_null() {
            check_handle(call, handle, code)?;
        }
        // A program that does not link is there all the same, for its log.
        Self::own(context, handle).or_log(check(call, code))
    }

    /// Returns the program, or the driver's log of its failure.
    fn or_log(self, done: Result<(), Failure>) -> Result<Self, BuildError> {
        match done {
            Ok(()) => {
                self.warn();
                Ok(self)
            }
            Err(failure) => Err(BuildError {
                failure,
                log: self.build_log().unwrap_or_default(),
                advice: None,
            }),
        }
    }

    /// Tells a logger what the driver warns of. Most say something in any case.
    fn warn(&self) {
        if !log::hears_warnings() {
            return;
        }
        let text = self.build_log().unwrap_or_default();
        if text.to_ascii_lowercase().contains("warning") {
            let device = &self.context.device().facts().name;
            log::warn(format_args!("the driver of {device} warns:\n{text}"));
        }
    }

    fn build_log(&self) -> Result<String, Failure> {
        let device = self.context.device().id;
        let query = self.context.functions().clGetProgramBuildInfo;
        info::text("clGetProgramBuildInfo", &|size, value, returned| {
            // SAFETY: the program was built for `device`; `value` is null or holds `size` bytes.
            unsafe {
                (query.pass())(
                    self.handle,
                    device,
                    CL_PROGRAM_BUILD_LOG,
                    size,
                    value,
                    returned,
                )
            }
        })
    }

    /// Returns the symbols of its kernels.
    pub(crate) fn kernel_names(&self) -> Result<Vec<String>, Failure> {
        let query = self.context.functions().clGetProgramInfo;
        let names = info::text("clGetProgramInfo", &|size, value, returned| {
            // SAFETY: the program is alive and built; `value` is null or holds `size` bytes.
            unsafe { (query.pass())(self.handle, CL_PROGRAM_KERNEL_NAMES, size, value, returned) }
        })?;
        let names = names.split(';').filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    /// Keeps `memory` as long as the program.
    pub(super) fn keep(&self, memory: &Arc<Memory>) {
        let mut kept = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Arc::clone(memory));
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Context {
    /// Returns whether caching the driver's code is possible and saves compiling again.
    pub(crate) fn keeps_programs(&self) -> bool {
        true
    }

    /// Returns what else determines the driver's code, beside the sources and the device: the processor of
    /// native code that came out of a file.
    pub(crate) fn variant(&self) -> Option<[u8; 4]> {
        let seen = NATIVE.read().unwrap_or_else(PoisonError::into_inner);
        seen.of_file().map(CpuTarget::bytes)
    }

    /// Returns the variant of `code`, which was compiled here; `None` if processes of that variant compile to
    /// other code.
    pub(crate) fn variant_of_own(&self, code: &[u8]) -> Option<Option<[u8; 4]>> {
        let _passage = Passage::new();
        let mut seen = NATIVE.write().unwrap_or_else(PoisonError::into_inner);
        seen.fits(code).then(|| {
            seen.own(code);
            seen.of_file().map(CpuTarget::bytes)
        })
    }

    /// Returns the processor that native code is for, where the driver takes code for only one processor in a
    /// process.
    pub(crate) fn processor_of(&self, code: &[u8]) -> Option<[u8; 4]> {
        CpuTarget::of(code).map(CpuTarget::bytes)
    }
}

fn terminated(call: &'static str, options: &str) -> Result<CString, Failure> {
    CString::new(options).map_err(|_| {
        let code = CL_INVALID_BUILD_OPTIONS; // a zero byte ends them
        Failure::opencl(call, code)
    })
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned; kernels made from it hold references of their own.
        unsafe { (self.context.functions().clReleaseProgram.pass())(self.handle) };
    }
}
