// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers: typed memory on a device.

use std::fmt;
use std::marker::PhantomData;
use std::ops::{Deref, DerefMut};
use std::sync::Arc;

use bytemuck::Pod;

use crate::backend::Memory;
use crate::backend::slice::{DeviceSlice, OwnedRegion};

/// `len` elements of `T` on a device. Made by [`Queue::upload`](crate::Queue::upload) or
/// [`Queue::zeroed`](crate::Queue::zeroed).
///
/// A buffer is used as the [`DeviceSlice`] of all its elements. It may be dropped while kernels that use it
/// still run: the driver keeps the memory until they have finished (OpenCL 3.0, `clReleaseMemObject`).
pub struct Buffer<T: Pod> {
    region: OwnedRegion,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    pub(crate) fn new(memory: Arc<Memory>, len: usize) -> Self {
        Self::in_memory(memory, 0, len)
    }

    /// Creates a buffer of `len` elements from byte `offset` of the memory on.
    pub(crate) fn in_memory(memory: Arc<Memory>, offset: usize, len: usize) -> Self {
        Self {
            region: OwnedRegion::new(memory, offset, len, size_of::<T>()),
            element: PhantomData,
        }
    }
}

impl<T: Pod> Deref for Buffer<T> {
    type Target = DeviceSlice<T>;

    fn deref(&self) -> &DeviceSlice<T> {
        self.region.as_slice()
    }
}

impl<T: Pod> DerefMut for Buffer<T> {
    fn deref_mut(&mut self) -> &mut DeviceSlice<T> {
        self.region.as_mut_slice()
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.deref().describe("Buffer", f)
    }
}
