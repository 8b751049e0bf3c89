//! What the host sees of memory: a view that nothing on the device changes meanwhile.

use std::ffi::c_void;
use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;

use super::slice::{DeviceSlice, Place};
use super::{Failure, Memory, Queue};
use crate::backend::dispatch::memory::Raw;

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
    queue: Queue,
    memory: Arc<Memory>,
    pointer: *mut c_void,
    /// In elements.
    len: usize,
    #[cfg(feature = "cuda")]
    bytes: usize,
    writing: bool,
    /// What the host sees of memory that only the device reaches, and where it begins there.
    #[cfg(feature = "cuda")]
    copy: Option<(Vec<Unit>, usize)>,
}

/// What copies are made of, so that they are aligned for nearly all types.
#[cfg(feature = "cuda")]
#[repr(C, align(64))]
#[derive(Clone, Copy, bytemuck::Zeroable, bytemuck::Pod)]
struct Unit([u8; 64]);

// SAFETY: the view is of memory, not of a thread, and drivers let queues be used from every thread
// (OpenCL 3.0, appendix A.2; a context of CUDA is made current on the thread by each call).
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
    pub(crate) fn new(queue: &Queue, slice: &'a DeviceSlice<T>) -> Result<Self, NoView> {
        Ok(Self {
            view: View::new::<T>(queue, slice.place(), false)?,
            slice: PhantomData,
        })
    }
}

impl<'a, T: Pod> MappedMut<'a, T> {
    /// As [`Mapped::new`].
    pub(crate) fn new(queue: &Queue, slice: &'a mut DeviceSlice<T>) -> Result<Self, NoView> {
        Ok(Self {
            view: View::new::<T>(queue, slice.place(), true)?,
            slice: PhantomData,
        })
    }
}

impl View {
    fn new<T: Pod>(queue: &Queue, place: &Place<[()]>, writing: bool) -> Result<Self, NoView> {
        let memory = &place.memory;
        queue.same_context(memory).map_err(NoView::Failed)?;
        // From here on launches are refused that would change what the host sees, and those that
        // were put into a queue before are waited for.
        memory.map_begins(writing);
        let mut view = Self {
            queue: queue.clone(),
            memory: Arc::clone(memory),
            pointer: std::ptr::null_mut(),
            len: place.len,
            #[cfg(feature = "cuda")]
            bytes: place.bytes(),
            writing,
            #[cfg(feature = "cuda")]
            copy: None,
        };
        if memory.is_held(writing) {
            return Err(NoView::Held);
        }
        queue.context().finish_all().map_err(NoView::Failed)?;
        if place.bytes() == 0 {
            return Ok(view);
        }
        view.pointer = view.begin(place)?;
        if view.pointer.cast::<T>().is_aligned() {
            return Ok(view);
        }
        // Drivers align for all types of kernels, so this is one that asks for more than any of them.
        let (call, code) = ("viewing memory", super::UNALIGNED);
        Err(NoView::Failed(Failure { call, code }))
    }

    /// Where the host sees a place.
    fn begin(&mut self, place: &Place<[()]>) -> Result<*mut c_void, NoView> {
        match (&self.queue, place.memory.raw()) {
            (Queue::OpenCl(queue), Raw::OpenCl(memory)) => {
                queue.map(memory, place.offset, place.bytes(), self.writing)
            }
            #[cfg(feature = "cuda")]
            (_, Raw::Cuda(memory)) => {
                if let Some(pointer) = memory.host_pointer() {
                    // SAFETY: the place is inside of the memory.
                    return Ok(unsafe { pointer.byte_add(place.offset) }.cast());
                }
                if memory.is_out_of_reach() {
                    return Err(NoView::OutOfReach);
                }
                let mut units = vec![Unit([0; 64]); place.bytes().div_ceil(size_of::<Unit>())];
                let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut units);
                let bytes = bytes.get_mut(..place.bytes()).unwrap_or_default();
                let read = self.queue.read(&place.memory, place.offset, bytes);
                read.map_err(NoView::Failed)?;
                let (units, _) = self.copy.insert((units, place.offset));
                Ok(units.as_mut_ptr().cast())
            }
            #[cfg(feature = "cuda")]
            _ => Err(NoView::OutOfReach),
        }
    }

    fn elements<T>(&self) -> *mut T {
        if self.pointer.is_null() {
            std::ptr::NonNull::dangling().as_ptr()
        } else {
            self.pointer.cast()
        }
    }
}

impl View {
    /// Gives the memory back, once.
    fn end(&mut self) -> Result<(), Failure> {
        let pointer = std::mem::replace(&mut self.pointer, std::ptr::null_mut());
        if pointer.is_null() {
            return Ok(());
        }
        match (&self.queue, self.memory.raw()) {
            (Queue::OpenCl(queue), Raw::OpenCl(memory)) => queue.unmap(memory, pointer),
            #[cfg(feature = "cuda")]
            (queue, _) => match self.copy.take() {
                Some((units, offset)) if self.writing => {
                    let bytes: &[u8] = bytemuck::cast_slice(&units);
                    let bytes = bytes.get(..self.bytes).unwrap_or(bytes);
                    queue.write(&self.memory, offset, bytes)
                }
                _ => Ok(()),
            },
        }
    }
}

impl<T> MappedMut<'_, T> {
    /// Gives the memory back. Nobody sees the elements through this from here on.
    pub(crate) fn end(mut self) -> Result<(), (Queue, Failure)> {
        let ended = self.view.end();
        ended.map_err(|failure| (self.view.queue.clone(), failure))
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
