// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues, which run commands on a device.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{
    AnyRange, Context, DriverContext, Event, EventHandle, Failure, KernelObject, Memory, Program,
    QueueHandle, Region, Result, UsmKind, WaitList, opencl,
};

either! {
    /// A queue of a context. Clones refer to the same queue.
    #[derive(Clone)]
    Queue: dyn DriverQueue, Arc<opencl::queue::Queue, cuda::queue::Queue>
}

pub(crate) trait DriverQueue: Copies + Variables + Send + Sync {
    fn options(&self) -> QueueOptions;

    fn context(&self) -> Context;

    /// Returns an address that identifies the queue's context.
    fn context_address(&self) -> usize;

    fn native(&self) -> QueueHandle;

    /// Enqueues a barrier: later commands wait for all earlier commands and for `events`, which must belong to this
    /// context.
    fn barrier(&self, events: &WaitList<'_>) -> Result<Event>;

    /// Enqueues a barrier that waits for an event from another library.
    ///
    /// # Safety
    ///
    /// The event must be alive and belong to this queue's context.
    unsafe fn barrier_after(&self, event: EventHandle) -> Result<Event>;

    /// Makes the next command run after all earlier commands.
    fn in_order(&self) -> Result<()> {
        Ok(())
    }

    fn finish(&self) -> Result<()>;

    /// Returns whether commands may still be running. This is only a hint: it may return `true` although all commands
    /// have ended, and may miss commands that other threads or libraries enqueue. The default is for devices that
    /// allocate memory without waiting for a queue.
    fn is_busy(&self) -> bool {
        false
    }

    /// Makes enqueued commands start soon, even if no thread waits for them. Call it after each command, without
    /// holding a lock that other threads need: it blocks while the device is far behind.
    fn flush(&self) -> Result<()> {
        self.flush_after(1)
    }

    /// Flushes like [`DriverQueue::flush`], but only once, after a batch of `commands` commands.
    fn flush_after(&self, _commands: usize) -> Result<()> {
        Ok(())
    }

    /// Flushes the queue if [`DriverQueue::flush`] has not done so. Required before the status of its commands is
    /// queried, or a command on another queue waits for them.
    fn flushed(&self) -> Result<()> {
        Ok(())
    }
}

/// Allocates memory, and enqueues commands that copy or fill it.
///
/// Every function fails if a region belongs to another context or extends beyond its memory.
pub(crate) trait Copies {
    /// Allocates memory with these contents, but at least one byte, and blocks until any queue may use it. Without a
    /// `kind`, the address is not exposed. May wait for this queue's earlier commands.
    fn allocate(&self, kind: Option<UsmKind>, contents: Contents<'_>) -> Result<Arc<Memory>>;

    /// Copies between `memory`, starting at byte `offset`, and `host`. Runs after all earlier commands, and blocks
    /// until the copy has finished.
    fn transfer(&self, memory: &Memory, offset: usize, host: HostSlice<'_>) -> Result<()>;

    /// Starts filling a region with copies of `pattern`.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request. [`pattern`](crate::backend::slice::pattern) filters out elements that
    /// OpenCL does not allow.
    fn start_fill(&self, region: &Region, pattern: &[u8], after: &WaitList<'_>) -> Result<Event>;

    /// Starts copying a region to another region of the same size and memory kind. The regions must not overlap.
    fn start_copy(&self, from: &Region, to: &Region, after: &WaitList<'_>) -> Result<Event>;

    /// Starts copying between all of `region` and host memory, after the commands in `after`, which must belong to
    /// this context.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request. A driver may nevertheless have enqueued the copy.
    ///
    /// # Safety
    ///
    /// The host memory must be as large as `region`, and stay valid for writes or reads until the command has ended.
    unsafe fn start_transfer(
        &self,
        region: &Region,
        host: HostBytes,
        after: &WaitList<'_>,
    ) -> Result<Event>;

    /// Maps `size` bytes of memory that was allocated without a [`UsmKind`], starting at byte `offset`, after all
    /// earlier commands on this queue. Returns `None` if the driver cannot map memory.
    fn map(
        &self,
        _memory: &Memory,
        _offset: usize,
        _size: usize,
        _writing: bool,
    ) -> Result<Option<*mut c_void>> {
        Ok(None)
    }

    /// Unmaps memory and blocks until that is done, because commands on other queues would not wait for it.
    fn unmap(&self, _memory: &Memory, _mapped: *mut c_void) -> Result<()> {
        Ok(())
    }

    /// Returns whether the driver can copy between these regions, which are on different devices.
    fn has_peer(&self, _from: &Region, _to: &Region) -> bool {
        false
    }

    /// Copies `from` to `to`, which belongs to the context of `other`. Runs after all earlier commands on this
    /// queue, and blocks until the copy has finished.
    ///
    /// # Errors
    ///
    /// Fails if [`Copies::has_peer`] is false, or if the driver rejects the request.
    fn copy_to_peer(&self, _from: &Region, _other: &Queue, _to: &Region) -> Result<()> {
        Err(Failure::FOREIGN)
    }
}

/// Host memory that an asynchronous command copies to or from.
#[derive(Clone, Copy)]
pub(crate) enum HostBytes {
    To(*mut c_void),
    From(*const c_void),
}

/// Host memory that a blocking copy writes or reads.
pub(crate) enum HostSlice<'h> {
    To(&'h mut [u8]),
    From(&'h [u8]),
}

impl HostSlice<'_> {
    pub(crate) fn len(&self) -> usize {
        match self {
            Self::To(bytes) => bytes.len(),
            Self::From(bytes) => bytes.len(),
        }
    }

    pub(crate) fn raw(self) -> HostBytes {
        match self {
            Self::To(bytes) => HostBytes::To(bytes.as_mut_ptr().cast()),
            Self::From(bytes) => HostBytes::From(bytes.as_ptr().cast()),
        }
    }
}

/// Accesses a program's variables. On CUDA, `name` is the variable's name in the code; on OpenCL, it is the variable's
/// unique identifier.
pub(crate) trait Variables {
    /// Makes the pointer at the start of the variable `name` point to `memory`. From then on, the program keeps the
    /// memory alive.
    fn point_variable(&self, program: &Program, name: &CStr, memory: &Arc<Memory>) -> Result<()>;

    /// Copies between the variable `name`, starting at byte `offset`, and `host`. Runs after all earlier commands,
    /// and blocks until the copy has finished.
    fn transfer_variable(
        &self,
        program: &Program,
        name: &CStr,
        offset: usize,
        host: HostSlice<'_>,
    ) -> Result<()>;

    /// Returns the size in bytes that the code declares for the variable `name`.
    fn variable_size(&self, program: &Program, name: &CStr) -> Result<usize>;
}

/// The priority of a queue, for [`QueueOptions::priority`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Priority {
    /// Less urgent than [`Priority::Normal`]. CUDA has no lower level and treats it like `Normal`.
    Low,
    /// The driver's default.
    #[default]
    Normal,
    /// More urgent than [`Priority::Normal`].
    High,
}

/// Options for [`Device::queue_with`](crate::Device::queue_with). By default, the queue is in order, profiling is
/// off, and the priority is [`Priority::Normal`].
///
/// ```no_run
/// use syclbin_rt::{Device, QueueOptions};
///
/// let queue = Device::best()?.queue_with(QueueOptions::new().out_of_order().profiling())?;
/// # Ok::<(), syclbin_rt::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[must_use = "no queue is created until `Device::queue_with` is called"]
pub struct QueueOptions {
    pub(crate) out_of_order: bool,
    pub(crate) profiling: bool,
    pub(crate) priority: Priority,
}

/// The queue options that a device supports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueAbilities {
    pub(crate) out_of_order: bool,
    pub(crate) profiling: bool,
}

impl QueueOptions {
    /// Creates the default options.
    pub fn new() -> Self {
        Self::default()
    }

    /// Lets launches and asynchronous copies run at the same time or in any order.
    ///
    /// To order commands, pass events to [`Launch::after`](crate::Launch::after), or enqueue a
    /// [`Queue::barrier`](crate::Queue::barrier) between them.
    ///
    /// A blocking command, such as [`Queue::read`](crate::Queue::read), still runs after all commands that were
    /// enqueued earlier.
    ///
    /// Commands may still run in order. They always do on CUDA, where a queue is a single stream, and on Intel's CPU
    /// device, because its driver (2026.2) loses commands when several threads use an out-of-order queue.
    pub fn out_of_order(mut self) -> Self {
        self.out_of_order = true;
        self
    }

    /// Records when each command is queued, starts and ends, for [`Event::profile`](crate::Event::profile). This may
    /// slow commands down.
    pub fn profiling(mut self) -> Self {
        self.profiling = true;
        self
    }

    /// Sets the priority of the queue's kernels relative to this process's other queues on the same device. Use it so
    /// that short, urgent kernels do not wait behind long ones on another queue. When work-groups finish, a GPU next
    /// starts work-groups of the most urgent kernel; it does not interrupt running work-groups. On CUDA, the priority
    /// does not affect copies between host and device.
    ///
    /// This is a hint: OpenCL drivers without the extension `cl_khr_priority_hints` ignore it.
    pub fn priority(self, priority: Priority) -> Self {
        Self { priority, ..self }
    }

    /// Returns the first unsupported option, and the OpenCL property that the device lacks.
    pub(crate) fn beyond(self, device: QueueAbilities) -> Option<(&'static str, &'static str)> {
        if self.out_of_order && !device.out_of_order {
            return Some((
                "out-of-order queues",
                "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE",
            ));
        }
        let lacks = self.profiling && !device.profiling;
        lacks.then_some(("queues with profiling", "CL_QUEUE_PROFILING_ENABLE"))
    }
}

impl Queue {
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::addr_eq(&raw const **self, &raw const **other)
    }

    /// Returns whether commands on this queue can use the objects of `context`.
    pub(crate) fn is_in(&self, context: &dyn DriverContext) -> bool {
        self.context_address() == context.address()
    }

    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Arc<Memory>> {
        self.allocate(None, Contents::Bytes(bytes))
    }

    /// Copies from `memory`, starting at byte `offset`, into `bytes`, after all earlier commands.
    pub(crate) fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.transfer(memory, offset, HostSlice::To(bytes))
    }

    /// Copies `bytes` into `memory`, starting at byte `offset`, after all earlier commands.
    pub(crate) fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        self.transfer(memory, offset, HostSlice::From(bytes))
    }

    /// Allocates `size` bytes of zeroed memory. Without a `kind`, the address is not exposed.
    pub(crate) fn zeroed(&self, kind: Option<UsmKind>, size: usize) -> Result<Arc<Memory>> {
        self.allocate(kind, Contents::Zeros(size))
    }

    /// Creates an empty graph for this queue, or returns `None` if the driver does not support graphs.
    pub(crate) fn graph(&self) -> Result<Option<Box<dyn Graph>>> {
        match self {
            Self::OpenCl(_) => Ok(None),
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => cuda::graph::Graph::for_queue(queue),
        }
    }
}

/// The initial contents of an allocation.
#[derive(Clone, Copy)]
pub(crate) enum Contents<'a> {
    /// This many zero bytes.
    Zeros(usize),
    Bytes(&'a [u8]),
}

impl Contents<'_> {
    pub(crate) fn bytes(&self) -> usize {
        match self {
            Self::Zeros(size) => *size,
            Self::Bytes(bytes) => bytes.len(),
        }
    }
}

/// Code that enqueues work on a stream, and returns whether that succeeded.
pub(crate) type Enqueue<'e> = Box<dyn FnOnce(QueueHandle) -> bool + 'e>;

/// Commands that are recorded once, run in order, and are enqueued with a single driver call.
pub(crate) trait Graph: Send + Sync {
    /// Records a kernel with its current arguments.
    ///
    /// # Safety
    ///
    /// The requirements of [`KernelObject::enqueue`] apply each time the graph is enqueued.
    unsafe fn add_kernel(&mut self, kernel: &KernelObject, grid: &AnyRange) -> Result<()>;

    /// Records a copy of a region to another region of the same size. The regions must not overlap.
    fn add_copy(&mut self, from: &Region, to: &Region) -> Result<()>;

    /// Records a fill, like [`Copies::start_fill`].
    fn add_fill(&mut self, region: &Region, pattern: &[u8]) -> Result<()>;

    /// Records the work that `enqueue` enqueues on the stream that it receives, as a single command. Returns whether
    /// any work was recorded. If `enqueue` returns `false` or panics, nothing is recorded.
    ///
    /// # Safety
    ///
    /// `enqueue` must use the stream only to enqueue work. Running that work must be sound each time the graph is
    /// enqueued.
    unsafe fn capture(&mut self, enqueue: Enqueue<'_>) -> Result<bool>;

    /// Ends the recording, so that the graph can be enqueued. Must be called only once.
    fn finish(&mut self) -> Result<()>;

    /// Enqueues all commands, to start when all commands in `after` have finished. Runs of the same graph never
    /// overlap, no matter which threads enqueue them.
    ///
    /// # Safety
    ///
    /// The recording must have ended. The objects that the graph uses must be alive, and running its kernels must be
    /// sound. The events in `after` must belong to this context.
    unsafe fn enqueue(&self, after: &WaitList<'_>) -> Result<Event>;
}

#[cfg(test)]
pub(crate) fn is_out_of_order(queue: &Queue) -> bool {
    queue.opencl().is_ok_and(|queue| queue.is_out_of_order())
}

/// Creates an OpenCL user event for tests, and the event that completes with it. Returns `None` on CUDA.
#[cfg(test)]
pub(crate) fn pending_event(queue: &Queue) -> Option<(opencl::event::UserEvent, Event)> {
    let (user, event) = opencl::event::UserEvent::new(&queue.opencl().ok()?.context);
    Some((user, event.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clones_are_the_same_queue() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let other = queue.device().queue().unwrap();
        assert!(queue.raw().is(&queue.raw().clone()));
        assert!(!queue.raw().is(other.raw()));
    }

    #[test]
    fn first_unsupported_queue_option_is_named() {
        let device = |out_of_order, profiling| QueueAbilities {
            out_of_order,
            profiling,
        };
        let plain = QueueOptions::new();
        let both = plain.out_of_order().profiling();
        assert_eq!(plain.beyond(device(false, false)), None);
        assert_eq!(both.beyond(device(true, true)), None);
        assert_eq!(
            both.beyond(device(false, true)),
            Some((
                "out-of-order queues",
                "CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE"
            ))
        );
        assert_eq!(
            both.beyond(device(true, false)),
            Some(("queues with profiling", "CL_QUEUE_PROFILING_ENABLE"))
        );
    }
}
