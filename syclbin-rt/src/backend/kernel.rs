// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels, their arguments, and kernel objects, which store arguments between launches.

use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{
    AnyRange, CallGuard, Device, Event, Failure, KernelHandle, Owned, Queue, Region, Result,
    WaitList, opencl, opencl::image::Image, opencl::image::Sampler,
};

either! {
    /// A kernel that several threads can launch.
    Kernel: dyn DriverKernel, Owned<opencl::kernel::Kernel, cuda::kernel::Kernel>
}

pub(crate) trait DriverKernel: Send + Sync {
    fn native(&self) -> KernelHandle;

    /// Creates a separate kernel object with its own arguments.
    fn object(&self) -> Result<KernelObject>;

    fn bounds(&self) -> KernelBounds;

    /// Returns the preferred work-group size multiple: for best performance, the work-group size should be a multiple
    /// of this number.
    fn preferred_multiple(&self) -> Result<usize>;

    /// Returns the maximum number of work-groups that can wait for each other, if each has `items` work-items and
    /// `local_bytes` of work-group memory in arguments. OpenCL does not guarantee that work-groups run at the same time.
    fn max_root_groups(&self, _items: usize, _local_bytes: usize) -> Result<usize> {
        Ok(1)
    }

    /// Checks the limits on a launch range that the backend otherwise checks only when it enqueues the launch.
    fn check_range(&self, _range: &AnyRange) -> Result<()> {
        Ok(())
    }

    fn attributes(&self) -> Result<KernelAttributes>;
}

/// A kernel's launch limits, as reported by the driver.
#[derive(Clone, Copy)]
pub(crate) struct KernelBounds {
    /// The number of arguments, excluding those that the compiler removed.
    pub(crate) arguments: usize,
    /// The work-group size that the kernel was compiled for, x first, if the driver reports it.
    pub(crate) required_local: Option<[usize; 3]>,
    /// The maximum size of a work-group on this device, in work-items.
    pub(crate) max_local: usize,
    /// Whether the backend keeps to the [`Declared`] maximum when it chooses a work-group size.
    pub(crate) keeps_declared: bool,
    /// The local memory that the kernel uses, in bytes, excluding local-memory arguments.
    pub(crate) local_memory: u64,
}

impl Kernel {
    /// Sets all arguments and enqueues the kernel, to start when all commands in `after` have finished.
    ///
    /// # Safety
    ///
    /// The requirements of [`KernelObject::enqueue`] apply. The arguments' memory must stay alive until this function
    /// returns.
    #[inline]
    pub(crate) unsafe fn launch<'v, V: Values<'v>>(
        &self,
        queue: &Queue,
        values: &V,
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<Event, V::Error> {
        match self {
            // SAFETY: the caller guarantees this.
            Self::OpenCl(kernel) => unsafe { kernel.launch(queue, values, grid, after) },
            #[cfg(feature = "cuda")]
            // SAFETY: the caller guarantees this.
            Self::Cuda(kernel) => unsafe { kernel.launch(queue, values, grid, after) },
        }
    }
}

/// Properties of a compiled kernel. Returned by [`Kernel::attributes`](crate::Kernel::attributes).
///
/// A field is `None` if the driver does not report it. Memory sizes are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelAttributes {
    /// The largest number of work-items in a work-group.
    pub max_work_group_size: usize,
    /// For best performance, the work-group size should be a multiple of this number of work-items.
    pub preferred_work_group_size_multiple: usize,
    /// The work-group memory that the kernel uses, excluding work-group memory that is passed as an argument.
    pub local_memory_bytes: u64,
    /// The private memory of a work-item. CUDA drivers include spilled registers.
    pub private_memory_bytes: Option<u64>,
    /// The memory for a hardware thread's spilled registers. Only Intel's GPU drivers report it.
    pub spill_memory_bytes: Option<u64>,
    /// The number of registers: per work-item on CUDA, per hardware thread on Intel GPUs.
    pub registers: Option<u32>,
    /// The size, in work-items, of the largest sub-group in a work-group of the required size. If the kernel does not
    /// require a work-group size, the maximum size is assumed.
    pub max_sub_group_size: Option<usize>,
    /// The sub-group size that the code requires.
    pub required_sub_group_size: Option<usize>,
}

either! {
    /// An owned kernel object, whose arguments persist between launches.
    KernelObject: dyn DriverKernelObject,
    Owned<opencl::kernel_object::KernelObject, cuda::kernel_object::KernelObject>
}

impl<'a> Arguments<'a> for KernelObject {
    unsafe fn set(&mut self, position: usize, value: Argument<'a>) -> Result<()> {
        match self {
            Self::OpenCl(object) => {
                let guard = &CallGuard::new();
                #[cfg(target_os = "linux")]
                if object.program.reversible {
                    // SAFETY: the value is only noted.
                    unsafe { object.reach.set(position, value) }?;
                }
                // SAFETY: the caller guarantees this.
                unsafe { opencl::GuardedObject { object, guard }.set(position, value) }
            }
            #[cfg(feature = "cuda")]
            // SAFETY: the caller guarantees this.
            Self::Cuda(object) => unsafe { object.set(position, value) },
        }
    }
}

pub(crate) trait DriverKernelObject: Send + Sync {
    /// Returns the work-group size that the driver would choose for `global`, in the driver's order: x first. Returns
    /// `None` if the driver does not report it. All arguments must be set, because the size may depend on them.
    fn suggested_local(&self, _queue: &Queue, _global: &[usize]) -> Result<Option<[usize; 3]>> {
        Ok(None)
    }
}

impl KernelObject {
    /// Enqueues the kernel with its current arguments, to start when all commands in `after` have finished.
    ///
    /// # Safety
    ///
    /// The events in `after` must belong to the context of `queue`. All arguments must be set and match the kernel's
    /// parameter kinds, and their memory must be alive. Running the kernel on them over this range must be sound: the
    /// kernel must not access memory outside its buffers or cause data races.
    #[inline(always)]
    pub(crate) unsafe fn enqueue(
        &self,
        queue: &Queue,
        grid: &AnyRange,
        after: &WaitList<'_>,
    ) -> Result<Event> {
        match self {
            Self::OpenCl(object) => {
                let (queue, guard) = (queue.opencl()?, &CallGuard::new());
                // SAFETY: the caller guarantees this.
                unsafe { object.enqueue_within(guard, queue, grid, after) }.map(Event::OpenCl)
            }
            #[cfg(feature = "cuda")]
            // SAFETY: the caller guarantees this.
            Self::Cuda(object) => unsafe { object.enqueue(queue, grid, after) },
        }
    }

    /// Enqueues the kernel without an event, for commands that are never waited for individually.
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
            // SAFETY: the caller guarantees this.
            Self::OpenCl(object) => unsafe { object.enqueue_without_event(queue, grid, after) },
            #[cfg(feature = "cuda")]
            // SAFETY: the caller guarantees this.
            Self::Cuda(object) => unsafe { object.enqueue(queue, grid, after) }.map(drop),
        }
    }
}

/// What a file declares about a kernel. The OpenCL backend ignores this information.
pub(crate) struct Declared {
    /// The kernel's parameters, if known.
    pub(crate) slots: Option<Vec<Slot>>,
    /// The maximum number of work-items in a work-group.
    pub(crate) max_items: usize,
    /// The maximum number of work-items in each dimension of a work-group, x first.
    pub(crate) max_sizes: [usize; 3],
}

/// The offset and size of a parameter in the kernel's parameter block, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Slot {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}

/// An argument in the form that drivers accept.
#[derive(Clone, Copy)]
pub(crate) enum Argument<'a> {
    Bytes(&'a [u8]),
    /// Device memory, and whether the kernel writes it.
    Memory(&'a Region, bool),
    /// Local memory: this many bytes for each work-group.
    Local(usize),
    Sampler(&'a Arc<Sampler>),
    /// An image, and whether the kernel writes it.
    Image(&'a Arc<Image>, bool),
    Pointer(u64),
    /// A null address, for a pointer or for a struct that contains only a pointer.
    Null,
}

impl Argument<'_> {
    /// Returns the device that the value is tied to, if any.
    pub(crate) fn device(self) -> Option<Device> {
        match self {
            Self::Memory(region, _) => Some(region.memory.device()),
            Self::Sampler(sampler) => Some(sampler.context.device),
            Self::Image(image, _) => Some(image.context.device),
            Self::Bytes(_) | Self::Local(_) | Self::Pointer(_) | Self::Null => None,
        }
    }
}

/// Receives a kernel's arguments, for example to set or check them.
pub(crate) trait Arguments<'a> {
    /// Sets the argument at `position` for all launches until it is set again. The argument's memory must live that
    /// long.
    ///
    /// # Errors
    ///
    /// Returns [`Failure::FOREIGN`] if the value belongs to another context. Also fails if the driver rejects the
    /// value.
    ///
    /// # Safety
    ///
    /// The value must match the parameter's kind.
    unsafe fn set(&mut self, position: usize, value: Argument<'a>) -> Result<()>;
}

/// The values of all arguments of a kernel.
pub(crate) trait Values<'a> {
    type Error;

    /// Passes all arguments of the kernel to `to`.
    ///
    /// # Safety
    ///
    /// The values must match the kinds of the kernel's parameters.
    unsafe fn give(&self, to: &mut impl Arguments<'a>) -> Result<(), Self::Error>;

    /// Creates the error for a kernel that could not be enqueued.
    fn not_launched(&self, failure: Failure) -> Self::Error;
}
