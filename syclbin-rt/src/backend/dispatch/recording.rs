// SPDX-License-Identifier: MIT OR Apache-2.0
//! Graphs: commands that are recorded once and enqueued by one driver call. Only CUDA has them.

use crate::backend::cuda;
use crate::backend::dispatch::event::{Event, WaitList};
use crate::backend::dispatch::kernel::KernelObject;
use crate::backend::dispatch::queue::Queue;
use crate::backend::failure::Failure;
use crate::backend::slice::Region;
use crate::launch::range::Grid;

/// An owned graph.
pub(crate) struct Graph(cuda::Graph);

impl Graph {
    /// Creates an empty graph for `queue`; `None` if the driver does not support graphs.
    pub(crate) fn new(queue: &Queue) -> Result<Option<Self>, Failure> {
        match queue {
            Queue::OpenCl(_) => Ok(None),
            Queue::Cuda(queue) => Ok(cuda::Graph::new(queue)?.map(Self)),
        }
    }

    /// Records a kernel with its current arguments.
    ///
    /// # Safety
    ///
    /// The duties of [`KernelObject::enqueue`], each time the graph is enqueued.
    pub(crate) unsafe fn add_kernel(
        &mut self,
        kernel: &KernelObject,
        grid: &Grid,
    ) -> Result<(), Failure> {
        let KernelObject::Cuda(kernel) = kernel else {
            return Err(Failure::foreign("recording a kernel"));
        };
        // SAFETY: as the caller says.
        unsafe { self.0.add_kernel(kernel, grid) }
    }

    /// Records a copy.
    pub(crate) fn add_copy(
        &mut self,
        from: &Region<[()]>,
        to: &Region<[()]>,
    ) -> Result<(), Failure> {
        self.0.add_copy(from, to)
    }

    /// Records a fill.
    pub(crate) fn add_fill(
        &mut self,
        region: &Region<[()]>,
        pattern: &[u8],
    ) -> Result<(), Failure> {
        self.0.add_fill(region, pattern)
    }

    /// Ends the recording. Afterwards the graph can be enqueued.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        self.0.finish()
    }

    /// Enqueues all commands, to start when all of `after` has finished.
    ///
    /// # Safety
    ///
    /// The recording has ended. What it uses is alive, and its kernels are sound. The events of `after` belong
    /// to this context.
    pub(crate) unsafe fn enqueue(&self, after: &WaitList<'_>) -> Result<Event, Failure> {
        // SAFETY: as the caller says.
        unsafe { self.0.enqueue(after.narrow()?) }.map(Event::from)
    }
}
