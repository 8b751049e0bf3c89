// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels, their arguments, and kernel objects, which hold the arguments.

use std::any::Any;
use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::event::{Event, WaitList};
use crate::backend::failure::Failure;
use crate::backend::native::KernelHandle;
use crate::backend::opencl::image::{Image, Sampler};
use crate::backend::queue::Queue;
use crate::backend::slice::Region;
use crate::backend::{Owned, opencl};
use crate::launch::range::Grid;
use crate::module::kernel_attributes::KernelAttributes;

either! {
    /// A kernel that several threads can launch.
    Kernel: dyn DriverKernel, Owned<opencl::kernel::Kernel, cuda::kernel::Kernel>
}

/// A kernel of a driver.
pub(crate) trait DriverKernel: Send + Sync {
    /// Returns its handles.
    fn native(&self) -> KernelHandle;

    /// Creates a separate object with its own arguments.
    fn object(&self) -> Result<KernelObject, Failure>;

    /// Returns how many arguments it takes, without the removed arguments.
    fn arguments(&self) -> usize;

    /// Returns the only work-group size that it was compiled for, dimension x first, where the driver reports
    /// it.
    fn required_local(&self) -> Option<[usize; 3]> {
        None
    }

    /// Returns the largest number of work-items in a work-group on this device.
    fn max_local(&self) -> usize;

    /// Returns how much work-group memory it uses beside its arguments, in bytes.
    fn local_memory(&self) -> u64;

    /// Returns a number that should divide the number of work-items in a work-group.
    fn preferred_multiple(&self) -> Result<usize, Failure>;

    /// Returns the driver's answers about the compiled code.
    fn attributes(&self) -> Result<KernelAttributes, Failure>;

    /// Returns the work-group size that the driver would choose for `global`, in its order, x first; `None`
    /// where it does not report it. The `values` are for all parameters, and of the kinds that the kernel
    /// takes.
    fn suggested_local(
        &self,
        _queue: &Queue,
        _values: &mut dyn Iterator<Item = Argument<'_>>,
        _global: &[usize],
    ) -> Result<Option<[usize; 3]>, Failure> {
        Ok(None)
    }
}

impl Kernel {
    /// Restricts the work-group size of launches without a size to the limits in the file: the number of
    /// work-items, and their number in each dimension, x first. OpenCL drivers find the limits in the code.
    #[cfg_attr(
        not(feature = "cuda"),
        allow(unused_variables, reason = "drivers find the limits")
    )]
    pub(crate) fn restrict(&mut self, all_items: usize, items: Option<[usize; 3]>) {
        match self {
            Self::OpenCl(_) => {}
            #[cfg(feature = "cuda")]
            Self::Cuda(kernel) => kernel.restrict(all_items, items),
        }
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
    /// As for [`DriverKernelObject::enqueue`]. The memory of the arguments is alive until this returns.
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
                unsafe { kernel.launch(queue, values, grid, after) }.map(Event::OpenCl)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(kernel), Queue::Cuda(queue)) => {
                // SAFETY: as the caller says.
                unsafe { kernel.launch(queue, values, grid, after) }.map(Event::Cuda)
            }
            #[cfg(feature = "cuda")]
            _ => Err((None, Failure::FOREIGN)),
        }
    }
}

/// An owned kernel object, whose arguments persist between launches.
pub(crate) type KernelObject = Box<dyn DriverKernelObject>;

/// A kernel object of a driver.
pub(crate) trait DriverKernelObject: Arguments + Any + Send + Sync {
    /// Enqueues the kernel with its current arguments, to start when all of `after` has finished. Sizes are in
    /// the driver's order, x first.
    ///
    /// # Safety
    ///
    /// The events of `after` are of the context of `queue`. All arguments are set and of the kinds that the
    /// kernel takes, and their memory is alive. The kernel's actions on them over this range are sound: it
    /// stays inside the buffers and does not race.
    unsafe fn enqueue(
        &self,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure>;

    /// Enqueues the kernel without an event, for a command that is not waited for by itself.
    ///
    /// # Safety
    ///
    /// As for [`DriverKernelObject::enqueue`].
    unsafe fn enqueue_without_event(
        &self,
        queue: &Queue,
        grid: &Grid,
        after: &WaitList<'_>,
    ) -> Result<(), Failure>;
}

/// The position of a parameter among all parameters of a kernel, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, reason = "OpenCL drivers know it")
)]
pub(crate) struct Slot {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// The value of an argument, in the form for a driver.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    /// A value, byte by byte.
    Bytes(&'a [u8]),
    /// The address of elements, and whether the kernel writes them.
    Memory(&'a Region<[()]>, bool),
    /// This many bytes for each work-group.
    Local(usize),
    Sampler(&'a Arc<Sampler>),
    /// An image, and whether the kernel writes it.
    Image(&'a Arc<Image>, bool),
    /// An address in device memory.
    Pointer(u64),
    /// A null address: a pointer, or a struct of a pointer.
    Null,
}

/// An object that takes the arguments of a kernel.
pub(crate) trait Arguments {
    /// Gives argument `index` a value for every launch until it gets another value. The memory of an argument
    /// must live as long.
    ///
    /// # Safety
    ///
    /// The value is of the kind that the kernel takes.
    unsafe fn set(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure>;

    /// Sets an argument as [`Arguments::set`] does, out of line: for rare kinds of values.
    ///
    /// # Safety
    ///
    /// As for [`Arguments::set`].
    unsafe fn set_any(&mut self, index: usize, value: Argument<'_>) -> Result<(), Failure>;
}

/// All arguments of a kernel.
pub(crate) trait Values {
    /// Gives the kernel its arguments.
    ///
    /// # Errors
    ///
    /// Contains the index of the value that the driver refuses.
    ///
    /// # Safety
    ///
    /// They are of the kinds that the kernel takes.
    unsafe fn give(&self, to: &mut impl Arguments) -> Result<(), (usize, Failure)>;
}
