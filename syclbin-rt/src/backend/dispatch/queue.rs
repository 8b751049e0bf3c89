//! Queues: what is done on a device, in the order in which it was put there.

use std::ffi::{CStr, c_void};
use std::sync::Arc;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::dispatch::memory::Raw;
use crate::backend::slice::Place;
use crate::backend::{
    Context, Event, FOREIGN, Failure, Memory, Program, Reach, Unstarted, WaitList, each, opencl,
};
use crate::queue::options::QueueOptions;

/// A queue of a context. A clone is the same one.
#[derive(Clone)]
pub(crate) enum Queue {
    OpenCl(Arc<opencl::Queue>),
    #[cfg(feature = "cuda")]
    Cuda(Arc<cuda::Queue>),
}

/// Which queues a device can have beside plain ones.
#[derive(Clone, Copy)]
pub(crate) struct QueueAbilities {
    pub(crate) out_of_order: bool,
    pub(crate) profiling: bool,
}

#[cfg(feature = "cuda")]
fn foreign(call: &'static str) -> Failure {
    Failure {
        call,
        code: FOREIGN,
    }
}

impl Queue {
    /// What the device of `context` says of its queues.
    pub(crate) fn abilities(context: &Context) -> Result<QueueAbilities, Failure> {
        match context {
            Context::OpenCl(context) => opencl::Queue::abilities(context),
            #[cfg(feature = "cuda")]
            Context::Cuda(context) => cuda::Queue::abilities(context),
        }
    }

    /// A queue as `options` say, which the device is able to have.
    pub(crate) fn new(context: Context, options: QueueOptions) -> Result<Self, Failure> {
        Ok(match context {
            Context::OpenCl(context) => {
                Self::OpenCl(Arc::new(opencl::Queue::new(context, options)?))
            }
            #[cfg(feature = "cuda")]
            Context::Cuda(context) => Self::Cuda(Arc::new(cuda::Queue::new(context, options)?)),
        })
    }

    /// How it was asked for.
    pub(crate) fn options(&self) -> QueueOptions {
        each!(Self, self, queue => queue.options())
    }

    /// The context it belongs to.
    pub(crate) fn context(&self) -> Context {
        match self {
            Self::OpenCl(queue) => Context::OpenCl(Arc::clone(queue.context())),
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => Context::Cuda(Arc::clone(queue.context())),
        }
    }

    /// Whether both are the same.
    pub(crate) fn is(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::OpenCl(one), Self::OpenCl(other)) => Arc::ptr_eq(one, other),
            #[cfg(feature = "cuda")]
            (Self::Cuda(one), Self::Cuda(other)) => Arc::ptr_eq(one, other),
            #[cfg(feature = "cuda")]
            _ => false,
        }
    }

    /// Has everything that is queued later wait for `events`, which are of this context, and for
    /// everything queued so far.
    pub(crate) fn barrier(&self, events: &WaitList<'_>) -> Result<Event, Failure> {
        match self {
            Self::OpenCl(queue) => queue.barrier(events.opencl()).map(Event::OpenCl),
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => queue.barrier(events.cuda()).map(Event::Cuda),
        }
    }

    /// Has what is queued next come after everything queued so far.
    pub(crate) fn in_order(&self) -> Result<(), Failure> {
        each!(Self, self, queue => queue.in_order())
    }

    /// Waits for everything queued so far.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        each!(Self, self, queue => queue.finish())
    }

    /// Has what is queued start soon, though nobody waits for it. To be called after each command.
    #[inline]
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        each!(Self, self, queue => queue.flush())
    }

    /// The same after several commands.
    pub(crate) fn flush_after(&self, commands: usize) -> Result<(), Failure> {
        match self {
            Self::OpenCl(queue) => queue.flush_after(commands),
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => queue.flush(),
        }
    }

    /// Sees to it that what is queued is flushed, before somebody asks whether it has ended or a
    /// command of another queue waits for it.
    pub(crate) fn flushed(&self) -> Result<(), Failure> {
        each!(Self, self, queue => queue.flushed())
    }

    /// Whether commands that are recorded are better queued one by one than together.
    pub(crate) fn is_faster_one_by_one(&self) -> bool {
        each!(Self, self, queue => queue.is_faster_one_by_one())
    }

    /// Whether the device has memory with addresses.
    pub(crate) fn has_addresses(&self) -> bool {
        each!(Self, self, queue => queue.has_addresses())
    }

    /// New memory that holds `bytes`.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Memory, Failure> {
        each!(Self, self, queue => queue.upload(bytes).map(Memory::from))
    }

    /// New memory that holds `size` zero bytes.
    pub(crate) fn zeroed(&self, size: usize) -> Result<Memory, Failure> {
        each!(Self, self, queue => queue.zeroed(size).map(Memory::from))
    }

    /// New memory with an address that holds `size` zero bytes.
    pub(crate) fn zeroed_at_address(&self, reach: Reach, size: usize) -> Result<Memory, Failure> {
        each!(Self, self, queue => queue.zeroed_at_address(reach, size).map(Memory::from))
    }

    /// Copies `memory` from byte `offset` on into `bytes`, after everything queued before.
    pub(crate) fn read(
        &self,
        memory: &Memory,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        match (self, memory.raw()) {
            (Self::OpenCl(queue), Raw::OpenCl(memory)) => queue.read(memory, offset, bytes),
            #[cfg(feature = "cuda")]
            (Self::Cuda(queue), Raw::Cuda(memory)) => queue.read(memory, offset, bytes),
            #[cfg(feature = "cuda")]
            _ => Err(foreign("reading memory")),
        }
    }

    /// Copies `bytes` to `memory` from byte `offset` on, after everything queued before.
    pub(crate) fn write(
        &self,
        memory: &Memory,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        match (self, memory.raw()) {
            (Self::OpenCl(queue), Raw::OpenCl(memory)) => queue.write(memory, offset, bytes),
            #[cfg(feature = "cuda")]
            (Self::Cuda(queue), Raw::Cuda(memory)) => queue.write(memory, offset, bytes),
            #[cfg(feature = "cuda")]
            _ => Err(foreign("writing memory")),
        }
    }

    /// Starts to fill a place with its element again and again. `pattern` is the bytes of one.
    ///
    /// # Errors
    ///
    /// When the driver refuses; [`pattern`](crate::backend::pattern) tells which elements none takes.
    pub(crate) fn start_fill(
        &self,
        place: &Place<[()]>,
        pattern: &[u8],
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        match self {
            Self::OpenCl(queue) => {
                let started = queue.start_fill(place, pattern, after.opencl());
                started.map(Event::OpenCl)
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => {
                let memory = place.memory.cuda().ok_or(foreign("filling memory"))?;
                let (offset, size) = (place.offset, place.bytes());
                let started = queue.start_fill(memory, offset, size, pattern, after.cuda());
                started.map(Event::Cuda)
            }
        }
    }

    /// Starts to copy one place to another one of the same size and kind of memory, which it does
    /// not overlap.
    pub(crate) fn start_copy(
        &self,
        from: &Place<[()]>,
        to: &Place<[()]>,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        match self {
            Self::OpenCl(queue) => {
                let started = queue.start_copy(from, to, after.opencl());
                started.map(Event::OpenCl)
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => {
                let foreign = foreign("copying memory");
                let source = from.memory.cuda().ok_or(foreign)?;
                let target = to.memory.cuda().ok_or(foreign)?;
                let started = queue.start_copy(
                    source,
                    from.offset,
                    target,
                    to.offset,
                    from.bytes(),
                    after.cuda(),
                );
                started.map(Event::Cuda)
            }
        }
    }

    /// Starts to copy all of `place` to `to`, after the commands of `after`, which are of this context.
    ///
    /// # Safety
    ///
    /// `to` is good for writing as many bytes until the command has ended.
    pub(in crate::backend) unsafe fn start_read(
        &self,
        place: &Place<[()]>,
        to: *mut c_void,
        after: &WaitList<'_>,
    ) -> Result<Event, Unstarted> {
        match self {
            Self::OpenCl(queue) => {
                // SAFETY: as the caller says.
                unsafe { queue.start_read(place, to, after.opencl()) }.map(Event::OpenCl)
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => {
                let memory = place.memory.cuda().ok_or(foreign("reading memory"))?;
                let (offset, size) = (place.offset, place.bytes());
                // SAFETY: as the caller says.
                let started =
                    unsafe { queue.read_later(memory, offset, to.cast(), size, after.cuda()) };
                Ok(Event::Cuda(started?))
            }
        }
    }

    /// Starts to copy from `from` to all of `place`, as above.
    ///
    /// # Safety
    ///
    /// `from` is good for reading as many bytes until the command has ended.
    pub(in crate::backend) unsafe fn start_write(
        &self,
        place: &Place<[()]>,
        from: *const c_void,
        after: &WaitList<'_>,
    ) -> Result<Event, Unstarted> {
        match self {
            Self::OpenCl(queue) => {
                // SAFETY: as the caller says.
                unsafe { queue.start_write(place, from, after.opencl()) }.map(Event::OpenCl)
            }
            #[cfg(feature = "cuda")]
            Self::Cuda(queue) => {
                let memory = place.memory.cuda().ok_or(foreign("writing memory"))?;
                let (offset, size) = (place.offset, place.bytes());
                // SAFETY: as the caller says.
                let started =
                    unsafe { queue.write_later(memory, offset, from.cast(), size, after.cuda()) };
                Ok(Event::Cuda(started?))
            }
        }
    }

    /// Whether the driver has functions that read and write variables.
    pub(crate) fn reaches_variables(&self) -> bool {
        match self {
            Self::OpenCl(queue) => queue.reaches_variables(),
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => true,
        }
    }

    /// Whether the driver knows variables by their names in the code, and not by their unique
    /// identifiers.
    pub(crate) fn names_variables_as_code(&self) -> bool {
        match self {
            Self::OpenCl(_) => false,
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => true,
        }
    }

    /// Writes the address of `memory` to the start of the variable `name`. The program keeps the
    /// memory from then on.
    pub(crate) fn point_variable(
        &self,
        program: &Program,
        name: &CStr,
        memory: &Arc<Memory>,
    ) -> Result<(), Failure> {
        match (self, program) {
            (Self::OpenCl(queue), Program::OpenCl(program)) => {
                queue.point_variable(program, name, memory)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(queue), Program::Cuda(program)) => {
                queue.point_variable(program, name, memory)
            }
            #[cfg(feature = "cuda")]
            _ => Err(foreign("writing a variable")),
        }
    }

    /// Copies `bytes` to the start of the variable `name`, after everything queued before.
    pub(crate) fn write_variable(
        &self,
        program: &Program,
        name: &CStr,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        match (self, program) {
            (Self::OpenCl(queue), Program::OpenCl(program)) => {
                queue.write_variable(program, name, bytes)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(queue), Program::Cuda(program)) => {
                queue.write_variable(program, name, bytes)
            }
            #[cfg(feature = "cuda")]
            _ => Err(foreign("writing a variable")),
        }
    }

    /// Copies the start of the variable `name` into `bytes`, after everything queued before.
    pub(crate) fn read_variable(
        &self,
        program: &Program,
        name: &CStr,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        match (self, program) {
            (Self::OpenCl(queue), Program::OpenCl(program)) => {
                queue.read_variable(program, name, bytes)
            }
            #[cfg(feature = "cuda")]
            (Self::Cuda(queue), Program::Cuda(program)) => {
                queue.read_variable(program, name, bytes)
            }
            #[cfg(feature = "cuda")]
            _ => Err(foreign("reading a variable")),
        }
    }

    /// Refuses memory of another context, which may be a handle of another driver altogether.
    pub(in crate::backend) fn same_context(&self, memory: &Memory) -> Result<(), Failure> {
        if memory.is_for(self) {
            return Ok(());
        }
        Err(Failure {
            call: "using memory",
            code: FOREIGN,
        })
    }
}
