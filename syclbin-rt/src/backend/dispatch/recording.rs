//! Command buffers: commands that are recorded once and queued together.

use crate::backend::dispatch::event::{Event, WaitList};
use crate::backend::dispatch::kernel::KernelObject;
use crate::backend::dispatch::queue::Queue;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::Failure;
use crate::backend::slice::Place;
use crate::backend::{cuda, opencl};
use crate::launch::range::Grid;

either! {
    /// An owned command buffer: one of OpenCL (`cl_khr_command_buffer`) or a graph of CUDA.
    CommandBuffer: opencl::CommandBuffer, cuda::CommandBuffer
}

impl CommandBuffer {
    /// An empty one for `queue`; none where the device has none.
    pub(crate) fn new(queue: &Queue) -> Result<Option<Self>, Failure> {
        match queue {
            Queue::OpenCl(queue) => Ok(opencl::CommandBuffer::new(queue)?.map(Self::OpenCl)),
            Queue::Cuda(queue) => Ok(cuda::CommandBuffer::new(queue)?.map(Self::Cuda)),
        }
    }

    /// Records a kernel with the arguments it has.
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

    /// Records a copy. `false` for memory that this cannot copy.
    pub(crate) fn add_copy(
        &mut self,
        from: &Place<[()]>,
        to: &Place<[()]>,
    ) -> Result<bool, Failure> {
        each!(Self, self, buffer => buffer.add_copy(from, to))
    }

    /// Records that memory is filled. `false` for memory that this cannot fill.
    pub(crate) fn add_fill(
        &mut self,
        place: &Place<[()]>,
        pattern: &[u8],
    ) -> Result<bool, Failure> {
        each!(Self, self, buffer => buffer.add_fill(place, pattern))
    }

    /// Ends the recording: from here on it can be queued.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        each!(Self, self, buffer => buffer.finish())
    }

    /// Queues all commands, to start when all of `after` has finished.
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
