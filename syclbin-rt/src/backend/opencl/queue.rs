//! An in-order command queue, and the copies it makes.

use std::sync::Arc;

use opencl3::error_codes::CL_INVALID_CONTEXT;
use opencl3::types::{CL_TRUE, cl_command_queue, cl_event, cl_int};

use super::context::Context;
use super::event::Event;
use super::memory::Memory;
use super::{Failure, check, check_handle};

/// An owned queue.
pub(crate) struct Queue {
    context: Arc<Context>,
    pub(super) handle: cl_command_queue,
}

// SAFETY: queues may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Queue {}
// SAFETY: as for Send.
unsafe impl Sync for Queue {}

impl Queue {
    /// An in-order queue.
    pub(crate) fn new(context: Arc<Context>) -> Result<Self, Failure> {
        let mut code = 0;
        // OpenCL 2.0 deprecates this function for one that takes more properties. None of them is
        // wanted here, and every version has this one.
        // SAFETY: the device is the one of the context; only the status is written.
        let handle = unsafe {
            (context.functions().clCreateCommandQueue)(
                context.handle,
                context.device().id,
                0,
                &raw mut code,
            )
        };
        let handle = check_handle("clCreateCommandQueue", handle, code)?;
        Ok(Self { context, handle })
    }

    /// The context it belongs to.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// New memory that holds `bytes`.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Memory, Failure> {
        if bytes.is_empty() {
            return self.zeroed(0);
        }
        let memory = Memory::new(&self.context, bytes.len())?;
        self.write(&memory, bytes)?;
        Ok(memory)
    }

    /// New memory that holds `size` zero bytes.
    pub(crate) fn zeroed(&self, size: usize) -> Result<Memory, Failure> {
        // OpenCL has no buffer of no bytes, and a kernel argument needs a buffer.
        let size = size.max(1);
        let memory = Memory::new(&self.context, size)?;
        let call = "clEnqueueFillBuffer";
        let pattern = 0u8;
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and memory share a context, the memory has `size` bytes, and the driver
        // copies the pattern before it returns (OpenCL 3.0, clEnqueueFillBuffer).
        let code = unsafe {
            (self.context.functions().clEnqueueFillBuffer)(
                self.handle,
                memory.handle,
                (&raw const pattern).cast(),
                size_of_val(&pattern),
                0,
                size,
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)?;
        Ok(memory)
    }

    /// Copies the start of `memory` into `bytes`, after everything queued before.
    pub(crate) fn read(&self, memory: &Memory, bytes: &mut [u8]) -> Result<(), Failure> {
        self.same_context("clEnqueueReadBuffer", memory)?;
        if bytes.is_empty() {
            return self.finish();
        }
        // SAFETY: queue and memory share a context; the driver refuses sizes beyond the memory;
        // the call blocks, so `bytes` outlives the copy.
        check("clEnqueueReadBuffer", unsafe {
            (self.context.functions().clEnqueueReadBuffer)(
                self.handle,
                memory.handle,
                CL_TRUE,
                0,
                bytes.len(),
                bytes.as_mut_ptr().cast(),
                0,
                std::ptr::null(),
                std::ptr::null_mut(),
            )
        })
    }

    /// Copies `bytes` to the start of `memory`, after everything queued before.
    pub(crate) fn write(&self, memory: &Memory, bytes: &[u8]) -> Result<(), Failure> {
        let call = "clEnqueueWriteBuffer";
        self.same_context(call, memory)?;
        if bytes.is_empty() {
            return self.finish();
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and memory share a context; the driver refuses sizes beyond the memory;
        // the call is a blocking one, so it is done with `bytes` when it returns.
        let code = unsafe {
            (self.context.functions().clEnqueueWriteBuffer)(
                self.handle,
                memory.handle,
                CL_TRUE,
                0,
                bytes.len(),
                bytes.as_ptr().cast(),
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }

    /// Waits for a command that fills memory.
    ///
    /// The memory may be used on another queue next, which would not wait for the command. That
    /// goes for a blocking write too: it only promises that the bytes have been copied out of the
    /// slice (OpenCL 3.0, clEnqueueWriteBuffer), and the CPU driver keeps to that, so that a read
    /// on another queue finds the old content in some of a hundred cases.
    pub(super) fn wait_for(
        &self,
        call: &'static str,
        event: cl_event,
        code: cl_int,
    ) -> Result<(), Failure> {
        let event = check_handle(call, event, code)?;
        // SAFETY: the call handed this reference over.
        unsafe { Event::from_owned(self.context.functions(), call, event) }.wait()
    }

    /// Waits for everything queued so far.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        // SAFETY: the queue is alive.
        check("clFinish", unsafe {
            (self.context.functions().clFinish)(self.handle)
        })
    }

    /// Hands what is queued to the device.
    pub(super) fn flush(&self) -> Result<(), Failure> {
        // SAFETY: the queue is alive.
        check("clFlush", unsafe {
            (self.context.functions().clFlush)(self.handle)
        })
    }

    /// Refuses memory of another context, which may be a handle of another driver altogether.
    pub(super) fn same_context(&self, call: &'static str, memory: &Memory) -> Result<(), Failure> {
        if Arc::ptr_eq(&self.context, memory.context()) {
            Ok(())
        } else {
            let code = CL_INVALID_CONTEXT;
            Err(Failure { call, code })
        }
    }
}

impl Drop for Queue {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned. Queued commands still run: the queue is deleted when they
        // have finished (OpenCL 3.0, clReleaseCommandQueue).
        unsafe { (self.context.functions().clReleaseCommandQueue)(self.handle) };
    }
}
