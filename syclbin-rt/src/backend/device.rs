// SPDX-License-Identifier: MIT OR Apache-2.0
//! Defines the traits for devices and contexts, and loads driver libraries. A library stays loaded until the process
//! ends.

use std::any::Any;
use std::error::Error;
use std::ffi::{OsStr, c_void};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{
    BuildError, CallGuard, DeviceHandle, Facts, Failure, Memory, MemoryHandle, Owner, PartPosition,
    Partition, Program, Queue, QueueHandle, QueueOptions, Result, Source, opencl,
};
use crate::log;

#[derive(Clone, Copy)]
pub(crate) enum Library {
    OpenCl(&'static opencl::device::Library),
    #[cfg(feature = "cuda")]
    Cuda(&'static cuda::device::Library),
}

impl Library {
    /// Loads the OpenCL library `name`, which is a path or a file name that the system looks up.
    ///
    /// # Errors
    ///
    /// Fails if the library cannot be loaded or is not an OpenCL library.
    pub(crate) fn opencl(name: &OsStr) -> Result<Self, LibraryError> {
        opencl::device::Library::load(name).map(Self::OpenCl)
    }

    /// Loads NVIDIA's driver library.
    ///
    /// # Errors
    ///
    /// Fails if the driver is not installed, is too old or cannot be initialized.
    #[cfg(feature = "cuda")]
    pub(crate) fn cuda() -> Result<Self, LibraryError> {
        cuda::device::Library::load().map(Self::Cuda)
    }

    pub(crate) fn devices(self) -> Result<Vec<Device>> {
        match self {
            Self::OpenCl(library) => library.devices(),
            #[cfg(feature = "cuda")]
            Self::Cuda(library) => library.devices(),
        }
    }
}

/// A device of a loaded library. It lives until the process ends.
pub(crate) type Device = &'static dyn DriverDevice;

pub(crate) trait DriverDevice: Send + Sync {
    fn facts(&self) -> &Facts;

    /// Returns an address that identifies the device and never changes.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    fn native(&self) -> DeviceHandle;

    /// Returns this device's position among the parts of its parent, or `None` if this is a whole device.
    fn part(&self) -> Option<PartPosition> {
        None
    }

    fn partition(&'static self, _how: Partition<'_>) -> Result<Vec<Device>> {
        Ok(Vec::new())
    }

    /// Returns the context that all of the device's queues share.
    fn shared_context(&'static self) -> Result<Context>;

    /// Creates a separate context, so that tests can simulate a second device.
    #[cfg(test)]
    fn separate_context(&'static self) -> Result<Context>;

    /// Adopts a queue that another library created.
    ///
    /// # Errors
    ///
    /// Fails if the queue belongs to another device. On CUDA, also fails if the queue's context is not the device's
    /// primary context.
    ///
    /// # Safety
    ///
    /// The queue must be alive and belong to this device's driver library. A CUDA queue must outlive the returned queue
    /// and its events.
    unsafe fn adopt_queue(&'static self, handle: QueueHandle) -> Result<Queue>;

    /// Returns a copy of the device that behaves as if its driver could not access program variables.
    #[cfg(test)]
    fn without_globals(&'static self) -> Option<Device> {
        None
    }
}

/// A driver context for one device. Clones refer to the same context.
pub(crate) type Context = Arc<dyn DriverContext>;

pub(crate) trait DriverContext: Builds + Any + Send + Sync {
    fn device(&self) -> Device;

    /// Returns an address that identifies the context among all live contexts.
    fn address(&self) -> usize {
        std::ptr::from_ref(self).addr()
    }

    /// Waits for all commands enqueued earlier on any queue of this context. Commands that other threads enqueue
    /// meanwhile may or may not be included.
    fn finish_all(&self) -> Result<()>;

    /// Creates a queue with `options`, all of which the device must support.
    fn new_queue(self: Arc<Self>, options: QueueOptions) -> Result<Queue>;

    /// Adopts memory that another library allocated.
    ///
    /// # Errors
    ///
    /// Fails if the context does not support this kind of handle, or if the driver reports that the memory belongs to
    /// another context or is smaller than `size`.
    ///
    /// # Safety
    ///
    /// `handle` must refer to live memory of this context with at least `size` bytes, and `owner` must keep it alive.
    unsafe fn adopt_memory(
        self: Arc<Self>,
        handle: MemoryHandle,
        size: usize,
        owner: Owner,
    ) -> Result<Memory>;
}

pub(crate) trait Builds {
    /// Builds SPIR-V or PTX modules, and links them together.
    ///
    /// Modules may import symbols only from each other, and no symbol may be defined twice.
    fn build(self: Arc<Self>, sources: &[Source<'_>]) -> Result<Program, BuildError>;

    /// Creates a program from native code in a SYCLBIN file. The code already contains the values of its specialization
    /// constants.
    fn build_native(self: Arc<Self>, source: &Source<'_>) -> Result<Program, BuildError>;

    /// Returns the context if the driver's native code can be cached and this saves a compilation.
    fn caching(self: Arc<Self>) -> Option<Arc<dyn Caches>> {
        None
    }

    /// Returns a number that identifies the target processor of native code, if the driver accepts only one target per
    /// process.
    fn processor_of(&self, _code: &[u8]) -> Option<[u8; 4]> {
        None
    }
}

pub(crate) trait Caches: DriverContext {
    /// Creates a program from native code that [`DriverProgram::binary`] returned in an earlier process. Returns `None`
    /// if this process would have compiled different code.
    ///
    /// [`DriverProgram::binary`]: crate::backend::program::DriverProgram::binary
    fn build_cached(self: Arc<Self>, code: &[u8]) -> Result<Option<Program>, BuildError>;

    /// Returns the process-wide state that affects the code that the driver generates, for use in the cache key.
    fn variant(&self) -> Option<[u8; 4]>;

    /// Returns the variant under which to cache `code`, which this process must have compiled. The inner `None` means
    /// that the cache key contains no variant. Returns the outer `None` if the code must not be cached, because other
    /// processes with the same variant would compile different code.
    fn variant_of_own(&self, code: &[u8]) -> Option<Option<[u8; 4]>>;
}

pub(crate) fn downcast<T: Send + Sync + 'static>(
    object: Arc<dyn Any + Send + Sync>,
) -> Result<Arc<T>> {
    object.downcast().map_err(|_| Failure::FOREIGN)
}

/// Fails if objects of these contexts cannot be used together.
#[inline]
pub(crate) fn same_context<C>(one: &Arc<C>, other: &Arc<C>) -> Result<()> {
    let same = Arc::ptr_eq(one, other);
    same.then_some(()).ok_or(Failure::FOREIGN)
}

/// The queues of a context. Entries of dropped queues remain until the next registration or removal.
pub(crate) struct LiveQueues<Q>(Mutex<Vec<Weak<Q>>>);

impl<Q> LiveQueues<Q> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(Vec::new()))
    }

    /// Registers a queue until it is dropped.
    pub(crate) fn register(&self, queue: &Arc<Q>) {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|queue| queue.strong_count() > 0);
        queues.push(Arc::downgrade(queue));
    }

    /// Removes a queue that has finished all commands. Its events may keep it alive for longer.
    pub(crate) fn remove(&self, queue: &Arc<Q>) {
        let mut queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        queues.retain(|known| !std::ptr::eq(known.as_ptr(), Arc::as_ptr(queue)));
    }

    /// Calls `each` for every queue, even after an error.
    pub(crate) fn for_each(&self, each: impl Fn(&Q) -> Result<()>) -> Result<()> {
        let queues = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let live: Vec<Arc<Q>> = queues.iter().filter_map(Weak::upgrade).collect();
        // `each` may wait for a long time, and must not block threads that create queues.
        drop(queues);
        let results = live.iter().map(|queue| each(queue));
        results.fold(Ok(()), Result::and)
    }
}

/// The devices of a library.
pub(crate) struct Devices<D>(OnceLock<Vec<D>>);

impl<D: DriverDevice> Devices<D> {
    pub(crate) const fn new() -> Self {
        Self(OnceLock::new())
    }

    /// Returns the devices. Calls `list` only until it finds devices, and then always returns the same ones, because
    /// devices compare by identity.
    ///
    /// # Errors
    ///
    /// Fails if `list` fails, or if it returns only failures: one failing device must not hide the others.
    pub(crate) fn get(
        &'static self,
        list: impl FnOnce() -> Result<Vec<Result<D>>>,
    ) -> Result<Vec<Device>> {
        /// Held while a driver lists its devices: while one thread initializes PoCL (6.0), other threads see no
        /// devices.
        static LISTING: Mutex<()> = Mutex::new(());
        let mut unlisted = None;
        if self.0.get().is_none() {
            let _guard = CallGuard::new();
            let _alone = LISTING.lock().unwrap_or_else(PoisonError::into_inner);
            // Another thread may have cached the list while this one waited for the lock.
            if self.0.get().is_none() {
                let listed = list()?;
                let failure = listed
                    .iter()
                    .find_map(|device| device.as_ref().err().copied());
                let devices: Vec<D> = listed.into_iter().flatten().collect();
                if devices.is_empty() {
                    return failure.map_or(Ok(Vec::new()), Err);
                }
                let _ = self.0.set(devices);
                unlisted = failure;
            }
        }
        // The logger may list devices, which takes the lock.
        if let Some(failure) = unlisted {
            log::warn(format_args!("a device is not listed: {failure}"));
        }
        let devices = self.0.get().into_iter().flatten();
        Ok(devices.map(|device| -> Device { device }).collect())
    }
}

/// Why a driver library cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LibraryError {
    /// The system's loader failed with this message.
    #[error("{0}")]
    NotLoaded(String),
    /// The library lacks an OpenCL function; the string is the loader's message.
    #[error("not an OpenCL library: {0}")]
    NotOpenCl(String),
    #[error("cannot load {name}: {reason}; NVIDIA's driver provides this library")]
    NoCudaDriver { name: &'static str, reason: String },
    #[error("the driver is too old: it lacks {0}; install a newer driver")]
    TooOld(&'static str),
    /// A driver call failed while the library was initialized or its devices were listed.
    #[error(transparent)]
    Driver(#[from] Failure),
}

/// Loads the library `name`, which is a path or a file name that the system looks up.
///
/// The library is never unloaded, because drivers run its code on their own threads.
///
/// # Errors
///
/// Returns the system loader's message.
///
/// # Safety
///
/// The library's initializers must be sound to run.
pub(crate) unsafe fn load_library(
    name: &OsStr,
) -> Result<&'static libloading::Library, LibraryError> {
    // SAFETY: the caller vouches for the initializers.
    let library = unsafe { libloading::Library::new(name) };
    let library = library.map_err(|error| LibraryError::NotLoaded(loader_reason(name, &error)))?;
    Ok(Box::leak(Box::new(library)))
}

/// Returns the address of the function `name`, whatever its type. `name` must end with a NUL.
pub(crate) fn find_function(
    library: &'static libloading::Library,
    name: &'static str,
) -> Result<NonNull<c_void>, libloading::Error> {
    // SAFETY: the address is not used as a value of this type.
    let address = unsafe { library.get::<*mut c_void>(name.as_bytes()) }?;
    // A null symbol is not a function.
    NonNull::new(*address).ok_or(libloading::Error::DlSymUnknown)
}

/// Returns the system loader's message without the leading library name, which callers print themselves.
pub(crate) fn loader_reason(name: &OsStr, error: &libloading::Error) -> String {
    // `libloading`'s own message omits the cause.
    let source = error.source();
    let reason = source.map_or(error.to_string(), ToString::to_string);
    let rest = reason.strip_prefix(&*name.to_string_lossy());
    let rest = rest.and_then(|rest| rest.strip_prefix(": "));
    rest.unwrap_or(&reason).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dropped_queues_leave_the_list() {
        let queues = LiveQueues::new();
        for number in 0..10 {
            queues.register(&Arc::new(number));
        }
        let live = Arc::new(10);
        queues.register(&live);
        assert_eq!(queues.0.lock().unwrap().len(), 1);
    }
}
