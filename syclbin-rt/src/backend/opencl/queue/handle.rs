// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command queue as the driver knows it, which is released once.

use opencl3::types::cl_command_queue;

use crate::backend::failure::Failure;
use crate::backend::opencl::driver::sys::Functions;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::queue::wait_list::WaitList;
use crate::backend::opencl::{check, check_handle};

/// An owned queue: the context knows it too, to wait for it.
pub(in crate::backend::opencl) struct Handle {
    pub(in crate::backend::opencl) functions: &'static Functions,
    pub(in crate::backend::opencl) handle: cl_command_queue,
    pub(in crate::backend::opencl) out_of_order: bool,
    /// Whether clFinish also fails because an earlier command failed.
    pub(in crate::backend::opencl) stays_failed: bool,
}

// SAFETY: queues may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Handle {}
// SAFETY: as for Send.
unsafe impl Sync for Handle {}

impl Handle {
    /// Waits for all commands so far.
    pub(in crate::backend::opencl) fn finish(&self) -> Result<(), Failure> {
        if self.out_of_order {
            // Less to ask of a driver than clFinish, which Intel's CPU driver (2026.2) mostly crashes
            // in if other threads use a queue out of order meanwhile.
            return self.mark()?.end().map(drop);
        }
        // SAFETY: the queue is alive.
        check("clFinish", unsafe {
            (self.functions.clFinish.pass())(self.handle)
        })
    }

    /// Waits until all commands so far have ended, even if some of them failed.
    pub(in crate::backend::opencl) fn drain(&self) -> Result<(), Failure> {
        match self.finish() {
            Err(_) if self.stays_failed => self.mark()?.end().map(drop),
            finished => finished,
        }
    }

    /// Enqueues a marker for the end of all commands so far.
    pub(in crate::backend::opencl) fn mark(&self) -> Result<Event, Failure> {
        self.barrier(&WaitList::empty())
    }

    /// A barrier: of all of `events`, which are of this context; of everything queued so far if there
    /// are none.
    pub(in crate::backend::opencl) fn barrier(
        &self,
        events: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        let call = "clEnqueueBarrierWithWaitList";
        let mut event = std::ptr::null_mut();
        // SAFETY: the queue is alive, and the list as long as it says.
        let code = unsafe {
            (self.functions.clEnqueueBarrierWithWaitList.pass())(
                self.handle,
                events.count(),
                events.pointer(),
                &raw mut event,
            )
        };
        let event = check_handle(call, event, code)?;
        // SAFETY: the call handed this reference over.
        Ok(unsafe { Event::from_owned(self.functions, call, event) })
    }
}

impl Drop for Handle {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned.
        unsafe { (self.functions.clReleaseCommandQueue.pass())(self.handle) };
    }
}
