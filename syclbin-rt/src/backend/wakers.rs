// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wake async tasks.
//!
//! Waking runs executor code, which may launch kernels or wait for a queue. A driver callback must not do that, so it
//! sends wakers to one thread of this process.

use std::panic::AssertUnwindSafe;
use std::sync::mpsc::{self, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::Waker;

use crate::backend::{Completion, Result};

/// Starts the thread once, and returns whether it runs. If not, polls must block until the command ends.
pub(crate) fn ensure_started() -> bool {
    thread().is_some()
}

/// Lets the thread call `waker`. Requires that [`ensure_started`] returned `true`.
pub(crate) fn wake(waker: Waker) {
    let _ = thread().map(|thread| thread.send(waker));
}

fn thread() -> Option<&'static Sender<Waker>> {
    static THREAD: OnceLock<Option<Sender<Waker>>> = OnceLock::new();
    let thread = THREAD.get_or_init(|| {
        start(|waker: Waker| {
            let woken = std::panic::catch_unwind(AssertUnwindSafe(|| waker.wake()));
            // Dropping the panic payload may panic, too, so leak it.
            let _ = woken.map_err(std::mem::forget);
        })
    });
    thread.as_ref()
}

/// Starts a thread that handles each value sent to it, until the sender is dropped.
fn start<T: Send + 'static>(handle: impl Fn(T) + Send + 'static) -> Option<Sender<T>> {
    let (sender, receiver) = mpsc::channel();
    let thread = std::thread::Builder::new().name("syclbin-wakers".to_owned());
    let work = move || receiver.into_iter().for_each(handle);
    thread.spawn(work).ok().map(|_| sender)
}

/// A thread that waits for the events of one queue on behalf of pollers, in the order of their polls. The first poll
/// starts it, and it ends with the queue.
pub(crate) struct Waiter<E>(Mutex<Option<Sender<(E, Completion)>>>);

impl<E: Send + 'static> Waiter<E> {
    pub(crate) fn new() -> Self {
        Self(Mutex::new(None))
    }

    /// Completes `completion` when `wait` returns for `event`. Returns `false` if this requires a new thread and none
    /// can be started.
    pub(crate) fn notify(
        &self,
        event: E,
        completion: Completion,
        wait: fn(&E) -> Result<()>,
    ) -> bool {
        let mut thread = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if thread.is_none() {
            *thread = start(move |(event, completion)| Completion::end(&completion, wait(&event)));
        }
        let sent = thread
            .as_ref()
            .map(|thread| thread.send((event, completion)));
        sent.is_some_and(|sent| sent.is_ok())
    }
}
