// SPDX-License-Identifier: MIT OR Apache-2.0
//! A queue of commands, and how they wait for each other.

pub(super) mod end;
pub(super) mod event;
pub(super) mod graph;
mod native;
pub(super) mod told;
pub(super) mod wait_list;

use std::sync::Arc;

use crate::backend::cuda::context::Context;
use crate::backend::cuda::context::mark::Mark;
use crate::backend::cuda::context::stream::Stream;
use crate::backend::cuda::memory::Memory;
use crate::backend::cuda::queue::event::{Event, Timed};
use crate::backend::cuda::queue::wait_list::WaitList;
use crate::backend::cuda::sys::{CUstream, Functions};
use crate::backend::failure::{Failure, Rejection};
use crate::queue::options::{QueueAbilities, QueueOptions};

/// A queue of a context.
pub(crate) struct Queue {
    pub(super) stream: Arc<Stream>,
    options: QueueOptions,
}

impl Drop for Queue {
    fn drop(&mut self) {
        // No command of a queue without handles is in flight. There is also no caller to report a failure to.
        if self.finish().is_err() && !self.context().is_lost() {
            // Then the context goes on to know it: memory must not be freed while it may be used. In a context
            // that is lost nothing runs.
            std::mem::forget(Arc::clone(&self.stream));
        }
    }
}

impl Queue {
    /// Returns the kinds of queues that the device of `context` supports: all devices support both.
    pub(crate) fn abilities(_context: &Context) -> Result<QueueAbilities, Failure> {
        Ok(QueueAbilities {
            out_of_order: true,
            profiling: true,
        })
    }

    /// Creates a queue with `options`.
    ///
    /// A queue is a single stream, even if it should be out of order: a stream is in order, which also fulfills
    /// the guarantees of an out-of-order queue. Programs that want concurrent commands make several queues.
    pub(crate) fn new(context: Arc<Context>, options: QueueOptions) -> Result<Self, Failure> {
        let stream = Stream::new(context)?;
        if options.profiling {
            // The clock begins when the device has nothing else to do of this queue.
            // SAFETY: the stream is alive and of the context.
            unsafe { stream.context.clock.base(&stream.context, stream.handle) }?;
        }
        Ok(Self { stream, options })
    }

    /// Returns the requested options.
    pub(crate) fn options(&self) -> QueueOptions {
        self.options
    }

    /// Returns its context.
    #[inline]
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.stream.context
    }

    /// Puts what `commands` does into the queue, to start when all of `after` has finished, whose
    /// events are of this context. They are one command, which `call` queues.
    #[inline]
    pub(super) fn submit(
        &self,
        call: &'static str,
        after: &WaitList<'_>,
        commands: impl FnOnce(&'static Functions, CUstream) -> Result<(), Failure>,
    ) -> Result<Event, Failure> {
        let functions = self.context().enter()?;
        if !after.is_empty() {
            after.hold_back(&self.stream)?;
        }
        if self.options.profiling {
            return self.submit_timed(call, || commands(functions, self.stream.handle));
        }
        commands(functions, self.stream.handle)?;
        Ok(Event::new(&self.stream, call, self.stream.count(), None))
    }

    /// Enqueues the kernel without an event, for a command that is not waited for by itself.
    #[inline]
    pub(super) fn submit_without_event(
        &self,
        after: &WaitList<'_>,
        commands: impl FnOnce(&'static Functions, CUstream) -> Result<(), Failure>,
    ) -> Result<(), Failure> {
        let functions = self.context().enter()?;
        if !after.is_empty() {
            after.hold_back(&self.stream)?;
        }
        commands(functions, self.stream.handle)?;
        self.stream.count();
        Ok(())
    }

    #[cold]
    fn submit_timed(
        &self,
        call: &'static str,
        commands: impl FnOnce() -> Result<(), Failure>,
    ) -> Result<Event, Failure> {
        let Stream {
            context, handle, ..
        } = &*self.stream;
        // SAFETY: the stream is alive and of the context.
        let (base, queued) = unsafe { context.clock.base(context, *handle) }?;
        // SAFETY: as above.
        let started = unsafe { Mark::record(context, *handle, true) }?;
        commands()?;
        let number = self.stream.count();
        // SAFETY: as above.
        let timed = unsafe { Mark::record(context, *handle, true) }.map(|ended| Timed {
            base,
            queued,
            started,
            ended: Arc::new(ended),
        });
        // Without its end noted it is a command all the same: an error would have it run twice.
        Ok(Event::new(&self.stream, call, number, timed.ok()))
    }

    /// Enqueues a barrier: later commands wait for `events`, which are of this context, and for all earlier
    /// commands.
    pub(crate) fn barrier(&self, events: &WaitList<'_>) -> Result<Event, Failure> {
        self.submit("cuStreamWaitEvent", events, |_, _| Ok(()))
    }

    /// Has what is queued next come after everything queued so far, as it does anyhow.
    pub(crate) fn in_order(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Waits for all commands so far.
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        self.stream.finish()
    }

    /// Has what is queued start soon, as it does anyhow.
    #[inline]
    pub(crate) fn flush(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Flushes after several commands.
    pub(crate) fn flush_after(&self, _commands: usize) -> Result<(), Failure> {
        self.flush()
    }

    /// Sees to it that what is queued is flushed, as it is anyhow.
    #[inline]
    pub(crate) fn flushed(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Refuses memory of another context.
    pub(crate) fn same_context(&self, call: &'static str, memory: &Memory) -> Result<(), Failure> {
        if Arc::ptr_eq(self.context(), memory.context()) {
            Ok(())
        } else {
            Err(Failure::foreign(call))
        }
    }

    /// Refuses what is not of this context, or not inside of the memory.
    pub(super) fn inside(
        &self,
        call: &'static str,
        memory: &Memory,
        offset: usize,
        size: usize,
    ) -> Result<(), Failure> {
        self.same_context(call, memory)?;
        let end = offset.checked_add(size);
        if end.is_some_and(|end| end <= memory.size()) {
            return Ok(());
        }
        Err(Failure::Rejected(Rejection::OutOfBounds(call)))
    }
}
