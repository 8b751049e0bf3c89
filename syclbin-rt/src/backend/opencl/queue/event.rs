// SPDX-License-Identifier: MIT OR Apache-2.0
//! An event: the state of one queued command.

use opencl_sys::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_PROFILING_COMMAND_END,
    CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_SUBMIT,
    CL_QUEUED,
};
use opencl3::types::{cl_event, cl_int, cl_ulong};

use crate::backend::failure::Failure;
use crate::backend::opencl::check;
use crate::backend::opencl::driver::info;
use crate::backend::opencl::driver::sys::Functions;
use crate::backend::times::Times;

/// An owned event.
pub(crate) struct Event {
    pub(in crate::backend::opencl) functions: &'static Functions,
    /// The call that queued the command.
    pub(in crate::backend::opencl) call: &'static str,
    pub(in crate::backend::opencl) handle: cl_event,
}

// SAFETY: events may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Event {}
// SAFETY: as for Send.
unsafe impl Sync for Event {}

impl Event {
    /// Takes over a reference to the event of the command that `call` enqueued.
    ///
    /// # Safety
    ///
    /// `handle` is an event of the library of `functions`, and the reference has no other owner.
    pub(in crate::backend::opencl) unsafe fn from_owned(
        functions: &'static Functions,
        call: &'static str,
        handle: cl_event,
    ) -> Self {
        Self {
            functions,
            call,
            handle,
        }
    }

    /// Creates another owner of the same event.
    pub(crate) fn shared(&self) -> Result<Self, Failure> {
        // SAFETY: the event is alive, and has one reference more from here on.
        check("clRetainEvent", unsafe {
            (self.functions.clRetainEvent.pass())(self.handle)
        })?;
        Ok(Self { ..*self })
    }

    /// Blocks until the command has finished.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        let status = self.end()?;
        self.finished(status)
    }

    /// Blocks until the command has ended, even with an error. Returns `false` if the driver does not report
    /// the end; the command may then go on.
    pub(in crate::backend) fn has_ended(&self) -> bool {
        self.end().is_ok()
    }

    /// Blocks until the command has ended, and returns 0 or the error that ended it.
    ///
    /// # Errors
    ///
    /// When the driver does not report the end; the command may then go on.
    pub(in crate::backend::opencl) fn end(&self) -> Result<cl_int, Failure> {
        // SAFETY: one event, and it is alive.
        let code = unsafe { (self.functions.clWaitForEvents.pass())(1, &raw const self.handle) };
        let Err(failure) = check("clWaitForEvents", code) else {
            return Ok(CL_COMPLETE);
        };
        // That may only say "one of them failed"; the event itself knows why.
        match self.status()? {
            status if status <= CL_COMPLETE => Ok(status),
            _ => Err(failure),
        }
    }

    /// Returns whether the command has finished. Only flushed commands ever finish.
    pub(crate) fn is_complete(&self) -> Result<bool, Failure> {
        let status = self.status()?;
        if status < CL_COMPLETE {
            self.finished(status)?;
        }
        Ok(status == CL_COMPLETE)
    }

    /// A negative status is the error that ended the command.
    pub(in crate::backend::opencl) fn finished(&self, status: cl_int) -> Result<(), Failure> {
        check(self.call, status)
    }

    /// Asked again and again by those who poll, so in one call and without an allocation.
    pub(in crate::backend::opencl) fn status(&self) -> Result<cl_int, Failure> {
        // Should a driver write nothing, nothing has ended.
        let mut status = CL_QUEUED;
        // SAFETY: the event is alive, and the status is written to as many bytes as it has.
        check("clGetEventInfo", unsafe {
            (self.functions.clGetEventInfo.pass())(
                self.handle,
                CL_EVENT_COMMAND_EXECUTION_STATUS,
                size_of_val(&status),
                (&raw mut status).cast(),
                std::ptr::null_mut(),
            )
        })?;
        Ok(status)
    }

    /// Returns the recorded times of a finished command, on a queue with profiling.
    pub(crate) fn times(&self) -> Result<Times, Failure> {
        let query = self.functions.clGetEventProfilingInfo;
        let time = |name| -> Result<cl_ulong, Failure> {
            info::value("clGetEventProfilingInfo", &|size, value, returned| {
                // SAFETY: the event is alive; `value` is null or holds `size` bytes.
                unsafe { (query.pass())(self.handle, name, size, value, returned) }
            })
        };
        Ok(Times {
            queued: time(CL_PROFILING_COMMAND_QUEUED)?,
            submitted: time(CL_PROFILING_COMMAND_SUBMIT)?,
            started: time(CL_PROFILING_COMMAND_START)?,
            ended: time(CL_PROFILING_COMMAND_END)?,
        })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the reference is owned. The command runs on without it.
        unsafe { (self.functions.clReleaseEvent.pass())(self.handle) };
    }
}
