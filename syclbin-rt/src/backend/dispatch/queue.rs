// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues: the commands of a device, in the order in which they were enqueued.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

use syclbin::__private::spirv::portable::lift::Layout;

use crate::backend::dispatch::context::Context;
use crate::backend::dispatch::event::{Event, WaitList};
use crate::backend::dispatch::memory::{Memory, Raw};
use crate::backend::dispatch::program::Program;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::{Failure, Unstarted};
use crate::backend::reach::Reach;
use crate::backend::slice::Region;
use crate::backend::{cuda, opencl};
use crate::queue::options::{QueueAbilities, QueueOptions};

either! {
    /// A queue of a context. A clone is the same queue.
    #[derive(Clone)]
    Queue: Arc<opencl::Queue>, Arc<cuda::Queue>
}

impl Queue {
    /// Returns the kinds of queues that the device of `context` supports.
    pub(crate) fn abilities(context: &Context) -> Result<QueueAbilities, Failure> {
        match context {
            Context::OpenCl(context) => opencl::Queue::abilities(context),
            Context::Cuda(context) => cuda::Queue::abilities(context),
        }
    }

    /// Creates a queue with `options`, which the device supports.
    pub(crate) fn new(context: Context, options: QueueOptions) -> Result<Self, Failure> {
        Ok(match context {
            Context::OpenCl(context) => Arc::new(opencl::Queue::new(context, options)?).into(),
            Context::Cuda(context) => Arc::new(cuda::Queue::new(context, options)?).into(),
        })
    }

    /// Returns the options of the driver's queue.
    pub(crate) fn options(&self) -> QueueOptions {
        each!(Self, self, queue => queue.options())
    }

    /// Returns its context.
    pub(crate) fn context(&self) -> Context {
        each!(Self, self, queue => Arc::clone(queue.context()).into())
    }

    /// Returns whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        both!(Self self, Self other; one, other => Arc::ptr_eq(one, other), else false)
    }

    /// Enqueues a barrier: later commands wait for `events`, which are of this context, and for all earlier
    /// commands.
    pub(crate) fn barrier(&self, events: &WaitList<'_>) -> Result<Event, Failure> {
        each!(Self, self, queue => queue.barrier(events.narrow()?).map(Event::from))
    }

    /// Makes the next command run after all earlier commands.
    pub(crate) fn in_order(&self) -> Result<(), Failure> {
        each!(Self, self, queue => queue.in_order())
    }

    /// Waits for all commands so far.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        each!(Self, self, queue => queue.finish())
    }

    /// Makes enqueued commands start soon, even if no thread waits for them. To be called after each command.
    #[inline]
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        each!(Self, self, queue => queue.flush())
    }

    /// Flushes after several commands.
    pub(crate) fn flush_after(&self, commands: usize) -> Result<(), Failure> {
        each!(Self, self, queue => queue.flush_after(commands))
    }

    /// Flushes the queue, before a query whether a command has ended, and before a command of another queue
    /// waits.
    pub(crate) fn flushed(&self) -> Result<(), Failure> {
        each!(Self, self, queue => queue.flushed())
    }

    /// Returns whether commands do not notice that an event of their wait list failed before.
    pub(crate) fn forgets_failures(&self) -> bool {
        match self {
            Self::OpenCl(queue) => queue.forgets_failures(),
            Self::Cuda(_) => false,
        }
    }

    /// Returns whether the device supports memory with addresses.
    pub(crate) fn has_addresses(&self) -> bool {
        each!(Self, self, queue => queue.has_addresses())
    }

    /// Allocates memory that holds `bytes`.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Memory, Failure> {
        each!(Self, self, queue => queue.upload(bytes).map(Memory::from))
    }

    /// Allocates memory that holds `size` zero bytes.
    pub(crate) fn zeroed(&self, size: usize) -> Result<Memory, Failure> {
        each!(Self, self, queue => queue.zeroed(size).map(Memory::from))
    }

    /// Allocates memory with an address that holds `size` zero bytes.
    pub(crate) fn zeroed_at_address(&self, reach: Reach, size: usize) -> Result<Memory, Failure> {
        each!(Self, self, queue => queue.zeroed_at_address(reach, size).map(Memory::from))
    }

    /// Copies `memory` from byte `offset` on into `bytes`, after all earlier commands.
    pub(crate) fn read(
        &self,
        memory: &Memory,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        both!(Self self, Raw memory.raw(); queue, memory => queue.read(memory, offset, bytes),
            else Err(Failure::foreign("reading memory")))
    }

    /// Copies `bytes` to `memory` from byte `offset` on, after all earlier commands.
    pub(crate) fn write(
        &self,
        memory: &Memory,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        both!(Self self, Raw memory.raw(); queue, memory => queue.write(memory, offset, bytes),
            else Err(Failure::foreign("writing memory")))
    }

    /// Starts to fill a region with a repeated element. `pattern` is the bytes of an element.
    ///
    /// # Errors
    ///
    /// When the driver refuses; [`pattern`](crate::backend::pattern) determines which elements no driver takes.
    pub(crate) fn start_fill(
        &self,
        region: &Region<[()]>,
        pattern: &[u8],
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        each!(Self, self, queue => queue.start_fill(region, pattern, after.narrow()?).map(Event::from))
    }

    /// Starts to copy a region to another region of the same size and kind of memory. The regions do not overlap.
    pub(crate) fn start_copy(
        &self,
        from: &Region<[()]>,
        to: &Region<[()]>,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        each!(Self, self, queue => queue.start_copy(from, to, after.narrow()?).map(Event::from))
    }

    /// Returns whether a driver copies between these regions of two devices itself.
    pub(crate) fn has_peer(&self, from: &Region<[()]>, to: &Region<[()]>) -> bool {
        matches!(self, Self::Cuda(queue) if queue.copies_to_peer(from, to))
    }

    /// Copies `from` to `to`, which is in the context of `other`, after all earlier commands of this queue, and waits for
    /// that.
    ///
    /// # Errors
    ///
    /// When [`Queue::has_peer`] is false, and when the driver refuses.
    pub(crate) fn copy_to_peer(
        &self,
        from: &Region<[()]>,
        other: &Self,
        to: &Region<[()]>,
    ) -> Result<(), Failure> {
        match (self, other) {
            (Self::Cuda(queue), Self::Cuda(other)) => queue.copy_to_peer(from, other, to),
            _ => Err(Failure::foreign("copying to another device")),
        }
    }

    /// Starts to copy all of `region` to `to`, after the commands of `after`, which are of this context.
    ///
    /// # Safety
    ///
    /// `to` is good for writing as many bytes until the command has ended.
    pub(in crate::backend) unsafe fn start_read(
        &self,
        region: &Region<[()]>,
        to: *mut c_void,
        after: &WaitList<'_>,
    ) -> Result<Event, Unstarted> {
        // SAFETY: as the caller says.
        each!(Self, self, queue => unsafe { queue.start_read(region, to, after.narrow()?) }.map(Event::from))
    }

    /// Starts to copy from `from` to all of `region`, as above.
    ///
    /// # Safety
    ///
    /// `from` is good for reading as many bytes until the command has ended.
    pub(in crate::backend) unsafe fn start_write(
        &self,
        region: &Region<[()]>,
        from: *const c_void,
        after: &WaitList<'_>,
    ) -> Result<Event, Unstarted> {
        // SAFETY: as the caller says.
        each!(Self, self, queue => unsafe { queue.start_write(region, from, after.narrow()?) }.map(Event::from))
    }

    /// Gives the kernels of `program` their hidden arguments, which hold its variables.
    pub(crate) fn add_hidden_arguments(
        &self,
        program: &Program,
        layout: Layout,
    ) -> Result<(), Failure> {
        match (self, program) {
            (Self::OpenCl(queue), Program::OpenCl(program)) => {
                queue.add_hidden_arguments(program, layout)
            }
            _ => Err(Failure::foreign("passing hidden arguments")),
        }
    }

    /// Returns whether the driver identifies variables by their names in the code, and not by their unique
    /// identifiers.
    pub(crate) fn names_variables_as_code(&self) -> bool {
        each!(Self, self, queue => queue.names_variables_as_code())
    }

    /// Writes the address of `memory` to the start of the variable `name`. The program keeps the
    /// memory from then on.
    pub(crate) fn point_variable(
        &self,
        program: &Program,
        name: &CStr,
        memory: &Arc<Memory>,
    ) -> Result<(), Failure> {
        both!(Self self, Program program; queue, program => queue.point_variable(program, name, memory),
            else Err(Failure::foreign("writing a variable")))
    }

    /// Copies `bytes` to the start of the variable `name`, after all earlier commands.
    pub(crate) fn write_variable(
        &self,
        program: &Program,
        name: &CStr,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        both!(Self self, Program program; queue, program => queue.write_variable(program, name, bytes),
            else Err(Failure::foreign("writing a variable")))
    }

    /// Copies the variable `name` from byte `offset` on into `bytes`, after all earlier commands.
    pub(crate) fn read_variable(
        &self,
        program: &Program,
        name: &CStr,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        both!(Self self, Program program; queue, program => queue.read_variable(program, name, offset, bytes),
            else Err(Failure::foreign("reading a variable")))
    }

    /// Returns the size of the variable `name` in the code.
    pub(crate) fn variable_size(&self, program: &Program, name: &CStr) -> Result<usize, Failure> {
        both!(Self self, Program program; queue, program => queue.variable_size(program, name),
            else Err(Failure::foreign("finding a variable")))
    }

    /// Refuses memory of another context, which may be a handle of another driver altogether.
    pub(in crate::backend) fn same_context(&self, memory: &Memory) -> Result<(), Failure> {
        if memory.is_for(self) {
            return Ok(());
        }
        Err(Failure::foreign("using memory"))
    }
}

impl Memory {
    /// Returns whether commands of `queue` can use it. Each launch calls this, so it does not count handles.
    #[inline]
    pub(crate) fn is_for(&self, queue: &Queue) -> bool {
        both!(Raw self.raw(), Queue queue; memory, queue => Arc::ptr_eq(memory.context(), queue.context()), else false)
    }
}

impl<'a> WaitList<'a> {
    /// Creates the list of `events`, which may be empty, for a queue of their context.
    pub(crate) fn new(queue: &Queue, mut events: impl ExactSizeIterator<Item = &'a Event>) -> Self {
        if events.len() == 0 {
            return Self::Nothing;
        }
        let mut foreign = false;
        let list = match queue {
            Queue::OpenCl(_) => Self::OpenCl(opencl::WaitList::new(own(
                &mut events,
                &mut foreign,
                Event::opencl,
            ))),
            Queue::Cuda(_) => Self::Cuda(cuda::WaitList::new(own(
                &mut events,
                &mut foreign,
                Event::cuda,
            ))),
        };
        if foreign { Self::Foreign } else { list }
    }
}

/// Returns the events of one backend, and whether there are others among them.
fn own<'a, E: 'a>(
    events: impl Iterator<Item = &'a Event>,
    foreign: &mut bool,
    narrow: impl Fn(&'a Event) -> Option<&'a E>,
) -> impl Iterator<Item = &'a E> {
    events.filter_map(move |event| {
        let own = narrow(event);
        *foreign |= own.is_none();
        own
    })
}

/// Returns whether the queue of the driver is an OpenCL queue out of order.
#[cfg(test)]
pub(crate) fn is_out_of_order(queue: &Queue) -> bool {
    matches!(queue, Queue::OpenCl(queue) if queue.is_out_of_order())
}

/// Creates a user event of OpenCL, for tests, and the event that it ends; `None` where there are no user
/// events.
#[cfg(test)]
pub(crate) fn pending_event(queue: &Queue) -> Option<(opencl::UserEvent, Event)> {
    match queue {
        Queue::OpenCl(queue) => {
            let (user, event) = opencl::UserEvent::new(queue.context());
            Some((user, Event::OpenCl(event)))
        }
        Queue::Cuda(_) => None,
    }
}
