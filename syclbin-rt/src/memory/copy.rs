// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies to, from and within device memory.

use bytemuck::Pod;

use crate::backend::{self, DeviceSlice, Failure, Region, WaitList, pattern};
use crate::error::{Error, ErrorKind, Result};
use crate::memory::buffer::Buffer;
use crate::queue::Queue;
use crate::queue::event::Event;
use crate::trace::{self, Class};

/// A handle to a queue whose copies and fills wait for events. Returned by [`Queue::after`].
#[derive(Clone, Copy, Debug)]
#[must_use = "nothing is enqueued yet"]
pub struct After<'a> {
    pub(crate) queue: &'a Queue,
    events: &'a [&'a Event],
}

/// Memory and copies.
impl Queue {
    /// Creates a buffer that holds a copy of `data`, which may be empty. Does not wait for earlier commands.
    ///
    /// # Errors
    ///
    /// Fails if the device does not have enough memory.
    pub fn upload<T: Pod>(&self, data: &[T]) -> Result<Buffer<T>> {
        let _span = trace::span(Class::Memory, "uploading", size_of_val(data));
        let queue = self.for_new_memory();
        let memory = queue.and_then(|queue| queue.upload(bytemuck::cast_slice(data)));
        let memory =
            memory.map_err(|failure| self.failed(failure, "uploading to", size_of_val(data)))?;
        Ok(Buffer::new(memory, 0, data.len()))
    }

    /// Creates a buffer of `len` zeroed elements. `len` may be 0. Does not wait for earlier commands.
    ///
    /// # Errors
    ///
    /// Fails if the device does not have enough memory.
    pub fn zeroed<T: Pod>(&self, len: usize) -> Result<Buffer<T>> {
        let size = checked_size::<T>(len)?;
        let _span = trace::span(Class::Memory, "zeroing", size);
        let queue = self.for_new_memory();
        let memory = queue.and_then(|queue| queue.zeroed(None, size));
        let memory = memory.map_err(|failure| self.failed(failure, "zeroing", size))?;
        Ok(Buffer::new(memory, 0, len))
    }

    /// Waits for all commands enqueued earlier on this queue, then returns the elements of `slice`.
    ///
    /// # Errors
    ///
    /// Fails if the slice is on another device, if the host does not have enough memory, or if the driver reports that
    /// an earlier kernel failed. Returns [`ErrorKind::Assert`] if an assert in an earlier kernel has failed, and
    /// [`ErrorKind::MemoryInUse`] if a host view of the memory conflicts.
    pub fn download<T: Pod>(&self, slice: &DeviceSlice<T>) -> Result<Vec<T>> {
        self.can_use(slice, false)?;
        let mut data = host_memory(slice.len())?;
        self.read(slice, &mut data)?;
        Ok(data)
    }

    /// Copies `slice` to `data`, after all commands enqueued earlier on this queue.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if the slice is on another device, or if the driver reports that an earlier kernel
    /// failed. Returns [`ErrorKind::Assert`] if an assert in an earlier kernel has failed, and
    /// [`ErrorKind::MemoryInUse`] if a host view of the memory conflicts.
    pub fn read<T: Pod>(&self, slice: &DeviceSlice<T>, data: &mut [T]) -> Result<()> {
        self.can_copy(slice, data.len(), false)?;
        let region = slice.region();
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(data);
        let size = bytes.len();
        let _span = trace::span(Class::Memory, "reading", size);
        let read = self.raw().read(&region.memory, region.offset, bytes);
        read.map_err(|failure| self.failed(failure, "reading", size))?;
        self.check_asserts()
    }

    /// Copies `data` to `slice`, after all commands enqueued earlier on this queue.
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if the slice is on another device, or if the driver reports that an earlier kernel
    /// failed. Returns [`ErrorKind::MemoryInUse`] if a host view of the memory conflicts.
    pub fn write<T: Pod>(&self, slice: &mut DeviceSlice<T>, data: &[T]) -> Result<()> {
        self.can_copy(slice, data.len(), true)?;
        let region = slice.region();
        let bytes: &[u8] = bytemuck::cast_slice(data);
        let _span = trace::span(Class::Memory, "writing", bytes.len());
        let written = self.raw().write(&region.memory, region.offset, bytes);
        written.map_err(|failure| self.failed(failure, "writing", bytes.len()))
    }

    /// Enqueues a copy of `from` to `to`, and returns without waiting for it.
    ///
    /// The copy starts after all commands enqueued earlier on this queue, unless the queue is
    /// [out of order](crate::QueueOptions::out_of_order). On OpenCL, a copy between a [`Buffer`] and an array with an
    /// address, such as a [`SharedArray`](crate::SharedArray), goes through the host, which is slow and blocks.
    ///
    /// ```no_run
    /// # fn main() -> syclbin_rt::Result<()> {
    /// let queue = syclbin_rt::Device::best()?.queue()?;
    /// let from = queue.upload(&[1, 2, 3, 4])?;
    /// let mut to = queue.zeroed(6)?;
    /// queue.copy(&from, &mut *to.slice_mut(1..5)?)?;
    /// assert_eq!(queue.download(&to)?, [0, 1, 2, 3, 4, 0]);
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if one of the slices is on another device, or if the driver rejects the request.
    /// Returns [`ErrorKind::MemoryInUse`] if a host view of the memory conflicts.
    pub fn copy<T: Pod>(&self, from: &DeviceSlice<T>, to: &mut DeviceSlice<T>) -> Result<Event> {
        self.after(&[]).copy(from, to)
    }

    /// Enqueues a fill that sets all elements of `slice` to `value`, and returns without waiting for it.
    ///
    /// The fill is ordered like [`Queue::copy`]. If the element size exceeds 128 bytes or is not a power of two, the
    /// host writes the elements, which is slower and blocks.
    ///
    /// # Errors
    ///
    /// Fails if the slice is on another device, or if the driver rejects the request. Returns
    /// [`ErrorKind::MemoryInUse`] if a host view of the memory conflicts.
    pub fn fill<T: Pod>(&self, slice: &mut DeviceSlice<T>, value: T) -> Result<Event> {
        self.after(&[]).fill(slice, value)
    }

    /// Returns a handle to this queue whose copies and fills wait for `events`. [`Launch::after`](crate::Launch::after)
    /// does the same for kernels.
    pub fn after<'a>(&'a self, events: &'a [&'a Event]) -> After<'a> {
        After {
            queue: self,
            events,
        }
    }

    /// Checks that a command may use `slice`, as [`Queue::can_use`] does, and that it contains exactly `len` elements.
    pub(crate) fn can_copy<T: Pod>(
        &self,
        slice: &DeviceSlice<T>,
        len: usize,
        written: bool,
    ) -> Result<()> {
        self.can_use(slice, written)?;
        if slice.len() == len {
            return Ok(());
        }
        Err(Error::invalid(format_args!(
            "the buffer has {} elements, but the slice has {len}; the lengths must be equal",
            slice.len()
        )))
    }

    /// Checks that `slice` is on the queue's device, and that no host view forbids reading its memory or, if `written`
    /// is set, writing it.
    pub(crate) fn can_use<T: Pod>(&self, slice: &DeviceSlice<T>, written: bool) -> Result<()> {
        let memory = &slice.region().memory;
        if !self.raw().is_in(memory.context()) {
            let elsewhere = self.elsewhere(&slice.device());
            return Err(Error::invalid(format_args!("the buffer {elsewhere}")));
        }
        if memory.mapped.some(written) {
            return Err(Error::mapped());
        }
        Ok(())
    }

    pub(crate) fn failed(&self, failure: Failure, action: &str, size: usize) -> Error {
        let action = format!("{action} a buffer of {size} bytes");
        Error::driver(failure, action, self.device())
    }
}

impl After<'_> {
    /// Works like [`Queue::copy`], but the copy also waits for the events passed to [`Queue::after`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Queue::copy`], or if an event belongs to another device.
    pub fn copy<T: Pod>(self, from: &DeviceSlice<T>, to: &mut DeviceSlice<T>) -> Result<Event> {
        let queue = self.queue;
        queue.can_use(from, false)?;
        queue.can_use(to, true)?;
        same_elements(from.len(), to.len())?;
        let after = self.wait_list()?;
        let (raw, from, to) = (queue.raw(), from.region(), to.region());
        let copied = if to.bytes() == 0 {
            raw.barrier(&after)
        } else if from.memory.has_direct_copy(&to.memory) {
            raw.start_copy(from, to, &after)
        } else {
            let read = |bytes: &mut [u8]| raw.read(&from.memory, from.offset, bytes);
            through_host(raw, &after, to, read)
        };
        self.started(("copying", "copying a buffer"), to.bytes(), copied)
    }

    /// Works like [`Queue::fill`], but the fill also waits for the events passed to [`Queue::after`].
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Queue::fill`], or if an event belongs to another device.
    pub fn fill<T: Pod>(self, slice: &mut DeviceSlice<T>, value: T) -> Result<Event> {
        self.queue.can_use(slice, true)?;
        let after = self.wait_list()?;
        let (raw, region, element) = (self.queue.raw(), slice.region(), bytemuck::bytes_of(&value));
        let filled = if region.bytes() == 0 {
            raw.barrier(&after)
        } else if let Some(pattern) = pattern(element) {
            raw.start_fill(region, pattern, &after)
        } else {
            through_host(raw, &after, region, |bytes| {
                let copies = bytes.chunks_exact_mut(element.len());
                copies.for_each(|copy| copy.copy_from_slice(element));
                Ok(())
            })
        };
        self.started(("filling", "filling a buffer"), region.bytes(), filled)
    }

    pub(crate) fn wait_list(&self) -> Result<WaitList<'_>> {
        self.queue.wait_list(self.events, None)
    }

    fn started(
        &self,
        (action, what): (&str, &'static str),
        size: usize,
        started: Result<backend::Event, Failure>,
    ) -> Result<Event> {
        let raw = started.map_err(|failure| self.queue.failed(failure, action, size))?;
        Ok(Event::of_any(self.queue, Class::Memory, what, size, raw))
    }
}

/// Waits for all earlier commands and for the events in `after`, calls `make` to fill a host buffer, then copies that
/// buffer to `region`.
fn through_host(
    raw: &backend::Queue,
    after: &WaitList<'_>,
    region: &Region,
    make: impl FnOnce(&mut [u8]) -> Result<(), Failure>,
) -> Result<backend::Event, Failure> {
    let mut bytes = vec![0; region.bytes()];
    raw.barrier(after)?.wait()?;
    make(&mut bytes)?;
    raw.write(&region.memory, region.offset, &bytes)?;
    raw.barrier(WaitList::NOTHING)
}

pub(crate) fn host_memory<T: Pod>(len: usize) -> Result<Vec<T>> {
    // Unlike `vec!`, this neither puts an element on the stack nor visits zero-sized elements, and it does not abort
    // the process if memory runs out.
    let data = bytemuck::allocation::try_zeroed_vec(len);
    data.map_err(|()| no_host_memory(len.saturating_mul(size_of::<T>())))
}

pub(crate) fn no_host_memory(bytes: usize) -> Error {
    let message = format_args!(
        "cannot allocate {bytes} bytes on the host; free host memory, or process the data in smaller parts"
    );
    Error::new(ErrorKind::OutOfMemory, message)
}

/// Returns the size of `len` elements in bytes. Fails if the size exceeds the limit for Rust allocations, so that all
/// device memory can be downloaded.
pub(crate) fn checked_size<T>(len: usize) -> Result<usize> {
    let size = len.checked_mul(size_of::<T>());
    let size = size.filter(|size| isize::try_from(*size).is_ok());
    size.ok_or_else(|| {
        let message = format_args!(
            "a buffer of {len} elements of {} bytes each exceeds the address space",
            size_of::<T>()
        );
        Error::new(ErrorKind::OutOfMemory, message)
    })
}

/// Returns the number of elements of a shape, or `None` if it overflows `usize`.
pub(crate) fn elements(shape: &[usize]) -> Option<usize> {
    let mut sizes = shape.iter();
    sizes.try_fold(1usize, |product, size| product.checked_mul(*size))
}

pub(crate) fn same_elements(from: usize, to: usize) -> Result<()> {
    if from == to {
        return Ok(());
    }
    let message = format_args!("cannot copy {from} elements into a slice of {to}: lengths differ");
    Err(Error::invalid(message))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn downloads_without_host_memory_are_errors() {
        let error = host_memory::<u64>(1 << 58).unwrap_err().to_string();
        assert!(
            error.starts_with("cannot allocate 2305843009213693952 bytes on the host"),
            "{error}"
        );
    }

    #[test]
    fn zero_sized_elements_take_no_time() {
        let data = host_memory::<crate::Padding<0>>(usize::MAX).unwrap();
        assert_eq!(data.len(), usize::MAX);
    }
}
