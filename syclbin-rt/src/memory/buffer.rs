// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers and arrays: typed device memory.
//!
//! Arrays have an address, for pointers inside structs and for data that host and device share. Drivers keep a buffer
//! alive while a command uses it, but not memory that a kernel reaches through a pointer in a variable or a struct. So
//! dropping an array waits for the queues of its device. If waiting fails, the memory is leaked.

use std::marker::PhantomData;
use std::sync::Arc;

use bytemuck::Pod;
use syclbin::Aspect;

use crate::backend::{DevicePointer, Memory, OwnedRegion, UsmKind};
use crate::error::{Error, Result};
use crate::memory::copy::checked_size;
use crate::queue::Queue;

/// Elements of type `T` in device memory. Created by [`Queue::upload`](crate::Queue::upload) or
/// [`Queue::zeroed`](crate::Queue::zeroed).
///
/// A buffer dereferences to the [`DeviceSlice`](crate::DeviceSlice) of all its elements. You can drop it while kernels
/// still use it: the driver keeps the memory until they have finished (OpenCL 3.0, `clReleaseMemObject`).
pub struct Buffer<T: Pod> {
    pub(crate) region: OwnedRegion,
    element: PhantomData<T>,
}

impl<T: Pod> Buffer<T> {
    /// Creates a buffer of `len` elements that starts at byte `offset` of the memory.
    pub(crate) fn new(memory: Arc<Memory>, offset: usize, len: usize) -> Self {
        Self {
            region: OwnedRegion::new(memory, offset, len, size_of::<T>()),
            element: PhantomData,
        }
    }
}

macro_rules! arrays {
    ($($(#[$meta:meta])* $name:ident, $reach:ident, $plural:literal, $needs:literal;)*) => {
        $(
            $(#[$meta])*
            pub struct $name<T: Pod> {
                pub(crate) region: OwnedRegion,
                element: PhantomData<T>,
            }

            impl<T: Pod> $name<T> {
                /// Creates an array of `len` zeroed elements on the device of `queue`. `len` may be 0.
                ///
                /// # Errors
                ///
                /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the device does not support
                /// such memory. Also fails if the device does not have enough memory.
                pub fn zeroed(queue: &Queue, len: usize) -> Result<Self> {
                    let region = region::<T>(queue, UsmKind::$reach, $plural, $needs, len)?;
                    let element = PhantomData;
                    Ok(Self { region, element })
                }

                /// Creates an array that holds a copy of `data`, which may be empty.
                ///
                /// # Errors
                ///
                /// Fails for the same reasons as `zeroed`.
                pub fn upload(queue: &Queue, data: &[T]) -> Result<Self> {
                    let mut array = Self::zeroed(queue, data.len())?;
                    queue.write(&mut array, data)?;
                    Ok(array)
                }

                /// Returns the device address of the first element.
                #[must_use]
                pub fn pointer(&self) -> DevicePointer<T> {
                    let address = self.region.memory.address().unwrap_or_default();
                    DevicePointer::from_address(address + self.region.offset as u64)
                }
            }
        )*
    };
}

arrays! {
    /// Elements of type `T` in device memory with a fixed address. Use an array instead of a [`Buffer`] for data that a
    /// kernel reaches through a pointer inside a struct.
    ///
    /// An array requires unified shared memory (SYCL's `malloc_device`), which not every device supports.
    ///
    /// An array dereferences to the [`DeviceSlice`](crate::DeviceSlice) of all its elements. Dropping it waits until
    /// every queue of the device is empty, because its memory is freed immediately.
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
    /// // SAFETY: every byte belongs to a field whose type allows every value, including zero.
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
    DeviceArray, Device, "device arrays", "unified shared memory on the device (usm_device_allocations)";

    /// Elements of type `T` in host memory that the device accesses directly (SYCL's `malloc_host`). In all other
    /// respects, a host array works like a [`DeviceArray`].
    ///
    /// Use it for data that a kernel accesses once: nothing is copied, but each access may cross the bus.
    ///
    /// Use [`Queue::map`](crate::Queue::map) to access the elements from the host.
    HostArray, Host, "host arrays", "unified shared memory on the host (usm_host_allocations)";

    /// Elements of type `T` in memory that migrates between host and device on access (SYCL's `malloc_shared`). In all
    /// other respects, a shared array works like a [`DeviceArray`].
    ///
    /// Use [`Queue::map`](crate::Queue::map) to access the elements from the host.
    ///
    /// ```no_run
    /// use syclbin_rt::{Device, SharedArray};
    ///
    /// let queue = Device::best()?.queue()?;
    /// let mut numbers = SharedArray::<u32>::zeroed(&queue, 100)?;
    /// queue.map_mut(&mut numbers)?[7] = 7;
    /// assert_eq!(queue.map(&numbers)?[..8].iter().sum::<u32>(), 7);
    /// # Ok::<(), syclbin_rt::Error>(())
    /// ```
    SharedArray, Shared, "shared arrays", "unified shared memory that migrates between host and device \
        (usm_shared_allocations)";
}

/// The minimum alignment of allocations with an address, in bytes.
const ALWAYS_ALIGNED: usize = 64;

fn region<T: Pod>(
    queue: &Queue,
    kind: UsmKind,
    what: &'static str,
    needs: &'static str,
    len: usize,
) -> Result<OwnedRegion> {
    let device = queue.device();
    let aspect = match kind {
        UsmKind::Device => Aspect::USM_DEVICE_ALLOCATIONS,
        UsmKind::Host => Aspect::USM_HOST_ALLOCATIONS,
        UsmKind::Shared => Aspect::USM_SHARED_ALLOCATIONS,
    };
    if !device.has(aspect) || !device.facts().has_addresses {
        return Err(Error::unsupported(what, needs, device));
    }
    let size = checked_size::<T>(len)?;
    // Drivers align memory for numbers and vectors. For a type with a stricter alignment, allocate extra bytes, so that
    // the elements can start at an aligned address.
    let align = align_of::<T>();
    let more = if align > ALWAYS_ALIGNED { align } else { 0 };
    let size = size.saturating_add(more);
    let memory = queue.for_new_memory();
    let memory = memory.and_then(|queue| queue.zeroed(Some(kind), size));
    let memory =
        memory.map_err(device.failed(format_args!("allocating {size} bytes for {what}")))?;
    // Aligning the start skips fewer than `align` bytes, so the elements fit.
    let address = memory.address().unwrap_or_default();
    let offset = match more {
        0 => 0,
        _ => usize::try_from(address.next_multiple_of(align as u64) - address).unwrap_or(0),
    };
    Ok(OwnedRegion::new(memory, offset, len, size_of::<T>()))
}
