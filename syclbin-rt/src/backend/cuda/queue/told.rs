// SPDX-License-Identifier: MIT OR Apache-2.0
//! How commands ended, told by one thread to another.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::backend::failure::Failure;
use crate::backend::process::wakers;

/// How a command ended, or whom that wakes: shared by who polls and by the thread that tells.
#[derive(Clone)]
pub(in crate::backend::cuda) struct Told(Arc<Mutex<State>>);

enum State {
    Waiting(Waker),
    Ended(Result<(), Failure>),
}

impl Told {
    pub(in crate::backend::cuda) fn new(waker: Waker) -> Self {
        Self(Arc::new(Mutex::new(State::Waiting(waker))))
    }

    /// How it ended; if it has not, `waker` is woken then, and no other.
    pub(in crate::backend::cuda) fn poll(&self, waker: &Waker) -> Poll<Result<(), Failure>> {
        // Cloned and dropped outside of the lock: both run code of the executor.
        let waker = waker.clone();
        let mut state = self.lock();
        match *state {
            State::Waiting(ref mut known) => {
                let before = std::mem::replace(known, waker);
                drop(state);
                drop(before);
                Poll::Pending
            }
            State::Ended(ended) => {
                drop(state);
                Poll::Ready(ended)
            }
        }
    }

    /// Tells how the command ended, and wakes who waits for it.
    pub(in crate::backend::cuda) fn tell(self, ended: Result<(), Failure>) {
        let before = std::mem::replace(&mut *self.lock(), State::Ended(ended));
        if let State::Waiting(waker) = before {
            wakers::wake(waker);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;
    use std::task::Wake;

    use super::*;

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
        let told = Told::new(Waker::from(Arc::new(Bell(first))));
        let waker = Waker::from(Arc::new(Bell(second)));
        assert!(told.poll(&waker).is_pending() && wakers::are_there());
        let failure = Failure::cuda("cuEventSynchronize", 700);
        told.clone().tell(Err(failure));
        assert!(heard.recv().is_ok());
        assert!(unheard.try_recv().is_err());
        assert_eq!(told.poll(&waker), Poll::Ready(Err(failure)));
        assert!(heard.try_recv().is_err());
    }
}
