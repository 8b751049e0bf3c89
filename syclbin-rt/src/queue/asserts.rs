// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asserts in kernels: a kernel records the first that fails in a variable of its program, and the host reads it when it
//! waits for the queue.

use std::ffi::CString;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use syclbin::__private::failed_assert::{FailedAssert, SIZE};

use crate::backend::dispatch::program::Program;
use crate::backend::failure::Failure;
use crate::error::{Error, ErrorKind, Result};
use crate::queue::Queue;

/// The programs of a queue whose kernels have asserts.
#[derive(Default)]
pub(super) struct Asserts {
    /// Whether there are any, so that others cost nothing.
    exist: AtomicBool,
    /// The programs, each with the name of the variable.
    programs: Mutex<Vec<(Program, CString)>>,
}

impl Queue {
    /// Reports the asserts of a program, which records them in the variable `symbol`.
    pub(crate) fn watch_asserts(&self, program: &Program, symbol: CString) {
        let asserts = &self.0.asserts;
        let programs = asserts.programs.lock();
        let mut programs = programs.unwrap_or_else(PoisonError::into_inner);
        if !programs.iter().any(|(known, _)| known.is(program)) {
            programs.push((program.clone(), symbol));
            asserts.exist.store(true, Ordering::Release);
        }
    }

    /// Waits for the commands of programs with asserts. Returns the first failed assert as an error, once.
    ///
    /// A program that nothing else uses any more is forgotten: its kernels have ended.
    pub(crate) fn check_asserts(&self) -> Result<()> {
        let asserts = &self.0.asserts;
        if !asserts.exist.load(Ordering::Acquire) {
            return Ok(());
        }
        let programs = asserts.programs.lock();
        let mut programs = programs.unwrap_or_else(PoisonError::into_inner);
        let mut first = Ok(None);
        programs.retain(|(program, symbol)| {
            // The others are for the next call.
            if !matches!(first, Ok(None)) {
                return true;
            }
            let is_used = program.is_shared();
            first = self.take_failed_assert(program, symbol);
            is_used
        });
        let exist = !programs.is_empty();
        asserts.exist.store(exist, Ordering::Release);
        match first {
            Ok(None) => Ok(()),
            Err(failure) => Err(Error::driver(
                failure,
                "reading failed asserts",
                self.device(),
            )),
            Ok(Some(failed)) => Err(ErrorKind::Assert {
                condition: failed.condition,
                file: failed.file,
                line: failed.line,
                function: failed.function,
                work_item: failed.work_item,
                device: self.device().to_string(),
            }
            .into()),
        }
    }

    /// Reads the record of a program, after all earlier commands, and clears it for the next failure.
    fn take_failed_assert(
        &self,
        program: &Program,
        symbol: &CString,
    ) -> Result<Option<FailedAssert>, Failure> {
        let mut record = [0; SIZE];
        self.raw().read_variable(program, symbol, 0, &mut record)?;
        let failed = FailedAssert::read(&record);
        if failed.is_some() {
            self.raw().write_variable(program, symbol, &[0; SIZE])?;
        }
        Ok(failed)
    }
}
