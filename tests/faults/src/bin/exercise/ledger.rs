// SPDX-License-Identifier: MIT OR Apache-2.0
//! The ledger: what each step of a program did when a call in it failed, and what was wrong with it.

use std::cell::RefCell;

use faults::{Control, Report};
use opencl_sys::CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
use syclbin_rt::Error;

use crate::absorbed;

/// Runs steps, and holds them to what is promised of failures.
pub(crate) struct Ledger<'c> {
    control: &'c Control,
    /// What is to be in the error: the call and the code.
    expected: Expected,
    before: Report,
    wrong: RefCell<Vec<String>>,
    /// The first step in which a call failed.
    first: RefCell<String>,
}

/// What a failure is to look like.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Expected {
    /// Nothing fails.
    Nothing,
    /// One call fails, and all is well when the step is done again.
    Once { call: &'static str, code: i32 },
    /// From one call on all fail with this code.
    Onward { code: i32 },
}

impl<'c> Ledger<'c> {
    pub(crate) fn new(control: &'c Control, expected: Expected) -> Self {
        Self {
            control,
            expected,
            before: control.report(),
            wrong: RefCell::default(),
            first: RefCell::default(),
        }
    }

    /// Does a step, and does it again if a call in it was failed. None when it cannot be done.
    pub(crate) fn step<T>(
        &self,
        name: &str,
        mut step: impl FnMut() -> Result<T, Error>,
    ) -> Option<T> {
        let before = self.control.report().failed;
        let done = step();
        let failed = self.control.report().failed - before;
        if failed > 0 && self.first.borrow().is_empty() {
            name.clone_into(&mut self.first.borrow_mut());
        }
        match (self.expected, done, failed) {
            (_, Ok(done), 0) => Some(done),
            (_, Err(error), 0) => self.fail(format!("{name}: nothing was failed, but {error}")),
            (Expected::Nothing, _, _) => self.fail(format!("{name}: a call was failed unasked")),
            (Expected::Once { call, .. }, Ok(done), _) => {
                if absorbed::reason(call, name).is_none() {
                    self.fail::<T>(format!("{name}: a failed {call} went unnoticed"));
                }
                Some(done)
            }
            (Expected::Onward { .. }, Ok(done), _) => Some(done),
            (Expected::Once { call, code }, Err(error), _) => {
                let message = error.to_string();
                let has = |code: i32| message.contains(&format!("({code})"));
                // A command that waits for a failed one may report first, with its own name and code.
                let is_behind = call.starts_with("clEnqueue")
                    && has(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST);
                let is_named = is_behind || (message.contains(call) && has(code));
                if !is_named {
                    self.fail::<T>(format!(
                        "{name}: the error names no {call} and ({code}): {message}"
                    ));
                }
                match step() {
                    Ok(done) => Some(done),
                    Err(error) => self.fail(format!("{name}: after a failed {call}, {error}")),
                }
            }
            (Expected::Onward { code }, Err(error), _) => {
                let message = error.to_string();
                if !message.contains("cl") || !message.contains(&format!("({code})")) {
                    self.fail::<T>(format!(
                        "{name}: the error does not name ({code}): {message}"
                    ));
                }
                None
            }
        }
    }

    /// Notes what is wrong.
    pub(crate) fn fail<T>(&self, what: String) -> Option<T> {
        self.wrong.borrow_mut().push(what);
        None
    }

    /// What was wrong, when all that was made is gone again.
    pub(crate) fn close(self) -> (Report, Vec<String>) {
        let report = self.control.report();
        let mut wrong = self.wrong.into_inner();
        let call = match self.expected {
            Expected::Once { call, .. } => call,
            Expected::Nothing | Expected::Onward { .. } => "",
        };
        for (kind, count) in &report.live {
            let before = self.before.live.get(kind).copied().unwrap_or_default();
            let left = count.saturating_sub(before);
            // Nothing waits for a device that is gone, and what may be in use is never freed.
            let is_onward = matches!(self.expected, Expected::Onward { .. });
            let lent = if is_onward {
                absorbed::lent(kind, &self.first.borrow())
            } else {
                0
            };
            if left > absorbed::left(call, kind) + lent && !(is_onward && absorbed::is_kept(kind)) {
                wrong.push(format!("{left} references to objects are left: {kind}"));
            }
        }
        let strange = report.strange - self.before.strange;
        if strange > 0 {
            wrong.push(format!("{strange} releases were of what does not live"));
        }
        (report, wrong)
    }
}
