//! Device memory with an address, which kernels can be told inside of values and variables.

use std::ffi::c_void;
use std::sync::Arc;

use opencl3::error_codes::CL_INVALID_OPERATION;
use opencl3::types::cl_command_queue;

use super::context::Context;
use super::extensions::Usm;
use super::queue::Queue;
use super::{Failure, check, check_handle};

/// Owned device memory. Its content is undefined at first.
pub(crate) struct DeviceMemory {
    context: Arc<Context>,
    /// The queue it is used on.
    queue: cl_command_queue,
    functions: &'static Usm,
    pub(super) pointer: *mut c_void,
    size: usize,
}

// SAFETY: the memory is only touched through queues, which may be used from every thread (OpenCL
// 3.0, appendix A.2).
unsafe impl Send for DeviceMemory {}
// SAFETY: as for Send.
unsafe impl Sync for DeviceMemory {}

impl DeviceMemory {
    /// `size` bytes, but never none, for commands of `queue`.
    ///
    /// # Errors
    ///
    /// When the device has no such memory, or not enough of it.
    pub(super) fn new(queue: &Queue, size: usize) -> Result<Self, Failure> {
        let context = queue.context();
        let call = "clDeviceMemAllocINTEL";
        let device = context.device();
        let code = CL_INVALID_OPERATION;
        let functions = device.extensions.usm.as_ref();
        let functions = functions.ok_or(Failure { call, code })?;
        let size = size.max(1);
        let mut code = 0;
        // SAFETY: the device is the one of the context; no properties; 0 asks for an alignment
        // that suits every type; only the status is written.
        let pointer = unsafe {
            (functions.device_mem_alloc)(
                context.handle,
                device.id,
                std::ptr::null(),
                size,
                0,
                &raw mut code,
            )
        };
        let pointer = check_handle(call, pointer, code)?;
        // SAFETY: the queue is alive, and has one reference more from here on.
        let retained = check("clRetainCommandQueue", unsafe {
            (context.functions().clRetainCommandQueue)(queue.handle)
        });
        if let Err(failure) = retained {
            // SAFETY: nobody else knows the memory.
            unsafe { (functions.mem_blocking_free)(context.handle, pointer) };
            return Err(failure);
        }
        Ok(Self {
            context: Arc::clone(context),
            queue: queue.handle,
            functions,
            pointer,
            size,
        })
    }

    pub(super) fn functions(&self) -> &'static Usm {
        self.functions
    }

    /// How many bytes it has.
    pub(super) fn size(&self) -> usize {
        self.size
    }

    /// Its address on the device.
    pub(crate) fn address(&self) -> u64 {
        self.pointer as u64
    }

    /// The context it lies in.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for DeviceMemory {
    fn drop(&mut self) {
        let functions = self.context.functions();
        // Unlike a buffer the memory is gone at once. The function that frees it is said to wait for
        // commands that may use it (cl_intel_unified_shared_memory), but the CPU driver does not
        // count those that only find its address in a variable.
        // SAFETY: queue and memory are owned; what uses the memory has finished.
        unsafe {
            (functions.clFinish)(self.queue);
            (self.functions.mem_blocking_free)(self.context.handle, self.pointer);
            (functions.clReleaseCommandQueue)(self.queue);
        }
    }
}
