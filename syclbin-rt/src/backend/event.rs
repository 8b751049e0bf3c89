// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events, each of which tracks one enqueued command, and lists of events to wait for.

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};
use std::time::Duration;

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{NativeEvent, Owned, Queue, Result, opencl, wakers};

either! {
    Event: dyn DriverEvent, Owned<opencl::event::Event, cuda::event::Event>
}

pub(crate) trait DriverEvent: Send + Sync {
    /// Returns the name of the driver call that enqueued the command.
    fn call(&self) -> &'static str;

    /// Returns another handle to the same event.
    fn shared(&self) -> Result<Event>;

    /// Blocks until the command has finished.
    fn wait(&self) -> Result<()>;

    /// Blocks until the command has ended, successfully or not. Returns `false` if the driver does not report the end,
    /// in which case the command may still be running.
    fn has_ended(&self) -> bool;

    /// Returns whether the command has finished. A command that was never flushed may never finish.
    fn is_complete(&self) -> Result<bool>;

    /// Returns the times of a finished command. The queue must have profiling enabled.
    fn profile(&self) -> Result<Profile>;

    /// Returns a driver event that completes no earlier than the command, or `None` if the command is known to have
    /// ended.
    fn native(&self) -> Result<Option<NativeEvent>>;

    /// Completes `completion` when the command ends. `queue` must be the command's queue. Returns `false` if this
    /// requires a new thread, but none can be started.
    fn notify(&self, queue: &Queue, completion: &Completion) -> Result<bool>;
}

/// The times of a command, returned by [`Event::profile`](crate::Event::profile).
///
/// The device's clock starts at an arbitrary time, so only differences between times on the same device are meaningful.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Profile {
    /// The time when the command was enqueued, or [`submitted`](Self::submitted) if the driver does not report it.
    pub queued: Duration,
    /// The time when the driver handed the command to the device. On CUDA, equal to [`queued`](Self::queued).
    pub submitted: Duration,
    /// The time when the command began.
    pub started: Duration,
    /// The time when the command ended.
    pub ended: Duration,
}

impl Profile {
    /// Returns how long the command ran on the device.
    #[must_use]
    pub fn execution(&self) -> Duration {
        self.ended.saturating_sub(self.started)
    }
}

impl Event {
    /// Returns the command's result if the command has finished; otherwise arranges for `waker` to be woken when it
    /// does. `completion` stores the state between polls and must be `None` at the first poll. Only the waker of the
    /// last poll is woken. A command that was never flushed may never finish.
    ///
    /// `queue` must be the command's queue.
    pub(crate) fn poll(
        &self,
        queue: &Queue,
        completion: &mut Option<Completion>,
        waker: &Waker,
    ) -> Poll<Result<()>> {
        if let Some(completion) = completion {
            return completion.poll(waker).map(|ended| match ended {
                // PoCL (7.1) and rusticl (25.0) may report success to the callback even if the command failed, so query
                // the status.
                Ok(()) => self.is_complete().map(drop),
                Err(failure) => Err(failure.of_call(self.call())),
            });
        }
        if self.is_complete()? {
            return Poll::Ready(Ok(()));
        }
        let pending = Completion::new(waker.clone());
        if !wakers::ensure_started() || !self.notify(queue, &pending)? {
            // No thread could be started to wake the task later, so block until the command ends.
            return Poll::Ready(self.wait());
        }
        *completion = Some(pending);
        // The command may have finished before the callback was registered.
        if self.is_complete()? {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }
}

/// The completion of a command, shared by the poller of its event and the thread that reports the command's end.
#[derive(Clone)]
pub(crate) struct Completion(Arc<Mutex<CompletionState>>);

enum CompletionState {
    Waiting(Waker),
    Ended(Result<()>),
}

impl Completion {
    pub(super) fn new(waker: Waker) -> Self {
        Self(Arc::new(Mutex::new(CompletionState::Waiting(waker))))
    }

    /// Returns the command's result if the command has ended; otherwise replaces the registered waker with `waker`.
    fn poll(&self, waker: &Waker) -> Poll<Result<()>> {
        // Cloning and dropping a waker runs executor code, so do both outside the lock that a driver callback may
        // need.
        let waker = waker.clone();
        let mut state = self.lock();
        match *state {
            CompletionState::Waiting(ref mut known) => {
                let before = std::mem::replace(known, waker);
                drop(state);
                drop(before);
                Poll::Pending
            }
            CompletionState::Ended(ended) => {
                drop(state);
                Poll::Ready(ended)
            }
        }
    }

    /// Reports the end of the command. Later reports are ignored.
    pub(crate) fn end(&self, ended: Result<()>) {
        let mut state = self.lock();
        if let CompletionState::Waiting(_) = *state
            && let CompletionState::Waiting(waker) =
                std::mem::replace(&mut *state, CompletionState::Ended(ended))
        {
            drop(state);
            wakers::wake(waker);
        }
    }

    /// Returns a pointer to pass to [`Completion::from_raw`].
    pub(crate) fn into_raw(self) -> *mut c_void {
        Arc::into_raw(self.0).cast_mut().cast()
    }

    /// Reclaims the reference that [`Completion::into_raw`] returned.
    ///
    /// # Safety
    ///
    /// `raw` must come from [`Completion::into_raw`] and be reclaimed only once.
    pub(crate) unsafe fn from_raw(raw: *mut c_void) -> Self {
        // SAFETY: the caller guarantees this.
        Self(unsafe { Arc::from_raw(raw.cast_const().cast()) })
    }

    fn lock(&self) -> MutexGuard<'_, CompletionState> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The maximum number of events that a list holds without allocating.
pub(crate) const FEW: usize = 8;

/// The events that a command waits for. The list's creator guarantees that they all belong to the queue's context.
pub(crate) struct WaitList<'a> {
    few: [Option<&'a Event>; FEW],
    /// Any events beyond [`FEW`].
    many: Vec<&'a Event>,
}

impl WaitList<'static> {
    /// An empty list. It is a constant because creating a list for each launch is expensive.
    pub(crate) const NOTHING: &Self = &Self {
        few: [None; FEW],
        many: Vec::new(),
    };
}

impl<'a> WaitList<'a> {
    pub(crate) fn new(events: impl Iterator<Item = &'a Event>) -> Self {
        let (mut few, mut events) = ([None; FEW], events.fuse());
        for (slot, event) in few.iter_mut().zip(events.by_ref()) {
            *slot = Some(event);
        }
        let many = events.collect();
        Self { few, many }
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.few[0].is_none()
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &'a Event> {
        self.few.iter().flatten().chain(&self.many).copied()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Wake;

    use super::*;
    use crate::backend::Failure;

    struct Bell(mpsc::Sender<()>);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    #[test]
    fn only_last_waker_is_woken() {
        let (first, unheard) = mpsc::channel();
        let (second, heard) = mpsc::channel();
        let completion = Completion::new(Waker::from(Arc::new(Bell(first))));
        let waker = Waker::from(Arc::new(Bell(second)));
        assert!(completion.poll(&waker).is_pending() && wakers::ensure_started());
        let failure = Failure::opencl("clEnqueueNDRangeKernel", -5);
        completion.clone().end(Err(failure));
        assert!(heard.recv().is_ok());
        assert!(unheard.try_recv().is_err());
        assert_eq!(completion.poll(&waker), Poll::Ready(Err(failure)));
        assert!(heard.try_recv().is_err());
    }
}
