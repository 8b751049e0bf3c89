// SPDX-License-Identifier: MIT OR Apache-2.0
//! Programs: code that the driver has built for one device, from SPIR-V or from its own native code.

use std::ffi::{CStr, CString};
use std::io::{self, Write as _};
use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, Once, OnceLock, PoisonError, RwLock};

use opencl_sys::{
    CL_PROGRAM_BINARIES, CL_PROGRAM_BINARY_SIZES, CL_PROGRAM_BUILD_LOG, CL_PROGRAM_DEVICES,
};
use opencl3::error_codes::{CL_INVALID_BINARY, CL_INVALID_BUILD_OPTIONS};
use opencl3::types::{cl_program, cl_uint};
use syclbin::__private::spirv::{Uses, reversible};

use super::*;
use crate::backend::guard::Mode;

pub(crate) struct Program {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: Raw<cl_program>,
    /// Keeps alive the memory that the program's variables point to.
    pub(crate) memory: Mutex<Vec<Arc<AnyMemory>>>,
    /// The hidden arguments of the program's kernels, if any.
    pub(crate) hidden: OnceLock<Hidden>,
    /// Whether launches can reverse the order of work-groups.
    pub(crate) reversible: bool,
}

/// The target of the native code that this process has loaded. Locked for reading while a driver compiles, and for
/// writing while a driver loads or returns native code. OpenCL allows both at once, but Intel's CPU driver (2026.2)
/// then frees memory twice: without the lock, 11 of 25 runs of the tests in `tests/it/module/save.rs` crashed.
static NATIVE: RwLock<Seen> = RwLock::new(Seen {
    target: None,
    in_file: false,
});

/// The capability of `SPV_INTEL_bindless_images`, which Intel's CPU driver (2026.2) does not support.
pub(crate) const BINDLESS_IMAGES: u32 = 6528;
const NO_BINDLESS_IMAGES: &str = "the code uses bindless images (BindlessImagesINTEL, 6528), which few drivers \
    support; use `sycl::accessor` with `sycl::target::image` in its kernels";

const UNCHECKED: &str = "warning: SYCLBIN_GUARD=races skips some kernels: it checks only SPIR-V that it can rewrite; \
    to check more, build without native code, and remove `device_image_scope` from device globals";

impl Builds for Context {
    /// Modules must import only from each other: Intel's CPU driver aborts the process on an unresolved import.
    fn build(self: Arc<Self>, modules: &[Source<'_>]) -> Result<AnyProgram, BuildError> {
        let program = Program::build_all(&self, modules).map_err(|mut error| {
            let has_bindless_images = |module: &Source<'_>| {
                let words: Vec<u32> = bytemuck::pod_collect_to_vec(&module.code);
                Uses::of(&words).capabilities.contains(&BINDLESS_IMAGES)
            };
            if modules.iter().any(has_bindless_images) {
                error.advice = Some(NO_BINDLESS_IMAGES);
            }
            error
        })?;
        Ok(Arc::new(program))
    }

    fn build_native(self: Arc<Self>, source: &Source<'_>) -> Result<AnyProgram, BuildError> {
        let _guard = CallGuard::new();
        let mut seen = NATIVE.write().unwrap_or_else(PoisonError::into_inner);
        let program = Program::from_binary(&self, &source.code).map_err(|mut error| {
            let invalid = error.failure.code() == Some(Code::OpenCl(CL_INVALID_BINARY));
            if invalid && seen.of_file().is_some() && !seen.fits(&source.code) {
                error.advice = Some(BEST_FIRST);
            }
            error
        })?;
        seen.file(&source.code);
        drop(seen);
        program.log_warnings();
        Ok(Arc::new(program))
    }

    fn caching(self: Arc<Self>) -> Option<Arc<dyn Caches>> {
        // It is not recorded whether a cached program is reversible.
        (self.guard != Some(Mode::Races)).then_some(self as _)
    }

    fn processor_of(&self, code: &[u8]) -> Option<[u8; 4]> {
        cpu_target(code)
    }
}

impl Caches for Context {
    fn build_cached(self: Arc<Self>, code: &[u8]) -> Result<Option<AnyProgram>, BuildError> {
        let _guard = CallGuard::new();
        let mut seen = NATIVE.write().unwrap_or_else(PoisonError::into_inner);
        if !seen.fits(code) {
            return Ok(None);
        }
        let program = Program::from_binary(&self, code)?;
        seen.own(code);
        drop(seen);
        program.log_warnings();
        Ok(Some(Arc::new(program)))
    }

    /// Returns the target of the native code that this process has loaded, if some of it came from a file.
    fn variant(&self) -> Option<[u8; 4]> {
        let seen = NATIVE.read().unwrap_or_else(PoisonError::into_inner);
        seen.of_file()
    }

    fn variant_of_own(&self, code: &[u8]) -> Option<Option<[u8; 4]>> {
        let _guard = CallGuard::new();
        let mut seen = NATIVE.write().unwrap_or_else(PoisonError::into_inner);
        seen.fits(code).then(|| {
            seen.own(code);
            seen.of_file()
        })
    }
}

impl Program {
    fn build_all(context: &Arc<Context>, modules: &[Source<'_>]) -> Result<Self, BuildError> {
        let _guard = CallGuard::new();
        let compiling = NATIVE.read().unwrap_or_else(PoisonError::into_inner);
        let mut objects = Vec::new();
        let program = Self::link_all(context, modules, &mut objects);
        drop(compiling);
        for part in objects.iter().chain(&program) {
            part.log_warnings();
        }
        program
    }

    /// Builds the modules, or compiles them to `objects` and links these. The caller must hold the [`NATIVE`] lock.
    fn link_all(
        context: &Arc<Context>,
        modules: &[Source<'_>],
        objects: &mut Vec<Self>,
    ) -> Result<Self, BuildError> {
        if let [module] = modules {
            let options = terminated("clBuildProgram", &module.options.compile)?;
            let program = Self::create(context, module)?;
            let built = program.build_with(&options, Stage::FirstCompiled);
            return program.if_built(built);
        }
        for module in modules {
            let options = terminated("clCompileProgram", &module.options.compile)?;
            let object = Self::create(context, module)?;
            let compiled = object.compile(&options);
            objects.push(object.if_built(compiled)?);
        }
        // Linking yields a single native program, so only one module's link options can apply. As in the reference
        // runtime, these are the first module's.
        let options = modules.first().map(|module| module.options.link.as_str());
        Self::link(context, objects, options.unwrap_or_default())
    }

    /// Builds a program from native code. The caller must hold the [`NATIVE`] lock.
    fn from_binary(context: &Arc<Context>, binary: &[u8]) -> Result<Self, BuildError> {
        let (size, mut start, mut status) = (binary.len(), binary.as_ptr(), 0);
        // SAFETY: there is a single device, which belongs to the context. So there is one size, one status, and one
        // pointer, valid for `size` bytes, which the driver copies before it returns.
        let handle = unsafe {
            create!(context.functions => clCreateProgramWithBinary(
                context.handle.0, 1, &raw const context.device.id, &raw const size, &raw mut start, &raw mut status
            ))
        }?;
        let program = Self::own(context, handle, false);
        check("clCreateProgramWithBinary", status)?;
        let built = program.build_with(c"", Stage::FirstProgram);
        program.if_built(built)
    }

    /// Creates a program without building it.
    fn create(context: &Arc<Context>, module: &Source<'_>) -> Result<Self> {
        // Loaders forward this call unchecked, but drivers older than OpenCL 2.1 lack the function. `takes_spirv`
        // implies OpenCL 2.1.
        let facts = &context.device.facts;
        let create = context.functions.clCreateProgramWithIL;
        let create = create.filter(|_| facts.takes_spirv);
        let create = create.ok_or(Failure::missing("clCreateProgramWithIL", "OpenCL 2.1"))?;
        // Drivers read the module as 32-bit words, but it may be unaligned in the file. So copy it into aligned memory.
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(&module.code);
        if let Some(feature) = aborts_on(facts, &words) {
            return Err(Failure::Rejected(Rejection::EndsProcess(feature)));
        }
        let rewritten = (module.options.reversible).then(|| reversible(&words));
        let rewritten = rewritten.flatten();
        let words = rewritten.as_ref().unwrap_or(&words);
        let (start, size) = (words.as_ptr().cast(), size_of_val(words.as_slice()));
        // PoCL (6.0) calls `strtok`, whose state all threads share, so only one thread at a time may create a program.
        // Compilation happens later, without this lock.
        static CREATING: Mutex<()> = Mutex::new(());
        let _creating = CREATING.lock().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the driver copies the words before it returns (OpenCL 3.0, clCreateProgramWithIL).
        let handle = unsafe {
            create!(with create => clCreateProgramWithIL(context.handle.0, start, size))
        }?;
        Ok(Self::own(context, handle, rewritten.is_some()))
    }

    fn own(context: &Arc<Context>, handle: cl_program, reversible: bool) -> Self {
        static WARNING: Once = Once::new();
        if !reversible && context.guard == Some(Mode::Races) {
            WARNING.call_once(|| _ = writeln!(io::stderr(), "{UNCHECKED}"));
        }
        Self {
            context: Arc::clone(context),
            handle: Raw(handle),
            memory: Mutex::default(),
            hidden: OnceLock::new(),
            reversible,
        }
    }

    fn build_with(&self, options: &CStr, stage: Stage) -> Result<()> {
        // SAFETY: the device belongs to the context, and the options are NUL-terminated. Without a callback, the call
        // blocks until the build ends.
        let built = unsafe {
            call!(self.context.functions => clBuildProgram(
                self.handle.0, 1, &raw const self.context.device.id, options.as_ptr(), None, null_mut()
            ))
        };
        gate::close_at_exit(self.context.device.platform, stage);
        built
    }

    fn compile(&self, options: &CStr) -> Result<()> {
        // SAFETY: as in `build_with`; there are no headers.
        let compiled = unsafe {
            call!(self.context.functions => clCompileProgram(
                self.handle.0, 1, &raw const self.context.device.id, options.as_ptr(),
                0, null(), null_mut(), None, null_mut()
            ))
        };
        gate::close_at_exit(self.context.device.platform, Stage::FirstCompiled);
        compiled
    }

    fn link(context: &Arc<Context>, objects: &[Self], options: &str) -> Result<Self, BuildError> {
        let call = "clLinkProgram";
        let options = terminated(call, options)?;
        let handles: Vec<cl_program> = objects.iter().map(|object| object.handle.0).collect();
        let count = cl_uint::try_from(handles.len()).unwrap_or(cl_uint::MAX);
        let mut status = 0;
        // SAFETY: the objects are alive, belong to the context, and were compiled for its device. The options are
        // NUL-terminated. Without a callback, the call blocks until linking ends.
        let handle = unsafe {
            (context.functions.clLinkProgram.pass())(
                context.handle.0,
                1,
                &raw const context.device.id,
                options.as_ptr(),
                count,
                handles.as_ptr(),
                None,
                null_mut(),
                &raw mut status,
            )
        };
        if handle.is_null() {
            check_handle(call, handle, status)?;
        }
        // If linking fails, the driver may still return a program, which holds the log.
        let reversible = objects.iter().all(|object| object.reversible);
        Self::own(context, handle, reversible).if_built(check(call, status))
    }

    /// Returns the program, or a build error with the driver's log if `built` is an error.
    fn if_built(self, built: Result<()>) -> Result<Self, BuildError> {
        built.map_err(|failure| BuildError {
            log: self.build_log().unwrap_or_default(),
            ..failure.into()
        })?;
        Ok(self)
    }

    /// Logs the driver's warnings. The caller must not hold the [`NATIVE`] lock, because a logger may use other kernels.
    fn log_warnings(&self) {
        log_warnings(&self.context.device.facts, || {
            self.build_log().unwrap_or_default()
        });
    }

    fn build_log(&self) -> Result<String> {
        let (program, device) = (self.handle.0, self.context.device.id);
        let functions = self.context.functions;
        // SAFETY: the program was built for `device`.
        unsafe { query!(functions => clGetProgramBuildInfo(program, device, CL_PROGRAM_BUILD_LOG)) }
            .text()
    }

    /// Keeps `memory` alive as long as the program.
    pub(crate) fn keep(&self, memory: &Arc<AnyMemory>) {
        let mut kept = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Arc::clone(memory));
    }
}

impl DriverProgram for Program {
    fn kernel(self: Arc<Self>, symbol: CString, _declared: Declared) -> Result<AnyKernel> {
        Kernel::new(self, symbol).map(AnyKernel::from)
    }

    fn binary(&self) -> Result<Vec<u8>> {
        let (functions, program) = (self.context.functions, self.handle.0);
        let _guard = CallGuard::new();
        let _alone = NATIVE.write().unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the program is alive and built.
        let sizes =
            unsafe { query!(functions => clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES)) };
        let sizes = sizes.values::<usize>()?;
        // SAFETY: as for the sizes.
        let devices = unsafe { query!(functions => clGetProgramInfo(program, CL_PROGRAM_DEVICES)) };
        let devices = devices.values::<usize>()?;
        // An adopted context may have several devices. For a sub-device, PoCL (6.0) lists the whole device. The program is
        // built for only one, so the first native code is its own then.
        let is_own = |id: &usize| *id == self.context.device.id.addr();
        let own = devices.iter().position(is_own);
        let own = own.or_else(|| sizes.iter().position(|size| *size > 0));
        // A size of 0 means that there is no native code.
        let Some((own, size @ 1..)) = own.and_then(|own| Some((own, *sizes.get(own)?))) else {
            return Err(invalid("clGetProgramInfo"));
        };
        let mut binary = vec![0u8; size];
        let mut starts = vec![null_mut(); sizes.len()];
        starts[own] = binary.as_mut_ptr();
        // SAFETY: there is a pointer for each device, null or to as many bytes as the driver has just reported.
        unsafe {
            call!(functions => clGetProgramInfo(
                program, CL_PROGRAM_BINARIES, size_of_val(&*starts), starts.as_mut_ptr().cast(), null_mut()
            ))
        }?;
        Ok(binary)
    }
}

fn terminated(call: &'static str, options: &str) -> Result<CString> {
    // A NUL byte would end the options.
    CString::new(options).map_err(|_| Failure::opencl(call, CL_INVALID_BUILD_OPTIONS))
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned; kernels created from it hold references of their own.
        unsafe { (self.context.functions.clReleaseProgram.pass())(self.handle.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::ptr::NonNull;
    use std::sync::atomic::{AtomicI32, Ordering};

    use opencl3::error_codes::CL_OUT_OF_HOST_MEMORY;
    use opencl3::types::{cl_context, cl_device_id, cl_int};

    use super::*;
    use crate::backend::opencl::quirks::tests::code;

    /// The status of every call.
    static STATUS: AtomicI32 = AtomicI32::new(0);

    unsafe extern "C" fn no_program(
        _context: cl_context,
        _devices: cl_uint,
        _list: *const cl_device_id,
        _sizes: *const usize,
        _binaries: *mut *const u8,
        _statuses: *mut cl_int,
        status: *mut cl_int,
    ) -> cl_program {
        // SAFETY: the caller passes a valid pointer.
        unsafe { status.write(STATUS.load(Ordering::SeqCst)) };
        null_mut()
    }

    #[test]
    fn only_files_for_other_processors_get_advice() {
        const TEST: &str = "only_files_for_other_processors_get_advice";
        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        // Other tests of this process load native code.
        if crate::backend::gate::runs_in_child(module_path!(), TEST) {
            return;
        }
        let device = queue.raw().opencl().unwrap().context.device;
        let replace = |name: &str| {
            let address = NonNull::new(no_program as *mut c_void);
            address.filter(|_| name == "clCreateProgramWithBinary")
        };
        // SAFETY: the function has the type of the one that it replaces.
        let device = unsafe { device.with_functions(replace) };
        let context = Arc::new(Context::new(device).unwrap());
        let advice = |target, status| {
            STATUS.store(status, Ordering::SeqCst);
            let source = Source {
                code: code(target).into(),
                constants: Vec::new(),
                options: BuildOptions::default(),
            };
            let built = Arc::clone(&context).build_native(&source);
            built.err().expect("the driver creates no program").advice
        };
        assert_eq!(advice(5, CL_INVALID_BINARY), None);
        // This process compiled code for target 6.
        NATIVE.write().unwrap().own(&code(6));
        assert_eq!(advice(5, CL_INVALID_BINARY), None);
        // It loaded such code from a file.
        NATIVE.write().unwrap().file(&code(6));
        assert_eq!(advice(5, CL_INVALID_BINARY), Some(BEST_FIRST));
        assert_eq!(advice(6, CL_INVALID_BINARY), None);
        assert_eq!(advice(5, CL_OUT_OF_HOST_MEMORY), None);
    }
}
