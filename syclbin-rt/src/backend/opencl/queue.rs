// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command queue, and how its commands wait for each other.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::{
    CL_QUEUE_CONTEXT, CL_QUEUE_DEVICE, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
    CL_QUEUE_PROFILING_ENABLE, CL_QUEUE_PROPERTIES,
};
use opencl3::types::{cl_bitfield, cl_command_queue};

use super::*;

/// A queue of a context.
pub(crate) struct Queue {
    pub(crate) context: Arc<Context>,
    /// The handle of `owned`.
    pub(crate) handle: cl_command_queue,
    owned: Arc<OwnedQueue>,
    options: QueueOptions,
    starts_by_itself: bool,
    failing: Failing,
    pace: Pace,
}

// SAFETY: queues may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Queue {}
// SAFETY: as for Send.
unsafe impl Sync for Queue {}

impl Drop for Queue {
    fn drop(&mut self) {
        // No command of a queue without handles is in flight. There is also no caller to report a failure to.
        // This is not left to `OwnedQueue`, because the context may hold that for a moment.
        if self.owned.drain().is_err() {
            // Then it is not released. The CPU driver (2026.2) deletes a queue with the last command
            // in it, on the thread that runs that, which waits for itself if the queue is out of order.
            std::mem::forget(Arc::clone(&self.owned));
        }
    }
}

impl Queue {
    /// Creates a queue with `options`, which the device supports.
    pub(crate) fn new(context: Arc<Context>, options: QueueOptions) -> Result<Self> {
        // Version 2026.2 of Intel's CPU driver loses commands, hangs or crashes when several threads use a queue that
        // is out of order. One in order keeps every promise that the other gives.
        let out_of_order = options.out_of_order && !is_intel_cpu(&context.device.facts);
        let mut properties = 0;
        if out_of_order {
            properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        }
        if options.profiling {
            properties |= CL_QUEUE_PROFILING_ENABLE;
        }
        let (handle, device) = (context.handle, context.device.id);
        // OpenCL 2.0 deprecates this function for one that takes more properties. None of those is
        // wanted here, and every version has this one.
        // SAFETY: the device is the one of the context; only the status is written.
        let queue = unsafe {
            create!(context.functions() => clCreateCommandQueue(handle, device, properties))
        }?;
        Ok(Self::with_handle(context, queue, out_of_order, options))
    }

    /// Becomes another owner of a queue of `device`.
    ///
    /// # Errors
    ///
    /// Fails if the queue is of another device.
    ///
    /// # Safety
    ///
    /// The queue is alive, and of the library of `device`.
    pub(crate) unsafe fn adopt(device: &'static DriverDevice, handle: QueueHandle) -> Result<Self> {
        let QueueHandle::OpenCl { queue, .. } = handle else {
            return Err(Failure::FOREIGN);
        };
        // SAFETY: the queue is alive.
        let query = |name| unsafe {
            query!(device.functions => clGetCommandQueueInfo(
                queue, name
            ))
        };
        if query(CL_QUEUE_DEVICE).value::<usize>()? != device.id.addr() {
            return Err(Failure::FOREIGN);
        }
        let bits: cl_bitfield = query(CL_QUEUE_PROPERTIES).value()?;
        let context = std::ptr::with_exposed_provenance_mut(query(CL_QUEUE_CONTEXT).value()?);
        // SAFETY: the context of a live queue is alive, and has the queue's device.
        let context = unsafe { Context::adopt(device, context) }?;
        // SAFETY: the queue is alive, and has one owner more from here on.
        unsafe { call!(device.functions => clRetainCommandQueue(queue)) }?;
        let options = QueueOptions {
            out_of_order: bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0,
            profiling: bits & CL_QUEUE_PROFILING_ENABLE != 0,
        };
        Ok(Self::with_handle(
            context,
            queue,
            options.out_of_order,
            options,
        ))
    }

    /// Takes over a reference to the driver's queue.
    fn with_handle(
        context: Arc<Context>,
        handle: cl_command_queue,
        out_of_order: bool,
        options: QueueOptions,
    ) -> Self {
        let facts = &context.device.facts;
        let owned = Arc::new(OwnedQueue {
            functions: context.functions(),
            handle,
            out_of_order,
            stays_failed: queues_stay_failed(facts),
        });
        context.queues.register(&owned);
        Self {
            handle,
            owned,
            options,
            // Measured of version 2026.2: it starts each command as soon as it may run, and a flush costs
            // a twentieth of a launch.
            starts_by_itself: is_intel_cpu(facts),
            failing: Failing::of(facts),
            pace: Pace::new(is_intel_cpu(facts)),
            context,
        }
    }

    pub(crate) fn functions(&self) -> &'static Functions {
        self.context.functions()
    }

    fn flushed_barrier(&self, events: &WaitList<'_>) -> Result<Event> {
        let event = self.owned.barrier(events)?;
        self.flush()?;
        Ok(event)
    }

    fn flush_now(&self) -> Result<()> {
        // SAFETY: the queue is alive.
        unsafe { call!(self.functions() => clFlush(self.handle)) }
    }

    /// Returns whether the driver's queue is out of order.
    #[cfg(test)]
    pub(crate) fn is_out_of_order(&self) -> bool {
        self.owned.out_of_order
    }

    /// Returns whether the driver may not call back when a command fails.
    pub(crate) fn misses_failures(&self) -> bool {
        self.failing.misses_callbacks
    }
}

impl DriverQueue for Queue {
    fn options(&self) -> QueueOptions {
        self.options
    }

    fn context(&self) -> AnyContext {
        self.context.clone()
    }

    fn context_address(&self) -> usize {
        Arc::as_ptr(&self.context).addr()
    }

    fn native(&self) -> QueueHandle {
        QueueHandle::OpenCl {
            queue: self.handle,
            context: self.context.handle,
        }
    }

    fn barrier(&self, events: &WaitList<'_>) -> Result<AnyEvent> {
        if self.owned.out_of_order && !events.is_empty() {
            // With a list a barrier waits for what is in it alone (OpenCL 3.0,
            // clEnqueueBarrierWithWaitList), but not before the one without. In this order its event
            // tells of a failure of `events`. PoCL (6.0) needs the one without in the list too.
            let earlier = self.owned.barrier(WaitList::NOTHING)?.into();
            let events = WaitList::new(events.iter().chain([&earlier]));
            return self.flushed_barrier(&events).map(AnyEvent::from);
        }
        self.flushed_barrier(events).map(AnyEvent::from)
    }

    unsafe fn barrier_after(&self, event: EventHandle) -> Result<AnyEvent> {
        let EventHandle::OpenCl(handle) = event else {
            return Err(Failure::FOREIGN);
        };
        // SAFETY: the event is alive.
        let event = unsafe { Event::retain(self.functions(), "clRetainEvent", handle) }?.into();
        self.barrier(&WaitList::new([&event].into_iter()))
    }

    fn in_order(&self) -> Result<()> {
        if self.owned.out_of_order {
            drop(self.owned.barrier(WaitList::NOTHING)?);
        }
        Ok(())
    }

    fn finish(&self) -> Result<()> {
        let finished = self.owned.finish();
        self.pace.waited();
        finished
    }

    /// A driver may hold enqueued commands back until a thread blocks or flushes (OpenCL 3.0, clFlush).
    fn flush_after(&self, commands: usize) -> Result<()> {
        self.pace.count(&self.owned, commands);
        if self.starts_by_itself {
            Ok(())
        } else {
            self.flush_now()
        }
    }

    /// The specification requires this flush, so it also happens where [`DriverQueue::flush`] does nothing.
    fn flushed(&self) -> Result<()> {
        if self.starts_by_itself {
            self.flush_now()
        } else {
            Ok(())
        }
    }

    fn forgets_failures(&self) -> bool {
        self.failing.is_forgotten
    }
}

/// A command queue as the driver knows it, which is released once. The context knows it too, to wait for it.
pub(crate) struct OwnedQueue {
    functions: &'static Functions,
    handle: cl_command_queue,
    out_of_order: bool,
    /// Whether clFinish also fails because an earlier command failed.
    stays_failed: bool,
}

// SAFETY: queues may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for OwnedQueue {}
// SAFETY: as for Send.
unsafe impl Sync for OwnedQueue {}

impl OwnedQueue {
    /// Waits for all commands so far.
    fn finish(&self) -> Result<()> {
        if self.out_of_order {
            // Less to ask of a driver than clFinish, which Intel's CPU driver (2026.2) mostly crashes
            // in if other threads use a queue out of order meanwhile.
            return self.barrier(WaitList::NOTHING)?.end().map(drop);
        }
        // SAFETY: the queue is alive.
        unsafe { call!(self.functions => clFinish(self.handle)) }
    }

    /// Waits until all commands so far have ended, even if some of them failed.
    pub(crate) fn drain(&self) -> Result<()> {
        match self.finish() {
            Err(_) if self.stays_failed => self.barrier(WaitList::NOTHING)?.end().map(drop),
            finished => finished,
        }
    }

    /// Enqueues a barrier: of all of `events`, which are of this context; of everything queued so far if there
    /// are none.
    fn barrier(&self, events: &WaitList<'_>) -> Result<Event> {
        // SAFETY: the queue is alive, and the list as long as it says.
        Ok(unsafe { enqueue!(self, events => clEnqueueBarrierWithWaitList()) }?)
    }

    fn functions(&self) -> &'static Functions {
        self.functions
    }
}

impl Drop for OwnedQueue {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned.
        unsafe { (self.functions.clReleaseCommandQueue.pass())(self.handle) };
    }
}

/// After this many commands without a wait, the thread that adds one waits. Without a bound, eight threads that
/// launched filled 13 GB with the commands of Intel's CPU driver (2026.2) in a few minutes.
const COMMANDS: usize = 1024;

/// Counts the commands of a queue, and makes threads wait that add more than the device can do: a driver takes
/// commands without end, and each costs it memory.
///
/// Intel's CPU driver (2026.2) also returns from a wait for an event only when the whole queue is empty, so a thread
/// that launches without end would stop every other thread that waits.
struct Pace {
    /// Commands since the last mark or wait. Threads that count at the same time may lose some: the bound need
    /// not be exact, and an exact count would cost every launch a locked instruction.
    queued: AtomicUsize,
    /// Whether to wait until the queue is empty, and not only until half of it is done.
    ///
    /// A thread that waits for an event of Intel's CPU driver (2026.2) works along, and comes back when the
    /// queue is empty, not when its command has ended. While another thread launches, that may be never.
    empties: bool,
    /// The end of what was in the queue at the last mark.
    mark: Mutex<Option<Event>>,
}

impl Pace {
    fn new(empties: bool) -> Self {
        Self {
            queued: AtomicUsize::new(0),
            empties,
            mark: Mutex::new(None),
        }
    }

    /// Counts a command that was enqueued in `queue`, and waits if there are too many.
    #[inline]
    fn count(&self, queue: &OwnedQueue, commands: usize) {
        let queued = self.queued.load(Ordering::Relaxed) + commands;
        self.queued.store(queued, Ordering::Relaxed);
        if queued >= COMMANDS {
            // The command is in the queue whatever happens here, so a failure is not an error of it.
            let _ = self.wait(queue);
        }
    }

    /// Records that a thread has waited for all commands in the queue.
    fn waited(&self) {
        self.queued.store(0, Ordering::Relaxed);
    }

    #[cold]
    fn wait(&self, queue: &OwnedQueue) -> Result<()> {
        let _guard = CallGuard::new();
        // Kept while this waits: others that launch come here too and add nothing, so the queue does get empty.
        let mut last = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        if self.queued.load(Ordering::Relaxed) < COMMANDS {
            return Ok(()); // another thread has waited
        }
        let mark = queue.barrier(WaitList::NOTHING)?;
        let waited_for = if self.empties {
            Some(mark)
        } else {
            last.replace(mark)
        };
        let ended = waited_for.map_or(Ok(()), |mark| mark.end().map(drop));
        self.waited();
        ended
    }
}
