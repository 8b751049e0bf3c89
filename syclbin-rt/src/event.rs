//! Events: the state of one command of a queue, to wait for on the host or in another command.

use std::fmt;
use std::sync::Arc;

use crate::backend::opencl::{self, WaitList};
use crate::error::{Error, Result};
use crate::kernel::Kernel;
use crate::queue::Queue;

/// A command of a queue, such as a launched kernel, to wait for.
///
/// Dropping it does not wait: the command goes on. Reading a buffer on the same queue waits by
/// itself, so most programs need no event. It is a handle of its queue, which waits when the last
/// one goes.
pub struct Event {
    queue: Queue,
    what: What,
    raw: opencl::Event,
}

/// What a command does, for messages.
#[derive(Clone)]
pub(crate) enum What {
    /// It runs this kernel.
    Kernel(Kernel),
    /// Anything else, such as "copying a buffer".
    Action(&'static str),
}

impl Event {
    /// The event of a command in `queue`.
    pub(crate) fn new(queue: &Queue, what: What, raw: opencl::Event) -> Self {
        let queue = queue.clone();
        Self { queue, what, raw }
    }

    /// Waits until the command has finished.
    ///
    /// # Errors
    ///
    /// When the command failed on the device, or one that it waited for.
    pub fn wait(&self) -> Result<()> {
        self.raw.wait().map_err(|failure| self.failed(failure))
    }

    /// Whether the command has finished.
    ///
    /// # Errors
    ///
    /// When the command failed on the device, or one that it waited for.
    pub fn is_complete(&self) -> Result<bool> {
        let complete = self.raw.is_complete();
        complete.map_err(|failure| self.failed(failure))
    }

    /// `events` as a command of `queue` waits for them.
    ///
    /// # Errors
    ///
    /// The index of one that is of another context.
    pub(crate) fn wait_list<'a>(
        events: &'a [&'a Self],
        queue: &Queue,
    ) -> Result<WaitList<'a>, usize> {
        let context = queue.raw().context();
        let mut contexts = events.iter().map(|event| event.queue.raw().context());
        if let Some(index) = contexts.position(|of_event| !Arc::ptr_eq(of_event, context)) {
            return Err(index);
        }
        Ok(WaitList::new(events.iter().map(|event| &event.raw)))
    }

    /// The queue that its command is in.
    pub(crate) fn queue(&self) -> &Queue {
        &self.queue
    }

    /// What its command does.
    pub(crate) fn what(&self) -> &What {
        &self.what
    }

    fn failed(&self, failure: opencl::Failure) -> Error {
        Error::driver(failure, self.what.to_string(), self.queue.device())
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(kernel) => write!(f, "running kernel {}", kernel.name()),
            Self::Action(action) => f.write_str(action),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.what)
    }
}
