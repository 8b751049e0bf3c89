//! What the host sees of memory: a view that nothing on the device changes meanwhile.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;
use opencl3::error_codes::CL_INVALID_OPERATION;
use opencl3::types::{CL_TRUE, cl_map_flags};

use super::memory::Handle;
use super::{Failure, Memory, Queue, check_handle};
use crate::backend::slice::{DeviceSlice, Place};

/// Elements on a device, for the host to read, made by [`Queue::map`](crate::Queue::map).
///
/// Dropping it gives them back.
#[must_use = "dropping it gives the elements back"]
pub struct Mapped<'a, T> {
    view: View,
    slice: PhantomData<&'a DeviceSlice<T>>,
}

/// Elements on a device, for the host to read and write, made by
/// [`Queue::map_mut`](crate::Queue::map_mut).
///
/// Dropping it gives them back, with what was written; [`MappedMut::unmap`] also says whether the
/// driver took it.
#[must_use = "dropping it gives the elements back"]
pub struct MappedMut<'a, T> {
    view: View,
    slice: PhantomData<&'a mut DeviceSlice<T>>,
}

/// Memory in the hand of the host.
struct View {
    queue: Arc<Queue>,
    memory: Arc<Memory>,
    pointer: *mut c_void,
    /// In elements.
    len: usize,
    writing: bool,
}

// SAFETY: the view is of memory, not of a thread, and queues may be used from every thread (OpenCL
// 3.0, appendix A.2).
unsafe impl Send for View {}
// SAFETY: as for Send.
unsafe impl Sync for View {}

/// Why the host has no view of memory.
pub(crate) enum NoView {
    /// A prepared launch or a recording has it.
    Held,
    /// It is the device's own.
    OutOfReach,
    Failed(Failure),
}

impl<'a, T: Pod> Mapped<'a, T> {
    /// A view of `slice`, when all is done that was put into any queue of the device.
    pub(crate) fn new(queue: &Arc<Queue>, slice: &'a DeviceSlice<T>) -> Result<Self, NoView> {
        Ok(Self {
            view: View::new::<T>(queue, slice.place(), false)?,
            slice: PhantomData,
        })
    }
}

impl<'a, T: Pod> MappedMut<'a, T> {
    /// As [`Mapped::new`].
    pub(crate) fn new(queue: &Arc<Queue>, slice: &'a mut DeviceSlice<T>) -> Result<Self, NoView> {
        Ok(Self {
            view: View::new::<T>(queue, slice.place(), true)?,
            slice: PhantomData,
        })
    }
}

impl View {
    fn new<T: Pod>(queue: &Arc<Queue>, place: &Place<[()]>, writing: bool) -> Result<Self, NoView> {
        let memory = &place.memory;
        queue
            .same_context("clEnqueueMapBuffer", memory)
            .map_err(NoView::Failed)?;
        // From here on launches are refused that would change what the host sees, and those that
        // were put into a queue before are waited for.
        memory.map_begins(writing);
        let mut view = Self {
            queue: Arc::clone(queue),
            memory: Arc::clone(memory),
            pointer: std::ptr::null_mut(),
            len: place.len,
            writing,
        };
        if memory.is_held(writing) {
            return Err(NoView::Held);
        }
        queue.context().finish_all().map_err(NoView::Failed)?;
        let size = place.bytes();
        if size == 0 {
            return Ok(view);
        }
        let pointer = match memory.handle {
            Handle::Address { host: false, .. } => return Err(NoView::OutOfReach),
            // SAFETY: the place is inside of the memory.
            Handle::Address { pointer, .. } => unsafe { pointer.byte_add(place.offset) },
            Handle::Object(_) => queue
                .map(memory, place.offset, size, writing)
                .map_err(NoView::Failed)?,
        };
        view.pointer = pointer;
        if pointer.cast::<T>().is_aligned() {
            return Ok(view);
        }
        // Drivers align for all types of OpenCL, so this is one that asks for more than any of them.
        let call = "clEnqueueMapBuffer";
        let code = CL_INVALID_OPERATION;
        Err(NoView::Failed(Failure { call, code }))
    }

    fn elements<T>(&self) -> *mut T {
        if self.pointer.is_null() {
            std::ptr::NonNull::dangling().as_ptr()
        } else {
            self.pointer.cast()
        }
    }
}

impl Queue {
    /// Maps `size` bytes of a buffer object from byte `offset` on.
    fn map(
        &self,
        memory: &Memory,
        offset: usize,
        size: usize,
        writing: bool,
    ) -> Result<*mut c_void, Failure> {
        let call = "clEnqueueMapBuffer";
        let Handle::Object(object) = memory.handle else {
            let code = CL_INVALID_OPERATION;
            return Err(Failure { call, code });
        };
        let flags: cl_map_flags = if writing {
            opencl_sys::CL_MAP_READ | opencl_sys::CL_MAP_WRITE
        } else {
            opencl_sys::CL_MAP_READ
        };
        let mut code = 0;
        // SAFETY: queue and memory share a context; the driver refuses what is not inside of the
        // memory; no events; only the status is written. It blocks until the view can be used.
        let pointer = unsafe {
            (self.context().functions().clEnqueueMapBuffer)(
                self.handle,
                object,
                CL_TRUE,
                flags,
                offset,
                size,
                0,
                std::ptr::null(),
                std::ptr::null_mut(),
                &raw mut code,
            )
        };
        check_handle(call, pointer, code)
    }

    /// Gives a view of a buffer object back, and waits until that is done: another queue would not.
    fn unmap(&self, memory: &Memory, pointer: *mut c_void) -> Result<(), Failure> {
        let call = "clEnqueueUnmapMemObject";
        let Handle::Object(object) = memory.handle else {
            return Ok(());
        };
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and memory share a context, and the pointer is what mapping it gave.
        let code = unsafe {
            (self.context().functions().clEnqueueUnmapMemObject)(
                self.handle,
                object,
                pointer,
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }
}

impl View {
    /// Gives the memory back, once.
    fn end(&mut self) -> Result<(), Failure> {
        let pointer = std::mem::replace(&mut self.pointer, std::ptr::null_mut());
        if pointer.is_null() {
            return Ok(());
        }
        self.queue.unmap(&self.memory, pointer)
    }
}

impl<T> MappedMut<'_, T> {
    /// Gives the memory back. Nobody sees the elements through this from here on.
    pub(crate) fn end(mut self) -> Result<(), (Arc<Queue>, Failure)> {
        let ended = self.view.end();
        ended.map_err(|failure| (Arc::clone(&self.view.queue), failure))
    }
}

impl Drop for View {
    fn drop(&mut self) {
        // Whoever wants to know whether the driver takes it has `MappedMut::unmap`.
        let _ = self.end();
        self.memory.map_ends(self.writing);
    }
}

impl<T> Deref for Mapped<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: the view has `len` elements, aligned, of a type for which all bytes are a value.
        // It was made when nothing was in any queue. While it lives the slice is borrowed, so that
        // no safe launch or copy writes it, and prepared ones that write it were refused or are.
        unsafe { std::slice::from_raw_parts(self.view.elements(), self.view.len) }
    }
}

impl<T> Deref for MappedMut<'_, T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: as for `Mapped`.
        unsafe { std::slice::from_raw_parts(self.view.elements(), self.view.len) }
    }
}

impl<T> DerefMut for MappedMut<'_, T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as for `Mapped`; the slice is borrowed to be written, so no launch or copy reads
        // it either.
        unsafe { std::slice::from_raw_parts_mut(self.view.elements(), self.view.len) }
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
