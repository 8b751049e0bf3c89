// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels, and kernel objects, which hold the arguments of a kernel.

use std::ffi::CString;

use crate::backend::argument::{Argument, Arguments, Values};
use crate::backend::dispatch::event::{Event, WaitList};
use crate::backend::dispatch::program::Program;
use crate::backend::dispatch::queue::Queue;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::Failure;
use crate::backend::slot::Slot;
use crate::backend::{cuda, opencl};
use crate::launch::range::Grid;
use crate::module::kernel_attributes::KernelAttributes;

either! {
    /// A kernel that several threads can launch.
    Kernel: opencl::Kernel, cuda::Kernel
}

either! {
    /// An owned kernel object, whose arguments persist between launches.
    KernelObject: opencl::KernelObject, cuda::KernelObject
}

/// A launch on a queue of another backend.
const FOREIGN: Failure = Failure::foreign("launching a kernel");

impl Kernel {
    /// Finds the kernel called `symbol`. The positions of its parameters are given where they are known.
    pub(crate) fn new(
        program: &Program,
        symbol: CString,
        slots: Option<Vec<Slot>>,
    ) -> Result<Self, Failure> {
        match program {
            Program::OpenCl(program) => {
                opencl::Kernel::new(program, symbol, slots).map(Self::OpenCl)
            }
            Program::Cuda(program) => cuda::Kernel::new(program, symbol, slots).map(Self::Cuda),
        }
    }

    /// Restricts the work-group size of launches without a size to the limits in the file.
    pub(crate) fn keep_to(&mut self, all_items: usize, items: Option<[usize; 3]>) {
        each!(Self, self, kernel => kernel.keep_to(all_items, items));
    }

    /// Creates a separate object with its own arguments.
    pub(crate) fn object(&self) -> Result<KernelObject, Failure> {
        each!(Self, self, kernel => kernel.object().map(KernelObject::from))
    }

    /// Returns how many arguments it takes, without the removed arguments.
    pub(crate) fn arguments(&self) -> usize {
        each!(Self, self, kernel => kernel.arguments())
    }

    /// Returns the only work-group size that it was compiled for, dimension x first, where the driver reports
    /// it.
    pub(crate) fn required_local(&self) -> Option<[usize; 3]> {
        each!(Self, self, kernel => kernel.required_local())
    }

    /// Returns the largest number of work-items in a work-group on this device.
    pub(crate) fn max_local(&self) -> usize {
        each!(Self, self, kernel => kernel.max_local())
    }

    /// Returns how much work-group memory it uses beside its arguments, in bytes.
    pub(crate) fn local_memory(&self) -> u64 {
        each!(Self, self, kernel => kernel.local_memory())
    }

    /// Returns a number that should divide the number of work-items in a work-group.
    pub(crate) fn preferred_multiple(&self) -> Result<usize, Failure> {
        each!(Self, self, kernel => kernel.preferred_multiple())
    }

    /// Returns the driver's answers about the compiled code.
    pub(crate) fn attributes(&self) -> Result<KernelAttributes, Failure> {
        each!(Self, self, kernel => kernel.attributes())
    }

    /// Returns the work-group size that the driver would choose for `global`, in its order, x first; `None`
    /// where it does not report it. The `values` are for all parameters, and of the kinds that the kernel
    /// takes.
    pub(crate) fn suggested_local<'a>(
        &self,
        queue: &Queue,
        values: impl Iterator<Item = Argument<'a>>,
        global: &[usize],
    ) -> Result<Option<[usize; 3]>, Failure> {
        both!(Self self, Queue queue; kernel, queue => kernel.suggested_local(queue, values, global), else Ok(None))
    }

    /// Sets all arguments and enqueues the kernel, to start when all of `after` has finished. Sizes are in the
    /// driver's order, x first.
    ///
    /// # Errors
    ///
    /// Contains the index of the argument, if it cannot be set.
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
        both!(Self self, Queue queue; kernel, queue => {
            let after = after.narrow().map_err(|failure| (None, failure))?;
            // SAFETY: as the caller says.
            unsafe { kernel.launch(queue, values, grid, after) }.map(Event::from)
        }, else Err((None, FOREIGN)))
    }
}

impl KernelObject {
    /// Enqueues the kernel with its current arguments, to start when all of `after` has finished. Sizes are in
    /// the driver's order, x first.
    ///
    /// # Safety
    ///
    /// The events of `after` are of the context of `queue`. All arguments are set and of the kinds that the
    /// kernel takes, and their memory is alive. The kernel's actions on them over this range are sound: it
    /// stays inside the buffers and does not race.
    #[inline]
    pub(crate) unsafe fn enqueue(
        &self,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        // SAFETY: as the caller says.
        both!(Self self, Queue queue; object, queue => unsafe {
            object.enqueue(queue, grid, after.narrow()?).map(Event::from)
        }, else Err(FOREIGN))
    }

    /// Enqueues the kernel without an event, for a command that is not waited for by itself.
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
        // SAFETY: as the caller says.
        both!(Self self, Queue queue; object, queue => unsafe {
            object.enqueue_without_event(queue, grid, after.narrow()?)
        }, else Err(FOREIGN))
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
