// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native handles, to share objects with other OpenCL or CUDA libraries.
//!
//! Between two kernels, a program can call another OpenCL or CUDA library, such as `opencl3`, `cudarc` or a BLAS.
//! That library must use the same driver library as this crate; [`Device::library`] returns it. Handles are plain
//! pointers and numbers: cast them to the other library's types.
//!
//! **Out:** the method `native` of [`Device`], [`Queue`], [`DeviceSlice`], [`Kernel`] and [`Event`]. A handle is valid
//! as long as the object that returned it; an event's handle is valid as long as its [`NativeEvent`]. `native` does not
//! increase the driver's reference count, so do not release the handle.
//!
//! **In:** [`Queue::from_native`], [`Queue::buffer_from_native`] and [`Queue::barrier_after_native`].
//!
//! ```no_run
//! # #![allow(unsafe_code)]
//! use syclbin_rt::native::MemoryHandle;
//! # fn main() -> syclbin_rt::Result<()> {
//! let queue = syclbin_rt::Device::best()?.queue()?;
//! let ours = queue.upload(&[1.0f32; 1024])?;
//! match ours.native() {
//!     MemoryHandle::OpenCl { memory, offset } => println!("cl_mem {memory:?}, byte {offset}"),
//!     MemoryHandle::Address(address) => println!("CUdeviceptr {address:#x}"),
//!     _ => {}
//! }
//! // A second buffer over the same memory. It owns `ours`, which keeps the memory alive.
//! let (handle, len) = (ours.native(), ours.len());
//! let same = unsafe { queue.buffer_from_native::<f32, _>(handle, len, ours)? };
//! assert_eq!(queue.download(&same)?, [1.0; 1024]);
//! # Ok(())
//! # }
//! ```
#![allow(unsafe_code, reason = "adopting foreign handles is unsafe")]

use std::sync::Arc;

use bytemuck::Pod;

pub use crate::backend::native::{
    DeviceHandle, EventHandle, KernelHandle, MemoryHandle, NativeEvent, QueueHandle,
};

use crate::backend::slice::DeviceSlice;

use crate::device::Device;
use crate::error::Result;
use crate::launch::kernel::Kernel;
use crate::memory::buffer::Buffer;
use crate::memory::copy::checked_size;
use crate::queue::Queue;
use crate::queue::event::Event;

/// Native handles.
impl Device {
    /// Returns the driver's handle, which is valid until the process ends.
    #[must_use]
    pub fn native(&self) -> DeviceHandle {
        self.driver_device().native()
    }
}

/// Native handles.
impl Queue {
    /// Returns the driver's handles, which are valid as long as this queue.
    ///
    /// Commands that another library enqueues run in order with those of this crate, unless the queue is out of order.
    #[must_use]
    pub fn native(&self) -> QueueHandle {
        self.raw().native()
    }

    /// Wraps a queue of `device` that another library created, together with its context. Modules, buffers and commands
    /// then belong to that context.
    ///
    /// Dropping the last clone of the queue waits for all commands in the queue, including those of the other library.
    ///
    /// # Errors
    ///
    /// Fails if the queue belongs to another device. On CUDA, also fails if the queue's context is not the device's
    /// primary context, or if the stream is `CU_STREAM_PER_THREAD`, which is a different stream in every thread.
    ///
    /// # Safety
    ///
    /// - The handles must be valid and belong to the library named by [`Device::library`].
    /// - A CUDA stream must outlive the queue, its events, everything that was loaded or allocated with the queue, and
    ///   each call that began while the queue existed and maps or drops memory of the device or drops a module. If a
    ///   command or wait on the stream fails, the stream must outlive all use of the device. An OpenCL queue may be
    ///   released earlier, because it is reference-counted.
    pub unsafe fn from_native(device: &Device, handle: QueueHandle) -> Result<Self> {
        // SAFETY: the caller upholds the same requirements.
        let raw = unsafe { device.driver_device().adopt_queue(handle) };
        Self::of_raw(device, raw.map_err(device.failed("adopting a queue"))?)
    }

    /// Creates a buffer over `len` elements of memory that another library allocated. `owner` is dropped once the
    /// buffer is dropped and every command that uses the buffer has finished.
    ///
    /// # Errors
    ///
    /// Fails if the driver reports that the memory belongs to another context or is too small, or if the size exceeds
    /// the address space.
    ///
    /// # Safety
    ///
    /// - The memory must belong to the context of this queue and contain `len` elements of `T`, starting at the handle.
    ///   An address must be aligned for `T` and for the C++ type of the elements that kernels access: 16 bytes for
    ///   `sycl::float4`, for example.
    /// - The memory must stay alive as long as `owner`.
    /// - While the buffer exists, other libraries must access the memory only as Rust's borrowing rules would allow.
    ///   Use events to order commands on other queues.
    pub unsafe fn buffer_from_native<T: Pod, O: Send + Sync + 'static>(
        &self,
        handle: MemoryHandle,
        len: usize,
        owner: O,
    ) -> Result<Buffer<T>> {
        let size = checked_size::<T>(len)?;
        let offset = match handle {
            MemoryHandle::OpenCl { offset, .. } => offset,
            MemoryHandle::Address(_) => 0,
        };
        let end = checked_size::<u8>(size.saturating_add(offset))?;
        let context = self.raw().context();
        // SAFETY: the caller upholds the same requirements.
        let memory = unsafe { context.adopt_memory(handle, end, Box::new(owner)) };
        let memory = memory.map_err(|failure| self.failed(failure, "adopting", size))?;
        Ok(Buffer::new(Arc::new(memory), offset, len))
    }

    /// Enqueues a barrier: later commands wait for `event`, which another library created, and for all earlier
    /// commands. Any command can wait for the returned event.
    ///
    /// # Errors
    ///
    /// Fails if the event comes from another kind of driver, or if the driver rejects the request.
    ///
    /// # Safety
    ///
    /// The event must be valid and belong to the context of this queue.
    pub unsafe fn barrier_after_native(&self, event: EventHandle) -> Result<Event> {
        const ACTION: &str = "waiting for another library's event";
        // SAFETY: the caller upholds the same requirements.
        let raw = unsafe { self.raw().barrier_after(event) };
        let raw = raw.map_err(self.device().failed(ACTION))?;
        Ok(Event::of_action(self, ACTION, raw))
    }
}

/// Native handles.
impl<T: Pod> DeviceSlice<T> {
    /// Returns the location of the first element as a native handle, which is valid until the memory is freed.
    #[must_use]
    pub fn native(&self) -> MemoryHandle {
        self.region().memory.native(self.region().offset)
    }
}

/// Native handles.
impl Kernel {
    /// Returns the driver's handles, which are valid as long as this kernel.
    ///
    /// If the driver provides no functions for device globals, kernels receive the globals as additional trailing
    /// arguments. Only launches through this crate pass these arguments.
    ///
    /// Other code may set arguments through the handle, so later launches set all arguments, even unchanged ones.
    #[must_use]
    pub fn native(&self) -> KernelHandle {
        self.raw().native()
    }
}

/// Native handles.
impl Event {
    /// Returns a driver event for another library's wait list. The event completes when this command has finished, or
    /// later. May return `None` if the command has already finished. The event belongs to a command that has been
    /// flushed, so other queues may wait for it.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request.
    pub fn native(&self) -> Result<Option<NativeEvent>> {
        let flushed = self.queue().raw().flushed();
        let native = flushed.and_then(|()| self.raw.native());
        native.map_err(|failure| self.failed(failure))
    }
}
