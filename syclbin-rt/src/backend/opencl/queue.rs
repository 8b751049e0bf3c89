// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command queues, and the synchronization of their commands.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::{
    CL_QUEUE_CONTEXT, CL_QUEUE_DEVICE, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
    CL_QUEUE_PRIORITY_HIGH_KHR, CL_QUEUE_PRIORITY_KHR, CL_QUEUE_PRIORITY_LOW_KHR,
    CL_QUEUE_PROFILING_ENABLE, CL_QUEUE_PROPERTIES,
};
use opencl3::types::{cl_bitfield, cl_command_queue};

use super::*;

pub(crate) struct Queue {
    pub(crate) context: Arc<Context>,
    pub(crate) functions: &'static Functions,
    /// The handle in `owned`.
    pub(crate) handle: Raw<cl_command_queue>,
    owned: Arc<OwnedQueue>,
    options: QueueOptions,
    starts_by_itself: bool,
    /// Whether blocking calls hold the queue's lock while they wait for commands that other threads may not have
    /// flushed.
    waits_with_lock: bool,
    /// Waits for commands and reports their failures. `None` unless the driver skips callbacks of failed commands.
    pub(crate) failure_waiter: Option<Waiter<Event>>,
    pub(crate) guarded: bool,
    pub(crate) pace: Pace,
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Wait, so that no command of a dropped queue is in flight. `OwnedQueue` cannot wait on drop, because the
        // context may briefly keep it alive. There is no caller to report a failure to.
        if self.owned.drain().is_err() {
            // Leak the queue, which Intel's CPU driver (2026.2) would delete on the thread that runs the last command.
            // If the queue is out of order, that thread would then wait for itself.
            std::mem::forget(Arc::clone(&self.owned));
        }
    }
}

impl Queue {
    /// Creates a queue with `options`, all of which the device must support.
    pub(crate) fn new(context: Arc<Context>, options: QueueOptions) -> Result<Self> {
        // Intel's CPU driver (2026.2) loses commands, hangs or crashes when several threads use an out-of-order queue.
        // So create an in-order queue instead, which satisfies every guarantee of an out-of-order queue.
        let out_of_order = options.out_of_order && !is_intel_cpu(&context.device.facts);
        let flag = |set, flag| if set { flag } else { 0 };
        let properties = flag(out_of_order, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)
            | flag(options.profiling, CL_QUEUE_PROFILING_ENABLE);
        let (handle, device) = (context.handle.0, context.device.id);
        let queue = match Self::with_hint(&context, properties, options.priority) {
            Some(queue) => queue,
            // OpenCL 2.0 deprecates this function, but every version provides it.
            // SAFETY: the device belongs to the context; the call writes only the status.
            None => unsafe {
                create!(context.functions => clCreateCommandQueue(handle, device, properties))
            }?,
        };
        Ok(Self::with_handle(context, queue, out_of_order, options))
    }

    /// Creates a queue with a high or low priority. Returns `None` if the priority is normal, or if the driver does not
    /// support priorities or rejects the call.
    fn with_hint(
        context: &Context,
        properties: cl_bitfield,
        priority: Priority,
    ) -> Option<cl_command_queue> {
        let priority = match priority {
            Priority::Low => CL_QUEUE_PRIORITY_LOW_KHR,
            Priority::Normal => return None,
            Priority::High => CL_QUEUE_PRIORITY_HIGH_KHR,
        };
        let list = [
            CL_QUEUE_PROPERTIES.into(),
            properties,
            CL_QUEUE_PRIORITY_KHR,
            priority.into(),
            0,
        ];
        let facts = &context.device.facts;
        // Loaders forward this call unchecked, but drivers older than OpenCL 2.0 lack the function. `takes_spirv`
        // implies OpenCL 2.1.
        let can_hint = facts.takes_spirv && facts.has("cl_khr_priority_hints");
        let create = context.functions.clCreateCommandQueueWithProperties;
        let create = create.filter(|_| can_hint)?;
        let (handle, device) = (context.handle.0, context.device.id);
        // SAFETY: the device belongs to the context; the list ends with 0; the call writes only the status.
        let queue = unsafe {
            create!(with create => clCreateCommandQueueWithProperties(handle, device, list.as_ptr()))
        };
        queue.ok()
    }

    /// Acquires an additional reference to a queue of `device`.
    ///
    /// # Errors
    ///
    /// Fails if `handle` is not an OpenCL queue, or if the queue belongs to another device.
    ///
    /// # Safety
    ///
    /// If `handle` is an OpenCL queue, it must be alive and belong to the library of `device`.
    pub(crate) unsafe fn adopt(device: &'static DriverDevice, handle: QueueHandle) -> Result<Self> {
        let QueueHandle::OpenCl { queue, .. } = handle else {
            return Err(Failure::FOREIGN);
        };
        // SAFETY: the queue is alive.
        let query =
            |name| unsafe { query!(device.functions => clGetCommandQueueInfo(queue, name)) };
        if query(CL_QUEUE_DEVICE).value::<usize>()? != device.id.addr() {
            return Err(Failure::FOREIGN);
        }
        let bits: cl_bitfield = query(CL_QUEUE_PROPERTIES).value()?;
        let context = std::ptr::with_exposed_provenance_mut(query(CL_QUEUE_CONTEXT).value()?);
        // SAFETY: the context of a live queue is alive, and contains the queue's device.
        let context = unsafe { Context::adopt(device, context) }?;
        // SAFETY: the queue is alive; the retained reference is released on drop.
        unsafe { call!(device.functions => clRetainCommandQueue(queue)) }?;
        let out_of_order = bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0;
        let options = QueueOptions {
            out_of_order,
            profiling: bits & CL_QUEUE_PROFILING_ENABLE != 0,
            priority: Priority::Normal,
        };
        Ok(Self::with_handle(context, queue, out_of_order, options))
    }

    /// Takes ownership of a reference to the driver's queue.
    fn with_handle(
        context: Arc<Context>,
        handle: cl_command_queue,
        out_of_order: bool,
        options: QueueOptions,
    ) -> Self {
        let (handle, facts) = (Raw(handle), &context.device.facts);
        let owned = Arc::new(OwnedQueue {
            functions: context.functions,
            handle,
            out_of_order,
            stays_failed: is_rusticl(facts),
            empties: is_intel_cpu(facts),
        });
        context.queues.register(&owned);
        Self {
            functions: context.functions,
            handle,
            owned,
            options,
            // Intel's CPU driver (2026.2) starts each command as soon as it can, so launches skip the flush, which
            // would take 5% of the launch time.
            starts_by_itself: is_intel_cpu(facts),
            waits_with_lock: is_intel_gpu_driver(facts),
            failure_waiter: skips_failure_callbacks(facts).then(Waiter::new),
            guarded: context.guard.is_some(),
            pace: Pace::default(),
            context,
        }
    }

    /// Flushes a command that is not the last of its batch, if the driver requires that. [`DriverQueue::flush_after`]
    /// flushes the last command.
    pub(crate) fn flush_between(&self) {
        // The command is already enqueued, so ignore a failed flush.
        let _ = self.flush_if(self.waits_with_lock);
    }

    fn flush_if(&self, needed: bool) -> Result<()> {
        if !needed {
            return Ok(());
        }
        // SAFETY: the queue is alive.
        unsafe { call!(self.functions => clFlush(self.handle.0)) }
    }

    #[cfg(test)]
    pub(crate) fn is_out_of_order(&self) -> bool {
        self.owned.out_of_order
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
        self.context.address()
    }

    fn native(&self) -> QueueHandle {
        QueueHandle::OpenCl {
            queue: self.handle.0,
            context: self.context.handle.0,
        }
    }

    fn barrier(&self, events: &WaitList<'_>) -> Result<AnyEvent> {
        let event = if self.owned.out_of_order && !events.is_empty() {
            // A barrier with a wait list waits only for the listed events (OpenCL 3.0, clEnqueueBarrierWithWaitList),
            // but never overtakes an earlier barrier without a list. So enqueue one without a list first. In this
            // order, the returned event reports a failure of `events`. PoCL (6.0) also requires the earlier barrier in
            // the list.
            let earlier = self.owned.barrier(WaitList::NOTHING)?.into();
            self.owned
                .barrier(&WaitList::new(events.iter().chain([&earlier])))
        } else {
            self.owned.barrier(events)
        }?;
        self.flush()?;
        Ok(event.into())
    }

    unsafe fn barrier_after(&self, event: EventHandle) -> Result<AnyEvent> {
        let EventHandle::OpenCl(handle) = event else {
            return Err(Failure::FOREIGN);
        };
        // SAFETY: the event is alive.
        let event = unsafe { Event::retain(self.functions, "clRetainEvent", handle) }?.into();
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

    fn is_busy(&self) -> bool {
        self.pace.queued.load(Ordering::Relaxed) > 0
    }

    /// A driver may delay enqueued commands until a thread blocks or flushes (OpenCL 3.0, clFlush).
    fn flush_after(&self, commands: usize) -> Result<()> {
        let flushed = self.flush_if(!self.starts_by_itself);
        // Flush before counting, because counting may wait, and the wait needs the lock of the driver's queue. Another
        // thread may hold that lock until the new command ends (see `waits_with_lock`).
        self.pace.count(&self.owned, commands);
        flushed
    }

    /// The specification requires this flush even if the driver starts commands by itself. For all other drivers,
    /// [`DriverQueue::flush_after`] has already flushed the queue.
    fn flushed(&self) -> Result<()> {
        self.flush_if(self.starts_by_itself)
    }
}

/// The driver's command queue, released on drop. The context holds a weak reference, to wait for the queue's
/// commands.
pub(crate) struct OwnedQueue {
    functions: &'static Functions,
    handle: Raw<cl_command_queue>,
    out_of_order: bool,
    /// Whether `clFinish` keeps failing after a command has failed.
    stays_failed: bool,
    /// Whether [`Pace`] waits until the queue is empty, rather than until half of its commands have ended.
    ///
    /// A thread that waits for an event in Intel's CPU driver (2026.2) helps to execute commands, and returns only
    /// when the queue is empty. While another thread launches endlessly, that may never happen.
    empties: bool,
}

impl OwnedQueue {
    fn finish(&self) -> Result<()> {
        if self.out_of_order {
            // A barrier is safer than `clFinish`, which usually crashes in Intel's CPU driver (2026.2) if other
            // threads use an out-of-order queue at the same time.
            return self.barrier(WaitList::NOTHING)?.wait();
        }
        // SAFETY: the queue is alive.
        unsafe { call!(self.functions => clFinish(self.handle.0)) }
    }

    /// Waits until all commands enqueued so far have ended, even if some of them failed.
    pub(crate) fn drain(&self) -> Result<()> {
        match self.finish() {
            // `finish` reports commands that failed; `end` does not.
            Err(_) if self.stays_failed => self.barrier(WaitList::NOTHING)?.end().map(drop),
            // On PoCL, the first barrier fails with the first failed command, while others may still run. A second
            // barrier waits for those. If it fails too, the caller leaks the memory.
            Err(_) if self.out_of_order => self.finish(),
            finished => finished,
        }
    }

    /// Enqueues a barrier that waits for all of `events`, which must belong to this context, or for all earlier
    /// commands if there are no events.
    fn barrier(&self, events: &WaitList<'_>) -> Result<Event> {
        // SAFETY: the queue is alive, and the count is the length of the wait list.
        unsafe { enqueue!(self, events => clEnqueueBarrierWithWaitList()) }
    }
}

impl Drop for OwnedQueue {
    fn drop(&mut self) {
        // SAFETY: `handle` is owned.
        unsafe { (self.functions.clReleaseCommandQueue.pass())(self.handle.0) };
    }
}

/// The number of commands that may be enqueued before a thread must wait. Without a limit, eight launching threads
/// made Intel's CPU driver (2026.2) allocate 13 GB for commands within minutes.
const COMMANDS: usize = 1024;

/// Counts the commands of a queue, and throttles threads that enqueue faster than the device executes: a driver
/// accepts any number of commands, and each costs memory.
#[derive(Default)]
pub(crate) struct Pace {
    /// The number of commands since the last mark or wait. Concurrent threads may lose some counts: the limit need not
    /// be exact, and an exact count would cost every launch an atomic instruction.
    queued: AtomicUsize,
    /// Marks the last command that was in the queue at the previous wait.
    mark: Mutex<Option<Event>>,
}

impl Pace {
    /// Counts new commands on `queue`, and waits if there are too many.
    #[inline]
    fn count(&self, queue: &OwnedQueue, commands: usize) {
        let queued = self.queued.load(Ordering::Relaxed) + commands;
        self.queued.store(queued, Ordering::Relaxed);
        if queued >= COMMANDS {
            // The command is already enqueued, so ignore a failed wait.
            let _ = self.wait(queue);
        }
    }

    /// Records that a thread has waited for all commands on the queue.
    pub(crate) fn waited(&self) {
        self.queued.store(0, Ordering::Relaxed);
    }

    #[cold]
    fn wait(&self, queue: &OwnedQueue) -> Result<()> {
        let _guard = CallGuard::new();
        // Held while waiting: other launching threads block here and enqueue nothing, so the queue becomes empty.
        let mut last = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        if self.queued.load(Ordering::Relaxed) < COMMANDS {
            return Ok(()); // another thread has waited
        }
        let mark = queue.barrier(WaitList::NOTHING)?;
        // Another thread may hold the lock of the driver's queue until this command ends (see `waits_with_lock`).
        // SAFETY: the queue is alive.
        unsafe { call!(queue.functions => clFlush(queue.handle.0)) }?;
        let waited_for = if queue.empties {
            Some(mark)
        } else {
            last.replace(mark)
        };
        let ended = waited_for.map_or(Ok(()), |mark| mark.end().map(drop));
        // Otherwise, newer commands are still running.
        let running = usize::from(!queue.empties);
        self.queued.store(running, Ordering::Relaxed);
        ended
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::ptr::NonNull;

    use opencl3::error_codes::CL_OUT_OF_RESOURCES;
    use opencl3::types::{cl_context, cl_device_id, cl_event, cl_int, cl_uint};

    use super::*;

    /// The number of barriers that the driver was given.
    static BARRIERS: AtomicUsize = AtomicUsize::new(0);
    /// The number of calls that fail.
    static FAILING: AtomicUsize = AtomicUsize::new(0);

    fn fails() -> bool {
        let order = Ordering::SeqCst;
        let less = FAILING.fetch_update(order, order, |failing| failing.checked_sub(1));
        less.is_ok()
    }

    unsafe extern "C" fn finish(_queue: cl_command_queue) -> cl_int {
        if fails() { CL_OUT_OF_RESOURCES } else { 0 }
    }

    unsafe extern "C" fn barrier(
        queue: cl_command_queue,
        count: cl_uint,
        events: *const cl_event,
        event: *mut cl_event,
    ) -> cl_int {
        if fails() {
            return CL_OUT_OF_RESOURCES;
        }
        BARRIERS.fetch_add(1, Ordering::SeqCst);
        let device = DEVICE.get().expect("the test has set it");
        let enqueue = device.functions.clEnqueueBarrierWithWaitList;
        // SAFETY: the arguments are those of the caller.
        unsafe { (enqueue.pass())(queue, count, events, event) }
    }

    static DEVICE: std::sync::OnceLock<&DriverDevice> = std::sync::OnceLock::new();

    /// The number of calls of the next two functions.
    static CALLS: AtomicUsize = AtomicUsize::new(0);

    unsafe extern "C" fn flush(_queue: cl_command_queue) -> cl_int {
        CALLS.fetch_add(1, Ordering::SeqCst);
        0
    }

    unsafe extern "C" fn no_queue(
        _context: cl_context,
        _device: cl_device_id,
        _properties: *const cl_bitfield,
        status: *mut cl_int,
    ) -> cl_command_queue {
        CALLS.fetch_add(1, Ordering::SeqCst);
        // SAFETY: the caller passes a valid pointer.
        unsafe { status.write(CL_OUT_OF_RESOURCES) };
        std::ptr::null_mut()
    }

    // Which of them a device calls depends on its driver.
    #[test]
    fn flushes_and_hints_suit_the_driver() {
        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        let device = queue.raw().opencl().unwrap().context.device;
        let replace = |name: &str| match name {
            "clFlush" => NonNull::new(flush as *mut c_void),
            "clCreateCommandQueueWithProperties" => NonNull::new(no_queue as *mut c_void),
            _ => None,
        };
        // SAFETY: the functions have the types of those that they replace.
        let device = unsafe { device.with_functions(replace) };
        let queue = |platform: &str, extensions: &str, takes_spirv| {
            let device = device.changed(|device| {
                device.facts.kind = DeviceKind::Cpu;
                device.facts.platform = platform.to_owned();
                device.facts.extensions = extensions.to_owned();
                device.facts.takes_spirv = takes_spirv;
            });
            let context = Arc::new(Context::new(device).unwrap());
            Queue::new(context, QueueOptions::new().priority(Priority::High)).unwrap()
        };
        let calls = || CALLS.swap(0, Ordering::SeqCst);
        let (intel, hints) = ("Intel(R) OpenCL", "cl_khr_priority_hints");
        // Intel's CPU driver starts commands by itself.
        let by_itself = queue(intel, "", true);
        assert_eq!(calls(), 0);
        by_itself.flush().unwrap();
        assert_eq!(calls(), 0);
        by_itself.flushed().unwrap();
        assert_eq!(calls(), 1);
        // Others need a flush. The function with hints is called only where the driver has it.
        let lazy = queue("another", hints, false);
        assert_eq!(calls(), 0);
        lazy.flush().unwrap();
        assert_eq!(calls(), 1);
        lazy.flushed().unwrap();
        assert_eq!(calls(), 0);
        // Only Intel's GPU driver needs a flush between the commands of a batch.
        lazy.flush_between();
        assert_eq!(calls(), 0);
        queue("Intel(R) OpenCL Graphics", "", true).flush_between();
        assert_eq!(calls(), 1);
        // A driver that rejects hints still has queues.
        drop(queue("another", hints, true));
        assert_eq!(calls(), 1);
    }

    #[test]
    fn barriers_and_drains_suit_the_queue() {
        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        let device = queue.raw().opencl().unwrap().context.device;
        let device = *DEVICE.get_or_init(|| device);
        let replace = |name: &str| match name {
            "clFinish" => NonNull::new(finish as *mut c_void),
            "clEnqueueBarrierWithWaitList" => NonNull::new(barrier as *mut c_void),
            _ => None,
        };
        // SAFETY: the functions have the types of those that they replace.
        let device = unsafe { device.with_functions(replace) };
        let context = Arc::new(Context::new(device).unwrap());
        let in_order = Queue::new(Arc::clone(&context), QueueOptions::new()).unwrap();
        let handle = in_order.handle.0;
        // SAFETY: the queue is alive, and the new reference is owned.
        unsafe { call!(context.functions => clRetainCommandQueue(handle)) }.unwrap();
        let options = QueueOptions::new().out_of_order();
        let out_of_order = Queue::with_handle(Arc::clone(&context), handle, true, options);
        let event = in_order.barrier(WaitList::NOTHING).unwrap();
        let barriers = |queue: &Queue, events: &[&AnyEvent]| {
            BARRIERS.store(0, Ordering::SeqCst);
            let list = WaitList::new(events.iter().copied());
            queue.barrier(&list).unwrap().wait().unwrap();
            BARRIERS.load(Ordering::SeqCst)
        };
        // A barrier with events waits for earlier commands only on an in-order queue. So others need two.
        assert_eq!(barriers(&in_order, &[]), 1);
        assert_eq!(barriers(&in_order, &[&event]), 1);
        assert_eq!(barriers(&out_of_order, &[]), 1);
        assert_eq!(barriers(&out_of_order, &[&event]), 2);
        // Blocking copies wait for earlier commands only on an in-order queue. So others need a barrier.
        let before_copies = |queue: &Queue| {
            BARRIERS.store(0, Ordering::SeqCst);
            queue.in_order().unwrap();
            BARRIERS.load(Ordering::SeqCst)
        };
        assert_eq!(before_copies(&in_order), 0);
        assert_eq!(before_copies(&out_of_order), 1);
        let drained = |failing, stays_failed, out_of_order| {
            let queue = Queue::new(Arc::clone(&context), QueueOptions::new()).unwrap();
            // The driver's queue is in order and empty, which is a special case of both.
            let queue = OwnedQueue {
                functions: queue.functions,
                handle: queue.handle,
                out_of_order,
                stays_failed,
                empties: false,
            };
            FAILING.store(failing, Ordering::SeqCst);
            let drained = queue.drain();
            FAILING.store(0, Ordering::SeqCst);
            std::mem::forget(queue); // the handle is not owned
            drained.is_ok()
        };
        assert!(drained(0, false, false));
        // On rusticl, `clFinish` keeps failing, but a barrier does not.
        assert!(drained(1, true, false));
        assert!(!drained(2, true, false));
        // On PoCL, only the first barrier of an out-of-order queue fails.
        assert!(drained(1, false, true));
        assert!(!drained(2, false, true));
        // Otherwise, it is unknown whether commands have ended.
        assert!(!drained(1, false, false));
    }

    #[test]
    fn intel_cpu_queues_are_in_order() {
        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        let device = queue.raw().opencl().unwrap().context.device;
        let is_out_of_order = |platform: &str, options| {
            let device = device.changed(|device| {
                device.facts.kind = DeviceKind::Cpu;
                device.facts.platform = platform.to_owned();
            });
            let context = Arc::new(Context::new(device).unwrap());
            Queue::new(context, options).unwrap().is_out_of_order()
        };
        let intel = "Intel(R) OpenCL";
        assert!(!is_out_of_order(intel, QueueOptions::new()));
        assert!(!is_out_of_order(intel, QueueOptions::new().out_of_order()));
        assert!(!is_out_of_order("another", QueueOptions::new()));
    }

    #[test]
    fn full_queue_waits_for_its_commands() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let Ok(queue) = queue.raw().opencl() else {
            return crate::common::say_skipped("not an OpenCL device");
        };
        queue.flush_after(COMMANDS - 1).unwrap();
        assert!(queue.is_busy());
        queue.flush_after(1).unwrap();
        assert_eq!(queue.is_busy(), !queue.owned.empties);
        queue.flush_after(COMMANDS + 1).unwrap();
        assert_eq!(queue.is_busy(), !queue.owned.empties);
        queue.flush_after(1).unwrap();
        assert!(queue.is_busy());
        queue.finish().unwrap();
        assert!(!queue.is_busy());
    }
}
