//! Transfers: host memory that the driver copies to or from later, kept from everybody until then.

use std::mem::ManuallyDrop;

use bytemuck::Pod;
use opencl3::error_codes::CL_SUCCESS;
use opencl3::types::{CL_FALSE, cl_event, cl_int};

use super::event::Event;
use super::memory::Memory;
use super::queue::Queue;
use super::wait_list::WaitList;
use super::{Failure, check_handle};

/// Elements that a queued command reads or writes. Nobody sees them before it has ended; dropping
/// this waits for that. If it is forgotten instead, its memory is never freed.
pub(crate) struct Lent<T> {
    /// Moving a `Vec` leaves its elements where they are.
    data: ManuallyDrop<Vec<T>>,
    event: Event,
}

impl<T> Lent<T> {
    /// The event of the command.
    pub(crate) fn event(&self) -> Result<Event, Failure> {
        self.event.shared()
    }

    /// The elements, when the command has ended.
    pub(crate) fn wait(mut self) -> Result<Vec<T>, Failure> {
        self.event.wait()?;
        Ok(std::mem::take(&mut *self.data))
    }
}

impl<T> Drop for Lent<T> {
    fn drop(&mut self) {
        // A driver that cannot tell whether the command has ended may still have it use the memory,
        // which then must stay.
        if self.event.end().is_ok() {
            // SAFETY: this is the only place that drops it, once, and the command has ended.
            unsafe { ManuallyDrop::drop(&mut self.data) };
        }
    }
}

impl Queue {
    /// Queues a copy of the start of `memory` into all of `data`, after the commands of `after`,
    /// which are of this context.
    pub(crate) fn read_later<T: Pod>(
        &self,
        memory: &Memory,
        mut data: Vec<T>,
        after: &WaitList<'_>,
    ) -> Result<Lent<T>, Failure> {
        let call = "clEnqueueReadBuffer";
        self.same_context(call, memory)?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
        if bytes.is_empty() {
            return self.nothing_later(data, after);
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and memory share a context; the driver refuses sizes beyond the memory;
        // nobody touches or frees the bytes before the command has ended, which `Lent` sees to. The
        // list is as long as it says.
        let code = unsafe {
            (self.context().functions().clEnqueueReadBuffer)(
                self.handle,
                memory.handle,
                CL_FALSE,
                0,
                bytes.len(),
                bytes.as_mut_ptr().cast(),
                after.count(),
                after.pointer(),
                &raw mut event,
            )
        };
        self.lend(call, data, event, code)
    }

    /// Queues a copy of all of `data` to the start of `memory`, after the commands of `after`, which
    /// are of this context.
    pub(crate) fn write_later<T: Pod>(
        &self,
        memory: &Memory,
        data: Vec<T>,
        after: &WaitList<'_>,
    ) -> Result<Lent<T>, Failure> {
        let call = "clEnqueueWriteBuffer";
        self.same_context(call, memory)?;
        let bytes: &[u8] = bytemuck::cast_slice(&data);
        if bytes.is_empty() {
            return self.nothing_later(data, after);
        }
        let mut event = std::ptr::null_mut();
        // SAFETY: as of `read_later`.
        let code = unsafe {
            (self.context().functions().clEnqueueWriteBuffer)(
                self.handle,
                memory.handle,
                CL_FALSE,
                0,
                bytes.len(),
                bytes.as_ptr().cast(),
                after.count(),
                after.pointer(),
                &raw mut event,
            )
        };
        self.lend(call, data, event, code)
    }

    /// OpenCL has no copy of no bytes. What waits for one waits for what it would have.
    fn nothing_later<T>(&self, data: Vec<T>, after: &WaitList<'_>) -> Result<Lent<T>, Failure> {
        let event = self.barrier(after)?;
        let data = ManuallyDrop::new(data);
        Ok(Lent { data, event })
    }

    /// What the copy that `call` queued uses `data` for.
    fn lend<T>(
        &self,
        call: &'static str,
        data: Vec<T>,
        event: cl_event,
        code: cl_int,
    ) -> Result<Lent<T>, Failure> {
        let data = ManuallyDrop::new(data);
        let event = match check_handle(call, event, code) {
            Ok(event) => event,
            Err(failure) => {
                // A driver that gives no event may have queued the copy all the same.
                if code != CL_SUCCESS || self.finish().is_ok() {
                    drop(ManuallyDrop::into_inner(data));
                }
                return Err(failure);
            }
        };
        // SAFETY: the call handed this reference over.
        let event = unsafe { Event::from_owned(self.context().functions(), call, event) };
        let lent = Lent { data, event };
        // If that fails the copy is waited for, as `lent` goes.
        self.flush()?;
        Ok(lent)
    }
}
