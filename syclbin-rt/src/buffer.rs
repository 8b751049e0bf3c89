//! Buffers: typed memory on a device.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use crate::backend::opencl::Memory;
use crate::device::Device;

/// `len` elements of `T` on a device, made by [`Queue::upload`](crate::Queue::upload) or
/// [`Queue::zeroed`](crate::Queue::zeroed).
///
/// It may be dropped while kernels that use it still run: the driver keeps the memory until they
/// have finished (OpenCL 3.0, `clReleaseMemObject`).
pub struct Buffer<T: Pod> {
    device: Device,
    memory: Memory,
    len: usize,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    pub(crate) fn new(device: &Device, memory: Memory, len: usize) -> Self {
        Self {
            device: device.clone(),
            memory,
            len,
            element: PhantomData,
        }
    }

    /// How many elements it has.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether it has none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The device it lies on.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.device
    }

    pub(crate) fn memory(&self) -> &Memory {
        &self.memory
    }
}

impl<T: Pod> fmt::Debug for Buffer<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = std::any::type_name::<T>();
        write!(f, "Buffer({} x {element} on {})", self.len, self.device)
    }
}
