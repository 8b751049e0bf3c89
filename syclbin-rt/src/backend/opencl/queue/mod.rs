// SPDX-License-Identifier: MIT OR Apache-2.0
//! A command queue, and how its commands wait for each other.

pub(super) mod end;
pub(super) mod event;
pub(super) mod handle;
mod native;
mod pace;
#[cfg(test)]
pub(super) mod user_event;
pub(super) mod wait_list;

use std::sync::Arc;

use opencl_sys::{
    CL_DEVICE_QUEUE_PROPERTIES, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, CL_QUEUE_PROFILING_ENABLE,
};
use opencl3::types::{cl_bitfield, cl_command_queue, cl_event, cl_int};

use crate::backend::failure::Failure;
use crate::backend::opencl::context::Context;
use crate::backend::opencl::driver::info;
use crate::backend::opencl::memory::Memory;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::queue::handle::Handle;
use crate::backend::opencl::queue::pace::Pace;
use crate::backend::opencl::queue::wait_list::WaitList;
use crate::backend::opencl::quirks::pocl::Failing;
use crate::backend::opencl::quirks::rusticl;
use crate::backend::opencl::{check, check_handle};
use crate::device::facts::{DeviceKind, Facts};
use crate::queue::options::{QueueAbilities, QueueOptions};

/// Returns whether this is the CPU device of Intel.
fn is_intels_cpu(facts: &Facts) -> bool {
    facts.kind == DeviceKind::Cpu && facts.platform == "Intel(R) OpenCL"
}

/// A queue of a context.
pub(crate) struct Queue {
    context: Arc<Context>,
    /// That of `owned`.
    pub(super) handle: cl_command_queue,
    owned: Arc<Handle>,
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
        // This is not left to `Handle`, because the context may hold that for a moment.
        if self.owned.drain().is_err() {
            // Then it is not released. The CPU driver (2026.2) deletes a queue with the last command
            // in it, on the thread that runs that, which waits for itself if the queue is out of order.
            std::mem::forget(Arc::clone(&self.owned));
        }
    }
}

impl Queue {
    /// Returns the kinds of queues that the device of `context` supports.
    pub(crate) fn abilities(context: &Context) -> Result<QueueAbilities, Failure> {
        let query = context.functions().clGetDeviceInfo;
        let name = CL_DEVICE_QUEUE_PROPERTIES;
        let bits: cl_bitfield = info::value("clGetDeviceInfo", &|size, value, returned| {
            // SAFETY: the device is one of this library; `value` is null or holds `size` bytes.
            unsafe { (query.pass())(context.device().id, name, size, value, returned) }
        })?;
        Ok(QueueAbilities {
            out_of_order: bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0,
            profiling: bits & CL_QUEUE_PROFILING_ENABLE != 0,
        })
    }

    /// Creates a queue with `options`, which the device supports.
    pub(crate) fn new(context: Arc<Context>, options: QueueOptions) -> Result<Self, Failure> {
        let facts = context.device().facts();
        // Version 2026.2 of it loses commands, hangs or crashes when several threads use a queue that
        // is out of order. One in order keeps every promise that the other gives.
        let out_of_order = options.out_of_order && !is_intels_cpu(facts);
        let mut properties = 0;
        if out_of_order {
            properties |= CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE;
        }
        if options.profiling {
            properties |= CL_QUEUE_PROFILING_ENABLE;
        }
        let mut code = 0;
        // OpenCL 2.0 deprecates this function for one that takes more properties. None of those is
        // wanted here, and every version has this one.
        // SAFETY: the device is the one of the context; only the status is written.
        let handle = unsafe {
            (context.functions().clCreateCommandQueue.pass())(
                context.handle,
                context.device().id,
                properties,
                &raw mut code,
            )
        };
        let handle = check_handle("clCreateCommandQueue", handle, code)?;
        Ok(Self::with_handle(context, handle, out_of_order, options))
    }

    /// Takes over a reference to the driver's queue.
    pub(super) fn with_handle(
        context: Arc<Context>,
        handle: cl_command_queue,
        out_of_order: bool,
        options: QueueOptions,
    ) -> Self {
        let facts = context.device().facts();
        let intels_cpu = is_intels_cpu(facts);
        let owned = Arc::new(Handle {
            functions: context.functions(),
            handle,
            out_of_order,
            stays_failed: rusticl::queues_stay_failed(facts),
        });
        context.register(&owned);
        // Measured of version 2026.2: it starts each command as soon as it may run, and a flush costs
        // a twentieth of a launch.
        let starts_by_itself = intels_cpu;
        Self {
            handle,
            owned,
            options,
            starts_by_itself,
            failing: Failing::of(facts),
            pace: Pace::new(intels_cpu),
            context,
        }
    }

    /// Returns the requested options.
    pub(crate) fn options(&self) -> QueueOptions {
        self.options
    }

    /// Returns its context.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Waits for a command that fills memory.
    ///
    /// The memory may be used on another queue next, which would not wait for the command. This also applies to
    /// a blocking write: it only guarantees that the bytes have been copied out of the slice (OpenCL 3.0,
    /// clEnqueueWriteBuffer). The CPU driver does no more than that, so a read on another queue finds the old
    /// content in some of a hundred cases.
    pub(super) fn wait_for(
        &self,
        call: &'static str,
        event: cl_event,
        code: cl_int,
    ) -> Result<(), Failure> {
        let event = check_handle(call, event, code)?;
        // SAFETY: the call handed this reference over.
        unsafe { Event::from_owned(self.context.functions(), call, event) }.wait()
    }

    /// Enqueues a barrier: later commands wait for `events`, which are of this context, and for all earlier
    /// commands.
    pub(crate) fn barrier(&self, events: &WaitList<'_>) -> Result<Event, Failure> {
        if self.owned.out_of_order && !events.is_empty() {
            // With a list a barrier waits for what is in it alone (OpenCL 3.0,
            // clEnqueueBarrierWithWaitList), but not before the one without. In this order its event
            // tells of a failure of `events`. PoCL (6.0) needs the one without in the list too.
            let earlier = self.owned.barrier(&WaitList::empty())?;
            return self.flushed_barrier(&events.and(&earlier));
        }
        self.flushed_barrier(events)
    }

    fn flushed_barrier(&self, events: &WaitList<'_>) -> Result<Event, Failure> {
        let event = self.owned.barrier(events)?;
        self.flush()?;
        Ok(event)
    }

    /// Makes the next command run after all earlier commands.
    pub(crate) fn in_order(&self) -> Result<(), Failure> {
        if self.owned.out_of_order {
            drop(self.owned.barrier(&WaitList::empty())?);
        }
        Ok(())
    }

    /// Waits for all commands so far.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        let finished = self.owned.finish();
        self.pace.waited();
        finished
    }

    /// Makes enqueued commands start soon, even if no thread waits for them. To be called after each command,
    /// without a lock that others need: it waits where the device has fallen far behind; see [`Pace`].
    ///
    /// A driver may hold enqueued commands back until a thread blocks or flushes (OpenCL 3.0, clFlush).
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        self.flush_after(1)
    }

    /// Flushes after several commands.
    pub(crate) fn flush_after(&self, commands: usize) -> Result<(), Failure> {
        self.pace.count(&self.owned, commands);
        if self.starts_by_itself {
            Ok(())
        } else {
            self.flush_now()
        }
    }

    /// Flushes the queue, before a query whether a command has ended, and before a command of another queue
    /// waits. The specification requires this for both, so it also happens where [`Queue::flush`] does nothing.
    pub(crate) fn flushed(&self) -> Result<(), Failure> {
        if self.starts_by_itself {
            self.flush_now()
        } else {
            Ok(())
        }
    }

    fn flush_now(&self) -> Result<(), Failure> {
        // SAFETY: the queue is alive.
        check("clFlush", unsafe {
            (self.context.functions().clFlush.pass())(self.handle)
        })
    }

    /// Returns whether the driver's queue is out of order.
    #[cfg(test)]
    pub(crate) fn is_out_of_order(&self) -> bool {
        self.owned.out_of_order
    }

    /// Returns whether the driver may not call back when a command fails.
    pub(in crate::backend::opencl) fn misses_failures(&self) -> bool {
        self.failing.misses_callbacks
    }

    /// Returns whether commands do not notice that an event of their wait list failed before.
    pub(crate) fn forgets_failures(&self) -> bool {
        self.failing.is_forgotten
    }

    /// Refuses memory of another context, which may be a handle of another driver altogether.
    pub(in crate::backend) fn same_context(
        &self,
        call: &'static str,
        memory: &Memory,
    ) -> Result<(), Failure> {
        if Arc::ptr_eq(&self.context, memory.context()) {
            Ok(())
        } else {
            Err(Failure::foreign(call))
        }
    }
}
