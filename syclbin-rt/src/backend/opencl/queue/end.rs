// SPDX-License-Identifier: MIT OR Apache-2.0
//! Ends of commands: the driver reports them, and tasks that polled are woken.
//!
//! The driver calls back on a thread of its own, where OpenCL allows hardly a call (OpenCL 3.0,
//! clSetEventCallback) and maybe with locks held. So the callback only hands the waker to a thread of
//! ours ([`wakers`]).

use std::ffi::c_void;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Poll, Waker};

use opencl_sys::CL_COMPLETE;
use opencl3::types::{cl_event, cl_int};

use crate::backend::failure::Failure;
use crate::backend::opencl::check;
use crate::backend::opencl::queue::Queue;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::quirks::pocl;
use crate::backend::process::wakers;

/// The state of a command's end: the driver's report, and the task to wake. Each poller of an event stores such
/// a state, which begins as the default.
#[derive(Default)]
pub(crate) struct End(Option<Told>);

/// The state that a poller shares with those who report the end.
#[derive(Clone)]
pub(in crate::backend::opencl) struct Told(Arc<Mutex<State>>);

enum State {
    Waiting(Waker),
    /// 0, or the error that ended the command.
    Ended(cl_int),
}

impl Event {
    /// Returns whether the command has finished. If it has not, `waker` is woken when it has. After several
    /// polls with one `end`, only the last waker counts. Only flushed commands ever finish.
    pub(crate) fn poll(
        &self,
        queue: &Queue,
        end: &mut End,
        waker: &Waker,
    ) -> Poll<Result<(), Failure>> {
        if let Some(told) = &end.0 {
            // Cloned and dropped outside of the lock, on which the driver may wait: both run code
            // of the executor.
            let waker = waker.clone();
            let mut state = told.lock();
            let status = match *state {
                State::Waiting(ref mut known) => {
                    let before = std::mem::replace(known, waker);
                    drop(state);
                    drop(before);
                    return Poll::Pending;
                }
                State::Ended(status) => status,
            };
            drop(state);
            return Poll::Ready(self.ended(status));
        }
        if self.is_complete()? {
            return Poll::Ready(Ok(()));
        }
        if !wakers::are_there() {
            // No thread can be started, so the task would not be woken.
            return Poll::Ready(self.wait());
        }
        let told = Told(Arc::new(Mutex::new(State::Waiting(waker.clone()))));
        let data = Arc::into_raw(Arc::clone(&told.0));
        // SAFETY: the event is alive. The callback takes over `data`, a reference of its own, and is
        // called once at most.
        let code = unsafe {
            (self.functions.clSetEventCallback.pass())(
                self.handle,
                CL_COMPLETE,
                Some(ended),
                data.cast_mut().cast(),
            )
        };
        if let Err(failure) = check("clSetEventCallback", code) {
            // SAFETY: the driver refused it, so the reference is still ours.
            drop(unsafe { Arc::from_raw(data) });
            return Poll::Ready(Err(failure));
        }
        if queue.misses_failures() && !pocl::watch(self.shared()?, told.clone()) {
            return Poll::Ready(self.wait());
        }
        end.0 = Some(told);
        // It may have finished before the driver knew of the callback.
        if self.is_complete()? {
            Poll::Ready(Ok(()))
        } else {
            Poll::Pending
        }
    }

    /// Returns how a command ended of which a callback got `status`.
    fn ended(&self, status: cl_int) -> Result<(), Failure> {
        // PoCL (7.1) and rusticl (25.0) may also give the status 0 for a command that failed.
        if status == CL_COMPLETE {
            self.is_complete()?;
        }
        self.finished(status)
    }
}

impl Told {
    /// Reports the end, unless it is reported already.
    pub(in crate::backend::opencl) fn end(&self, status: cl_int) {
        let mut state = self.lock();
        if let State::Waiting(_) = *state
            && let State::Waiting(waker) = std::mem::replace(&mut *state, State::Ended(status))
        {
            drop(state);
            wakers::wake(waker);
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// What the driver calls when a command has ended.
///
/// # Safety
///
/// `data` is a reference to a state that was given to the driver with this function, and this is the
/// only call for it.
unsafe extern "C" fn ended(_event: cl_event, status: cl_int, data: *mut c_void) {
    // SAFETY: the caller vouches for it.
    Told(unsafe { Arc::from_raw(data.cast_const().cast::<Mutex<State>>()) }).end(status);
}
