// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events: the state of one queued command, and lists of them.

use std::task::{Poll, Waker};

use crate::backend::dispatch::queue::Queue;
use crate::backend::dispatch::{each, either, narrow};
use crate::backend::failure::Failure;
use crate::backend::times::Times;
use crate::backend::{cuda, opencl};

either! {
    /// An owned event.
    Event: opencl::Event, cuda::Event
}

narrow!(Event: opencl::Event, cuda::Event);

/// The state of a command's end: the driver's report, and the task to wake. Each poller of an event stores such
/// a state, which begins as the default.
#[derive(Default)]
pub(crate) struct End {
    opencl: opencl::End,
    cuda: cuda::End,
}

/// The events that a command waits for. The creator of the list guarantees that all of them are of the queue's
/// context.
pub(crate) enum WaitList<'a> {
    Nothing,
    OpenCl(opencl::WaitList<'a>),
    Cuda(cuda::WaitList<'a>),
    /// An event belongs to a driver other than the queue's. No command can wait for it, so none starts.
    Foreign,
}

/// A wait list of a backend.
pub(in crate::backend) trait DriverWaitList<'a>: Sized {
    /// Returns `list`, if it is of this backend or empty.
    fn of<'l>(list: &'l WaitList<'a>) -> Option<&'l Self>;
}

impl Event {
    /// Creates another owner of the same event.
    pub(crate) fn shared(&self) -> Result<Self, Failure> {
        each!(Self, self, event => event.shared().map(Self::from))
    }

    /// Blocks until the command has finished.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
        each!(Self, self, event => event.wait())
    }

    /// Blocks until the command has ended, even with an error. Returns `false` if the driver does not report
    /// the end; the command may then go on.
    pub(in crate::backend) fn has_ended(&self) -> bool {
        each!(Self, self, event => event.has_ended())
    }

    /// Returns whether the command has finished. Only flushed commands ever finish.
    pub(crate) fn is_complete(&self) -> Result<bool, Failure> {
        each!(Self, self, event => event.is_complete())
    }

    /// Returns the recorded times of a finished command, on a queue with profiling.
    pub(crate) fn times(&self) -> Result<Times, Failure> {
        each!(Self, self, event => event.times())
    }

    /// Returns whether the command has finished. If it has not, `waker` is woken when it has. After several
    /// polls with one `end`, only the last waker counts. Only flushed commands ever finish.
    ///
    /// `queue` is the queue of the command.
    pub(crate) fn poll(
        &self,
        queue: &Queue,
        end: &mut End,
        waker: &Waker,
    ) -> Poll<Result<(), Failure>> {
        match (self, queue) {
            (Self::OpenCl(event), Queue::OpenCl(queue)) => {
                event.poll(queue, &mut end.opencl, waker)
            }
            (Self::Cuda(event), _) => event.poll(&mut end.cuda, waker),
            (Self::OpenCl(_), Queue::Cuda(_)) => Poll::Ready(Err(Failure::foreign("polling"))),
        }
    }
}

impl WaitList<'static> {
    /// An empty list, for launches. Making such a list at each launch is surprisingly expensive.
    pub(crate) const NOTHING: &Self = &Self::Nothing;
}

impl<'a> WaitList<'a> {
    /// Returns the list in the form that the queue's backend takes.
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
