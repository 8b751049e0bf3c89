// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues: the commands of a device, in the order in which they were enqueued.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{
    AnyRange, Context, Event, EventHandle, Failure, KernelObject, Memory, Program, QueueHandle,
    Region, Result, Unstarted, UsmKind, WaitList, opencl,
};

either! {
    /// A queue of a context. A clone is the same queue.
    #[derive(Clone)]
    Queue: dyn DriverQueue, Arc<opencl::queue::Queue, cuda::queue::Queue>
}

/// A queue of a driver.
pub(crate) trait DriverQueue: Copies + Variables + Send + Sync {
    /// Returns the requested options.
    fn options(&self) -> QueueOptions;

    /// Returns its context.
    fn context(&self) -> Context;

    /// Returns an address that no queue of another context has.
    fn context_address(&self) -> usize;

    /// Returns its handles.
    fn native(&self) -> QueueHandle;

    /// Enqueues a barrier: later commands wait for `events`, which are of this context, and for all earlier
    /// commands.
    fn barrier(&self, events: &WaitList<'_>) -> Result<Event>;

    /// Enqueues a barrier that waits for an event of another library.
    ///
    /// # Safety
    ///
    /// The event is alive and of the context of this queue.
    unsafe fn barrier_after(&self, event: EventHandle) -> Result<Event>;

    /// Makes the next command run after all earlier commands.
    fn in_order(&self) -> Result<()> {
        Ok(())
    }

    /// Waits for all commands so far.
    fn finish(&self) -> Result<()>;

    /// Makes enqueued commands start soon, even if no thread waits for them. To be called after each command,
    /// without a lock that others need: it waits where the device has fallen far behind.
    fn flush(&self) -> Result<()> {
        self.flush_after(1)
    }

    /// Flushes after several commands.
    fn flush_after(&self, _commands: usize) -> Result<()> {
        Ok(())
    }

    /// Flushes the queue, before a query whether a command has ended, and before a command of another queue
    /// waits.
    fn flushed(&self) -> Result<()> {
        Ok(())
    }

    /// Returns whether commands do not notice that an event of their wait list failed before.
    fn forgets_failures(&self) -> bool {
        false
    }
}

/// Allocates memory, and enqueues commands that copy and fill it.
///
/// A region that is not of the queue's context or not inside of its memory is an error.
pub(crate) trait Copies {
    /// Returns whether the device supports memory with addresses.
    fn has_addresses(&self) -> bool;

    /// Allocates memory, at least one byte, with undefined content. Only memory of a `kind` has an address.
    fn allocate(&self, kind: Option<UsmKind>, size: usize) -> Result<Memory>;

    /// Copies between `memory` from byte `offset` on and `host`, after all earlier commands, and waits for that.
    fn transfer(&self, memory: &Memory, offset: usize, host: HostSlice<'_>) -> Result<()>;

    /// Starts to fill a region with copies of `pattern`.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request; [`pattern`](crate::backend::slice::pattern) determines which elements
    /// no driver takes.
    fn start_fill(&self, region: &Region, pattern: &[u8], after: &WaitList<'_>) -> Result<Event>;

    /// Starts to copy a region to another region of the same size and kind of memory. The regions do not overlap.
    fn start_copy(&self, from: &Region, to: &Region, after: &WaitList<'_>) -> Result<Event>;

    /// Starts to copy between all of `region` and host memory, after the commands of `after`, which are of this
    /// context.
    ///
    /// # Safety
    ///
    /// The host memory has as many bytes, and is good for writing or reading until the command has ended.
    unsafe fn start_transfer(
        &self,
        region: &Region,
        host: HostBytes,
        after: &WaitList<'_>,
    ) -> Result<Event, Unstarted>;

    /// Maps `size` bytes of memory without an address from byte `offset` on, after all commands in this queue; `None`
    /// if
    /// the driver cannot map memory.
    fn map(
        &self,
        _memory: &Memory,
        _offset: usize,
        _size: usize,
        _writing: bool,
    ) -> Result<Option<*mut c_void>> {
        Ok(None)
    }

    /// Gives mapped memory back, and waits until that is done: another queue would not.
    fn unmap(&self, _memory: &Memory, _mapped: *mut c_void) -> Result<()> {
        Ok(())
    }

    /// Returns whether the driver copies between these regions of two devices itself.
    fn has_peer(&self, _from: &Region, _to: &Region) -> bool {
        false
    }

    /// Copies `from` to `to`, which is in the context of `other`, after all earlier commands of this queue, and
    /// waits for that.
    ///
    /// # Errors
    ///
    /// Fails if [`Copies::has_peer`] is false, or if the driver rejects the request.
    fn copy_to_peer(&self, _from: &Region, _other: &Queue, _to: &Region) -> Result<()> {
        Err(Failure::FOREIGN)
    }
}

/// Host memory that a command copies to or from.
#[derive(Clone, Copy)]
pub(crate) enum HostBytes {
    To(*mut c_void),
    From(*const c_void),
}

/// Bytes of the host that a blocking copy writes or reads.
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

/// Accesses the variables of programs. Their names are the names in the code, or unique identifiers.
pub(crate) trait Variables {
    /// Returns whether the driver identifies variables by their names in the code, and not by their unique
    /// identifiers.
    fn names_variables_as_code(&self) -> bool;

    /// Writes the address of `memory` to the start of the variable `name`. The program keeps the
    /// memory from then on.
    fn point_variable(&self, program: &Program, name: &CStr, memory: &Arc<Memory>) -> Result<()>;

    /// Copies between the variable `name` from byte `offset` on and `host`, after all earlier commands, and waits for
    /// that.
    fn transfer_variable(
        &self,
        program: &Program,
        name: &CStr,
        offset: usize,
        host: HostSlice<'_>,
    ) -> Result<()>;

    /// Returns the size of the variable `name` in the code.
    fn variable_size(&self, program: &Program, name: &CStr) -> Result<usize>;
}

/// Options for [`Device::queue_with`](crate::Device::queue_with). By default, the queue is in order and does not
/// profile.
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
}

/// The queue options that a device supports.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct QueueAbilities {
    pub(crate) out_of_order: bool,
    pub(crate) profiling: bool,
}

impl QueueOptions {
    /// Creates options for an in-order queue without profiling.
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
    /// A device may still run commands in order. Intel's CPU device (2026.2) does, because its driver loses
    /// commands when several threads use an out-of-order queue.
    pub fn out_of_order(self) -> Self {
        Self {
            out_of_order: true,
            ..self
        }
    }

    /// Records when commands were queued, started and ended, for [`Event::profile`](crate::Event::profile). This may
    /// slow commands down.
    pub fn profiling(self) -> Self {
        Self {
            profiling: true,
            ..self
        }
    }

    /// Returns the option that the device does not support, and what that option needs.
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
    /// Returns whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        std::ptr::addr_eq(&raw const **self, &raw const **other)
    }

    /// Allocates memory that holds `bytes`.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Arc<Memory>> {
        if bytes.is_empty() {
            return self.zeroed(None, 0);
        }
        let memory = self.allocate(None, bytes.len())?;
        self.write(&memory, 0, bytes)?;
        Ok(Arc::new(memory))
    }

    /// Copies `memory` from byte `offset` on into `bytes`, after all earlier commands.
    pub(crate) fn read(&self, memory: &Memory, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.transfer(memory, offset, HostSlice::To(bytes))
    }

    /// Copies `bytes` to `memory` from byte `offset` on, after all earlier commands.
    pub(crate) fn write(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<()> {
        self.transfer(memory, offset, HostSlice::From(bytes))
    }

    /// Allocates memory that holds `size` zero bytes. Only memory of a `kind` has an address.
    pub(crate) fn zeroed(&self, kind: Option<UsmKind>, size: usize) -> Result<Arc<Memory>> {
        let memory = Arc::new(self.allocate(kind, size)?);
        let all = Region::new(Arc::clone(&memory), 0, memory.size(), 1);
        // Another queue may use the memory next, and would not wait.
        self.start_fill(&all, &[0], WaitList::NOTHING)?.wait()?;
        Ok(memory)
    }

    /// Returns an empty graph of commands for this queue; `None` if the driver does not support graphs.
    pub(crate) fn graph(&self) -> Result<Option<Box<dyn Graph>>> {
        match self {
            Self::OpenCl(_) => Ok(None),
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => cuda::graph::Graph::for_queue(queue),
        }
    }
}

/// A graph: commands that are recorded once, each after the one before, and enqueued by one driver call.
pub(crate) trait Graph: Send + Sync {
    /// Records a kernel with its current arguments.
    ///
    /// # Safety
    ///
    /// The requirements of [`KernelObject::enqueue`] apply, each time the graph is enqueued.
    ///
    /// [`KernelObject::enqueue`]: crate::backend::KernelObject::enqueue
    unsafe fn add_kernel(&mut self, kernel: &KernelObject, grid: &AnyRange) -> Result<()>;

    /// Records a copy of a region to another region of the same size. The regions do not overlap.
    fn add_copy(&mut self, from: &Region, to: &Region) -> Result<()>;

    /// Records that a region is filled, as [`Copies::start_fill`] does.
    fn add_fill(&mut self, region: &Region, pattern: &[u8]) -> Result<()>;

    /// Ends the recording. Afterwards the graph can be enqueued.
    fn finish(&mut self) -> Result<()>;

    /// Enqueues all commands, to start when all of `after` has finished. Runs of the same graph come one after
    /// the other, on every thread.
    ///
    /// # Safety
    ///
    /// The recording has ended. What it uses is alive, and its kernels are sound. The events of `after` belong
    /// to this context.
    unsafe fn enqueue(&self, after: &WaitList<'_>) -> Result<Event>;
}

/// Returns whether the queue of the driver is an OpenCL queue out of order.
#[cfg(test)]
pub(crate) fn is_out_of_order(queue: &Queue) -> bool {
    queue.opencl().is_ok_and(|queue| queue.is_out_of_order())
}

/// Creates a user event of OpenCL, for tests, and the event that it ends; `None` where there are no user
/// events.
#[cfg(test)]
pub(crate) fn pending_event(queue: &Queue) -> Option<(opencl::event::UserEvent, Event)> {
    let (user, event) = opencl::event::UserEvent::new(&queue.opencl().ok()?.context);
    Some((user, event.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

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
