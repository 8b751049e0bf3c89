// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events: when a stream came to a point.

use std::collections::BTreeSet;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Instant;

use super::capture::Capture;
use crate::call::{Code, Outcome};

/// An event.
pub(crate) struct Event {
    pub(crate) context: u64,
    pub(crate) timing: bool,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    /// How many times it was recorded, and which of those have not happened yet. Records in several
    /// streams happen in any order, and who waits for one of them does not notice the others.
    expected: u64,
    pending: BTreeSet<u64>,
    when: Option<Instant>,
    /// Where in a capture it was recorded.
    capture: Option<Capture>,
}

impl Event {
    pub(crate) fn new(context: u64, timing: bool) -> Self {
        Self {
            context,
            timing,
            state: Mutex::default(),
            changed: Condvar::new(),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One more record, by its number.
    pub(crate) fn expect(&self) -> u64 {
        let mut state = self.state();
        state.capture = None;
        state.expected += 1;
        let number = state.expected;
        state.pending.insert(number);
        number
    }

    /// The last record; 0 if there is none.
    pub(crate) fn expected(&self) -> u64 {
        self.state().expected
    }

    pub(crate) fn happened(&self, number: u64) {
        let mut state = self.state();
        state.pending.remove(&number);
        state.when = Some(Instant::now());
        drop(state);
        self.changed.notify_all();
    }

    pub(crate) fn wait_for(&self, number: u64) {
        let mut state = self.state();
        while state.pending.contains(&number) {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// An error as long as the last record has not happened.
    pub(crate) fn query(&self) -> Outcome<()> {
        let state = self.state();
        if let Some(capture) = &state.capture {
            return Err(capture.refuse(Code::CUDA_ERROR_CAPTURED_EVENT));
        }
        if state.pending.contains(&state.expected) {
            return Err(Code::CUDA_ERROR_NOT_READY);
        }
        Ok(())
    }

    /// When it happened last.
    pub(crate) fn when(&self) -> Outcome<Instant> {
        self.query()?;
        let state = self.state();
        if !self.timing {
            return Err(Code::CUDA_ERROR_INVALID_HANDLE);
        }
        state.when.ok_or(Code::CUDA_ERROR_INVALID_HANDLE)
    }

    pub(crate) fn captured(&self, capture: &Capture) {
        self.state().capture = Some(capture.follow());
    }

    pub(crate) fn capture(&self) -> Option<Capture> {
        self.state().capture.as_ref().map(Capture::follow)
    }
}
