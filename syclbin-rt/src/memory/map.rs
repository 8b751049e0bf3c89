//! Maps device memory into host memory, for as long as a view borrows it.
//!
//! Taking a view waits until every queue of the device is empty. It is an error while a prepared launch or a recording
//! holds the memory, because that can be launched again at any time.

use bytemuck::Pod;

use crate::backend::failure::NoView;
use crate::backend::slice::DeviceSlice;
use crate::backend::{Mapped, MappedMut};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::queue::Queue;

impl<T: Pod> MappedMut<'_, T> {
    /// Gives the elements back, with what was written. Dropping does the same, but cannot tell when
    /// that fails.
    ///
    /// # Errors
    ///
    /// When the driver refuses; what was written is lost then.
    pub fn unmap(self) -> Result<()> {
        self.end().map_err(|(queue, failure)| {
            let device = Device::new(queue.context().device());
            Error::driver(failure, "unmapping a buffer", &device)
        })
    }
}

/// Views of the host.
impl Queue {
    /// Lets the host read `slice` in place, where that is possible, and by a copy that the driver
    /// makes where not.
    ///
    /// It waits until *every* queue of the device is empty: nothing may change what a `&[T]` points
    /// to. As long as the view is there, kernels that read the slice can be launched.
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
    /// When the slice is on another device, or of an array of the device's own
    /// ([`DeviceArray`](crate::DeviceArray)), which has to be downloaded; when a prepared launch or a
    /// recording writes that memory ([`ErrorKind::Held`]); and when the driver refuses, or tells that
    /// a kernel failed.
    pub fn map<'a, T: Pod>(&self, slice: &'a DeviceSlice<T>) -> Result<Mapped<'a, T>> {
        self.same_device(slice)?;
        Mapped::new(self.raw(), slice).map_err(|problem| self.no_view(&problem))
    }

    /// Lets the host read and write `slice`, as [`Queue::map`]. What it wrote is on the device when
    /// the view is dropped.
    ///
    /// # Errors
    ///
    /// As of [`Queue::map`]; a prepared launch or a recording is in the way also if it only reads.
    pub fn map_mut<'a, T: Pod>(&self, slice: &'a mut DeviceSlice<T>) -> Result<MappedMut<'a, T>> {
        self.same_device(slice)?;
        MappedMut::new(self.raw(), slice).map_err(|problem| self.no_view(&problem))
    }

    fn no_view(&self, problem: &NoView) -> Error {
        match *problem {
            NoView::Held => ErrorKind::Held.into(),
            NoView::OutOfReach => ErrorKind::OutOfReach.into(),
            NoView::Failed(failure) => Error::driver(failure, "mapping a buffer", self.device()),
        }
    }
}
