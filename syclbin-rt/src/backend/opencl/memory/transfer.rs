// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between a device and the host that go on by themselves.

use std::ffi::c_void;

use opencl3::error_codes::CL_SUCCESS;
use opencl3::types::CL_FALSE;

use crate::backend::failure::Unstarted;
use crate::backend::opencl::check_handle;
use crate::backend::opencl::memory::copy::Queued;
use crate::backend::opencl::memory::region::memory_of;
use crate::backend::opencl::queue::Queue;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::queue::wait_list::WaitList;
use crate::backend::slice::Region;

impl Queue {
    /// Starts to copy all of `region`, which is not empty, to `to`, after the commands of `after`,
    /// which are of this context.
    ///
    /// # Safety
    ///
    /// `to` is good for writing as many bytes until the command has ended.
    pub(in crate::backend) unsafe fn start_read(
        &self,
        region: &Region<[()]>,
        to: *mut c_void,
        after: &WaitList<'_>,
    ) -> Result<Event, Unstarted> {
        let memory = memory_of("clEnqueueReadBuffer", region)?;
        let (offset, size) = (region.offset, region.bytes());
        // SAFETY: as the caller says.
        let queued = unsafe { self.enqueue_read(memory, offset, to, size, CL_FALSE, after) }?;
        self.goes_on(queued)
    }

    /// Starts to copy from `from` to all of `region`, as above.
    ///
    /// # Safety
    ///
    /// `from` is good for reading as many bytes until the command has ended.
    pub(in crate::backend) unsafe fn start_write(
        &self,
        region: &Region<[()]>,
        from: *const c_void,
        after: &WaitList<'_>,
    ) -> Result<Event, Unstarted> {
        let memory = memory_of("clEnqueueWriteBuffer", region)?;
        let (offset, size) = (region.offset, region.bytes());
        // SAFETY: as the caller says.
        let queued = unsafe { self.enqueue_write(memory, offset, from, size, CL_FALSE, after) }?;
        self.goes_on(queued)
    }

    fn goes_on(&self, queued: Queued) -> Result<Event, Unstarted> {
        let Queued { call, event, code } = queued;
        let event = check_handle(call, event, code).map_err(|failure| Unstarted {
            failure,
            // A driver that gives no event may have queued the copy all the same.
            may_run: code == CL_SUCCESS && self.finish().is_err(),
        })?;
        // SAFETY: the call handed this reference over.
        Ok(unsafe { Event::from_owned(self.context().functions(), call, event) })
    }
}
