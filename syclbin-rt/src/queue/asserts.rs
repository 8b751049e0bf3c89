// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asserts in kernels. A kernel records the first failed assert in a program variable, which the host reads each time
//! it waits for the queue.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use syclbin::__private::failed_assert::{FailedAssert, SIZE};

use crate::backend::{Failure, HostSlice, Program};
use crate::error::{Error, Result};
use crate::queue::Queue;

/// The programs of a queue whose kernels contain asserts.
#[derive(Default)]
pub(super) struct Asserts {
    /// Whether `programs` is not empty. Queues without asserts check only this flag and need no lock.
    exist: AtomicBool,
    programs: Mutex<Vec<Arc<Asserting>>>,
}

/// A program whose kernels contain asserts.
pub(crate) struct Asserting {
    program: Program,
    /// The name of the variable that contains the record.
    symbol: CString,
    /// Whether a kernel was launched since the record was last read.
    launched: AtomicBool,
}

impl Asserting {
    /// Makes the next wait read the record. Call it after each launch.
    pub(crate) fn note_launch(&self) {
        self.launched.store(true, Ordering::Release);
    }
}

impl Queue {
    /// Registers a program that records failed asserts in the variable `symbol`.
    pub(crate) fn watch_asserts(&self, program: &Program, symbol: CString) {
        if self.asserts_of(program).is_some() {
            return;
        }
        let asserts = &self.0.asserts;
        let programs = asserts.programs.lock();
        let mut programs = programs.unwrap_or_else(PoisonError::into_inner);
        programs.push(Arc::new(Asserting {
            program: program.clone(),
            symbol,
            launched: AtomicBool::new(false),
        }));
        asserts.exist.store(true, Ordering::Release);
    }

    /// Returns the launch tracker of a program, if its kernels contain asserts.
    pub(crate) fn asserts_of(&self, program: &Program) -> Option<Arc<Asserting>> {
        let asserts = &self.0.asserts;
        if !asserts.exist.load(Ordering::Acquire) {
            return None;
        }
        let programs = asserts.programs.lock();
        let programs = programs.unwrap_or_else(PoisonError::into_inner);
        let known = programs
            .iter()
            .find(|known| Arc::ptr_eq(&known.program, program));
        known.cloned()
    }

    /// Waits for the launched kernels that contain asserts. Returns the first failed assert as an error, once.
    ///
    /// Drops programs that nothing else uses, because their kernels have finished.
    pub(crate) fn check_asserts(&self) -> Result<()> {
        let asserts = &self.0.asserts;
        if !asserts.exist.load(Ordering::Acquire) {
            return Ok(());
        }
        let programs = asserts.programs.lock();
        let mut programs = programs.unwrap_or_else(PoisonError::into_inner);
        let mut first = Ok(None);
        programs.retain(|asserting| {
            // The next call reports the other failures.
            if !matches!(first, Ok(None)) {
                return true;
            }
            let is_used = Arc::strong_count(&asserting.program) > 1;
            if asserting.launched.swap(false, Ordering::AcqRel) {
                first = self.take_failed_assert(asserting);
            }
            is_used
        });
        let exist = !programs.is_empty();
        asserts.exist.store(exist, Ordering::Release);
        match first.map_err(self.device().failed("reading failed asserts"))? {
            None => Ok(()),
            Some(failed) => Err(Error::assert(failed, self.device())),
        }
    }

    /// Reads a program's record after all earlier commands, and clears it for the next failure.
    fn take_failed_assert(&self, asserting: &Asserting) -> Result<Option<FailedAssert>, Failure> {
        let Asserting {
            program, symbol, ..
        } = asserting;
        let mut bytes = [0; SIZE];
        self.raw()
            .transfer_variable(program, symbol, 0, HostSlice::To(&mut bytes))?;
        let failed = FailedAssert::read(&bytes);
        if failed.is_some() {
            self.raw()
                .transfer_variable(program, symbol, 0, HostSlice::From(&[0; SIZE]))?;
        }
        Ok(failed)
    }
}
