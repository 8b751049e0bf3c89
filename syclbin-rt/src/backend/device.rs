// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices, the libraries that offer them, and contexts: the objects of a device that work together.

use std::any::Any;
use std::ffi::OsStr;
use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::failure::{BuildError, Failure};
use crate::backend::library::LibraryError;
use crate::backend::memory::Memory;
use crate::backend::native::{DeviceHandle, MemoryHandle, Owner, QueueHandle};
use crate::backend::opencl;
use crate::backend::program::{Program, Source};
use crate::backend::queue::Queue;
use crate::device::facts::Facts;
use crate::device::partition::{PartPosition, Partition};
use crate::queue::options::{QueueAbilities, QueueOptions};

/// A loaded library of a driver.
#[derive(Clone, Copy)]
pub(crate) enum Library {
    OpenCl(&'static opencl::device::Library),
    #[cfg(feature = "cuda")]
    Cuda(&'static cuda::device::Library),
}

impl Library {
    /// Loads the OpenCL library called `name` (a path, or a file name for the system to find).
    ///
    /// # Errors
    ///
    /// When it does not load or is not an OpenCL library.
    pub(crate) fn opencl(name: &OsStr) -> Result<Self, LibraryError> {
        opencl::device::Library::load(name).map(Self::OpenCl)
    }

    /// Loads the library of NVIDIA's driver.
    ///
    /// # Errors
    ///
    /// When there is none, and when it is too old.
    pub(crate) fn cuda() -> Result<Self, LibraryError> {
        #[cfg(feature = "cuda")]
        return cuda::device::Library::load().map(Self::Cuda);
        #[cfg(not(feature = "cuda"))]
        Err(LibraryError::WithoutCuda)
    }

    /// Returns its devices.
    pub(crate) fn devices(self) -> Result<Vec<Device>, Failure> {
        fn all<D: DriverDevice>(devices: &'static [D]) -> Vec<Device> {
            devices.iter().map(|device| -> Device { device }).collect()
        }
        match self {
            Self::OpenCl(library) => library.devices().map(all),
            #[cfg(feature = "cuda")]
            Self::Cuda(library) => library.devices().map(all),
        }
    }
}

/// A device of a loaded library. It lives as long as the process.
pub(crate) type Device = &'static dyn DriverDevice;

/// A device of a driver.
pub(crate) trait DriverDevice: Send + Sync {
    /// Returns the driver's answers about the device.
    fn facts(&self) -> &Facts;

    /// Returns the name of the library that offers it.
    fn library(&self) -> &'static str;

    /// Returns an address that no other device has. It never changes.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Returns its handle.
    fn native(&self) -> DeviceHandle;

    /// Returns the device that it is a part of, and its number.
    fn part(&self) -> Option<PartPosition> {
        None
    }

    /// Returns its parts.
    fn partition(&'static self, _how: Partition<'_>) -> Result<Vec<Device>, Failure> {
        Ok(Vec::new())
    }

    /// Returns the context that all queues of a device share.
    fn shared_context(&'static self) -> Result<Context, Failure>;

    /// Creates a separate context, which simulates another device.
    #[cfg(test)]
    fn separate_context(&'static self) -> Result<Context, Failure>;

    /// Uses a queue of another library.
    ///
    /// # Errors
    ///
    /// When the queue is of another device. On CUDA, when its context is not the primary context of the device.
    ///
    /// # Safety
    ///
    /// The queue is alive, and of the library of this device. A CUDA queue outlives the returned queue and its events.
    unsafe fn adopt_queue(&'static self, handle: QueueHandle) -> Result<Queue, Failure>;

    /// Returns the same device as another driver would offer it, without functions for variables.
    #[cfg(test)]
    fn without_globals(&'static self) -> Option<Device> {
        None
    }
}

/// A context of a device. A clone is the same context.
pub(crate) type Context = Arc<dyn DriverContext>;

/// A context of a driver.
pub(crate) trait DriverContext: Any + Send + Sync {
    /// Returns the context's device.
    fn device(&self) -> Device;

    /// Returns an address that no other live context has.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Waits for everything that was put into any queue of this context before. Commands that other threads
    /// enqueue meanwhile may or may not be waited for. A caller that needs more must stop those threads.
    fn finish_all(&self) -> Result<(), Failure>;

    /// Returns the kinds of queues that the device supports.
    fn queue_abilities(&self) -> Result<QueueAbilities, Failure>;

    /// Creates a queue with `options`, which the device supports.
    fn new_queue(self: Arc<Self>, options: QueueOptions) -> Result<Queue, Failure>;

    /// Shares memory of another library.
    ///
    /// # Errors
    ///
    /// When the memory is of another context or smaller than `size`, as far as the driver tells.
    ///
    /// # Safety
    ///
    /// `handle` is live memory of this context with `size` bytes, and stays alive with `owner`.
    unsafe fn adopt_memory(
        self: Arc<Self>,
        handle: MemoryHandle,
        size: usize,
        owner: Owner,
    ) -> Result<Memory, Failure>;

    /// Builds modules of SPIR-V or PTX. Several modules are linked to each other.
    ///
    /// They only import from each other, and no two of them define the same symbol.
    fn build(self: Arc<Self>, sources: &[Source<'_>]) -> Result<Program, BuildError>;

    /// Builds native code of a file. It contains the values of specialization constants.
    fn build_native(self: Arc<Self>, source: &Source<'_>) -> Result<Program, BuildError>;

    /// Builds native code that an earlier process got from [`DriverProgram::binary`]. Returns `None` if this process
    /// would have made other code.
    ///
    /// [`DriverProgram::binary`]: crate::backend::program::DriverProgram::binary
    fn build_cached(self: Arc<Self>, _code: &[u8]) -> Result<Option<Program>, BuildError> {
        Ok(None)
    }

    /// Returns whether caching the driver's code is possible and saves compiling again.
    fn keeps_programs(&self) -> bool {
        false
    }

    /// Returns what else determines the driver's code, beside the sources and the device.
    fn variant(&self) -> Option<[u8; 4]> {
        None
    }

    /// Returns the variant of `code`, which was compiled here; `None` if processes of that variant compile to
    /// other code.
    fn variant_of_own(&self, _code: &[u8]) -> Option<Option<[u8; 4]>> {
        Some(None)
    }

    /// Returns the processor that native code is for, where the driver takes code for only one processor in a
    /// process.
    fn processor_of(&self, _code: &[u8]) -> Option<[u8; 4]> {
        None
    }
}

/// Returns a shared object of a driver as the type that it has there.
pub(crate) fn downcast<T: Send + Sync + 'static>(
    object: Arc<dyn Any + Send + Sync>,
) -> Result<Arc<T>, Failure> {
    object.downcast().map_err(|_| Failure::FOREIGN)
}
