// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues. Every command is checked before it reaches the driver, and dropping the last handle waits for all commands.

pub(crate) mod event;
#[cfg(test)]
mod out_of_order_tests;

use std::ffi::CString;
use std::fmt;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};

use syclbin::__private::failed_assert::{FailedAssert, SIZE};

use crate::backend::{self, CallGuard, Failure, HostSlice, Program, QueueOptions, guard};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::trace::{self, Class};

/// A command queue of a device.
///
/// Commands on a queue run one after the other, in the order in which they were enqueued, unless the queue is [out of
/// order](QueueOptions::out_of_order). Copies to and from the host block until they have finished, except asynchronous
/// ones such as [`Queue::download_later`]. A launch does not wait for its kernel. Clones refer to the same queue.
///
/// Every queue of a device can use the buffers of that device. Use [`Launch::after`] or [`Queue::barrier`] to make a
/// command wait for a command on another queue.
///
/// Kernels, modules and events keep their queue alive. Dropping the last of these handles waits for all commands on the
/// queue, so that no command runs unobserved.
///
/// [`Launch::after`]: crate::Launch::after
#[derive(Clone)]
pub struct Queue(Arc<Inner>);

struct Inner {
    device: Device,
    raw: backend::Queue,
    /// The queue that [`Queue::for_new_memory`] returns while this one is busy.
    second: OnceLock<backend::Queue>,
    /// The requested options. During a trace, the driver's queue records times even if these options do not request
    /// that, provided that the device supports it.
    options: QueueOptions,
    /// Unique within the process.
    number: u32,
    asserts: Asserts,
}

impl Device {
    /// Creates an in-order queue.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request, or if `SYCLBIN_GUARD` is invalid, or is set but does not work on the
    /// device.
    pub fn queue(&self) -> Result<Queue> {
        self.queue_with(QueueOptions::new())
    }

    /// Creates a queue with these `options`.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Unsupported`] if the device does not support one of the options. Also fails for the same
    /// reasons as [`Device::queue`].
    pub fn queue_with(&self, options: QueueOptions) -> Result<Queue> {
        Queue::in_context(self, self.context()?, options)
    }
}

/// Applies the variables that a program reads when it opens its first queue. Fails if `SYCLBIN_GUARD` has an invalid
/// value, or is set but does not work on the device.
fn apply_settings(device: &Device) -> Result<()> {
    trace::apply_settings();
    let guard = guard::requested().map_err(Error::invalid)?;
    if guard.is_some() && !device.facts().guards_buffers {
        let message = format_args!(
            "SYCLBIN_GUARD works only with Intel's CPU device on Linux, not with {device}; unset it, or select another \
             device with SYCLBIN_DEVICE"
        );
        return Err(Error::new(ErrorKind::Unsupported, message));
    }
    Ok(())
}

impl Queue {
    pub(crate) fn in_context(
        device: &Device,
        context: backend::Context,
        options: QueueOptions,
    ) -> Result<Self> {
        apply_settings(device)?;
        let abilities = device.facts().queues;
        if let Some((what, needs)) = options.beyond(abilities) {
            return Err(Error::unsupported(what, needs, device));
        }
        let mut driver_options = options;
        driver_options.profiling |= trace::needs_times() && abilities.profiling;
        let raw = context.new_queue(driver_options);
        let raw = raw.map_err(device.failed("creating a queue"))?;
        Ok(Self::with_options(device, raw, options))
    }

    /// Wraps a queue that another library created.
    pub(crate) fn of_raw(device: &Device, raw: backend::Queue) -> Result<Self> {
        apply_settings(device)?;
        let options = raw.options();
        Ok(Self::with_options(device, raw, options))
    }

    fn with_options(device: &Device, raw: backend::Queue, options: QueueOptions) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(1);
        Self(Arc::new(Inner {
            device: device.clone(),
            raw,
            second: OnceLock::new(),
            options,
            number: NEXT.fetch_add(1, Ordering::Relaxed),
            asserts: Asserts::default(),
        }))
    }

    /// Returns the device of the queue.
    #[must_use]
    pub fn device(&self) -> &Device {
        &self.0.device
    }

    /// Describes where an object on `device` belongs, for the message of the error that this queue cannot use it.
    pub(crate) fn elsewhere(&self, device: &Device) -> String {
        let own = self.device();
        if device == own {
            return format!(
                "belongs to a different context than the queue, on the same device {own}"
            );
        }
        format!("is on {device}, but the queue is on {own}")
    }

    /// Returns the options that the queue was created with.
    pub fn options(&self) -> QueueOptions {
        self.0.options
    }

    /// Waits for all commands on this queue.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Assert`] if an assert in a kernel has failed. Also fails if the driver reports a failure.
    pub fn wait(&self) -> Result<()> {
        let _span = trace::span(Class::Wait, "waiting for a queue", 0);
        let finished = self.0.raw.finish();
        finished.map_err(self.device().failed("waiting for the queue"))?;
        self.check_asserts()
    }

    /// Returns whether both handles refer to the same queue.
    pub(crate) fn is(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }

    pub(crate) fn number(&self) -> u32 {
        self.0.number
    }

    pub(crate) fn raw(&self) -> &backend::Queue {
        &self.0.raw
    }

    /// Returns a queue for the first command on new memory. Such a command depends on no other, so it need not wait for
    /// the commands on this queue.
    pub(crate) fn for_new_memory(&self) -> Result<&backend::Queue, Failure> {
        let Inner { raw, second, .. } = &*self.0;
        if !raw.is_busy() {
            return Ok(raw);
        }
        if let Some(queue) = second.get() {
            return Ok(queue);
        }
        let queue = raw.context().new_queue(QueueOptions::new())?;
        Ok(second.get_or_init(|| queue))
    }
}

impl fmt::Debug for Queue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Queue({})", self.device())
    }
}

// Asserts in kernels: a kernel records the first failed assert in a program variable, which the host reads when it
// waits for commands on the queue.

/// The programs of a queue whose kernels contain asserts.
#[derive(Default)]
struct Asserts {
    /// Whether `programs` is not empty. Queues without asserts check only this flag and need no lock.
    exist: AtomicBool,
    programs: Mutex<Vec<Arc<Asserting>>>,
}

impl Asserts {
    fn programs(&self) -> MutexGuard<'_, Vec<Arc<Asserting>>> {
        self.programs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A program whose kernels contain asserts.
pub(crate) struct Asserting {
    program: Program,
    /// The name of the variable that contains the record.
    symbol: CString,
    /// Whether a kernel has been launched since the record was last read.
    launched: AtomicBool,
    /// Locked while a thread reads and clears the record.
    record: Mutex<()>,
}

impl Asserting {
    /// Makes the next wait read the record. Call it after each launch.
    pub(crate) fn note_launch(&self) {
        self.launched.store(true, Ordering::Release);
    }
}

impl Queue {
    /// Registers a program that records failed asserts in the variable `symbol`.
    pub(crate) fn watch_asserts(&self, program: &Program, symbol: CString) {
        if self.asserts_of(program).is_some() {
            return;
        }
        let asserts = &self.0.asserts;
        // Locked until the flag is set, so that a concurrent check cannot clear the flag afterwards.
        let mut programs = asserts.programs();
        programs.push(Arc::new(Asserting {
            program: program.clone(),
            symbol,
            launched: AtomicBool::new(false),
            record: Mutex::default(),
        }));
        asserts.exist.store(true, Ordering::Release);
    }

    /// Returns the entry for `program`, if its kernels contain asserts.
    pub(crate) fn asserts_of(&self, program: &Program) -> Option<Arc<Asserting>> {
        let asserts = &self.0.asserts;
        if !asserts.exist.load(Ordering::Acquire) {
            return None;
        }
        let is_known = |known: &&Arc<Asserting>| Arc::ptr_eq(&known.program, program);
        asserts.programs().iter().find(is_known).cloned()
    }

    /// Waits for all commands on the queue if any kernel with asserts has been launched since the last check. Returns
    /// the first failed assert as an error, once.
    ///
    /// Drops programs that nothing else uses, because their kernels have finished.
    pub(crate) fn check_asserts(&self) -> Result<()> {
        let asserts = &self.0.asserts;
        if !asserts.exist.load(Ordering::Acquire) {
            return Ok(());
        }
        // Reading waits for commands, so other threads must be able to lock the list meanwhile.
        let known = asserts.programs().clone();
        let mut first = Ok(None);
        for asserting in &known {
            // The next call reports the other failures.
            if !matches!(first, Ok(None)) {
                break;
            }
            if asserting.launched.swap(false, Ordering::AcqRel) {
                first = self.take_failed_assert(asserting);
                if first.is_err() {
                    // The next call reads the record again.
                    asserting.note_launch();
                }
            }
        }
        drop(known);
        let mut programs = asserts.programs();
        // Dropped after the lock is released, because dropping a program calls the driver.
        let is_unused = |asserting: &mut Arc<Asserting>| {
            Arc::strong_count(asserting) == 1
                && Arc::strong_count(&asserting.program) == 1
                && !asserting.launched.load(Ordering::Acquire)
        };
        let unused: Vec<_> = programs.extract_if(.., is_unused).collect();
        asserts.exist.store(!programs.is_empty(), Ordering::Release);
        drop(programs);
        drop(unused);
        match first.map_err(self.device().failed("reading failed asserts"))? {
            None => Ok(()),
            Some(failed) => Err(Error::assert(failed, self.device())),
        }
    }

    /// Reads a program's record after all earlier commands, and clears it for the next failure.
    fn take_failed_assert(&self, asserting: &Asserting) -> Result<Option<FailedAssert>, Failure> {
        // Must precede the lock: once the process is exiting, `CallGuard::new` blocks forever, and the exiting thread
        // may need the lock.
        let _guard = CallGuard::new();
        // Otherwise, another thread could report the same failure, or clear a later one.
        let record = asserting.record.lock();
        let _record = record.unwrap_or_else(PoisonError::into_inner);
        let transfer = |host: HostSlice<'_>| {
            let queue = self.raw();
            queue.transfer_variable(&asserting.program, &asserting.symbol, 0, host)
        };
        let mut bytes = [0; SIZE];
        transfer(HostSlice::To(&mut bytes))?;
        let failed = FailedAssert::read(&bytes);
        if failed.is_some() {
            transfer(HostSlice::From(&[0; SIZE]))?;
        }
        Ok(failed)
    }
}
