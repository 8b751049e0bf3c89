// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfers: host memory that the driver copies to or from later, inaccessible until then.

use std::mem::ManuallyDrop;

use bytemuck::Pod;

use crate::backend::event::{Event, WaitList};
use crate::backend::failure::{Failure, Unstarted};
use crate::backend::queue::Queue;
use crate::backend::slice::Region;

/// Elements that a queued command reads or writes. They are inaccessible before the command has ended; dropping
/// this waits for the end. If it is forgotten instead, its memory is never freed.
pub(crate) struct PendingCopy<T> {
    /// Moving a `Vec` leaves its elements where they are.
    data: ManuallyDrop<Vec<T>>,
    event: Event,
}

impl<T> PendingCopy<T> {
    /// Returns the event of the command.
    pub(crate) fn event(&self) -> Result<Event, Failure> {
        self.event.shared()
    }

    /// Returns the elements, when the command has ended.
    pub(crate) fn wait(mut self) -> Result<Vec<T>, Failure> {
        self.event.wait()?;
        Ok(std::mem::take(&mut *self.data))
    }
}

impl<T> Drop for PendingCopy<T> {
    fn drop(&mut self) {
        // A driver that cannot tell whether the command has ended may still have it use the memory,
        // which then must stay.
        if self.event.has_ended() {
            // SAFETY: this is the only place that drops it, once, and the command has ended.
            unsafe { ManuallyDrop::drop(&mut self.data) };
        }
    }
}

impl Queue {
    /// Enqueues a copy of `region` into all of `data`, which has the same length. It runs after the commands of
    /// `after`, which are of this context.
    pub(crate) fn read_later<T: Pod>(
        &self,
        region: &Region<[()]>,
        mut data: Vec<T>,
        after: &WaitList<'_>,
    ) -> Result<PendingCopy<T>, Failure> {
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut data);
        if bytes.is_empty() || bytes.len() != region.bytes() {
            return self.nothing_later(data, after);
        }
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: nothing touches or frees the bytes before the command has ended, which `PendingCopy`
        // ensures.
        let started = unsafe { self.start_read(region, to, after) };
        self.pending(data, started)
    }

    /// Enqueues a copy of all of `data` to `region`, which has the same length. It runs after the commands of
    /// `after`, which are of this context.
    pub(crate) fn write_later<T: Pod>(
        &self,
        region: &Region<[()]>,
        data: Vec<T>,
        after: &WaitList<'_>,
    ) -> Result<PendingCopy<T>, Failure> {
        let bytes: &[u8] = bytemuck::cast_slice(&data);
        if bytes.is_empty() || bytes.len() != region.bytes() {
            return self.nothing_later(data, after);
        }
        let from = bytes.as_ptr().cast();
        // SAFETY: as of `read_later`.
        let started = unsafe { self.start_write(region, from, after) };
        self.pending(data, started)
    }

    /// Drivers cannot copy zero bytes. A command that waits for such a copy waits for the commands of `after`.
    fn nothing_later<T>(
        &self,
        data: Vec<T>,
        after: &WaitList<'_>,
    ) -> Result<PendingCopy<T>, Failure> {
        let event = self.barrier(after)?;
        let data = ManuallyDrop::new(data);
        Ok(PendingCopy { data, event })
    }

    /// Returns `data` with the copy that uses it.
    fn pending<T>(
        &self,
        data: Vec<T>,
        started: Result<Event, Unstarted>,
    ) -> Result<PendingCopy<T>, Failure> {
        let data = ManuallyDrop::new(data);
        match started {
            Ok(event) => {
                let copy = PendingCopy { data, event };
                // If that fails, dropping `copy` waits for the copy.
                self.flush()?;
                Ok(copy)
            }
            Err(Unstarted { failure, may_run }) => {
                if !may_run {
                    drop(ManuallyDrop::into_inner(data));
                }
                Err(failure)
            }
        }
    }
}
