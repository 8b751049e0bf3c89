// SPDX-License-Identifier: MIT OR Apache-2.0
//! An event: the state of one command in a queue.

use std::sync::Arc;

use crate::backend::cuda::context::clock::Base;
use crate::backend::cuda::context::mark::Mark;
use crate::backend::cuda::context::stream::Stream;
use crate::backend::failure::Failure;
use crate::backend::times::Times;

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
pub(in crate::backend::cuda) struct Timed {
    pub(in crate::backend::cuda) base: Arc<Base>,
    /// When it was queued, on the clock of the host.
    pub(in crate::backend::cuda) queued: i64,
    pub(in crate::backend::cuda) started: Mark,
    pub(in crate::backend::cuda) ended: Arc<Mark>,
}

impl Event {
    pub(in crate::backend::cuda) fn new(
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

    pub(in crate::backend::cuda) fn stream(&self) -> &Arc<Stream> {
        &self.stream
    }

    /// Creates another owner of the same event.
    pub(crate) fn shared(&self) -> Result<Self, Failure> {
        Ok(Self {
            stream: Arc::clone(&self.stream),
            timed: self.timed.clone(),
            ..*self
        })
    }

    /// Blocks until the command has finished.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        let waited = match &self.timed {
            Some(timed) => timed.ended.wait(),
            None => self.stream.wait(self.number),
        };
        self.finished(waited)
    }

    /// Blocks until the command has ended, even with an error. Returns `false` if the driver does not report
    /// the end; the command may then go on.
    pub(in crate::backend) fn has_ended(&self) -> bool {
        // The documentation does not guarantee that a lost context stops all of its commands.
        self.wait().is_ok()
    }

    /// Returns whether the command has finished.
    pub(crate) fn is_complete(&self) -> Result<bool, Failure> {
        let complete = match &self.timed {
            Some(timed) => timed.ended.is_reached(),
            None => self.stream.is_at(self.number),
        };
        complete.or_else(|failure| self.finished(Err(failure)).map(|()| true))
    }

    /// The same, under the name of the call that queued the command, if it ended with an error: that
    /// is told by whichever call is next.
    pub(in crate::backend::cuda) fn finished(
        &self,
        ended: Result<(), Failure>,
    ) -> Result<(), Failure> {
        let call = self.call;
        ended.map_err(|failure| match failure {
            Failure::Driver { code, .. } => Failure::Driver { call, code },
            other => other,
        })
    }

    /// Returns a mark at its end or later; `None` if it is known to have ended.
    pub(in crate::backend::cuda) fn mark(&self) -> Result<Option<Arc<Mark>>, Failure> {
        if let Some(timed) = &self.timed {
            return Ok(Some(Arc::clone(&timed.ended)));
        }
        let mark = self.stream.mark(self.number)?;
        Ok(mark.map(|(_, mark)| mark))
    }

    /// Returns the times when the device began and ended a finished command, on a queue with profiling.
    ///
    /// The device does not report more. The times of queueing and submission are the host's, which has another
    /// clock than the device: in any case they are no later than the start.
    pub(crate) fn times(&self) -> Result<Times, Failure> {
        let call = "cuEventElapsedTime";
        let code = crate::backend::cuda::errors::INVALID_VALUE;
        let timed = self.timed.as_ref().ok_or(Failure::cuda(call, code))?;
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
}
