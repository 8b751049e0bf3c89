// SPDX-License-Identifier: MIT OR Apache-2.0
//! CUDA events, each of which tracks one enqueued command.

use std::sync::Arc;
use std::time::Duration;

use super::*;

/// A command in a queue, identified by its sequence number.
///
/// Without profiling, a driver event is recorded only when this event is queried. That driver event completes only
/// after all commands that were enqueued before the query.
pub(crate) struct Event {
    pub(crate) stream: Arc<Stream>,
    call: &'static str,
    number: u64,
    timed: Option<Arc<Timed>>,
}

/// The times of a command, on a queue with profiling.
pub(crate) struct Timed {
    pub(crate) base: Arc<Base>,
    /// The host time at which the command was enqueued, in nanoseconds.
    pub(crate) queued: i64,
    pub(crate) started: Mark,
    pub(crate) ended: Arc<Mark>,
}

impl Event {
    pub(crate) fn new(
        stream: &Arc<Stream>,
        call: &'static str,
        number: u64,
        timed: Option<Timed>,
    ) -> Self {
        Self {
            stream: Arc::clone(stream),
            call,
            number,
            timed: timed.map(Arc::new),
        }
    }

    /// Returns a mark that is not reached before the command ends, or `None` if the command is known to have ended.
    pub(crate) fn mark(&self) -> Result<Option<Arc<Mark>>> {
        if let Some(timed) = &self.timed {
            return Ok(Some(Arc::clone(&timed.ended)));
        }
        let mark = self.stream.mark(self.number)?;
        Ok(mark.map(|(_, mark)| mark))
    }
}

impl DriverEvent for Event {
    fn call(&self) -> &'static str {
        self.call
    }

    fn shared(&self) -> Result<AnyEvent> {
        let event = Self {
            stream: Arc::clone(&self.stream),
            timed: self.timed.clone(),
            ..*self
        };
        Ok(event.into())
    }

    fn wait(&self) -> Result<()> {
        let waited = match &self.timed {
            Some(timed) => timed.ended.wait(),
            None => self.stream.wait(self.number),
        };
        waited.map_err(|failure| failure.of_call(self.call))
    }

    fn has_ended(&self) -> bool {
        // An error does not prove that the command has ended: NVIDIA does not guarantee that a lost context stops all
        // of its commands.
        self.wait().is_ok()
    }

    fn is_complete(&self) -> Result<bool> {
        let complete = match &self.timed {
            Some(timed) => timed.ended.is_reached(),
            None => self.stream.is_at(self.number),
        };
        complete.map_err(|failure| failure.of_call(self.call))
    }

    /// The device reports only the start and the end. The queued and submitted times come from the host's clock, which
    /// is not synchronized with the device's, so they are limited to the start time.
    fn profile(&self) -> Result<Profile> {
        let timed = self.timed.as_ref().ok_or(invalid("cuEventElapsedTime"))?;
        let started = timed.base.time_of(&timed.started)?;
        // Measured from the start rather than from the base event, because long spans lose precision.
        let ended = started.saturating_add(timed.ended.since(&timed.started)?);
        let time =
            |nanoseconds| Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or_default());
        let queued = time(timed.queued.min(started));
        Ok(Profile {
            queued,
            submitted: queued,
            started: time(started),
            ended: time(ended),
        })
    }

    fn native(&self) -> Result<Option<NativeEvent>> {
        let mark = self.mark()?;
        Ok(mark.map(|mark| NativeEvent::new(EventHandle::Cuda(mark.handle.0.cast()), mark)))
    }

    /// Does not use `cuLaunchHostFunc`: it never calls back after an error, so the task would sleep forever. Instead,
    /// each queue whose events are polled starts a thread that waits for them.
    fn notify(&self, _queue: &AnyQueue, completion: &Completion) -> Result<bool> {
        let mark = self.mark().map_err(|failure| failure.of_call(self.call))?;
        let Some(mark) = mark else {
            completion.end(Ok(()));
            return Ok(true);
        };
        // A stream reaches its marks in order, so a single thread can wait for them one by one.
        let wait = |mark: &Arc<Mark>| mark.sleep();
        Ok((self.stream.waiter).notify(mark, completion.clone(), wait))
    }
}
