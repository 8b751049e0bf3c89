//! A program: SPIR-V that the driver has compiled for one device.

use std::ffi::CString;
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::{CL_PROGRAM_BUILD_LOG, CL_PROGRAM_KERNEL_NAMES};
use opencl3::error_codes::{CL_INVALID_BUILD_OPTIONS, CL_INVALID_OPERATION};
use opencl3::types::cl_program;

use super::context::Context;
use super::usm::DeviceMemory;
use super::{Failure, check, check_handle, info};
use crate::specialization::Setting;

/// An owned, built program.
pub(crate) struct Program {
    context: Arc<Context>,
    pub(super) handle: cl_program,
    /// What its variables point to.
    memory: Mutex<Vec<Arc<DeviceMemory>>>,
}

/// A program the driver does not build.
pub(crate) struct BuildError {
    pub(crate) failure: Failure,
    /// The driver's own words; may be empty.
    pub(crate) log: String,
}

impl From<Failure> for BuildError {
    fn from(failure: Failure) -> Self {
        let log = String::new();
        Self { failure, log }
    }
}

// SAFETY: programs may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Program {}
// SAFETY: as for Send.
unsafe impl Sync for Program {}

impl Program {
    /// Builds a SPIR-V module for the device of `context`.
    ///
    /// The module must have no unresolved imports: the CPU driver ends the process over them.
    pub(crate) fn build(
        context: &Arc<Context>,
        spirv: &[u8],
        settings: &[Setting],
    ) -> Result<Self, BuildError> {
        Self::build_with(context, spirv, settings, "")
    }

    /// The same with options of `clBuildProgram`.
    pub(crate) fn build_with(
        context: &Arc<Context>,
        spirv: &[u8],
        settings: &[Setting],
        options: &str,
    ) -> Result<Self, BuildError> {
        let Ok(options) = CString::new(options) else {
            let (call, code) = ("clBuildProgram", CL_INVALID_BUILD_OPTIONS);
            return Err(Failure { call, code }.into()); // a zero byte ends them
        };
        let call = "clCreateProgramWithIL";
        // Loaders forward this call to the driver unchecked, and a driver before OpenCL 2.1 has
        // nothing there. `takes_spirv` has seen the version.
        let device = context.device();
        let create = context.functions().clCreateProgramWithIL;
        let Some(create) = create.filter(|_| device.facts().takes_spirv) else {
            let code = CL_INVALID_OPERATION;
            return Err(Failure { call, code }.into());
        };
        // In the file the module may lie at any address; drivers read it by the word.
        let words: Vec<u32> = bytemuck::pod_collect_to_vec(spirv);
        let mut code = 0;
        // SAFETY: the driver copies the words before it returns (OpenCL 3.0, clCreateProgramWithIL).
        let handle = unsafe {
            create(
                context.handle,
                words.as_ptr().cast(),
                size_of_val(words.as_slice()),
                &raw mut code,
            )
        };
        let program = Self {
            context: Arc::clone(context),
            handle: check_handle(call, handle, code)?,
            memory: Mutex::default(),
        };
        for setting in settings {
            program.set(setting)?;
        }
        // SAFETY: the device is the one of the context, the options are NUL-terminated, and
        // without a callback the call returns when the program is built.
        let built = check("clBuildProgram", unsafe {
            (context.functions().clBuildProgram)(
                program.handle,
                1,
                &raw const device.id,
                options.as_ptr(),
                None,
                std::ptr::null_mut(),
            )
        });
        match built {
            Ok(()) => Ok(program),
            Err(failure) => Err(BuildError {
                failure,
                log: program.build_log().unwrap_or_default(),
            }),
        }
    }

    /// Gives a specialization constant a value, before the program is built.
    fn set(&self, setting: &Setting) -> Result<(), Failure> {
        let call = "clSetProgramSpecializationConstant";
        // As for clCreateProgramWithIL, but of OpenCL 2.2.
        let facts = self.context.device().facts();
        let set = self.context.functions().clSetProgramSpecializationConstant;
        let Some(set) = set.filter(|_| facts.sets_constants) else {
            let code = CL_INVALID_OPERATION;
            return Err(Failure { call, code });
        };
        let Setting { id, bytes } = setting;
        // SAFETY: the program is not built yet; the driver refuses ids and sizes that the module
        // does not have, and copies the value before it returns.
        check(call, unsafe {
            set(self.handle, *id, bytes.len(), bytes.as_ptr().cast())
        })
    }

    fn build_log(&self) -> Result<String, Failure> {
        let device = self.context.device().id;
        let query = self.context.functions().clGetProgramBuildInfo;
        info::text("clGetProgramBuildInfo", &|size, value, returned| {
            // SAFETY: the program was built for `device`; `value` is null or holds `size` bytes.
            unsafe {
                query(
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

    /// The symbols of its kernels.
    pub(crate) fn kernel_names(&self) -> Result<Vec<String>, Failure> {
        let query = self.context.functions().clGetProgramInfo;
        let names = info::text("clGetProgramInfo", &|size, value, returned| {
            // SAFETY: the program is alive and built; `value` is null or holds `size` bytes.
            unsafe { query(self.handle, CL_PROGRAM_KERNEL_NAMES, size, value, returned) }
        })?;
        let names = names.split(';').filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    /// Keeps `memory` as long as the program.
    pub(super) fn keep(&self, memory: &Arc<DeviceMemory>) {
        let mut kept = self.memory.lock().unwrap_or_else(PoisonError::into_inner);
        kept.push(Arc::clone(memory));
    }

    pub(super) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for Program {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned; kernels made from it hold references of their own.
        unsafe { (self.context.functions().clReleaseProgram)(self.handle) };
    }
}
