//! Ends of commands: whoever polled is woken.
//!
//! The driver can call back (`cuLaunchHostFunc`), but not after an error, and then a task would sleep
//! for ever. So a thread of ours waits: one for each queue of which somebody polls an event.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use crate::backend::cuda::queue::event::Event;
use crate::backend::failure::Failure;
use crate::backend::wakers;

/// What is told of the end of one command, and whom that wakes. Whoever polls an event keeps one,
/// which begins as the default.
#[derive(Default)]
pub(crate) struct End(Option<Told>);

/// It, for the thread that tells.
#[derive(Clone)]
pub(in crate::backend::cuda) struct Told(Arc<Mutex<State>>);

enum State {
    Waiting(Waker),
    Ended(Result<(), Failure>),
}

impl Event {
    /// Whether the command has finished; if not, `waker` is woken when it has. Of several polls with
    /// one `end` the last waker counts.
    pub(crate) fn poll(&self, end: &mut End, waker: &Waker) -> Poll<Result<(), Failure>> {
        if let Some(told) = &end.0 {
            return told.poll(waker).map(|ended| self.finished(ended));
        }
        let mark = match self.mark() {
            Ok(Some(mark)) => mark,
            Ok(None) => return Poll::Ready(Ok(())),
            Err(failure) => return Poll::Ready(self.finished(Err(failure))),
        };
        match mark.is_reached() {
            Ok(false) => {}
            ended => return Poll::Ready(self.finished(ended.map(drop))),
        }
        let told = Told(Arc::new(Mutex::new(State::Waiting(waker.clone()))));
        if !wakers::are_there() || !self.stream().tell(mark, told.clone()) {
            // No thread can be had, and nobody would wake the task.
            return Poll::Ready(self.wait());
        }
        end.0 = Some(told);
        Poll::Pending
    }
}

impl Told {
    fn poll(&self, waker: &Waker) -> Poll<Result<(), Failure>> {
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
    fn the_last_waker_is_woken_once_with_how_it_ended() {
        let (first, unheard) = mpsc::channel();
        let (second, heard) = mpsc::channel();
        let told = Told(Arc::new(Mutex::new(State::Waiting(Waker::from(Arc::new(
            Bell(first),
        ))))));
        let waker = Waker::from(Arc::new(Bell(second)));
        assert!(told.poll(&waker).is_pending() && wakers::are_there());
        let failure = Failure {
            call: "cuEventSynchronize",
            code: 700,
        };
        told.clone().tell(Err(failure));
        assert!(heard.recv().is_ok());
        assert!(unheard.try_recv().is_err());
        assert_eq!(told.poll(&waker), Poll::Ready(Err(failure)));
        assert!(heard.try_recv().is_err());
    }
}
