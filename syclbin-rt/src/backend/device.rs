// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices, contexts and driver libraries. A library stays loaded until the process ends.

use std::any::Any;
use std::error::Error;
use std::ffi::OsStr;
use std::sync::{Arc, Mutex, PoisonError, Weak};

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{
    BuildError, DeviceHandle, Facts, Failure, Memory, MemoryHandle, Owner, PartPosition, Partition,
    Program, Queue, QueueHandle, QueueOptions, Result, Source, opencl,
};

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
    /// Fails if it does not load or is not an OpenCL library.
    pub(crate) fn opencl(name: &OsStr) -> Result<Self, LibraryError> {
        opencl::device::Library::load(name).map(Self::OpenCl)
    }

    /// Loads the library of NVIDIA's driver.
    ///
    /// # Errors
    ///
    /// Fails if there is none, or if it is too old.
    pub(crate) fn cuda() -> Result<Self, LibraryError> {
        #[cfg(feature = "cuda")]
        return cuda::device::Library::load().map(Self::Cuda);
        #[cfg(not(feature = "cuda"))]
        Err(LibraryError::WithoutCuda)
    }

    /// Returns its devices.
    pub(crate) fn devices(self) -> Result<Vec<Device>> {
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
    fn partition(&'static self, _how: Partition<'_>) -> Result<Vec<Device>> {
        Ok(Vec::new())
    }

    /// Returns the context that all queues of a device share.
    fn shared_context(&'static self) -> Result<Context>;

    /// Creates a separate context, which simulates another device.
    #[cfg(test)]
    fn separate_context(&'static self) -> Result<Context>;

    /// Uses a queue of another library.
    ///
    /// # Errors
    ///
    /// Fails if the queue belongs to another device. On CUDA, also fails if its context is not the primary context of
    /// the device.
    ///
    /// # Safety
    ///
    /// The queue is alive, and of the library of this device. A CUDA queue outlives the returned queue and its events.
    unsafe fn adopt_queue(&'static self, handle: QueueHandle) -> Result<Queue>;

    /// Returns the same device as another driver would offer it, without functions for variables.
    #[cfg(test)]
    fn without_globals(&'static self) -> Option<Device> {
        None
    }
}

/// A context of a device. A clone is the same context.
pub(crate) type Context = Arc<dyn DriverContext>;

/// A context of a driver.
pub(crate) trait DriverContext: Builds + Any + Send + Sync {
    /// Returns the context's device.
    fn device(&self) -> Device;

    /// Returns an address that no other live context has.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Waits for all commands enqueued earlier on any queue of this context. It may or may not wait for commands that
    /// other threads enqueue meanwhile.
    fn finish_all(&self) -> Result<()>;

    /// Creates a queue with `options`, which the device supports.
    fn new_queue(self: Arc<Self>, options: QueueOptions) -> Result<Queue>;

    /// Shares memory of another library.
    ///
    /// # Errors
    ///
    /// Fails if the driver reports that the memory belongs to another context or is smaller than `size`.
    ///
    /// # Safety
    ///
    /// `handle` is live memory of this context with `size` bytes, and stays alive with `owner`.
    unsafe fn adopt_memory(
        self: Arc<Self>,
        handle: MemoryHandle,
        size: usize,
        owner: Owner,
    ) -> Result<Memory>;
}

/// Makes programs for the device of a context.
pub(crate) trait Builds {
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
) -> Result<Arc<T>> {
    object.downcast().map_err(|_| Failure::FOREIGN)
}

/// The queues of a context, possibly including dropped queues.
pub(crate) struct LiveQueues<Q>(Mutex<Vec<Weak<Q>>>);

impl<Q> LiveQueues<Q> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Registers a queue as long as it lives.
    pub(crate) fn register(&self, queue: &Arc<Q>) {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    /// Calls `finish` for all queues, even if one of them returns an error.
    pub(crate) fn finish(&self, finish: impl Fn(&Q) -> Result<()>) -> Result<()> {
        let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<Arc<Q>> = queues.iter().filter_map(Weak::upgrade).collect();
        // The wait may take long and must not delay a thread that makes a queue.
        drop(queues);
        live.iter()
            .map(|queue| finish(queue))
            .fold(Ok(()), Result::and)
    }
}

/// The reason why a driver library cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LibraryError {
    /// The system's loader refused it, for this reason.
    #[error("{0}")]
    NotLoaded(String),
    /// It lacks a function of OpenCL; the system's loader gave this reason.
    #[error("not an OpenCL library: {0}")]
    NotOpenCl(String),
    /// NVIDIA's driver does not load.
    #[cfg(feature = "cuda")]
    #[error("cannot load {name}: {reason}; it comes with NVIDIA's driver")]
    NoCudaDriver { name: &'static str, reason: String },
    /// NVIDIA's driver lacks functions that are required.
    #[cfg(feature = "cuda")]
    #[error("the driver is too old: it lacks {}; install a newer driver", .0.join(", "))]
    TooOld(Vec<&'static str>),
    /// The program has no backend for CUDA.
    #[cfg(not(feature = "cuda"))]
    #[error("this program was built without the `cuda` feature of syclbin-rt")]
    WithoutCuda,
    /// The driver did not start.
    #[error(transparent)]
    Driver(#[from] Failure),
}

/// Loads the library called `name` (a path, or a file name for the system to find).
///
/// It is never unloaded: drivers have their own threads that run its code.
///
/// # Errors
///
/// Returns the system loader's reason.
///
/// # Safety
///
/// The initializers of the library must be sound to run.
pub(crate) unsafe fn load_library(
    name: &OsStr,
) -> Result<&'static libloading::Library, LibraryError> {
    // SAFETY: the caller vouches for the initializers.
    let library = unsafe { libloading::Library::new(name) };
    let library = library.map_err(|error| LibraryError::NotLoaded(loader_reason(name, &error)))?;
    Ok(Box::leak(Box::new(library)))
}

/// Returns the system loader's reason, without the name it begins with: callers print the name themselves.
pub(crate) fn loader_reason(name: &OsStr, error: &libloading::Error) -> String {
    // `libloading` itself says only that it failed.
    let reason = error
        .source()
        .map_or(error.to_string(), ToString::to_string);
    let rest = reason.strip_prefix(&*name.to_string_lossy());
    match rest.and_then(|rest| rest.strip_prefix(": ")) {
        Some(rest) => rest.to_owned(),
        None => reason,
    }
}
