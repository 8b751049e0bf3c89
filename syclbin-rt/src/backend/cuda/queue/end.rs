// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends of commands: tasks that polled are woken.
//!
//! The driver can call back (`cuLaunchHostFunc`), but not after an error, and then a task would sleep
//! for ever. So a thread of ours waits: one for each queue of which somebody polls an event.

use std::task::{Poll, Waker};

use crate::backend::cuda::queue::event::Event;
use crate::backend::cuda::queue::told::Told;
use crate::backend::failure::Failure;
use crate::backend::process::wakers;

/// The state of a command's end: the report, and the task to wake. Each poller of an event stores such a state,
/// which begins as the default.
#[derive(Default)]
pub(crate) struct End(Option<Told>);

impl Event {
    /// Returns whether the command has finished. If it has not, `waker` is woken when it has. After several
    /// polls with one `end`, only the last waker counts.
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
        let told = Told::new(waker.clone());
        if !wakers::are_there() || !self.stream().tell(mark, told.clone()) {
            // No thread can be started, so the task would not be woken.
            return Poll::Ready(self.wait());
        }
        end.0 = Some(told);
        Poll::Pending
    }
}
