// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wake async tasks.
//!
//! Waking runs executor code, which may launch kernels, wait for a queue, or block. A driver callback must not do
//! that, so it sends wakers to these threads. One thread calls the wakers in order. While a waker blocks, a second
//! thread starts another thread for the remaining wakers.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::{Condvar, Mutex, MutexGuard, OnceLock, PoisonError};
use std::task::Waker;
use std::time::Duration;

/// How long a waker may block before another thread takes over.
const LONGEST: Duration = Duration::from_millis(10);

struct Wakers {
    state: Mutex<State>,
    woken: Condvar,
    /// Signals that more wakers are queued than threads are idle.
    busy: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Waker>,
    /// The number of wakers removed from the queue so far.
    taken: u64,
    idle: usize,
}

static WAKERS: Wakers = Wakers {
    state: Mutex::new(State {
        waiting: VecDeque::new(),
        taken: 0,
        idle: 0,
    }),
    woken: Condvar::new(),
    busy: Condvar::new(),
};

/// Starts the waker threads once, and returns whether they run. If not, polls must block until the command ends.
pub(crate) fn ensure_started() -> bool {
    static STARTED: OnceLock<bool> = OnceLock::new();
    *STARTED.get_or_init(|| start(|| WAKERS.wake(true)) && start(|| WAKERS.watch()))
}

/// Queues `waker` for a waker thread. Requires that [`ensure_started`] returned `true`.
pub(crate) fn wake(waker: Waker) {
    let mut state = WAKERS.lock();
    state.waiting.push_back(waker);
    // An idle thread may be about to take an earlier waker.
    if state.waiting.len() > state.idle {
        WAKERS.busy.notify_one();
    }
    drop(state);
    WAKERS.woken.notify_one();
}

fn start(work: impl FnOnce() + Send + 'static) -> bool {
    let thread = std::thread::Builder::new().name("syclbin-wakers".to_owned());
    thread.spawn(work).is_ok()
}

impl Wakers {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls the queued wakers: forever if `endless`, otherwise until the queue is empty.
    fn wake(&self, endless: bool) {
        let mut state = self.lock();
        loop {
            if let Some(waker) = state.waiting.pop_front() {
                state.taken += 1;
                drop(state);
                let woken = std::panic::catch_unwind(AssertUnwindSafe(|| waker.wake()));
                // Dropping the panic payload may panic, too, so leak it.
                let _ = woken.map_err(std::mem::forget);
                state = self.lock();
            } else if endless {
                state.idle += 1;
                state = wait(&self.woken, state);
                state.idle -= 1;
            } else {
                return;
            }
        }
    }

    /// Starts another thread whenever wakers are queued but none has been taken for a while.
    fn watch(&self) {
        let mut state = self.lock();
        loop {
            if state.waiting.is_empty() {
                state = wait(&self.busy, state);
                continue;
            }
            let taken = state.taken;
            drop(state);
            std::thread::sleep(LONGEST);
            state = self.lock();
            if state.taken == taken && !state.waiting.is_empty() {
                // On failure, the next iteration retries.
                let _ = start(|| WAKERS.wake(false));
            }
        }
    }
}

fn wait<'s>(condition: &Condvar, state: MutexGuard<'s, State>) -> MutexGuard<'s, State> {
    condition
        .wait(state)
        .unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, mpsc};
    use std::task::Wake;

    use super::*;

    /// Blocks until the test releases it, then reports that it was woken.
    struct Blocking(Mutex<mpsc::Receiver<()>>);

    impl Wake for Blocking {
        fn wake(self: Arc<Self>) {
            let _ = self.0.lock().unwrap().recv();
        }
    }

    struct Bell(mpsc::Sender<()>);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    struct Panics;

    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            std::panic::panic_any("a waker that panics");
        }
    }

    #[test]
    fn blocked_wakers_do_not_stop_others() {
        assert!(ensure_started());
        let mut release = Vec::new();
        for _ in 0..3 {
            let (sender, receiver) = mpsc::channel();
            wake(Waker::from(Arc::new(Blocking(Mutex::new(receiver)))));
            release.push(sender);
        }
        wake(Waker::from(Arc::new(Panics)));
        let (sender, receiver) = mpsc::channel();
        wake(Waker::from(Arc::new(Bell(sender))));
        assert!(receiver.recv_timeout(Duration::from_secs(30)).is_ok());
        drop(release);
    }
}
