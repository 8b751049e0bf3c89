// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slices of device memory, and views of them in host memory.
//!
//! Mapping waits until every queue of the device is empty. It fails if a prepared launch or a recording could access
//! the memory in conflict with the view, because such a launch or recording can run again at any time.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Bound, Deref, DerefMut, RangeBounds};

use bytemuck::Pod;

use crate::backend::{DeviceSlice, Mapped, MappedMut, NoView, OwnedRegion};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::memory::buffer::{Buffer, DeviceArray, HostArray, SharedArray};
use crate::memory::copy::no_host_memory;
use crate::queue::Queue;
use crate::trace::{self, Class};

/// A readable part of device memory, like `&data[2..8]` on the host. Created by [`DeviceSlice::slice`].
///
/// ```no_run
/// # fn main() -> syclbin_rt::Result<()> {
/// let queue = syclbin_rt::Device::best()?.queue()?;
/// let all = queue.upload(&[1, 2, 3, 4])?;
/// let middle = all.slice(1..3)?;
/// assert_eq!(queue.download(&middle)?, [2, 3]);
/// # Ok(())
/// # }
/// ```
pub struct SliceRef<'a, T> {
    region: OwnedRegion,
    whole: PhantomData<&'a DeviceSlice<T>>,
}

/// A writable part of device memory, like `&mut data[2..8]` on the host. Created by [`DeviceSlice::slice_mut`] and
/// [`DeviceSlice::split_at_mut`].
pub struct SliceMut<'a, T> {
    region: OwnedRegion,
    whole: PhantomData<&'a mut DeviceSlice<T>>,
}

impl<T: Pod> DeviceSlice<T> {
    /// Returns the number of elements.
    #[must_use]
    pub fn len(&self) -> usize {
        self.region().len
    }

    /// Returns whether the slice has no elements.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the device that holds the elements.
    #[must_use]
    pub fn device(&self) -> Device {
        Device::new(self.region().memory.context().device())
    }

    /// Returns the elements of `range`.
    ///
    /// Copies accept any part. Kernels accept a part of a [`Buffer`] only if its start is aligned as the
    /// device requires, usually to 128 bytes. Otherwise the launch fails. A part of an array, such as a
    /// [`DeviceArray`], may start anywhere.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidArgument`] if `range` does not lie inside the slice.
    pub fn slice(&self, range: impl RangeBounds<usize>) -> Result<SliceRef<'_, T>> {
        let (region, whole) = (self.part(range)?, PhantomData);
        Ok(SliceRef { region, whole })
    }

    /// Returns the elements of `range` for reading and writing.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`DeviceSlice::slice`].
    pub fn slice_mut(&mut self, range: impl RangeBounds<usize>) -> Result<SliceMut<'_, T>> {
        let (region, whole) = (self.part(range)?, PhantomData);
        Ok(SliceMut { region, whole })
    }

    /// Splits the slice into the first `mid` elements and the rest.
    ///
    /// While a host view ([`Queue::map`](crate::Queue::map)) of one part exists, commands that write the other part
    /// fail too. If the view is writable, so do commands that read it. Views are tracked per allocation, not per part.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidArgument`] if the slice has fewer than `mid` elements.
    pub fn split_at_mut(&mut self, mid: usize) -> Result<(SliceMut<'_, T>, SliceMut<'_, T>)> {
        let (first, rest) = (self.part(..mid)?, self.part(mid..)?);
        let whole = PhantomData;
        let mutable = |region| SliceMut { region, whole };
        Ok((mutable(first), mutable(rest)))
    }

    fn part(&self, range: impl RangeBounds<usize>) -> Result<OwnedRegion> {
        let start = match range.start_bound() {
            Bound::Included(first) => Some(*first),
            Bound::Excluded(before) => before.checked_add(1),
            Bound::Unbounded => Some(0),
        };
        let end = match range.end_bound() {
            Bound::Included(last) => last.checked_add(1),
            Bound::Excluded(end) => Some(*end),
            Bound::Unbounded => Some(self.len()),
        };
        if let (Some(start), Some(end)) = (start, end)
            && start <= end
            && end <= self.len()
        {
            return Ok(self.region().part(start, end - start));
        }
        let [start, end] = [start, end].map(|bound| bound.unwrap_or(usize::MAX));
        Err(Error::invalid(format_args!(
            "the range {start}..{end} is invalid for a slice of {} elements",
            self.len()
        )))
    }

    pub(crate) fn describe(&self, what: &str, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = std::any::type_name::<T>();
        write!(f, "{what}({} x {element} on {})", self.len(), self.device())
    }
}

impl<T: Pod> fmt::Debug for DeviceSlice<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.describe("DeviceSlice", f)
    }
}

/// Makes owners and parts of device memory dereference to slices.
macro_rules! readable {
    ($($name:ident<$($lifetime:lifetime,)? T>)*) => {
        $(
            impl<T: Pod> Deref for $name<$($lifetime,)? T> {
                type Target = DeviceSlice<T>;

                fn deref(&self) -> &DeviceSlice<T> {
                    self.region.as_slice()
                }
            }

            impl<T: Pod> fmt::Debug for $name<$($lifetime,)? T> {
                fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                    self.describe(stringify!($name), f)
                }
            }
        )*
    };
}

macro_rules! writable {
    ($($name:ident<$($lifetime:lifetime,)? T>)*) => {
        readable! { $($name<$($lifetime,)? T>)* }

        $(
            impl<T: Pod> DerefMut for $name<$($lifetime,)? T> {
                fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
                    self.region.as_mut_slice()
                }
            }
        )*
    };
}

readable! { SliceRef<'_, T> }
writable! { SliceMut<'_, T> Buffer<T> DeviceArray<T> HostArray<T> SharedArray<T> }

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
    /// Fails if the slice is on another device, or belongs to a [`DeviceArray`], which the host cannot access. Returns
    /// [`ErrorKind::MemoryInUse`] if a prepared launch, a recording or another view writes the memory, and
    /// [`ErrorKind::OutOfMemory`] if the view of a buffer on CUDA, which is a copy, does not fit into host memory. Also
    /// fails if the driver rejects the request, or if an earlier kernel or one of its asserts failed.
    pub fn map<'a, T: Pod>(&self, slice: &'a DeviceSlice<T>) -> Result<Mapped<'a, T>> {
        self.can_use(slice, false)?;
        let _span = trace::span(Class::Memory, "mapping", slice.region().bytes());
        let view = Mapped::new(self.raw(), slice).map_err(|problem| self.no_view(&problem))?;
        self.check_asserts().map(|()| view)
    }

    /// Maps `slice` into host memory for reading and writing, as [`Queue::map`] does. Dropping the view writes the
    /// host's changes to the device.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Queue::map`]. Also fails if a prepared launch, a recording or another view uses
    /// the memory, even if only for reading.
    pub fn map_mut<'a, T: Pod>(&self, slice: &'a mut DeviceSlice<T>) -> Result<MappedMut<'a, T>> {
        self.can_use(slice, true)?;
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
            NoView::OutOfMemory(bytes) => no_host_memory(bytes),
            NoView::Failed(failure) => Error::driver(failure, "mapping a buffer", self.device()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common;

    #[test]
    fn view_without_host_memory_is_an_error() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let error = queue.no_view(&NoView::OutOfMemory(5));
        assert_eq!(error.kind(), ErrorKind::OutOfMemory);
        let text = error.to_string();
        assert!(
            text.contains("cannot allocate 5 bytes on the host"),
            "{text}"
        );
        Ok(())
    }
}
