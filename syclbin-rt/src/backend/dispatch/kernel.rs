//! Kernels, and kernel objects: what has the arguments of one.

use std::ffi::CString;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{
    Argument, Arguments, Event, Failure, Program, Queue, Values, WaitList, each, opencl,
};
use crate::launch::range::Grid;

/// A kernel for all who launch it.
pub(crate) enum Kernel {
    OpenCl(opencl::Kernel),
    #[cfg(feature = "cuda")]
    Cuda(cuda::Kernel),
}

/// An owned kernel object, which keeps its arguments from one launch to the next.
pub(crate) enum KernelObject {
    OpenCl(opencl::KernelObject),
    #[cfg(feature = "cuda")]
    Cuda(cuda::KernelObject),
}

/// Where a parameter lies among all of a kernel, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, reason = "OpenCL does not tell")
)]
pub(crate) struct Slot {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// A launch on a queue of another backend.
#[cfg(feature = "cuda")]
const MISPLACED: Failure = Failure {
    call: "launching a kernel",
    code: crate::backend::FOREIGN,
};

impl Kernel {
    /// The kernel called `symbol`, and where its parameters lie, as far as that is known.
    #[cfg_attr(
        not(feature = "cuda"),
        allow(unused_variables, reason = "drivers of OpenCL know it")
    )]
    pub(crate) fn new(
        program: &Program,
        symbol: CString,
        slots: Option<Vec<Slot>>,
    ) -> Result<Self, Failure> {
        match program {
            Program::OpenCl(program) => opencl::Kernel::new(program, symbol).map(Self::OpenCl),
            #[cfg(feature = "cuda")]
            Program::Cuda(program) => cuda::Kernel::new(program, symbol, slots).map(Self::Cuda),
        }
    }

    /// Has launches that leave the work-group size out keep to what the file says of it. Drivers of
    /// OpenCL know it by themselves.
    #[cfg_attr(
        not(feature = "cuda"),
        allow(unused_variables, reason = "drivers of OpenCL know it")
    )]
    pub(crate) fn keep_to(&mut self, all_items: usize, items: Option<[usize; 3]>) {
        match self {
            Self::OpenCl(_) => {}
            #[cfg(feature = "cuda")]
            Self::Cuda(kernel) => kernel.keep_to(all_items, items),
        }
    }

    /// An object of its own, with arguments of its own.
    pub(crate) fn object(&self) -> Result<KernelObject, Failure> {
        match self {
            Self::OpenCl(kernel) => kernel.object().map(KernelObject::OpenCl),
            #[cfg(feature = "cuda")]
            Self::Cuda(kernel) => kernel.object().map(KernelObject::Cuda),
        }
    }

    /// How many arguments it takes, without those the compiler removed.
    pub(crate) fn arguments(&self) -> usize {
        each!(Self, self, kernel => kernel.arguments())
    }

    /// The one work-group size it was compiled for, dimension x first, where the driver tells.
    pub(crate) fn required_local(&self) -> Option<[usize; 3]> {
        each!(Self, self, kernel => kernel.required_local())
    }

    /// The most work-items of a work-group on this device.
    pub(crate) fn max_local(&self) -> usize {
        each!(Self, self, kernel => kernel.max_local())
    }

    /// How much work-group memory it uses beside its arguments, in bytes.
    pub(crate) fn local_memory(&self) -> u64 {
        each!(Self, self, kernel => kernel.local_memory())
    }

    /// What the number of work-items in a work-group should be a multiple of.
    pub(crate) fn preferred_multiple(&self) -> Result<usize, Failure> {
        each!(Self, self, kernel => kernel.preferred_multiple())
    }

    /// The work-group size that the driver would choose for `global`, in its order, x first; nothing
    /// where it does not tell. The `values` are for all parameters, and of the kinds that the kernel
    /// takes.
    pub(crate) fn suggested_local<'a>(
        &self,
        queue: &Queue,
        values: impl Iterator<Item = Argument<'a>>,
        global: &[usize],
    ) -> Result<Option<[usize; 3]>, Failure> {
        match (self, queue) {
            (Self::OpenCl(kernel), Queue::OpenCl(queue)) => {
                kernel.suggested_local(queue, values, global)
            }
            // Its driver only knows of sizes in one dimension.
            #[cfg(feature = "cuda")]
            _ => Ok(None),
        }
    }

    /// Sets all arguments and queues the kernel, to start when all of `after` has finished. Sizes are
    /// in the driver's order, x first.
    ///
    /// # Errors
    ///
    /// With the index of the argument, if it cannot be set.
    ///
    /// # Safety
    ///
    /// As of [`KernelObject::enqueue`]. The memory of the arguments is alive until this returns.
    #[inline]
    pub(crate) unsafe fn launch(
        &self,
        queue: &Queue,
        values: &impl Values,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<Event, (Option<usize>, Failure)> {
        match (self, queue) {
            (Self::OpenCl(kernel), Queue::OpenCl(queue)) => {
                // SAFETY: as the caller says.
                let launched = unsafe {
                    let set = |object: &mut opencl::PassedObject<'_>| values.give(object);
                    kernel.launch(queue, set, grid, after.opencl())
                };
                launched.map(Event::OpenCl)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(kernel), Queue::Cuda(queue)) => {
                // SAFETY: as the caller says.
                let launched = unsafe {
                    let set = |object: &mut cuda::KernelObject| values.give(object);
                    kernel.launch(queue, set, grid, after.cuda())
                };
                launched.map(Event::Cuda)
            }
            #[cfg(feature = "cuda")]
            _ => Err((None, MISPLACED)),
        }
    }
}

impl KernelObject {
    /// Queues the kernel with the arguments it has, to start when all of `after` has finished. Sizes
    /// are in the driver's order, x first.
    ///
    /// # Safety
    ///
    /// The events of `after` are of the context of `queue`. All
    /// arguments are set, of the kinds the kernel takes, their memory is alive, and whatever the
    /// kernel does with them on this range is sound: it stays inside the buffers and races with
    /// nobody.
    #[inline]
    pub(crate) unsafe fn enqueue(
        &self,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        match (self, queue) {
            (Self::OpenCl(object), Queue::OpenCl(queue)) => {
                // SAFETY: as the caller says.
                let queued = unsafe { object.enqueue(queue, grid, after.opencl()) };
                queued.map(Event::OpenCl)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(object), Queue::Cuda(queue)) => {
                // SAFETY: as the caller says.
                let queued = unsafe { object.enqueue(queue, grid, after.cuda()) };
                queued.map(Event::Cuda)
            }
            #[cfg(feature = "cuda")]
            _ => Err(MISPLACED),
        }
    }

    /// The same without an event, for a command that nobody waits for by itself.
    ///
    /// # Safety
    ///
    /// As of [`KernelObject::enqueue`].
    pub(crate) unsafe fn enqueue_without_event(
        &self,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<(), Failure> {
        match (self, queue) {
            // SAFETY: as the caller says.
            (Self::OpenCl(object), Queue::OpenCl(queue)) => unsafe {
                object.enqueue_without_event(queue, grid, after.opencl())
            },
            // SAFETY: as the caller says.
            #[cfg(feature = "cuda")]
            (Self::Cuda(object), Queue::Cuda(queue)) => unsafe {
                object.enqueue_without_event(queue, grid, after.cuda())
            },
            #[cfg(feature = "cuda")]
            _ => Err(MISPLACED),
        }
    }
}

impl Arguments for KernelObject {
    unsafe fn set(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure> {
        // SAFETY: as the caller says.
        each!(Self, self, object => unsafe { object.set(index, value) })
    }

    unsafe fn set_any(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure> {
        // SAFETY: as the caller says.
        each!(Self, self, object => unsafe { object.set_any(index, value) })
    }
}
