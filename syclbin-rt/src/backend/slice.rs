// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device slices: elements on a device, as a type that only exists behind a reference.
#![allow(
    unsafe_code,
    reason = "a reference to an unsized wrapper is made by a cast, as `str` is of bytes"
)]

use std::marker::PhantomData;
use std::sync::Arc;

use crate::backend::dispatch::memory::Memory;

/// Elements of `T` in memory of a device. A device slice relates to a [`Buffer`](crate::Buffer) as `[T]`
/// relates to a `Vec<T>`.
///
/// Buffers and arrays dereference to it, so kernels and copies that take a slice also take `&buffer` and
/// `&mut buffer`. [`DeviceSlice::slice`] and [`DeviceSlice::slice_mut`] return a part.
///
/// It only exists behind references, so that two of them cannot be swapped: the right to write belongs to the
/// memory that was borrowed for it.
#[repr(transparent)]
pub struct DeviceSlice<T> {
    element: PhantomData<fn() -> T>,
    region: Region<[()]>,
}

/// The region of some elements.
pub(crate) struct Region<Tail: ?Sized = [(); 0]> {
    pub(crate) memory: Arc<Memory>,
    /// In bytes.
    pub(crate) offset: usize,
    /// In elements.
    pub(crate) len: usize,
    /// The size of an element in bytes.
    pub(crate) element_bytes: usize,
    /// Nothing; of an unknown length it makes the type unsized.
    _tail: Tail,
}

impl Region {
    pub(crate) fn new(
        memory: Arc<Memory>,
        offset: usize,
        len: usize,
        element_bytes: usize,
    ) -> Self {
        Self {
            memory,
            offset,
            len,
            element_bytes,
            _tail: [],
        }
    }

    /// Returns it as a slice of `T`, whose size is the size of its elements.
    pub(crate) fn as_slice<T>(&self) -> &DeviceSlice<T> {
        // A view of the host counts elements of `T`.
        debug_assert_eq!(self.element_bytes, size_of::<T>());
        let region: &Region<[()]> = self;
        // SAFETY: the slice is `repr(transparent)` over the region, and the lifetimes are the same.
        unsafe { &*(std::ptr::from_ref(region) as *const DeviceSlice<T>) }
    }

    /// Returns it as a writable slice of `T`.
    pub(crate) fn as_mut_slice<T>(&mut self) -> &mut DeviceSlice<T> {
        debug_assert_eq!(self.element_bytes, size_of::<T>());
        let region: &mut Region<[()]> = self;
        // SAFETY: as above, and the reference is the only one.
        unsafe { &mut *(std::ptr::from_mut(region) as *mut DeviceSlice<T>) }
    }
}

impl<Tail: ?Sized> Region<Tail> {
    /// Returns its size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        // It lies inside memory, so this does not overflow.
        self.len.saturating_mul(self.element_bytes)
    }

    /// Returns a separate region in the same memory.
    pub(crate) fn part(&self, first: usize, len: usize) -> Region {
        let offset = first.saturating_mul(self.element_bytes);
        Region::new(
            Arc::clone(&self.memory),
            self.offset.saturating_add(offset),
            len,
            self.element_bytes,
        )
    }
}

impl<T> DeviceSlice<T> {
    pub(crate) fn region(&self) -> &Region<[()]> {
        &self.region
    }
}
