// SPDX-License-Identifier: MIT OR Apache-2.0
//! Locations in device memory: slices, which exist only behind a reference, and pointers, which are plain values.

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::{Pod, Zeroable};

use crate::backend::Memory;

/// Elements of `T` in device memory. A device slice relates to a [`Buffer`](crate::Buffer) as `[T]` relates to a
/// `Vec<T>`.
///
/// Buffers and arrays dereference to it, so you can pass `&buffer` or `&mut buffer` to kernels and copies.
/// [`DeviceSlice::slice`] and [`DeviceSlice::slice_mut`] return a part.
///
/// A device slice exists only behind a reference, so two slices cannot be swapped: write access stays tied to the
/// borrowed memory.
#[repr(transparent)]
pub struct DeviceSlice<T> {
    element: PhantomData<fn() -> T>,
    region: Region,
}

/// A region of device memory. With the default `Tail`, it exists only behind a reference.
pub(crate) struct Region<Tail: ?Sized = [()]> {
    pub(crate) memory: Arc<Memory>,
    /// The offset in the memory, in bytes.
    pub(crate) offset: usize,
    /// The number of elements.
    pub(crate) len: usize,
    /// The size of an element in bytes.
    pub(crate) element_bytes: usize,
    /// Always empty; makes the type unsized.
    _tail: Tail,
}

/// A region of device memory that can be stored and returned by value.
pub(crate) type OwnedRegion = Region<[(); 0]>;

impl OwnedRegion {
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

    /// Returns the region as a slice of `T`, whose size must match the region's element size.
    pub(crate) fn as_slice<T>(&self) -> &DeviceSlice<T> {
        // Host views rely on matching element sizes.
        debug_assert_eq!(self.element_bytes, size_of::<T>());
        let region: &Region = self;
        // SAFETY: the slice is `repr(transparent)` over the region, and the lifetimes are the same.
        unsafe { &*(std::ptr::from_ref(region) as *const DeviceSlice<T>) }
    }

    pub(crate) fn as_mut_slice<T>(&mut self) -> &mut DeviceSlice<T> {
        debug_assert_eq!(self.element_bytes, size_of::<T>());
        let region: &mut Region = self;
        // SAFETY: as in `as_slice`, and the reference is unique.
        unsafe { &mut *(std::ptr::from_mut(region) as *mut DeviceSlice<T>) }
    }
}

impl<Tail: ?Sized> Region<Tail> {
    /// Returns the size in bytes.
    pub(crate) fn bytes(&self) -> usize {
        // Cannot overflow, because the region lies inside memory.
        self.len.saturating_mul(self.element_bytes)
    }

    pub(crate) fn part(&self, first: usize, len: usize) -> OwnedRegion {
        let offset = first.saturating_mul(self.element_bytes);
        OwnedRegion::new(
            Arc::clone(&self.memory),
            self.offset.saturating_add(offset),
            len,
            self.element_bytes,
        )
    }
}

impl<T> DeviceSlice<T> {
    pub(crate) fn region(&self) -> &Region {
        &self.region
    }
}

/// The device address of a `T`, for pointers inside structs. It occupies 8 bytes, and zero is the null pointer.
///
/// Returned by [`DeviceArray::pointer`](crate::DeviceArray::pointer). It is only a number and does not keep the memory
/// alive.
#[repr(transparent)]
pub struct DevicePointer<T> {
    address: u64,
    pointee: PhantomData<fn() -> T>,
}

impl<T> DevicePointer<T> {
    /// Returns the null pointer.
    #[must_use]
    pub const fn null() -> Self {
        Self::from_address(0)
    }

    /// Returns the pointer to `address`.
    #[must_use]
    pub const fn from_address(address: u64) -> Self {
        let pointee = PhantomData;
        Self { address, pointee }
    }

    /// Returns the device address as an integer. Zero is the null pointer.
    #[must_use]
    pub const fn address(self) -> u64 {
        self.address
    }

    /// Casts to a pointer to `U` with the same address, as a pointer cast in C++ does.
    #[must_use]
    pub const fn cast<U>(self) -> DevicePointer<U> {
        DevicePointer::from_address(self.address)
    }

    /// Returns the pointer advanced by `count` elements.
    #[must_use]
    pub const fn wrapping_add(self, count: u64) -> Self {
        let bytes = count.wrapping_mul(size_of::<T>() as u64);
        Self::from_address(self.address.wrapping_add(bytes))
    }
}

// SAFETY: it is a single `u64`, for which zero is a valid value.
unsafe impl<T> Zeroable for DevicePointer<T> {}
// SAFETY: it is `repr(transparent)` over a single `u64`, and the marker has no bytes.
unsafe impl<T: 'static> Pod for DevicePointer<T> {}

// Derived implementations would require `T` to implement the same traits.
impl<T> Clone for DevicePointer<T> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T> Copy for DevicePointer<T> {}

impl<T> PartialEq for DevicePointer<T> {
    fn eq(&self, other: &Self) -> bool {
        self.address == other.address
    }
}

impl<T> Eq for DevicePointer<T> {}

impl<T> fmt::Debug for DevicePointer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DevicePointer({:#x})", self.address)
    }
}

/// The largest pattern, in bytes, that every device can fill memory with (OpenCL 3.0, clEnqueueFillBuffer).
pub(crate) const LARGEST_PATTERN: usize = 128;

/// Returns the pattern that fills memory with copies of `element`, or `None` if OpenCL does not allow such a pattern.
/// If all bytes of the element are equal, the pattern is a single byte.
pub(crate) fn pattern(element: &[u8]) -> Option<&[u8]> {
    match element {
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => element.get(..1),
        _ => {
            (element.len().is_power_of_two() && element.len() <= LARGEST_PATTERN).then_some(element)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pattern_is_power_of_two_or_byte() {
        assert_eq!(pattern(&[1, 2, 3, 4]), Some(&[1, 2, 3, 4][..]));
        assert_eq!(pattern(&[1, 2, 3]), None);
        assert_eq!(pattern(&[7, 7, 7]), Some(&[7][..]));
        assert_eq!(pattern(&[]), None);
        let large: Vec<u8> = (0..=255).collect();
        assert_eq!(pattern(&large), None);
        assert_eq!(pattern(&large[..128]), Some(&large[..128]));
    }

    #[test]
    fn pointers_with_one_address_are_equal() {
        let pointer = DevicePointer::<u32>::from_address(8);
        assert_eq!(pointer.cast::<f64>().cast(), pointer);
        assert_ne!(pointer.wrapping_add(1), pointer);
    }
}
