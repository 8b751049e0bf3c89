//! An event: the state of one queued command.

use opencl_sys::{CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS};
use opencl3::error_codes::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
use opencl3::types::{cl_event, cl_int};

use super::sys::Functions;
use super::{Failure, check, info};

/// An owned event.
pub(crate) struct Event {
    functions: &'static Functions,
    /// The call that queued the command.
    call: &'static str,
    handle: cl_event,
}

// SAFETY: events may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Event {}
// SAFETY: as for Send.
unsafe impl Sync for Event {}

impl Event {
    /// Takes over one reference to the event of the command that `call` queued.
    ///
    /// # Safety
    ///
    /// `handle` is an event of the library of `functions`, and the reference is nobody else's.
    pub(super) unsafe fn from_owned(
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

    /// Alive as long as this is.
    pub(super) fn handle(&self) -> cl_event {
        self.handle
    }

    /// Blocks until the command has finished.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        // SAFETY: one event, and it is alive.
        let code = unsafe { (self.functions.clWaitForEvents)(1, &raw const self.handle) };
        if code == CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST {
            // That only says "one of them failed"; the event itself knows why.
            self.is_complete()?;
        }
        check("clWaitForEvents", code)
    }

    /// Whether the command has finished.
    pub(crate) fn is_complete(&self) -> Result<bool, Failure> {
        let query = self.functions.clGetEventInfo;
        let name = CL_EVENT_COMMAND_EXECUTION_STATUS;
        let status: cl_int = info::value("clGetEventInfo", &|size, value, returned| {
            // SAFETY: the event is alive; `value` is null or holds `size` bytes.
            unsafe { query(self.handle, name, size, value, returned) }
        })?;
        if status < 0 {
            // A negative status is the error that ended the command.
            check(self.call, status)?;
        }
        Ok(status == CL_COMPLETE)
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the reference is owned. The command runs on without it.
        unsafe { (self.functions.clReleaseEvent)(self.handle) };
    }
}
