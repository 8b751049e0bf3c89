//! Transfers: host memory that the driver copies to or from later, kept from everybody until then.

use std::mem::ManuallyDrop;

use bytemuck::Pod;
use opencl3::error_codes::CL_SUCCESS;
use opencl3::types::CL_FALSE;

use super::copy::Queued;
use super::event::Event;
use super::queue::Queue;
use super::wait_list::WaitList;
use super::{Failure, check_handle};
use crate::backend::slice::Place;

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
    /// Queues a copy of `place` into all of `data`, which is as long, after the commands of `after`,
    /// which are of this context.
    pub(crate) fn read_later<T: Pod>(
        &self,
        place: &Place<[()]>,
        mut data: Vec<T>,
        after: &WaitList<'_>,
    ) -> Result<Lent<T>, Failure> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
        if bytes.is_empty() {
            return self.nothing_later(data, after);
        }
        let (to, size) = (bytes.as_mut_ptr().cast(), bytes.len());
        // SAFETY: nobody touches or frees the bytes before the command has ended, which `Lent` sees
        // to.
        let queued =
            unsafe { self.enqueue_read(&place.memory, place.offset, to, size, CL_FALSE, after) };
        self.lend(data, queued?)
    }

    /// Queues a copy of all of `data` to `place`, which is as long, after the commands of `after`,
    /// which are of this context.
    pub(crate) fn write_later<T: Pod>(
        &self,
        place: &Place<[()]>,
        data: Vec<T>,
        after: &WaitList<'_>,
    ) -> Result<Lent<T>, Failure> {
        let bytes: &[u8] = bytemuck::cast_slice(&data);
        if bytes.is_empty() {
            return self.nothing_later(data, after);
        }
        let (from, size) = (bytes.as_ptr().cast(), bytes.len());
        // SAFETY: as of `read_later`.
        let queued =
            unsafe { self.enqueue_write(&place.memory, place.offset, from, size, CL_FALSE, after) };
        self.lend(data, queued?)
    }

    /// OpenCL has no copy of no bytes. What waits for one waits for what it would have.
    fn nothing_later<T>(&self, data: Vec<T>, after: &WaitList<'_>) -> Result<Lent<T>, Failure> {
        let event = self.barrier(after)?;
        let data = ManuallyDrop::new(data);
        Ok(Lent { data, event })
    }

    /// What the copy that a call queued uses `data` for.
    fn lend<T>(&self, data: Vec<T>, queued: Queued) -> Result<Lent<T>, Failure> {
        let Queued { call, event, code } = queued;
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
