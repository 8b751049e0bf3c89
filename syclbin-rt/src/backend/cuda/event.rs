// SPDX-License-Identifier: MIT OR Apache-2.0
//! An event: the state of one command in a queue.

use std::sync::Arc;

use super::*;

/// A command in a queue, by its number.
///
/// Nothing of the driver stands for it before somebody asks. An event that is asked of late ends with
/// everything that was put into the queue before that, unless the queue notes times.
pub(crate) struct Event {
    stream: Arc<Stream>,
    /// The call that queued the command.
    call: &'static str,
    number: u64,
    timed: Option<Arc<Timed>>,
}

/// When a command began and ended, on a queue that notes times.
pub(crate) struct Timed {
    pub(crate) base: Arc<Base>,
    /// When it was queued, on the clock of the host.
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

    pub(crate) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Returns a mark at its end or later; `None` if it is known to have ended.
    pub(crate) fn mark(&self) -> Result<Option<Arc<Mark>>> {
        if let Some(timed) = &self.timed {
            return Ok(Some(Arc::clone(&timed.ended)));
        }
        let mark = self.stream.mark(self.number)?;
        Ok(mark.map(|(_, mark)| mark))
    }

    /// Returns a failure under the name of the call that enqueued the command: whichever call is next reports it.
    fn failed(&self, failure: Failure) -> Failure {
        failure.of_call(self.call)
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
        waited.map_err(|failure| self.failed(failure))
    }

    fn has_ended(&self) -> bool {
        // The documentation does not guarantee that a lost context stops all of its commands.
        self.wait().is_ok()
    }

    fn is_complete(&self) -> Result<bool> {
        let complete = match &self.timed {
            Some(timed) => timed.ended.is_reached(),
            None => self.stream.is_at(self.number),
        };
        complete.map_err(|failure| self.failed(failure))
    }

    /// The device does not report more than the start and the end. The times of queueing and submission are the host's,
    /// which has another clock than the device: in any case they are no later than the start.
    fn times(&self) -> Result<Times> {
        let timed = self.timed.as_ref().ok_or(invalid("cuEventElapsedTime"))?;
        let started = timed.base.time_of(&timed.started)?;
        // Exact also where it began long after what its start is compared with.
        let ended = started.saturating_add(timed.ended.since(&timed.started)?);
        let queued = timed.queued.min(started);
        let nanoseconds = |time: i64| u64::try_from(time).unwrap_or_default();
        Ok(Times {
            queued: nanoseconds(queued),
            submitted: nanoseconds(queued),
            started: nanoseconds(started),
            ended: nanoseconds(ended),
        })
    }

    fn native(&self) -> Result<Option<NativeEvent>> {
        let mark = self.mark()?;
        Ok(mark.map(|mark| {
            let handle = EventHandle::Cuda(mark.handle().cast());
            NativeEvent::new(handle, mark)
        }))
    }

    /// The driver can call back (`cuLaunchHostFunc`), but not after an error, and then a task would sleep for ever. So
    /// a thread of ours waits: one for each queue whose events are polled.
    fn notify(&self, _queue: &AnyQueue, completion: &Completion) -> Result<bool> {
        match self.mark().map_err(|failure| self.failed(failure))? {
            Some(mark) => Ok(self.stream.notify(mark, completion.clone())),
            None => {
                completion.end(Ok(()));
                Ok(true)
            }
        }
    }
}
