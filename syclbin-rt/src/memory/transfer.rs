// SPDX-License-Identifier: MIT OR Apache-2.0
//! Transfers: copies between device memory and the host that the caller need not wait for.

use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::task::{Context, Poll};

use bytemuck::Pod;

use crate::backend::{Completion, DeviceSlice, Direction, PendingCopy};
use crate::error::Result;
use crate::memory::copy::{After, host_memory};
use crate::queue::Queue;
use crate::queue::event::Event;
use crate::trace::{self, Class};

/// A copy between a buffer and host memory that the caller need not wait for. Created by [`Queue::download_later`],
/// [`Queue::read_later`] or [`Queue::write_later`].
///
/// A transfer owns the host elements until the copy has finished. Then [`Transfer::wait`] or `.await` returns them.
/// Dropping a transfer waits for the copy. If a transfer is forgotten ([`std::mem::forget`]), its memory is never
/// freed.
///
/// On CUDA, starting a transfer may block: until the copy has finished if it reads device memory, or until the driver has
/// copied the elements into its own memory if it writes. To copy without blocking, use a
/// [`HostArray`](crate::HostArray) and [`Queue::copy`].
///
/// ```no_run
/// # fn main() -> syclbin_rt::Result<()> {
/// let queue = syclbin_rt::Device::best()?.queue()?;
/// let mut buffer = queue.zeroed::<f32>(1000)?;
/// let up = queue.write_later(&mut buffer, vec![1.0; 1000])?;
/// let down = queue.download_later(&buffer)?;
/// // ... something else, and then:
/// assert_eq!(down.wait()?, up.wait()?);
/// # Ok(())
/// # }
/// ```
#[must_use = "dropping it waits for the copy; `wait` returns the elements"]
pub struct Transfer<T: Pod> {
    lent: PendingCopy<T>,
    event: Event,
}

impl<T: Pod> Transfer<T> {
    /// Returns the copy's event, so that other commands can wait for the copy.
    #[must_use]
    pub fn event(&self) -> &Event {
        &self.event
    }

    /// Returns whether the copy has finished.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Event::is_complete`].
    pub fn is_complete(&self) -> Result<bool> {
        self.event.is_complete()
    }

    /// Waits until the copy has finished, and returns the elements that were read or written.
    ///
    /// # Errors
    ///
    /// Fails if the copy, a command that it waited for, or an assert in a kernel on its queue failed. In that case,
    /// the elements are lost.
    pub fn wait(self) -> Result<Vec<T>> {
        let _span = trace::span(Class::Wait, "waiting for a transfer", 0);
        let data = self.lent.wait();
        let data = data.map_err(|failure| self.event.failed(failure))?;
        self.event.queue().check_asserts().map(|()| data)
    }
}

/// Asynchronous transfers, which do not block the caller, except on CUDA: see [`Transfer`].
impl Queue {
    /// Enqueues a copy of `slice` to the host, and returns without waiting for it. The copy is ordered like
    /// [`Queue::copy`].
    ///
    /// # Errors
    ///
    /// Fails if the slice is on another device, if a host view of the memory conflicts, if the host does not have enough
    /// memory, or if the driver rejects the request.
    pub fn download_later<T: Pod>(&self, slice: &DeviceSlice<T>) -> Result<Transfer<T>> {
        self.after(&[]).download_later(slice)
    }

    /// Enqueues a copy of `slice` as [`Queue::download_later`] does, but into an existing `Vec`, such as the result of
    /// an earlier transfer.
    ///
    /// # Errors
    ///
    /// Fails if the slice is on another device, if the lengths differ, or if the driver rejects the request. Returns
    /// [`ErrorKind::MemoryInUse`](crate::ErrorKind::MemoryInUse) if a host view of the memory conflicts. In each case,
    /// the elements in `data` are lost.
    pub fn read_later<T: Pod>(&self, slice: &DeviceSlice<T>, data: Vec<T>) -> Result<Transfer<T>> {
        self.after(&[]).read_later(slice, data)
    }

    /// Enqueues a copy of `data` to `slice`, and returns without waiting for it. The copy is ordered like
    /// [`Queue::copy`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Queue::read_later`].
    pub fn write_later<T: Pod>(
        &self,
        slice: &mut DeviceSlice<T>,
        data: Vec<T>,
    ) -> Result<Transfer<T>> {
        self.after(&[]).write_later(slice, data)
    }
}

impl After<'_> {
    /// Works like [`Queue::download_later`], but the copy also waits for the events passed to [`Queue::after`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Queue::download_later`], or if an event belongs to another device.
    pub fn download_later<T: Pod>(self, slice: &DeviceSlice<T>) -> Result<Transfer<T>> {
        self.queue.can_use(slice, false)?;
        self.read_later(slice, host_memory(slice.len())?)
    }

    /// Works like [`Queue::read_later`], but the copy also waits for the events passed to [`Queue::after`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Queue::read_later`], or if an event belongs to another device.
    pub fn read_later<T: Pod>(self, slice: &DeviceSlice<T>, data: Vec<T>) -> Result<Transfer<T>> {
        self.transfer(slice, data, Direction::ToHost)
    }

    /// Works like [`Queue::write_later`], but the copy also waits for the events passed to [`Queue::after`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Queue::write_later`], or if an event belongs to another device.
    pub fn write_later<T: Pod>(
        self,
        slice: &mut DeviceSlice<T>,
        data: Vec<T>,
    ) -> Result<Transfer<T>> {
        self.transfer(slice, data, Direction::ToDevice)
    }

    fn transfer<T: Pod>(
        self,
        slice: &DeviceSlice<T>,
        data: Vec<T>,
        direction: Direction,
    ) -> Result<Transfer<T>> {
        let (doing, action, written) = match direction {
            Direction::ToHost => ("reading", "reading a buffer", false),
            Direction::ToDevice => ("writing", "writing a buffer", true),
        };
        let queue = self.queue;
        queue.can_copy(slice, data.len(), written)?;
        let (after, size) = (self.wait_list()?, size_of_val(data.as_slice()));
        let failed = |failure| queue.failed(failure, doing, size);
        let (raw, region) = (queue.raw(), slice.region());
        let lent = raw.transfer_later(region, data, direction, &after);
        let lent = lent.map_err(failed)?;
        let raw = lent.event().map_err(failed)?;
        let event = Event::of_any(queue, Class::Memory, action, size, raw);
        Ok(Transfer { lent, event })
    }
}

impl<T: Pod> fmt::Debug for Transfer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Transfer({})", self.event.what)
    }
}

/// A future that completes when a copy finishes. Created by `.await` or [`IntoFuture::into_future`] of a [`Transfer`].
/// Like a transfer, it waits if it is dropped before the copy has finished.
#[must_use = "dropping it waits for the copy; `.await` it instead"]
pub struct TransferFuture<T: Pod> {
    /// `None` once the elements have been returned.
    transfer: Option<Transfer<T>>,
    end: Option<Completion>,
}

// No field is pinned, and the elements are on the heap.
impl<T: Pod> Unpin for TransferFuture<T> {}

impl<T: Pod> Future for TransferFuture<T> {
    /// Returns the elements. Fails for the same reasons as [`Transfer::wait`].
    type Output = Result<Vec<T>>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        // A poll after completion, which executors do not make, stays pending forever.
        let Some(transfer) = this.transfer.take() else {
            return Poll::Pending;
        };
        match transfer.event().poll(&mut this.end, context.waker()) {
            // The copy has finished, so neither `drop` nor `wait` blocks. Some drivers report a failure only to `poll`.
            Poll::Ready(ended) => Poll::Ready(ended.and_then(|()| transfer.wait())),
            Poll::Pending => {
                this.transfer = Some(transfer);
                Poll::Pending
            }
        }
    }
}

impl<T: Pod> IntoFuture for Transfer<T> {
    type Output = Result<Vec<T>>;
    type IntoFuture = TransferFuture<T>;

    fn into_future(self) -> TransferFuture<T> {
        TransferFuture {
            transfer: Some(self),
            end: None,
        }
    }
}

impl<T: Pod> fmt::Debug for TransferFuture<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TransferFuture({:?})", self.transfer)
    }
}
