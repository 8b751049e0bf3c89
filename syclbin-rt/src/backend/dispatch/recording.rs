// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command buffers: commands that are recorded once and enqueued together.

use crate::backend::dispatch::event::{Event, WaitList};
use crate::backend::dispatch::kernel::KernelObject;
use crate::backend::dispatch::queue::Queue;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::Failure;
use crate::backend::slice::Region;
use crate::backend::{cuda, opencl};
use crate::launch::range::Grid;

either! {
    /// An owned command buffer: an OpenCL command buffer (`cl_khr_command_buffer`) or a CUDA graph.
    CommandBuffer: opencl::CommandBuffer, cuda::CommandBuffer
}

impl CommandBuffer {
    /// Creates an empty command buffer for `queue`; `None` where the device does not support them.
    pub(crate) fn new(queue: &Queue) -> Result<Option<Self>, Failure> {
        match queue {
            Queue::OpenCl(queue) => Ok(opencl::CommandBuffer::new(queue)?.map(Self::OpenCl)),
            Queue::Cuda(queue) => Ok(cuda::CommandBuffer::new(queue)?.map(Self::Cuda)),
        }
    }

    /// Records a kernel with its current arguments.
    ///
    /// # Safety
    ///
    /// As of [`KernelObject::enqueue`], for every time that the buffer is queued.
    pub(crate) unsafe fn add_kernel(
        &mut self,
        kernel: &KernelObject,
        grid: &Grid,
    ) -> Result<(), Failure> {
        // SAFETY: as the caller says.
        both!(Self self, KernelObject kernel; buffer, kernel => unsafe {
            buffer.add_kernel(kernel, grid)
        }, else Err(Failure::foreign("recording a kernel")))
    }

    /// Records a copy. Returns `false` for memory that this cannot copy.
    pub(crate) fn add_copy(
        &mut self,
        from: &Region<[()]>,
        to: &Region<[()]>,
    ) -> Result<bool, Failure> {
        each!(Self, self, buffer => buffer.add_copy(from, to))
    }

    /// Records a fill. Returns `false` for memory that this cannot fill.
    pub(crate) fn add_fill(
        &mut self,
        region: &Region<[()]>,
        pattern: &[u8],
    ) -> Result<bool, Failure> {
        each!(Self, self, buffer => buffer.add_fill(region, pattern))
    }

    /// Ends the recording: from here on it can be enqueued.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        each!(Self, self, buffer => buffer.finish())
    }

    /// Enqueues all commands, to start when all of `after` has finished.
    ///
    /// # Safety
    ///
    /// The recording has ended. What it uses is alive, and what its kernels do is sound. The events
    /// of `after` are of this context.
    pub(crate) unsafe fn enqueue(&self, after: &WaitList<'_>) -> Result<Event, Failure> {
        // SAFETY: as the caller says.
        each!(Self, self, buffer => unsafe { buffer.enqueue(after.narrow()?) }.map(Event::from))
    }
}
