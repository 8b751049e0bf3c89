//! Command buffers: commands that are recorded once and queued together.

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::slice::Place;
use crate::backend::{Event, Failure, KernelObject, Queue, WaitList, each, opencl};
use crate::launch::range::Grid;

/// The largest pattern that all devices fill memory with (OpenCL 3.0, clEnqueueFillBuffer), in bytes.
const LARGEST_PATTERN: usize = 128;

/// An owned command buffer: one of OpenCL (`cl_khr_command_buffer`) or a graph of CUDA.
pub(crate) enum CommandBuffer {
    OpenCl(opencl::CommandBuffer),
    #[cfg(feature = "cuda")]
    Cuda(cuda::CommandBuffer),
}

#[cfg(feature = "cuda")]
const MISPLACED: Failure = Failure {
    call: "recording a command",
    code: crate::backend::FOREIGN,
};

impl CommandBuffer {
    /// An empty one for `queue`; none where the device has none.
    pub(crate) fn new(queue: &Queue) -> Result<Option<Self>, Failure> {
        match queue {
            Queue::OpenCl(queue) => Ok(opencl::CommandBuffer::new(queue)?.map(Self::OpenCl)),
            #[cfg(feature = "cuda")]
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
        match (self, kernel) {
            // SAFETY: as the caller says.
            (Self::OpenCl(buffer), KernelObject::OpenCl(kernel)) => unsafe {
                buffer.add_kernel(kernel, grid)
            },
            // SAFETY: as the caller says.
            #[cfg(feature = "cuda")]
            (Self::Cuda(buffer), KernelObject::Cuda(kernel)) => unsafe {
                buffer.add_kernel(kernel, grid)
            },
            #[cfg(feature = "cuda")]
            _ => Err(MISPLACED),
        }
    }

    /// Records a copy. `false` for memory that this cannot copy.
    pub(crate) fn add_copy(
        &mut self,
        from: &Place<[()]>,
        to: &Place<[()]>,
    ) -> Result<bool, Failure> {
        match self {
            Self::OpenCl(buffer) => buffer.add_copy(from, to),
            #[cfg(feature = "cuda")]
            Self::Cuda(buffer) => {
                let source = from.memory.cuda().ok_or(MISPLACED)?;
                let target = to.memory.cuda().ok_or(MISPLACED)?;
                buffer.add_copy(source, from.offset, target, to.offset, from.bytes())
            }
        }
    }

    /// Records that memory is filled. `false` for memory that this cannot fill.
    pub(crate) fn add_fill(
        &mut self,
        place: &Place<[()]>,
        pattern: &[u8],
    ) -> Result<bool, Failure> {
        match self {
            Self::OpenCl(buffer) => buffer.add_fill(place, pattern),
            #[cfg(feature = "cuda")]
            Self::Cuda(buffer) => {
                let memory = place.memory.cuda().ok_or(MISPLACED)?;
                buffer.add_fill(memory, place.offset, place.bytes(), pattern)
            }
        }
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
        match self {
            // SAFETY: as the caller says.
            Self::OpenCl(buffer) => unsafe { buffer.enqueue(after.opencl()) }.map(Event::OpenCl),
            #[cfg(feature = "cuda")]
            // SAFETY: as the caller says.
            Self::Cuda(buffer) => unsafe { buffer.enqueue(after.cuda()) }.map(Event::Cuda),
        }
    }
}

/// Whether devices fill memory with an element of these bytes, and with which of them: those of an
/// element that says the same thing again and again are fewer.
pub(crate) fn pattern(element: &[u8]) -> Option<&[u8]> {
    match element {
        [first, rest @ ..] if rest.iter().all(|byte| byte == first) => element.get(..1),
        _ => {
            (element.len().is_power_of_two() && element.len() <= LARGEST_PATTERN).then_some(element)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pattern_is_a_power_of_two_or_one_byte() {
        assert_eq!(pattern(&[1, 2, 3, 4]), Some(&[1, 2, 3, 4][..]));
        assert_eq!(pattern(&[1, 2, 3]), None);
        assert_eq!(pattern(&[7, 7, 7]), Some(&[7][..]));
        assert_eq!(pattern(&[]), None);
        let large: Vec<u8> = (0..=255).collect();
        assert_eq!(pattern(&large), None);
        assert_eq!(pattern(&large[..128]), Some(&large[..128]));
    }
}
