// SPDX-License-Identifier: MIT OR Apache-2.0
//! The context that the memory, programs and queues of a device share.
//!
//! A kernel that faults destroys the context for the whole process. In a lost context, every operation returns the
//! fatal error, and nothing is freed. The only further driver calls wait for copies ([`Context::settle`]). The device
//! is not reset, because other libraries in the process share its primary context.

use std::ffi::c_int;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use super::*;

pub(crate) struct Context {
    pub(crate) device: &'static DriverDevice,
    pub(crate) handle: Raw<CUcontext>,
    /// The error that destroyed the context.
    lost: OnceLock<Failure>,
    pub(crate) queues: LiveQueues<Stream>,
    /// A stream that only allocates and initializes memory and variables, so waiting for it takes little time.
    pub(crate) allocating: Raw<CUstream>,
    /// A stream that frees memory, after the queues that may use it.
    pub(crate) freeing: Raw<CUstream>,
    pub(crate) pool: Pool,
    pub(crate) clock: Clock,
}

/// The contexts in use, one for each device. A context lives until the process ends, because creating one takes a tenth
/// of a second or more.
static IN_USE: Mutex<Vec<Arc<Context>>> = Mutex::new(Vec::new());

impl Context {
    /// Returns the primary context of `device`, which other CUDA libraries in the process also use.
    ///
    /// # Errors
    ///
    /// Returns the error that destroyed the context, if it is lost. Also fails if the driver cannot retain the context.
    pub(crate) fn shared(device: &'static DriverDevice) -> Result<Arc<Self>> {
        let _guard = CallGuard::new();
        let mut in_use = IN_USE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut known = in_use.iter();
        if let Some(context) = known.find(|context| std::ptr::eq(context.device, device)) {
            let lost = context.lost.get();
            return lost.map_or(Ok(Arc::clone(context)), |failure| Err(*failure));
        }
        let context = Arc::new(Self::new(device)?);
        in_use.push(Arc::clone(&context));
        Ok(context)
    }

    /// Creates a separate `Context` for the primary context of `device`.
    ///
    /// Only tests call this directly, to simulate a second device. All other code uses [`Context::shared`].
    pub(crate) fn new(device: &'static DriverDevice) -> Result<Self> {
        let mut handle = std::ptr::null_mut();
        // SAFETY: the driver reported the device; the call writes one handle through a valid pointer.
        unsafe {
            call!(in any context, device.functions => cuDevicePrimaryCtxRetain(
                &raw mut handle, device.device
            ))
        }?;
        gate::close_at_exit(&raw const *device.functions, Stage::FirstContext);
        let mut context = Self {
            device,
            handle: Raw(handle),
            lost: OnceLock::new(),
            queues: LiveQueues::new(),
            allocating: Raw(std::ptr::null_mut()),
            freeing: Raw(std::ptr::null_mut()),
            pool: Pool::default(),
            clock: Clock::default(),
        };
        context.allocating = Raw(context.stream(0)?);
        context.freeing = Raw(context.stream(0)?);
        Ok(context)
    }

    /// Creates a stream that does not synchronize with the default stream.
    pub(crate) fn stream(&self, priority: c_int) -> Result<CUstream> {
        let mut handle = std::ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
        // SAFETY: the context is current; the call writes one handle through a valid pointer.
        unsafe { call!(self => cuStreamCreateWithPriority(&raw mut handle, flags, priority)) }?;
        Ok(handle)
    }

    pub(crate) fn is_lost(&self) -> bool {
        self.lost.get().is_some()
    }

    /// Returns the native handles of `stream`, which belongs to this context.
    pub(crate) fn native(&self, stream: CUstream) -> QueueHandle {
        QueueHandle::Cuda {
            stream: stream.cast(),
            context: self.handle.0.cast(),
        }
    }

    /// Makes this the thread's current context, and returns the driver functions. Does not restore the previous
    /// context; nor does NVIDIA's runtime library.
    ///
    /// # Errors
    ///
    /// Returns the error that destroyed the context, if it is lost.
    #[inline]
    pub(crate) fn enter(&self) -> Result<&'static Functions> {
        if let Some(failure) = self.lost.get() {
            return Err(*failure);
        }
        let functions = self.device.functions;
        let mut current = std::ptr::null_mut();
        // SAFETY: the call writes one handle through a valid pointer.
        let code = unsafe { (functions.cuCtxGetCurrent.pass())(&raw mut current) };
        // Query first: other libraries may have changed the context, and setting it costs more than querying.
        if code != 0 || current != self.handle.0 {
            // SAFETY: the context is not lost, so it is alive.
            let code = unsafe { (functions.cuCtxSetCurrent.pass())(self.handle.0) };
            self.check("cuCtxSetCurrent", code)?;
        }
        Ok(functions)
    }

    /// Converts the return code of a call in this context to a result, and records an error that destroys the context.
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

    /// Waits for all commands in `stream`, the last of which copies from or to borrowed memory.
    ///
    /// If waiting fails, the copy may still be running. So this function retries until a wait succeeds or the context
    /// is lost, but only a limited number of times. It waits even in a lost context, whose streams are never destroyed.
    ///
    /// # Safety
    ///
    /// The stream must be a live stream of this context.
    pub(crate) unsafe fn settle(&self, stream: CUstream) -> Result<()> {
        const TIMES: usize = 100;
        // Even if `enter` fails, the context is current, because this thread has just enqueued the copy.
        let functions = self.enter().unwrap_or(self.device.functions);
        // SAFETY: the caller guarantees that the stream is alive.
        let wait = || unsafe { call!(entered functions, self => cuStreamSynchronize(stream)) };
        let waited = wait();
        // Giving up eventually is sound: a copy of unpinned host memory has finished by the time the call that
        // enqueued it returns (CUDA driver API, "API synchronization behavior").
        let _ = waited.is_ok() || (0..TIMES).any(|_| self.is_lost() || wait().is_ok());
        waited
    }
}

impl DriverContext for Context {
    fn device(&self) -> Device {
        self.device
    }

    fn finish_all(&self) -> Result<()> {
        // A lost context cannot tell whether its commands have ended, even if it has no queues any more.
        self.enter()?;
        self.queues.for_each(Stream::finish)
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
        let MemoryHandle::Address(pointer) = handle else {
            return Err(Failure::FOREIGN);
        };
        let memory = Memory {
            context: self,
            pointer,
            kind: None,
            size,
            owner: Some(owner),
        };
        Ok(memory.into())
    }
}
