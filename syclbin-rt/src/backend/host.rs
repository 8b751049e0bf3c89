// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host memory that drivers access.
//!
//! A view maps device memory, which the device does not change while the view exists. A pending copy owns memory
//! that a driver is still reading or writing, and keeps it inaccessible until the copy has finished.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::mem::ManuallyDrop;
use std::ops::{Deref, DerefMut};
use std::ptr::NonNull;

use bytemuck::allocation::try_zeroed_vec;
use bytemuck::{Pod, Zeroable};

use crate::backend::{
    DeviceSlice, Event, Failure, HostBytes, NoView, OwnedRegion, Queue, Region, Rejection, Result,
    WaitList,
};

/// A read-only view of elements in device memory that the host can access, created by
/// [`Queue::map`](crate::Queue::map).
///
/// Dropping the view unmaps the elements.
#[must_use = "the view ends when it is dropped"]
pub struct Mapped<'a, T> {
    view: View,
    slice: PhantomData<&'a DeviceSlice<T>>,
}

/// A writable view of elements in device memory that the host can access, created by
/// [`Queue::map_mut`](crate::Queue::map_mut).
///
/// Dropping the view writes the host's changes back and unmaps the elements. [`MappedMut::unmap`] does the same, and
/// reports whether the driver accepted the changes.
#[must_use = "the view ends when it is dropped"]
pub struct MappedMut<'a, T> {
    view: View,
    slice: PhantomData<&'a mut DeviceSlice<T>>,
}

struct View {
    queue: Queue,
    region: OwnedRegion,
    /// `None` if there are no elements, or after unmapping.
    host: Option<HostView>,
    /// The host address; dangling if there are no elements.
    elements: NonNull<c_void>,
    writing: bool,
}

// SAFETY: the view is not tied to a thread, and drivers allow any thread to use a queue (OpenCL 3.0, appendix A.2; on
// CUDA, each call makes the context current on its thread).
unsafe impl Send for View {}
// SAFETY: as for `Send`.
unsafe impl Sync for View {}

impl<'a, T: Pod> Mapped<'a, T> {
    /// Waits until all commands on all of the device's queues have finished, and then creates a view of `slice`.
    pub(crate) fn new(queue: &Queue, slice: &'a DeviceSlice<T>) -> Result<Self, NoView> {
        let (view, slice) = (View::new::<T>(queue, slice.region(), false)?, PhantomData);
        Ok(Self { view, slice })
    }
}

impl<'a, T: Pod> MappedMut<'a, T> {
    /// Creates a writable view of `slice`. Waits first, as [`Mapped::new`] does.
    pub(crate) fn new(queue: &Queue, slice: &'a mut DeviceSlice<T>) -> Result<Self, NoView> {
        let (view, slice) = (View::new::<T>(queue, slice.region(), true)?, PhantomData);
        Ok(Self { view, slice })
    }
}

impl View {
    fn new<T: Pod>(queue: &Queue, region: &Region, writing: bool) -> Result<Self, NoView> {
        let memory = &region.memory;
        memory.check(queue.context_address(), region.offset, region.bytes())?;
        // From here on, commands that conflict with the view are rejected. `finish_all` below waits for those that are
        // already enqueued.
        memory.mapped.begin(writing);
        let mut view = Self {
            queue: queue.clone(),
            region: region.part(0, region.len),
            host: None,
            elements: NonNull::<T>::dangling().cast(),
            writing,
        };
        if memory.prepared.some(writing) {
            return Err(NoView::InUse);
        }
        queue.context().finish_all()?;
        if region.bytes() == 0 {
            return Ok(view);
        }
        let pointer = match view.host.insert(HostView::new(queue, region, writing)?) {
            HostView::Address(pointer) | HostView::Mapped(pointer) => *pointer,
            HostView::Copy(blocks) => blocks.as_mut_ptr().cast(),
        };
        let pointer = NonNull::new(pointer).filter(|pointer| pointer.cast::<T>().is_aligned());
        // Drivers align memory for every kernel type, so this fails only if `T` requires a larger alignment.
        view.elements = pointer.ok_or(Failure::Rejected(Rejection::Unaligned))?;
        Ok(view)
    }

    /// Returns the elements. `T` must be the type for which the view was created.
    fn elements<T>(&self) -> *mut [T] {
        std::ptr::slice_from_raw_parts_mut(self.elements.cast().as_ptr(), self.region.len)
    }

    /// Ends the view and writes changes back. Later calls do nothing.
    fn end(&mut self) -> Result<()> {
        match self.host.take() {
            None | Some(HostView::Address(_)) => Ok(()),
            Some(HostView::Mapped(pointer)) => self.queue.unmap(&self.region.memory, pointer),
            Some(HostView::Copy(_)) if !self.writing => Ok(()),
            Some(HostView::Copy(blocks)) => {
                let (region, bytes): (_, &[u8]) = (&self.region, bytemuck::cast_slice(&blocks));
                let bytes = bytes.get(..region.bytes()).unwrap_or(bytes);
                self.queue.write(&region.memory, region.offset, bytes)
            }
        }
    }
}

/// Device memory in a form that the host can access.
enum HostView {
    /// The memory itself, which has a host address.
    Address(*mut c_void),
    Mapped(*mut c_void),
    /// A copy, for drivers that cannot map memory.
    Copy(Vec<Block>),
}

/// The unit in which memory for a copy is allocated, aligned for nearly all types.
#[repr(C, align(64))]
#[derive(Clone, Copy, Zeroable, Pod)]
struct Block([u8; 64]);

impl HostView {
    /// Creates a view of `region`, which must not be empty.
    fn new(queue: &Queue, region: &Region, writing: bool) -> Result<Self, NoView> {
        let (memory, offset, size) = (&region.memory, region.offset, region.bytes());
        if let Some(pointer) = memory.host_pointer() {
            return Ok(Self::Address(pointer.wrapping_byte_add(offset)));
        }
        if memory.address().is_some() {
            return Err(NoView::OutOfReach);
        }
        if let Some(pointer) = queue.map(memory, offset, size, writing)? {
            return Ok(Self::Mapped(pointer));
        }
        let blocks = try_zeroed_vec::<Block>(size.div_ceil(size_of::<Block>()));
        let mut blocks = blocks.map_err(|()| NoView::OutOfMemory(size))?;
        let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut blocks);
        queue.read(memory, offset, bytes.get_mut(..size).unwrap_or_default())?;
        Ok(Self::Copy(blocks))
    }
}

impl<T> MappedMut<'_, T> {
    /// Ends the view and returns the driver's result.
    pub(crate) fn end(mut self) -> Result<(), (Queue, Failure)> {
        let ended = self.view.end();
        ended.map_err(|failure| (self.view.queue.clone(), failure))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // Errors are ignored here; `MappedMut::unmap` reports them.
        let _ = self.end();
        self.region.memory.mapped.end(self.writing);
    }
}

impl<T> Deref for Mapped<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the view contains `len` aligned elements of a type for which every bit pattern is a valid value. It
        // was created when no command was pending on any queue. While it lives, the slice stays borrowed, so no
        // safe launch or copy writes it. A prepared launch that writes the slice would have made the mapping fail,
        // or is rejected now.
        unsafe { &*self.view.elements() }
    }
}

impl<T> Deref for MappedMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as for `Mapped`.
        unsafe { &*self.view.elements() }
    }
}

impl<T> DerefMut for MappedMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `Mapped`; the slice is also borrowed mutably, so no launch or copy reads it either.
        unsafe { &mut *self.view.elements() }
    }
}

impl<T: fmt::Debug> fmt::Debug for Mapped<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

impl<T: fmt::Debug> fmt::Debug for MappedMut<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Elements that a queued command reads or writes, inaccessible until the command has ended. Dropping the copy
/// waits for the command; forgetting the copy leaks the elements.
pub(crate) struct PendingCopy<T> {
    /// The driver accesses the elements, which stay in place when the `Vec` moves.
    data: ManuallyDrop<Vec<T>>,
    event: Event,
}

impl<T> PendingCopy<T> {
    pub(crate) fn event(&self) -> Result<Event> {
        self.event.shared()
    }

    /// Waits until the command has ended, and returns the elements.
    pub(crate) fn wait(mut self) -> Result<Vec<T>> {
        self.event.wait()?;
        Ok(std::mem::take(&mut *self.data))
    }
}

impl<T> Drop for PendingCopy<T> {
    fn drop(&mut self) {
        // If the driver cannot report whether the command has ended, leak the memory: the command may still use it.
        if self.event.has_ended() {
            // SAFETY: only this code drops the elements, once, and the command has ended.
            unsafe { ManuallyDrop::drop(&mut self.data) };
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Direction {
    ToHost,
    ToDevice,
}

impl Queue {
    /// Enqueues a copy between `region` and `data`, which must have the same length. The copy runs after the commands
    /// in `after`, which must belong to this context.
    pub(crate) fn transfer_later<T: Pod>(
        &self,
        region: &Region,
        mut data: Vec<T>,
        direction: Direction,
        after: &WaitList<'_>,
    ) -> Result<PendingCopy<T>> {
        let host = match direction {
            Direction::ToHost => HostBytes::To(data.as_mut_ptr().cast()),
            Direction::ToDevice => HostBytes::From(data.as_ptr().cast()),
        };
        let bytes = size_of_val(data.as_slice());
        let data = ManuallyDrop::new(data);
        if bytes == 0 || bytes != region.bytes() {
            // Some drivers reject zero-byte copies, so enqueue a barrier instead: later commands must still wait for
            // `after`. A length mismatch violates this function's contract, so nothing is copied.
            let event = self.barrier(after)?;
            return Ok(PendingCopy { data, event });
        }
        // SAFETY: `PendingCopy` ensures that nothing accesses or frees the bytes before the command has ended.
        match unsafe { self.start_transfer(region, host, after) } {
            Ok(event) => {
                let copy = PendingCopy { data, event };
                // If the flush fails, dropping `copy` waits for the copy.
                self.flush()?;
                Ok(copy)
            }
            Err(failure) => {
                // A rejected copy was not enqueued. After any other failure, the driver may have enqueued the copy
                // nevertheless, so wait for the queue. If the wait fails, leak the elements.
                let rejected = matches!(failure, Failure::Rejected(_) | Failure::Missing { .. });
                if rejected || self.finish().is_ok() {
                    drop(ManuallyDrop::into_inner(data));
                }
                Err(failure)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;

    #[test]
    fn ended_copy_frees_its_elements() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let element = Arc::new(());
        drop(PendingCopy {
            data: ManuallyDrop::new(vec![Arc::clone(&element)]),
            event: queue.raw().barrier(WaitList::NOTHING).unwrap(),
        });
        assert_eq!(Arc::strong_count(&element), 1);
    }

    #[test]
    fn view_for_reading_writes_nothing_back() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let queue = queue.raw();
        let memory = queue.upload(&[1, 2]).unwrap();
        let region = Region::new(Arc::clone(&memory), 0, 2, 1);
        let view = View::new::<u8>(queue, &region, false).ok().expect("a view");
        if !matches!(view.host, Some(HostView::Copy(_))) {
            return crate::common::say_skipped("the driver maps memory");
        }
        queue.write(&memory, 0, &[3, 4]).unwrap();
        drop(view);
        let mut bytes = [0; 2];
        queue.read(&memory, 0, &mut bytes).unwrap();
        assert_eq!(bytes, [3, 4]);
    }

    #[test]
    fn copy_of_another_length_changes_nothing() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let queue = queue.raw();
        let region = Region::new(queue.upload(&[1, 2]).unwrap(), 0, 2, 1);
        let none = WaitList::NOTHING;
        let copied = queue.transfer_later(&region, vec![7u8; 4], Direction::ToHost, none);
        assert_eq!(copied.and_then(PendingCopy::wait), Ok(vec![7; 4]));
    }
}
