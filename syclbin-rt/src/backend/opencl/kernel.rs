//! A kernel object: arguments are set and the launch is queued under one lock.

use std::ffi::CStr;
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::{
    CL_KERNEL_COMPILE_WORK_GROUP_SIZE, CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
    CL_KERNEL_LOCAL_MEM_SIZE, CL_KERNEL_NUM_ARGS, CL_KERNEL_WORK_GROUP_SIZE,
};
use opencl3::error_codes::{CL_INVALID_CONTEXT, CL_INVALID_OPERATION};
use opencl3::types::{CL_TRUE, cl_bool, cl_kernel, cl_uint, cl_ulong};

use super::event::Event;
use super::memory::Memory;
use super::program::Program;
use super::queue::Queue;
use super::sampler::Sampler;
use super::wait_list::WaitList;
use super::{Failure, check, check_handle, info};

/// The value of one argument.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    /// A value, byte by byte.
    Bytes(&'a [u8]),
    /// The address of a buffer.
    Memory(&'a Memory),
    /// This many bytes for each work-group.
    Local(usize),
    Sampler(&'a Sampler),
    /// The address of something in device memory.
    Pointer(u64),
    /// No address: a pointer, or a struct of one.
    Null,
}

/// An owned kernel object, with what the driver says of it.
pub(crate) struct Kernel {
    program: Arc<Program>,
    handle: Mutex<Handle>,
    arguments: usize,
    required_local: Option<[usize; 3]>,
    max_local: usize,
    local_memory: u64,
}

struct Handle(cl_kernel);

// SAFETY: a kernel object may be used from every thread, but its arguments not be set by two at
// once (OpenCL 3.0, appendix A.2); the `Mutex` around it sees to that.
unsafe impl Send for Handle {}

impl Kernel {
    /// The kernel called `symbol`.
    pub(crate) fn new(program: &Arc<Program>, symbol: &CStr) -> Result<Self, Failure> {
        let functions = program.context().functions();
        let mut code = 0;
        // SAFETY: the program is built and the name NUL-terminated; only the status is written.
        let handle =
            unsafe { (functions.clCreateKernel)(program.handle, symbol.as_ptr(), &raw mut code) };
        let handle = check_handle("clCreateKernel", handle, code)?;
        // From here on, Drop releases it.
        let mut kernel = Self {
            program: Arc::clone(program),
            handle: Mutex::new(Handle(handle)),
            arguments: 0,
            required_local: None,
            max_local: 0,
            local_memory: 0,
        };

        let arguments: cl_uint = info::value("clGetKernelInfo", &|size, value, returned| {
            // SAFETY: the kernel is alive; `value` is null or holds `size` bytes.
            unsafe {
                (functions.clGetKernelInfo)(handle, CL_KERNEL_NUM_ARGS, size, value, returned)
            }
        })?;
        let device = program.context().device().id;
        let work_group = |name| {
            move |size, value, returned| {
                // SAFETY: the kernel was built for `device`; `value` is null or holds `size` bytes.
                unsafe {
                    (functions.clGetKernelWorkGroupInfo)(
                        handle, device, name, size, value, returned,
                    )
                }
            }
        };
        let call = "clGetKernelWorkGroupInfo";
        let required: [usize; 3] =
            info::value(call, &work_group(CL_KERNEL_COMPILE_WORK_GROUP_SIZE))?;
        kernel.arguments = arguments as usize;
        kernel.required_local = (required != [0; 3]).then_some(required);
        kernel.max_local = info::value(call, &work_group(CL_KERNEL_WORK_GROUP_SIZE))?;
        // Asked before any argument is set: from then on some drivers count those too.
        let local_memory: cl_ulong = info::value(call, &work_group(CL_KERNEL_LOCAL_MEM_SIZE))?;
        kernel.local_memory = local_memory;
        // Pointers in variables and in values are no arguments, so the driver does not see what the
        // kernel uses.
        if program.context().device().extensions.usm.is_some()
            && let Some(set) = functions.clSetKernelExecInfo
        {
            let indirect: cl_bool = CL_TRUE;
            // SAFETY: the device has the extension that knows this name; the value is a `cl_bool`,
            // which the driver copies before it returns.
            check("clSetKernelExecInfo", unsafe {
                set(
                    handle,
                    CL_KERNEL_EXEC_INFO_INDIRECT_DEVICE_ACCESS_INTEL,
                    size_of_val(&indirect),
                    (&raw const indirect).cast(),
                )
            })?;
        }
        Ok(kernel)
    }

    /// How many arguments it takes, without those the compiler removed.
    pub(crate) fn arguments(&self) -> usize {
        self.arguments
    }

    /// The one work-group size it was compiled for, dimension x first.
    pub(crate) fn required_local(&self) -> Option<[usize; 3]> {
        self.required_local
    }

    /// The most work-items of a work-group on this device.
    pub(crate) fn max_local(&self) -> usize {
        self.max_local
    }

    /// How much work-group memory it uses beside its arguments, in bytes.
    pub(crate) fn local_memory(&self) -> u64 {
        self.local_memory
    }

    /// Sets all arguments and queues the kernel, to start when all of `after` has finished. Sizes
    /// are in the driver's order, x first.
    ///
    /// # Errors
    ///
    /// With the index of the argument, if it is one that the driver refuses.
    ///
    /// # Safety
    ///
    /// `local` is as long as `global`. The events of `after` are of the context of `queue`. `values`
    /// are of the kinds the kernel takes, and whatever the kernel does with them on this range is
    /// sound: it stays inside the buffers and races with nobody.
    pub(crate) unsafe fn launch<'a>(
        &self,
        queue: &Queue,
        values: impl Iterator<Item = Argument<'a>>,
        global: &[usize],
        local: Option<&[usize]>,
        after: &WaitList<'_>,
    ) -> Result<Event, (Option<usize>, Failure)> {
        let call = "clEnqueueNDRangeKernel";
        let context = self.program.context();
        if !Arc::ptr_eq(context, queue.context()) {
            let code = CL_INVALID_CONTEXT;
            return Err((None, Failure { call, code }));
        }
        let dimensions = cl_uint::try_from(global.len()).unwrap_or(cl_uint::MAX);
        let handle = self.handle.lock().unwrap_or_else(PoisonError::into_inner);
        let functions = context.functions();
        for (index, value) in values.enumerate() {
            set_argument(functions, queue, &handle, index, value)
                .map_err(|failure| (Some(index), failure))?;
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: kernel and queue share a context; every slice is as long as `dimensions` says
        // (the caller vouches for `local`), and `after` as long as it says. The driver takes its own
        // references to the kernel and to the memory of its arguments, and copies the values,
        // before it returns. What the kernel then does, the caller vouches for.
        let code = unsafe {
            (functions.clEnqueueNDRangeKernel)(
                queue.handle,
                handle.0,
                dimensions,
                std::ptr::null(),
                global.as_ptr(),
                local.map_or(std::ptr::null(), <[usize]>::as_ptr),
                after.count(),
                after.pointer(),
                &raw mut event,
            )
        };
        drop(handle);
        let event = check_handle(call, event, code).map_err(|failure| (None, failure))?;
        // SAFETY: the call handed this reference over.
        let event = unsafe { Event::from_owned(functions, call, event) };
        queue.flush().map_err(|failure| (None, failure))?;
        Ok(event)
    }
}

/// The bytes of a null pointer.
static NULL: u64 = 0;

fn set_argument(
    functions: &super::sys::Functions,
    queue: &Queue,
    kernel: &Handle,
    index: usize,
    value: Argument<'_>,
) -> Result<(), Failure> {
    let call = "clSetKernelArg";
    let index = cl_uint::try_from(index).unwrap_or(cl_uint::MAX);
    let (size, pointer) = match value {
        Argument::Pointer(address) => {
            let call = "clSetKernelArgMemPointerINTEL";
            let usm = queue.context().device().extensions.usm.as_ref();
            let code = CL_INVALID_OPERATION;
            let usm = usm.ok_or(Failure { call, code })?;
            let pointer = std::ptr::without_provenance(
                usize::try_from(address).map_err(|_| Failure { call, code })?,
            );
            // SAFETY: the caller holds the lock of the kernel. What the kernel does with the
            // address is a duty of whoever calls `launch`.
            return check(call, unsafe {
                (usm.set_kernel_arg_mem_pointer)(kernel.0, index, pointer)
            });
        }
        Argument::Bytes(bytes) => (bytes.len(), bytes.as_ptr().cast()),
        Argument::Memory(memory) => {
            queue.same_context(call, memory)?;
            let handle = &raw const memory.handle;
            (size_of_val(&memory.handle), handle.cast())
        }
        // C++ allows a size of 0, OpenCL does not (OpenCL 3.0, clSetKernelArg).
        Argument::Local(bytes) => (bytes.max(1), std::ptr::null()),
        Argument::Sampler(sampler) => {
            if !Arc::ptr_eq(queue.context(), sampler.context()) {
                let code = CL_INVALID_CONTEXT;
                return Err(Failure { call, code });
            }
            let handle = &raw const sampler.handle;
            (size_of_val(&sampler.handle), handle.cast())
        }
        // Read as a struct or as the handle of no buffer, whichever the kernel takes.
        Argument::Null => (size_of_val(&NULL), (&raw const NULL).cast()),
    };
    // SAFETY: the caller holds the lock of the kernel; `pointer` has `size` bytes, which the
    // driver copies before it returns, or is null for work-group memory (OpenCL 3.0,
    // clSetKernelArg). That handles and null only meet the parameters they are for is a duty of
    // whoever calls `launch`.
    check(call, unsafe {
        (functions.clSetKernelArg)(kernel.0, index, size, pointer)
    })
}

impl Drop for Kernel {
    fn drop(&mut self) {
        let handle = self
            .handle
            .get_mut()
            .unwrap_or_else(PoisonError::into_inner);
        // SAFETY: the handle is owned; queued launches hold references of their own.
        unsafe { (self.program.context().functions().clReleaseKernel)(handle.0) };
    }
}
