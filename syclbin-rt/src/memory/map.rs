// SPDX-License-Identifier: MIT OR Apache-2.0
//! Maps device memory into host memory while a view borrows it.
//!
//! Mapping waits until every queue of the device is empty. It fails while a prepared launch or a recording uses the
//! memory, because both can run again at any time.

use bytemuck::Pod;

use crate::backend::failure::NoView;
use crate::backend::slice::DeviceSlice;
use crate::backend::{Mapped, MappedMut};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::queue::Queue;
use crate::trace::{self, Class};

impl<T: Pod> MappedMut<'_, T> {
    /// Ends the view and writes the host's changes back. Dropping the view does the same, but cannot report a
    /// failure.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request. In that case, the host's changes are lost.
    pub fn unmap(self) -> Result<()> {
        self.end().map_err(|(queue, failure)| {
            let device = Device::new(queue.context().device());
            Error::driver(failure, "unmapping a buffer", &device)
        })
    }
}

/// Host views.
impl Queue {
    /// Maps `slice` into host memory for reading, in place if possible. Otherwise the driver makes a copy.
    ///
    /// This waits until *every* queue of the device is empty, because nothing may modify memory behind a `&[T]`. While
    /// the view exists, kernels that only read the slice can be launched.
    ///
    /// ```no_run
    /// # fn main() -> syclbin_rt::Result<()> {
    /// let queue = syclbin_rt::Device::best()?.queue()?;
    /// let numbers = queue.upload(&[1, 2, 3])?;
    /// assert_eq!(queue.map(&numbers)?.iter().sum::<i32>(), 6);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the slice is on another device, or belongs to a [`DeviceArray`](crate::DeviceArray), which can only be
    /// downloaded. Returns [`ErrorKind::MemoryInUse`] if a prepared launch or a recording writes that memory. Also
    /// fails if the driver rejects the request, or a kernel or one of its asserts failed.
    pub fn map<'a, T: Pod>(&self, slice: &'a DeviceSlice<T>) -> Result<Mapped<'a, T>> {
        self.same_device(slice)?;
        let _span = trace::span(Class::Memory, "mapping", slice.region().bytes());
        let view = Mapped::new(self.raw(), slice).map_err(|problem| self.no_view(&problem))?;
        self.check_asserts().map(|()| view)
    }

    /// Maps `slice` into host memory for reading and writing, as [`Queue::map`] does. Dropping the view writes the
    /// host's changes to the device.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Queue::map`]. Also fails if a prepared launch or a recording uses the memory,
    /// even if only for reading.
    pub fn map_mut<'a, T: Pod>(&self, slice: &'a mut DeviceSlice<T>) -> Result<MappedMut<'a, T>> {
        self.same_device(slice)?;
        let _span = trace::span(Class::Memory, "mapping", slice.region().bytes());
        let view = MappedMut::new(self.raw(), slice).map_err(|problem| self.no_view(&problem))?;
        self.check_asserts().map(|()| view)
    }

    fn no_view(&self, problem: &NoView) -> Error {
        match *problem {
            NoView::InUse => Error::in_use(),
            NoView::OutOfReach => Error::new(
                ErrorKind::InvalidArgument,
                "the host cannot access a DeviceArray's memory; download the array, or use a SharedArray or HostArray \
                 instead",
            ),
            NoView::Failed(failure) => Error::driver(failure, "mapping a buffer", self.device()),
        }
    }
}
