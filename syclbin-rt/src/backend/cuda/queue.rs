// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues, and the synchronization of their commands.

use std::sync::Arc;

use super::*;

pub(crate) struct Queue {
    pub(crate) stream: Arc<Stream>,
    options: QueueOptions,
}

impl Drop for Queue {
    fn drop(&mut self) {
        // Wait, so that no command of a dropped queue is in flight. There is no caller to report a failure to.
        let context = &self.stream.context;
        if self.finish().is_ok() {
            // Unregister the stream: events in a trace may keep it alive after the owner of an adopted stream destroys it.
            context.queues.remove(&self.stream);
        } else if !context.is_lost() {
            // Keep the stream registered with the context, so that the context still waits for it before freeing
            // memory. A lost context frees no memory.
            std::mem::forget(Arc::clone(&self.stream));
        }
    }
}

impl Queue {
    /// Creates a queue with `options`.
    ///
    /// Every queue is a single stream, even if an out-of-order queue was requested: a stream runs in order, which also
    /// fulfills the guarantees of an out-of-order queue. Programs that need concurrent commands create several queues.
    pub(crate) fn new(context: Arc<Context>, options: QueueOptions) -> Result<Self> {
        let stream = Stream::new(context, options.priority)?;
        if options.profiling {
            // Starting the clock blocks, so do it now.
            stream.context.clock.base(&stream.context)?;
        }
        Ok(Self::over(stream, options))
    }

    /// Creates a queue on `stream`, and registers the stream with its context, which may wait for it.
    fn over(stream: Arc<Stream>, options: QueueOptions) -> Self {
        stream.context.queues.register(&stream);
        Self { stream, options }
    }

    /// Adopts a stream of `device` without taking ownership.
    ///
    /// # Errors
    ///
    /// Fails if `handle` is not a CUDA stream or is a different stream in every thread, if its context is not the
    /// device's primary context, or if that context is lost.
    ///
    /// # Safety
    ///
    /// The stream must belong to the primary context and outlive the queue and its events.
    pub(crate) unsafe fn adopt(device: &'static DriverDevice, handle: QueueHandle) -> Result<Self> {
        let QueueHandle::Cuda { stream, context } = handle else {
            return Err(Failure::FOREIGN);
        };
        let own = Context::shared(device)?;
        if !std::ptr::eq(own.handle.0.cast(), context) {
            return Err(Failure::FOREIGN);
        }
        // `CU_STREAM_PER_THREAD`
        if stream.addr() == 2 {
            return Err(Failure::Rejected(Rejection::PerThreadStream));
        }
        let stream = Stream::with_handle(own, stream.cast(), true);
        Ok(Self::over(stream, QueueOptions::new()))
    }

    /// Enqueues the driver calls that `commands` makes, as a single command. It starts when all commands in `after`,
    /// which must belong to this context, have finished. If it fails later, the error names `call`.
    #[inline]
    pub(crate) fn submit(
        &self,
        call: &'static str,
        after: &WaitList<'_>,
        commands: impl FnOnce(&'static Functions, CUstream) -> Result<()>,
    ) -> Result<AnyEvent> {
        let functions = self.stream.context.enter()?;
        self.make_wait(after)?;
        if self.options.profiling {
            return self.submit_timed(call, || commands(functions, self.stream.handle.0));
        }
        commands(functions, self.stream.handle.0)?;
        Ok(Event::new(&self.stream, call, self.stream.count(), None).into())
    }

    #[cold]
    fn submit_timed(
        &self,
        call: &'static str,
        commands: impl FnOnce() -> Result<()>,
    ) -> Result<AnyEvent> {
        let (context, handle) = (&self.stream.context, self.stream.handle.0);
        let (base, queued) = context.clock.base(context)?;
        // SAFETY: the stream is alive and belongs to the context.
        let started = unsafe { Mark::record(context, handle, true) }?;
        commands()?;
        let number = self.stream.count();
        // SAFETY: as above.
        let timed = unsafe { Mark::record(context, handle, true) }.map(|ended| Timed {
            base,
            queued,
            started,
            ended: Arc::new(ended),
        });
        // If recording the end fails, return an event without times: after an error, the caller might enqueue the
        // command a second time.
        Ok(Event::new(&self.stream, call, number, timed.ok()).into())
    }

    /// Makes later commands wait for all commands in `after`.
    #[inline]
    fn make_wait(&self, after: &WaitList<'_>) -> Result<()> {
        if after.is_empty() {
            return Ok(());
        }
        for event in after.iter() {
            let event = event.cuda()?;
            // Commands on the same stream run in order anyway.
            if !Arc::ptr_eq(&event.stream, &self.stream)
                && let Some(mark) = event.mark()?
            {
                // SAFETY: the stream is alive and belongs to the event's context.
                unsafe { mark.make_wait(self.stream.handle.0) }?;
            }
        }
        Ok(())
    }
}

/// Uses the default flush and ordering methods, because CUDA flushes by itself and streams run in order.
impl DriverQueue for Queue {
    fn options(&self) -> QueueOptions {
        self.options
    }

    fn context(&self) -> AnyContext {
        self.stream.context.clone()
    }

    fn context_address(&self) -> usize {
        self.stream.context.address()
    }

    fn native(&self) -> QueueHandle {
        self.stream.context.native(self.stream.handle.0)
    }

    fn barrier(&self, events: &WaitList<'_>) -> Result<AnyEvent> {
        self.submit("cuStreamWaitEvent", events, |_, _| Ok(()))
    }

    unsafe fn barrier_after(&self, event: EventHandle) -> Result<AnyEvent> {
        let EventHandle::Cuda(event) = event else {
            return Err(Failure::FOREIGN);
        };
        self.submit("cuStreamWaitEvent", WaitList::NOTHING, |_, stream| {
            // SAFETY: the stream is alive; the caller guarantees that the event is alive, too.
            unsafe { call!(self.stream.context => cuStreamWaitEvent(stream, event.cast(), 0)) }
        })
    }

    fn finish(&self) -> Result<()> {
        self.stream.finish()
    }
}
