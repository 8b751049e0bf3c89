// SPDX-License-Identifier: MIT OR Apache-2.0
//! The same calls by hand, through `cl3`.
//!
//! `cl3` takes its library from `OPENCL_DYLIB_PATH`, which the parent has set.

use std::ffi::{CString, c_void};
use std::ptr::{null, null_mut};

use opencl3::command_queue::{
    create_command_queue, enqueue_nd_range_kernel, enqueue_write_buffer, finish, flush,
};
use opencl3::context::context::create_context;
use opencl3::device::{CL_DEVICE_NAME, CL_DEVICE_TYPE_ALL, get_device_ids, get_device_info};
use opencl3::event::release_event;
use opencl3::kernel::{create_kernel, set_kernel_arg};
use opencl3::memory::{CL_MEM_READ_WRITE, create_buffer};
use opencl3::platform::platform::get_platform_ids;
use opencl3::program::{build_program, create_program_with_il};
use opencl3::types::{CL_TRUE, cl_command_queue, cl_device_id, cl_int, cl_kernel, cl_mem, cl_uint};

use crate::contestant::{Arguments, Contestant};

/// Sets arguments for each launch or once, and flushes after each launch or not at all.
pub(crate) struct Raw<const SET: bool, const FLUSH: bool> {
    queue: cl_command_queue,
    device: String,
    /// In the order of [`Arguments::ALL`].
    kernels: [cl_kernel; Arguments::ALL.len()],
    buffers: [cl_mem; 4],
}

/// Nothing is released: the process ends with it.
impl<const SET: bool, const FLUSH: bool> Contestant for Raw<SET, FLUSH> {
    fn new() -> Result<Self, String> {
        let (device, name) = device()?;
        let context = create_context(&[device], null(), None, null_mut())
            .map_err(failed("clCreateContext"))?;
        // SAFETY: the device is one of the context.
        let queue = unsafe { create_command_queue(context, device, 0) }
            .map_err(failed("clCreateCommandQueue"))?;
        let file = syclbin::read::parse(crate::stub::FILE).map_err(|error| error.to_string())?;
        let mut images = file.modules.iter().flat_map(|module| &module.images);
        let spirv = images.find_map(syclbin::Image::spirv);
        let spirv = spirv.ok_or("the file has no SPIR-V")?;
        let program =
            create_program_with_il(context, spirv).map_err(failed("clCreateProgramWithIL"))?;
        build_program(program, &[device], c"", None, null_mut())
            .map_err(failed("clBuildProgram"))?;
        let mut kernels = [null_mut(); Arguments::ALL.len()];
        for (kernel, arguments) in kernels.iter_mut().zip(Arguments::ALL) {
            let name = format!("__sycl_kernel_take_{}", arguments.count());
            let name = CString::new(name).map_err(|error| error.to_string())?;
            *kernel = create_kernel(program, &name).map_err(failed("clCreateKernel"))?;
        }
        let buffer = || {
            let zero = 0i32;
            // SAFETY: the context is alive; the call blocks, so `zero` outlives the copy.
            unsafe {
                let memory = create_buffer(context, CL_MEM_READ_WRITE, 4, null_mut())?;
                let value = (&raw const zero).cast();
                enqueue_write_buffer(queue, memory, CL_TRUE, 0, 4, value, 0, null())?;
                Ok(memory)
            }
        };
        let buffer = || buffer().map_err(failed("making a buffer"));
        let mut raw = Self {
            queue,
            device: name,
            kernels,
            buffers: [buffer()?, buffer()?, buffer()?, buffer()?],
        };
        for arguments in Arguments::ALL {
            raw.set(arguments).map_err(failed("clSetKernelArg"))?;
        }
        raw.finish()?;
        Ok(raw)
    }

    fn device(&self) -> String {
        self.device.clone()
    }

    fn launch(&mut self, arguments: Arguments) -> Result<(), String> {
        self.enqueue(arguments).map_err(failed("launching"))
    }

    fn finish(&mut self) -> Result<(), String> {
        finish(self.queue).map_err(failed("clFinish"))
    }
}

impl<const SET: bool, const FLUSH: bool> Raw<SET, FLUSH> {
    fn enqueue(&mut self, arguments: Arguments) -> Result<(), cl_int> {
        if SET {
            self.set(arguments)?;
        }
        let kernel = self.kernels[arguments as usize];
        let one = [1usize];
        // SAFETY: the arguments are set, and each kernel uses one element of each buffer.
        unsafe {
            let (queue, size) = (self.queue, one.as_ptr());
            let event = enqueue_nd_range_kernel(queue, kernel, 1, null(), size, size, 0, null())?;
            release_event(event)?;
        }
        if FLUSH {
            flush(self.queue)?;
        }
        Ok(())
    }

    fn set(&mut self, arguments: Arguments) -> Result<(), cl_int> {
        let kernel = self.kernels[arguments as usize];
        let buffers = &self.buffers[..arguments.buffers()];
        for (index, buffer) in (0..).zip(buffers) {
            set(kernel, index, buffer)?;
        }
        let mut indices = (0..arguments.count()).skip(arguments.buffers());
        while let Some(index) = indices.next() {
            set(kernel, index, &1i32)?;
            if let Some(index) = indices.next() {
                set(kernel, index, &2f32)?;
            }
        }
        Ok(())
    }
}

pub(crate) fn set<T>(kernel: cl_kernel, index: cl_uint, value: &T) -> Result<(), cl_int> {
    let pointer: *const c_void = (&raw const *value).cast();
    // SAFETY: the driver copies the bytes of `value` before it returns.
    unsafe { set_kernel_arg(kernel, index, size_of::<T>(), pointer) }
}

/// What no program gets around: the driver is loaded, and a queue made.
pub(crate) fn driver_alone() -> Result<String, String> {
    let platforms = get_platform_ids().map_err(failed("clGetPlatformIDs"))?;
    let mut devices = platforms
        .into_iter()
        .flat_map(|platform| get_device_ids(platform, CL_DEVICE_TYPE_ALL).unwrap_or_default());
    let device = devices.next().ok_or("no device")?;
    let context =
        create_context(&[device], null(), None, null_mut()).map_err(failed("clCreateContext"))?;
    // SAFETY: the device is the one of the context.
    unsafe { create_command_queue(context, device, 0) }.map_err(failed("clCreateCommandQueue"))?;
    Ok("the driver".to_owned())
}

/// The device that a stub runs on, found again.
pub(crate) fn device() -> Result<(cl_device_id, String), String> {
    let wanted = syclbin_rt::Device::best().map_err(crate::stub::told)?;
    for platform in get_platform_ids().map_err(failed("clGetPlatformIDs"))? {
        for device in get_device_ids(platform, CL_DEVICE_TYPE_ALL).unwrap_or_default() {
            let name =
                get_device_info(device, CL_DEVICE_NAME).map_err(failed("clGetDeviceInfo"))?;
            if String::from(name).trim_end_matches('\0').trim() == wanted.name() {
                return Ok((device, wanted.name().to_owned()));
            }
        }
    }
    Err(format!("cl3 does not find {wanted}"))
}

pub(crate) fn failed(action: &str) -> impl Fn(cl_int) -> String {
    move |code| format!("{action}: {}", opencl3::error_codes::error_text(code))
}
