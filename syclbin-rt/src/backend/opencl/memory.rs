//! A buffer object: bytes on a device.

use std::sync::Arc;

use opencl3::types::cl_mem;

use super::context::Context;
use super::{Failure, check_handle};

/// An owned buffer object.
pub(crate) struct Memory {
    context: Arc<Context>,
    pub(super) handle: cl_mem,
}

// SAFETY: buffer objects may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Memory {}
// SAFETY: as for Send.
unsafe impl Sync for Memory {}

impl Memory {
    /// `size` bytes that a kernel may read and write. Their content is undefined: whoever
    /// allocates fills them before anyone else sees them.
    pub(super) fn new(context: &Arc<Context>, size: usize) -> Result<Self, Failure> {
        let mut code = 0;
        let flags = opencl3::memory::CL_MEM_READ_WRITE;
        let null = std::ptr::null_mut();
        // SAFETY: the context is alive; without a host pointer only the status is written.
        let handle = unsafe {
            (context.functions().clCreateBuffer)(context.handle, flags, size, null, &raw mut code)
        };
        let handle = check_handle("clCreateBuffer", handle, code)?;
        Ok(Self {
            context: Arc::clone(context),
            handle,
        })
    }

    /// The context it lies in.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned. Commands may still use it: the object is deleted when the
        // reference count is zero *and* the queued commands that use it have finished
        // (OpenCL 3.0, clReleaseMemObject).
        unsafe { (self.context.functions().clReleaseMemObject)(self.handle) };
    }
}
