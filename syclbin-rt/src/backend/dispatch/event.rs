//! Events: the state of one queued command, and lists of them.

use std::task::{Poll, Waker};

use crate::backend::dispatch::{each, either, narrow};
use crate::backend::failure::Failure;
use crate::backend::times::Times;
use crate::backend::{cuda, opencl};

either! {
    /// An owned event.
    Event: opencl::Event, cuda::Event
}

narrow!(Event: opencl::Event, cuda::Event);

/// What the driver tells of the end of one command, and whom that wakes. Whoever polls an event keeps
/// one, which begins as the default.
#[derive(Default)]
pub(crate) struct End {
    opencl: opencl::End,
    cuda: cuda::End,
}

/// What a command waits for. All of it is of one context, that of the queue: whoever makes the list
/// sees to that.
pub(crate) enum WaitList<'a> {
    Nothing,
    OpenCl(opencl::WaitList<'a>),
    Cuda(cuda::WaitList<'a>),
    /// Something is of another driver than the queue: no command waits for that, and none starts.
    Foreign,
}

/// A wait list of one backend.
pub(in crate::backend) trait DriverWaitList<'a>: Sized {
    /// `list`, if it is of this backend or has nothing in it.
    fn of<'l>(list: &'l WaitList<'a>) -> Option<&'l Self>;
}

impl Event {
    /// Another owner of the same event.
    pub(crate) fn shared(&self) -> Result<Self, Failure> {
        each!(Self, self, event => event.shared().map(Self::from))
    }

    /// Blocks until the command has finished.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        each!(Self, self, event => event.wait())
    }

    /// Blocks until the command has ended, well or not. `false` if the driver does not tell; the
    /// command may then go on.
    pub(in crate::backend) fn has_ended(&self) -> bool {
        each!(Self, self, event => event.has_ended())
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
            Self::Cuda(event) => event.poll(&mut end.cuda, waker),
        }
    }
}

impl WaitList<'static> {
    /// A list of nothing, for launches: one that is made by each costs more than it looks.
    pub(crate) const NOTHING: &Self = &Self::Nothing;
}

impl<'a> WaitList<'a> {
    /// It as the backend of a queue takes it.
    #[inline]
    pub(in crate::backend) fn narrow<L: DriverWaitList<'a>>(&self) -> Result<&L, Failure> {
        L::of(self).ok_or(Failure::foreign("waiting for events"))
    }
}

impl<'a> DriverWaitList<'a> for opencl::WaitList<'a> {
    #[inline]
    fn of<'l>(list: &'l WaitList<'a>) -> Option<&'l Self> {
        match list {
            WaitList::OpenCl(list) => Some(list),
            WaitList::Nothing => Some(opencl::WaitList::NOTHING),
            WaitList::Cuda(_) | WaitList::Foreign => None,
        }
    }
}

impl<'a> DriverWaitList<'a> for cuda::WaitList<'a> {
    #[inline]
    fn of<'l>(list: &'l WaitList<'a>) -> Option<&'l Self> {
        match list {
            WaitList::Cuda(list) => Some(list),
            WaitList::Nothing => Some(cuda::WaitList::NOTHING),
            WaitList::OpenCl(_) | WaitList::Foreign => None,
        }
    }
}
