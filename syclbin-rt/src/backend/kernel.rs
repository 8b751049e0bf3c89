// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels, their arguments, and kernel objects, which hold the arguments.

use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{
    AnyRange, Device, Event, Failure, KernelHandle, Owned, Queue, Region, Result, WaitList, opencl,
    opencl::image::Image, opencl::image::Sampler,
};

either! {
    /// A kernel that several threads can launch.
    Kernel: dyn DriverKernel, Owned<opencl::kernel::Kernel, cuda::kernel::Kernel>
}

/// A kernel of a driver.
pub(crate) trait DriverKernel: Send + Sync {
    /// Returns its handles.
    fn native(&self) -> KernelHandle;

    /// Creates a separate object with its own arguments.
    fn object(&self) -> Result<KernelObject>;

    /// Returns what bounds its launches.
    fn bounds(&self) -> KernelBounds;

    /// Returns a number that should divide the number of work-items in a work-group.
    fn preferred_multiple(&self) -> Result<usize>;

    /// Returns the driver's answers about the compiled code.
    fn attributes(&self) -> Result<KernelAttributes>;

    /// Returns the work-group size that the driver would choose for `global`, in its order, x first; `None`
    /// where it does not report it. The `values` are for all parameters, and of the kinds that the kernel
    /// takes.
    fn suggested_local(
        &self,
        _queue: &Queue,
        _values: &[Argument<'_>],
        _global: &[usize],
    ) -> Result<Option<[usize; 3]>> {
        Ok(None)
    }
}

/// A driver's answers about a kernel that bound its launches.
#[derive(Clone, Copy)]
pub(crate) struct KernelBounds {
    /// The number of arguments, without the removed arguments.
    pub(crate) arguments: usize,
    /// The only work-group size that it was compiled for, dimension x first, where the driver reports it.
    pub(crate) required_local: Option<[usize; 3]>,
    /// The largest number of work-items in a work-group on this device.
    pub(crate) max_local: usize,
    /// The work-group memory that it uses beside its arguments, in bytes.
    pub(crate) local_memory: u64,
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
    /// # Safety
    ///
    /// As for [`KernelObject::enqueue`]. The memory of the arguments is alive until this returns.
    #[inline]
    pub(crate) unsafe fn launch<'v, V: Values<'v>>(
        &self,
        queue: &Queue,
        values: &V,
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<Event, V::Error> {
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
            _ => Err(values.not_launched(Failure::FOREIGN)),
        }
    }
}

/// What the driver reports about a compiled kernel. Returned by [`Kernel::attributes`](crate::Kernel::attributes).
///
/// A field is `None` if the driver does not report it. Memory sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelAttributes {
    /// The largest number of work-items in a work-group.
    pub max_work_group_size: usize,
    /// The preferred divisor of the number of work-items in a work-group.
    pub preferred_work_group_size_multiple: usize,
    /// The work-group memory that the kernel uses besides its arguments.
    pub local_memory_bytes: u64,
    /// The private memory of a work-item. CUDA drivers include spilled registers.
    pub private_memory_bytes: Option<u64>,
    /// The memory for spilled registers of a hardware thread. Only Intel's GPU drivers report it.
    pub spill_memory_bytes: Option<u64>,
    /// The number of registers: per work-item on CUDA, per hardware thread on Intel GPUs.
    pub registers: Option<u32>,
    /// The largest sub-group in a work-group of the maximum size, in work-items.
    pub max_sub_group_size: Option<usize>,
    /// The sub-group size that the code requires.
    pub required_sub_group_size: Option<usize>,
}

/// An owned kernel object, whose arguments persist between launches.
pub(crate) enum KernelObject {
    OpenCl(opencl::kernel_object::KernelObject),
    #[cfg(feature = "cuda")]
    Cuda(cuda::kernel_object::KernelObject),
}

impl KernelObject {
    /// Gives an argument a value, as [`Arguments::set`] does.
    ///
    /// # Safety
    ///
    /// The requirements of [`Arguments::set`] apply.
    pub(crate) unsafe fn set(&mut self, index: usize, value: Argument<'_>) -> Result<()> {
        match self {
            // SAFETY: as the caller says.
            Self::OpenCl(object) => unsafe { object.set(index, value) },
            #[cfg(feature = "cuda")]
            // SAFETY: as the caller says.
            Self::Cuda(object) => unsafe { object.set(index, value) },
        }
    }

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
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<Event> {
        match self {
            Self::OpenCl(object) => {
                // SAFETY: as the caller says.
                unsafe { object.enqueue(queue.opencl()?, grid, after) }.map(Event::OpenCl)
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(object) => {
                // SAFETY: as the caller says.
                unsafe { object.launch(queue.cuda()?, grid, after) }.map(Event::Cuda)
            }
        }
    }

    /// Enqueues the kernel without an event, for a command that is not waited for by itself.
    ///
    /// # Safety
    ///
    /// The requirements of [`KernelObject::enqueue`] apply.
    #[inline]
    pub(crate) unsafe fn enqueue_without_event(
        &self,
        queue: &Queue,
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<()> {
        match self {
            // SAFETY: as the caller says.
            Self::OpenCl(object) => unsafe {
                object.enqueue_without_event(queue.opencl()?, grid, after)
            },
            #[cfg(feature = "cuda")]
            // SAFETY: as the caller says.
            Self::Cuda(object) => unsafe {
                object.enqueue_without_event(queue.cuda()?, grid, after)
            },
        }
    }
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
    Memory(&'a Region, bool),
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

impl Argument<'_> {
    /// Returns the device that holds the value, if only one does.
    pub(crate) fn device(self) -> Option<Device> {
        match self {
            Self::Memory(region, _) => Some(region.memory.device()),
            Self::Sampler(sampler) => Some(sampler.device()),
            Self::Image(image, _) => Some(image.device()),
            Self::Bytes(_) | Self::Local(_) | Self::Pointer(_) | Self::Null => None,
        }
    }
}

/// An object that takes the arguments of a kernel.
pub(crate) trait Arguments<'a> {
    /// Gives the argument at `position` a value for every launch until it gets another value. The memory of an argument
    /// must live as long.
    ///
    /// # Errors
    ///
    /// [`Failure::FOREIGN`] for a value of another context; and if the driver refuses the value.
    ///
    /// # Safety
    ///
    /// The value is of the kind that the kernel takes.
    unsafe fn set(&mut self, position: usize, value: Argument<'a>) -> Result<()>;
}

/// All arguments of a kernel.
pub(crate) trait Values<'a> {
    type Error;

    /// Gives the kernel its arguments.
    ///
    /// # Safety
    ///
    /// They are of the kinds that the kernel takes.
    unsafe fn give(&self, to: &mut impl Arguments<'a>) -> Result<(), Self::Error>;

    /// Creates the error for a kernel that the driver does not enqueue.
    fn not_launched(&self, failure: Failure) -> Self::Error;
}
