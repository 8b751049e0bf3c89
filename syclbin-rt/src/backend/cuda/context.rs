// SPDX-License-Identifier: MIT OR Apache-2.0
//! A context: what memory, programs and queues of one device have in common.
//!
//! A kernel that faults ends the context for the whole process. A lost context makes no more calls: everything
//! in it returns that error, and nothing of it is freed. The device is not reset, because other libraries in the
//! process share its primary context.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::*;

/// An owned context of a device.
pub(crate) struct Context {
    pub(crate) device: &'static DriverDevice,
    pub(crate) handle: CUcontext,
    /// The error that ended it.
    lost: OnceLock<Failure>,
    pub(crate) queues: LiveQueues<Stream>,
    pub(crate) pool: Pool,
    pub(crate) clock: Clock,
}

// SAFETY: contexts may be current on any number of threads at once (CUDA driver API, "Context
// Management"), and all functions of the driver are safe to call from several threads.
unsafe impl Send for Context {}
// SAFETY: as for Send.
unsafe impl Sync for Context {}

/// The context of each device that was used. A context lives until the process ends, because making a context
/// takes a tenth of a second and more.
static IN_USE: Mutex<Vec<(&'static DriverDevice, Arc<Context>)>> = Mutex::new(Vec::new());

impl Context {
    /// Returns the context that everything on `device` shares: the device's primary context, which other CUDA
    /// libraries of the process use too.
    ///
    /// # Errors
    ///
    /// The error that ended the context, if it is lost; and when the driver refuses.
    pub(crate) fn shared(device: &'static DriverDevice) -> Result<Arc<Self>> {
        let _guard = CallGuard::new();
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = in_use.iter();
        if let Some((_, context)) = known.find(|(other, _)| std::ptr::eq(*other, device)) {
            return match context.lost.get() {
                Some(failure) => Err(*failure),
                None => Ok(Arc::clone(context)),
            };
        }
        let context = Arc::new(Self::new(device)?);
        in_use.push((device, Arc::clone(&context)));
        Ok(context)
    }

    /// Creates a separate handle of the primary context of `device`.
    ///
    /// Programs use [`Context::shared`]; tests use this function to simulate another device.
    pub(crate) fn new(device: &'static DriverDevice) -> Result<Self> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the device is one of the driver; one handle is written.
        check("cuDevicePrimaryCtxRetain", unsafe {
            (device.functions.cuDevicePrimaryCtxRetain.pass())(&raw mut handle, device.device)
        })?;
        gate::close_at_exit(&raw const *device.functions, Stage::FirstContext);
        Ok(Self {
            device,
            handle,
            lost: OnceLock::new(),
            queues: LiveQueues::new(),
            pool: Pool::default(),
            clock: Clock::default(),
        })
    }

    /// Returns whether a kernel has ended it: nothing works in it any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Returns the functions of the driver, for calls in this context. From here on it is the current context
    /// of this thread. The previous context is not restored, and NVIDIA's runtime library does not restore it
    /// either.
    ///
    /// # Errors
    ///
    /// The error that ended the context, if it is lost.
    #[inline]
    pub(crate) fn enter(&self) -> Result<&'static Functions> {
        if let Some(failure) = self.lost.get() {
            return Err(*failure);
        }
        let functions = self.device.functions;
        let mut current = std::ptr::null_mut();
        // SAFETY: one handle is written.
        let code = unsafe { (functions.cuCtxGetCurrent.pass())(&raw mut current) };
        // Asked each time: others may have set theirs. Setting it costs more than asking.
        if code != 0 || current != self.handle {
            // SAFETY: the context is alive: it is not lost.
            let code = unsafe { (functions.cuCtxSetCurrent.pass())(self.handle) };
            self.check("cuCtxSetCurrent", code)?;
        }
        Ok(functions)
    }

    /// Turns the code that a call in this context returned into a result, and remembers an error that ends the
    /// context.
    #[inline]
    pub(crate) fn check(&self, call: &'static str, code: c_int) -> Result<()> {
        match code {
            0 => Ok(()),
            code => Err(self.failed(call, code)),
        }
    }

    #[cold]
    fn failed(&self, call: &'static str, code: c_int) -> Failure {
        let failure = failure_of(call, code);
        if is_sticky(code) {
            *self.lost.get_or_init(|| failure)
        } else {
            failure
        }
    }

    /// Waits for the content of `stream`, a copy from or to borrowed memory of the host.
    ///
    /// A driver that fails to wait is asked again, because the copy may go on. This also applies where the
    /// context was lost meanwhile, because a context is not reset while an object of it exists. If the driver
    /// then returns the error that ended the context, the copy has stopped.
    ///
    /// # Safety
    ///
    /// The stream is a live one of this context, or null: the one that every context has.
    pub(crate) unsafe fn settle(&self, stream: CUstream) -> Result<()> {
        const TIMES: usize = 100;
        // Current on this thread, which has just queued the copy.
        let functions = match self.enter() {
            Ok(functions) => functions,
            Err(_) => self.device.functions,
        };
        let wait = || {
            // SAFETY: as the caller says.
            let code = unsafe { (functions.cuStreamSynchronize.pass())(stream) };
            self.check("cuStreamSynchronize", code)
        };
        let waited = wait();
        // Not for ever: memory that is not pinned has been copied from or to when the call that queued
        // the copy returned (CUDA driver API, "API synchronization behavior").
        let _ = waited.is_ok() || (0..TIMES).any(|_| self.is_lost() || wait().is_ok());
        waited
    }
}

impl DriverContext for Context {
    fn device(&self) -> Device {
        self.device
    }

    fn finish_all(&self) -> Result<()> {
        self.queues.finish(Stream::finish)
    }

    fn new_queue(self: Arc<Self>, options: QueueOptions) -> Result<AnyQueue> {
        Ok(Arc::new(Queue::new(self, options)?).into())
    }

    unsafe fn adopt_memory(
        self: Arc<Self>,
        handle: MemoryHandle,
        size: usize,
        owner: Owner,
    ) -> Result<AnyMemory> {
        // SAFETY: as the caller says.
        unsafe { Memory::adopt(self, handle, size, owner) }.map(AnyMemory::from)
    }
}

impl Drop for Context {
    fn drop(&mut self) {
        let Ok(functions) = self.enter() else {
            return;
        };
        self.pool.clear(functions);
        // SAFETY: it was retained once; whatever was made in it is gone, as it keeps the context.
        unsafe { (functions.cuDevicePrimaryCtxRelease_v2.pass())(self.device.device) };
    }
}
