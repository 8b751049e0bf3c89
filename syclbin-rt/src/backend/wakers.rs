// SPDX-License-Identifier: MIT OR Apache-2.0
//! Threads that wake async tasks.
//!
//! Waking runs executor code, which may launch kernels, wait for a queue, or block. A driver callback must not do that,
//! so it sends wakers to these threads. Before a thread calls a waker, it makes sure that another thread can receive
//! the next one.

use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Mutex, OnceLock, PoisonError};
use std::task::Waker;

use crate::backend::{Completion, Result};

/// Starts the first thread if necessary, and returns whether one is running. If not, polls must block until the command
/// ends.
pub(crate) fn ensure_started() -> bool {
    threads().is_some()
}

/// Sends `waker` to a thread that calls it. Requires that [`ensure_started`] returned `true`.
pub(crate) fn wake(waker: Waker) {
    let _ = threads().map(|threads| threads.send(waker));
}

/// The number of threads that wait for a waker or are about to.
static IDLE: AtomicUsize = AtomicUsize::new(0);
/// The maximum number of idle threads to keep. Further threads start only while wakers block.
const KEPT: usize = 2;

fn threads() -> Option<&'static Sender<Waker>> {
    static THREADS: OnceLock<Option<Sender<Waker>>> = OnceLock::new();
    let threads = THREADS.get_or_init(|| {
        let (sender, receiver) = mpsc::channel();
        // At least one thread uses the receiver until the process ends, so leak it.
        let receiver: &'static Mutex<Receiver<Waker>> = Box::leak(Box::new(Mutex::new(receiver)));
        start(move || call_wakers(receiver)).then_some(sender)
    });
    threads.as_ref()
}

fn call_wakers(receiver: &'static Mutex<Receiver<Waker>>) {
    IDLE.fetch_add(1, Ordering::Relaxed);
    loop {
        let waiting = receiver.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(waker) = waiting.recv() else { return };
        drop(waiting);
        if IDLE.fetch_sub(1, Ordering::Relaxed) == 1 {
            // If no thread can be started, the next waker waits for this one.
            start(move || call_wakers(receiver));
        }
        let woken = std::panic::catch_unwind(AssertUnwindSafe(|| waker.wake()));
        // Dropping the panic payload may panic, too, so leak it.
        let _ = woken.map_err(std::mem::forget);
        let joined = |idle| (idle < KEPT).then_some(idle + 1);
        if IDLE
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, joined)
            .is_err()
        {
            return;
        }
    }
}

fn start(work: impl FnOnce() + Send + 'static) -> bool {
    let thread = std::thread::Builder::new().name("syclbin-wakers".to_owned());
    thread.spawn(work).is_ok()
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
            let (sender, events) = mpsc::channel::<(E, Completion)>();
            let work = move || {
                for (event, completion) in events {
                    completion.end(wait(&event));
                }
            };
            *thread = start(work).then_some(sender);
        }
        let thread = thread.as_ref();
        thread.is_some_and(|thread| thread.send((event, completion)).is_ok())
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::task::Wake;
    use std::time::Duration;

    use super::*;

    /// Blocks until the test releases it.
    struct Blocking(Mutex<Receiver<()>>);

    impl Wake for Blocking {
        fn wake(self: Arc<Self>) {
            let _ = self.0.lock().unwrap().recv();
        }
    }

    struct Bell(Sender<()>);

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
    fn waiter_reports_when_its_event_ends() {
        let (sender, receiver) = mpsc::channel();
        let completion = Completion::new(Waker::from(Arc::new(Bell(sender))));
        let waiter = Waiter::new();
        assert!(ensure_started() && waiter.notify((), completion, |()| Ok(())));
        assert!(receiver.recv_timeout(Duration::from_secs(30)).is_ok());
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn burst_of_wakers_leaves_two_idle_threads() {
        const TEST: &str = "burst_of_wakers_leaves_two_idle_threads";
        // It needs its own process: other tests wake tasks too.
        if crate::backend::gate::runs_in_child(module_path!(), TEST) {
            return;
        }
        assert!(ensure_started());
        let mut release = Vec::new();
        for _ in 0..4 {
            let (sender, receiver) = mpsc::channel();
            wake(Waker::from(Arc::new(Blocking(Mutex::new(receiver)))));
            release.push(sender);
        }
        let count = || {
            let threads = std::fs::read_dir("/proc/self/task").unwrap();
            let names = threads.map(|task| std::fs::read_to_string(task?.path().join("comm")));
            // A thread may end while it is asked for its name.
            let names = names.filter_map(std::io::Result::ok);
            names.filter(|name| name.trim() == "syclbin-wakers").count()
        };
        let begun = std::time::Instant::now();
        let wait_for = |threads: usize, idle: usize| {
            while (count(), IDLE.load(Ordering::Relaxed)) != (threads, idle) {
                let waits = begun.elapsed() < Duration::from_secs(10);
                assert!(waits, "{} threads instead of {threads}", count());
                std::thread::yield_now();
            }
        };
        // Each waker blocks a thread, and one more can receive the next waker.
        wait_for(5, 1);
        drop(release);
        wait_for(2, 2);
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
