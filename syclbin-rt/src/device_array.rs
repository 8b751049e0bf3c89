//! Device arrays: device memory that has an address, for pointers inside of structs.

use std::fmt;
use std::marker::PhantomData;

use bytemuck::Pod;

use crate::backend::opencl::{DeviceMemory, DevicePointer, Failure};
use crate::error::{Error, ErrorKind, Result};
use crate::queue::Queue;

/// Elements of `T` in device memory whose address is known, unlike that of a
/// [`Buffer`](crate::Buffer): kernels may find it in a struct that they get. It needs unified shared
/// memory, which not every device has.
///
/// It belongs to one queue. Dropping it waits until that queue is empty, as its memory is gone at
/// once.
///
/// ```no_run
/// use syclbin_rt::{Arg, Device, DeviceArray, DevicePointer};
/// use syclbin_rt::bytemuck::{Pod, Zeroable};
///
/// // struct Span { float *data; int count; };
/// #[derive(Clone, Copy)]
/// #[repr(C)]
/// struct Span {
///     data: DevicePointer<f32>,
///     count: i32,
///     padding: u32,
/// }
/// // SAFETY: all bytes of it are fields of types that allow every value, zero among them.
/// unsafe impl Zeroable for Span {}
/// // SAFETY: as above.
/// unsafe impl Pod for Span {}
///
/// let queue = Device::best()?.queue()?;
/// let data = DeviceArray::<f32>::zeroed(&queue, 100)?;
/// let span = Span { data: data.pointer(), count: 100, padding: 0 };
/// let arg = Arg::value(span);
/// # Ok::<(), syclbin_rt::Error>(())
/// ```
pub struct DeviceArray<T> {
    memory: DeviceMemory,
    queue: Queue,
    len: usize,
    element: PhantomData<fn() -> T>,
}

impl<T: Pod> DeviceArray<T> {
    /// `len` elements whose bytes are all zero. 0 is fine.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] when the device has no unified shared memory; and when it has not
    /// enough memory.
    pub fn zeroed(queue: &Queue, len: usize) -> Result<Self> {
        let raw = queue.raw();
        if !raw.has_addresses() {
            return Err(ErrorKind::Unsupported {
                what: "device arrays",
                needs: "unified shared memory (cl_intel_unified_shared_memory)",
                device: queue.device().to_string(),
            }
            .into());
        }
        let size = len.checked_mul(size_of::<T>());
        // No allocation of Rust's is larger either, so that every array can be downloaded.
        let size = size.filter(|size| isize::try_from(*size).is_ok());
        let size = size.ok_or(ErrorKind::TooLarge {
            elements: len,
            element_bytes: size_of::<T>(),
        })?;
        let memory = raw.zeroed_device(size);
        Ok(Self {
            memory: memory.map_err(|failure| failed(queue, failure, "zeroing"))?,
            queue: queue.clone(),
            len,
            element: PhantomData,
        })
    }

    /// The elements of `data`. An empty slice is fine.
    ///
    /// # Errors
    ///
    /// As of [`DeviceArray::zeroed`].
    pub fn upload(queue: &Queue, data: &[T]) -> Result<Self> {
        let mut array = Self::zeroed(queue, data.len())?;
        array.write(data)?;
        Ok(array)
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

    /// Where its first element lies on the device.
    #[must_use]
    pub fn pointer(&self) -> DevicePointer<T> {
        DevicePointer::from_address(self.memory.address())
    }

    /// Its elements, after everything that was put into its queue before.
    ///
    /// # Errors
    ///
    /// When a kernel before it failed, or the driver refuses.
    pub fn download(&self) -> Result<Vec<T>> {
        let mut data = vec![T::zeroed(); self.len];
        let bytes = bytemuck::cast_slice_mut(&mut data);
        let read = self.queue.raw().read_device(&self.memory, bytes);
        read.map_err(|failure| failed(&self.queue, failure, "reading"))?;
        Ok(data)
    }

    /// Copies `data` to it, after everything that was put into its queue before.
    ///
    /// # Errors
    ///
    /// When the lengths differ, a kernel before it failed, or the driver refuses.
    pub fn write(&mut self, data: &[T]) -> Result<()> {
        if data.len() != self.len {
            return Err(ErrorKind::Length {
                buffer: self.len,
                slice: data.len(),
            }
            .into());
        }
        let bytes = bytemuck::cast_slice(data);
        let written = self.queue.raw().write_device(&self.memory, bytes);
        written.map_err(|failure| failed(&self.queue, failure, "writing"))
    }
}

fn failed(queue: &Queue, failure: Failure, action: &str) -> Error {
    Error::driver(failure, format!("{action} a device array"), queue.device())
}

impl<T> fmt::Debug for DeviceArray<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let element = std::any::type_name::<T>();
        let device = self.queue.device();
        write!(f, "DeviceArray({} x {element} on {device})", self.len)
    }
}
