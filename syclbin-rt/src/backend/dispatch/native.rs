// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native handles, in both directions.

use std::sync::Arc;

use crate::backend::dispatch::context::Context;
use crate::backend::dispatch::device::DriverDevice;
use crate::backend::dispatch::each;
use crate::backend::dispatch::event::Event;
use crate::backend::dispatch::kernel::Kernel;
use crate::backend::dispatch::memory::{Memory, Raw};
use crate::backend::dispatch::queue::Queue;
use crate::backend::failure::Failure;
use crate::backend::native::{
    DeviceHandle, EventHandle, KernelHandle, MemoryHandle, NativeEvent, Owner, QueueHandle,
};
use crate::backend::{cuda, opencl};

impl DriverDevice {
    /// Returns its handle.
    pub(crate) fn native(self) -> DeviceHandle {
        each!(Self, self, device => device.native())
    }
}

impl Queue {
    /// Returns its handles.
    pub(crate) fn native(&self) -> QueueHandle {
        each!(Self, self, queue => queue.native())
    }

    /// Uses a queue of another library on `device`.
    ///
    /// # Safety
    ///
    /// The queue is alive, and of the library of `device`. A queue of CUDA outlives this one.
    pub(crate) unsafe fn adopt(device: DriverDevice, handle: QueueHandle) -> Result<Self, Failure> {
        match device {
            DriverDevice::OpenCl(device) => {
                // SAFETY: as the caller says.
                unsafe { opencl::Queue::adopt(device, handle) }.map(|queue| Arc::new(queue).into())
            }
            DriverDevice::Cuda(device) => {
                // SAFETY: as the caller says.
                unsafe { cuda::Queue::adopt(device, handle) }.map(|queue| Arc::new(queue).into())
            }
        }
    }

    /// Enqueues a barrier that waits for an event of another library.
    ///
    /// # Safety
    ///
    /// The event is alive and of the context of this queue.
    pub(crate) unsafe fn barrier_after(&self, event: EventHandle) -> Result<Event, Failure> {
        // SAFETY: as the caller says.
        each!(Self, self, queue => unsafe { queue.barrier_after(event) }.map(Event::from))
    }
}

impl Memory {
    /// Returns the handle of its byte `offset`.
    pub(crate) fn native(&self, offset: usize) -> MemoryHandle {
        each!(Raw, self.raw(), memory => memory.native(offset))
    }

    /// Shares memory of another library.
    ///
    /// # Safety
    ///
    /// The memory is of `context` and has `size` bytes. It stays alive with `owner`.
    pub(crate) unsafe fn adopt(
        context: &Context,
        handle: MemoryHandle,
        size: usize,
        owner: Owner,
    ) -> Result<Self, Failure> {
        match context {
            Context::OpenCl(context) => {
                // SAFETY: as the caller says.
                unsafe { opencl::Memory::adopt(context, handle, size, owner) }.map(Self::from)
            }
            Context::Cuda(context) => {
                // SAFETY: as the caller says.
                unsafe { cuda::Memory::adopt(context, handle, size, owner) }.map(Self::from)
            }
        }
    }
}

impl Kernel {
    /// Returns its handles.
    pub(crate) fn native(&self) -> KernelHandle {
        each!(Self, self, kernel => kernel.native())
    }
}

impl Event {
    /// Returns an event of the driver at its end or later. `None` if it is known to have ended.
    pub(crate) fn native(&self) -> Result<Option<NativeEvent>, Failure> {
        each!(Self, self, event => event.native())
    }
}
