//! Events: the state of one queued command, and lists of them.

use std::task::{Poll, Waker};

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{Failure, each, opencl};

/// An owned event.
pub(crate) enum Event {
    OpenCl(opencl::Event),
    #[cfg(feature = "cuda")]
    Cuda(cuda::Event),
}

/// When a command was queued, handed to the device, started and ended: nanoseconds of the device's
/// clock.
pub(crate) struct Times {
    pub(crate) queued: u64,
    pub(crate) submitted: u64,
    pub(crate) started: u64,
    pub(crate) ended: u64,
}

/// What the driver tells of the end of one command, and whom that wakes. Whoever polls an event keeps
/// one, which begins as the default.
#[derive(Default)]
pub(crate) struct End {
    opencl: opencl::End,
    #[cfg(feature = "cuda")]
    cuda: cuda::End,
}

/// What a command waits for. All of it is of one context, that of the queue: whoever makes the list
/// sees to that.
pub(crate) enum WaitList<'a> {
    Nothing,
    OpenCl(opencl::WaitList<'a>),
    #[cfg(feature = "cuda")]
    Cuda(cuda::WaitList<'a>),
}

impl Event {
    /// Another owner of the same event.
    pub(crate) fn shared(&self) -> Result<Self, Failure> {
        match self {
            Self::OpenCl(event) => event.shared().map(Self::OpenCl),
            #[cfg(feature = "cuda")]
            Self::Cuda(event) => event.shared().map(Self::Cuda),
        }
    }

    /// Blocks until the command has finished.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        each!(Self, self, event => event.wait())
    }

    /// Blocks until the command has ended, well or not. `false` if the driver does not tell; the
    /// command may then go on.
    pub(in crate::backend) fn has_ended(&self) -> bool {
        match self {
            Self::OpenCl(event) => event.end().is_ok(),
            #[cfg(feature = "cuda")]
            Self::Cuda(event) => event.has_ended(),
        }
    }

    /// Whether the command has finished. Only commands that were flushed ever do.
    pub(crate) fn is_complete(&self) -> Result<bool, Failure> {
        each!(Self, self, event => event.is_complete())
    }

    /// What the device noted of a command that has finished, on a queue with profiling.
    pub(crate) fn times(&self) -> Result<Times, Failure> {
        each!(Self, self, event => event.times())
    }

    /// Whether the command has finished; if not, `waker` is woken when it has. Of several polls with
    /// one `end` the last waker counts. Only commands that were flushed ever finish.
    pub(crate) fn poll(&self, end: &mut End, waker: &Waker) -> Poll<Result<(), Failure>> {
        match self {
            Self::OpenCl(event) => event.poll(&mut end.opencl, waker),
            #[cfg(feature = "cuda")]
            Self::Cuda(event) => event.poll(&mut end.cuda, waker),
        }
    }

    fn opencl(&self) -> Option<&opencl::Event> {
        match self {
            Self::OpenCl(event) => Some(event),
            #[cfg(feature = "cuda")]
            Self::Cuda(_) => None,
        }
    }
}

impl WaitList<'static> {
    /// A list of nothing, for launches: one that is made by each costs more than it looks.
    pub(crate) const NOTHING: &Self = &Self::Nothing;
}

impl<'a> WaitList<'a> {
    /// The list of `events`, which may be empty, for a queue of their context.
    pub(crate) fn new(
        queue: &crate::backend::Queue,
        events: impl ExactSizeIterator<Item = &'a Event>,
    ) -> Self {
        if events.len() == 0 {
            return Self::Nothing;
        }
        match queue {
            crate::backend::Queue::OpenCl(_) => {
                Self::OpenCl(opencl::WaitList::new(events.map(Event::opencl)))
            }
            #[cfg(feature = "cuda")]
            crate::backend::Queue::Cuda(_) => {
                Self::Cuda(cuda::WaitList::new(events.filter_map(Event::cuda)))
            }
        }
    }

    /// For a queue of OpenCL.
    #[inline]
    pub(in crate::backend) fn opencl(&self) -> &opencl::WaitList<'a> {
        match self {
            Self::OpenCl(list) => list,
            _ => opencl::WaitList::NOTHING,
        }
    }

    /// For a queue of CUDA.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(in crate::backend) fn cuda(&self) -> &cuda::WaitList<'a> {
        match self {
            Self::Cuda(list) => list,
            _ => cuda::WaitList::NOTHING,
        }
    }
}

/// A user event of OpenCL, for tests, and the event that it ends; none where there is no such thing.
#[cfg(test)]
pub(crate) fn held(queue: &crate::backend::Queue) -> Option<(opencl::UserEvent, Event)> {
    match queue.context() {
        crate::backend::Context::OpenCl(context) => {
            let (user, event) = opencl::UserEvent::new(&context);
            Some((user, Event::OpenCl(event)))
        }
        #[cfg(feature = "cuda")]
        crate::backend::Context::Cuda(_) => None,
    }
}

#[cfg(feature = "cuda")]
impl Event {
    fn cuda(&self) -> Option<&cuda::Event> {
        match self {
            Self::OpenCl(_) => None,
            Self::Cuda(event) => Some(event),
        }
    }
}
