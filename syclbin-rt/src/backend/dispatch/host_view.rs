// SPDX-License-Identifier: MIT OR Apache-2.0
//! Host views: device memory that is mapped into host memory.

use std::ffi::c_void;

use crate::backend::dispatch::memory::{Memory, Raw};
use crate::backend::dispatch::queue::Queue;
use crate::backend::dispatch::{each, either};
use crate::backend::failure::{Failure, NoView};
use crate::backend::slice::Region;
use crate::backend::{cuda, opencl};

either! {
    /// Memory that is mapped for the host, until [`HostView::end`].
    HostView: opencl::HostView, cuda::HostView
}

impl HostView {
    /// Creates a view of `region`, which is not empty.
    pub(crate) fn new(queue: &Queue, region: &Region<[()]>, writing: bool) -> Result<Self, NoView> {
        let (offset, size) = (region.offset, region.bytes());
        match (queue, region.memory.raw()) {
            (Queue::OpenCl(queue), Raw::OpenCl(memory)) => {
                opencl::HostView::new(queue, memory, offset, size, writing).map(Self::OpenCl)
            }
            (Queue::Cuda(queue), Raw::Cuda(memory)) => {
                cuda::HostView::new(queue, memory, offset, size, writing).map(Self::Cuda)
            }
            _ => Err(NoView::Failed(Failure::foreign("viewing memory"))),
        }
    }

    /// Returns the view's address for the host.
    pub(crate) fn pointer(&self) -> *mut c_void {
        each!(Self, self, view => view.pointer())
    }

    /// Ends the view.
    pub(crate) fn end(self, queue: &Queue, memory: &Memory) -> Result<(), Failure> {
        let foreign = Err(Failure::foreign("viewing memory"));
        match self {
            Self::OpenCl(view) => match (queue, memory.raw()) {
                (Queue::OpenCl(queue), Raw::OpenCl(memory)) => view.end(queue, memory),
                _ => foreign,
            },
            Self::Cuda(view) => match (queue, memory.raw()) {
                (Queue::Cuda(queue), Raw::Cuda(memory)) => view.end(queue, memory),
                _ => foreign,
            },
        }
    }
}
