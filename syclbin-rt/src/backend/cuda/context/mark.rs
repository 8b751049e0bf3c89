// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marks: events of CUDA, recorded in a stream, and taken from a pool.
//!
//! A launch creates no event of the driver: an [`Event`](crate::backend::cuda::queue::event::Event) is the number of a
//! command. A mark is recorded when a thread waits, polls or makes another queue wait, and stands for all commands that
//! are in the queue by then. Queues with profiling record the times of each command at once.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::cuda::context::Context;
use crate::backend::cuda::errors::{NOT_READY, SUCCESS};
use crate::backend::cuda::sys::{CUevent, CUevent_flags as Flags, CUstream, Functions};
use crate::backend::failure::Failure;

/// The time that a thread polls before it sleeps until the driver wakes it.
const SPIN: Duration = Duration::from_micros(50);

/// The unused events of a context.
#[derive(Default)]
pub(in crate::backend::cuda) struct Pool {
    plain: Mutex<Vec<Free>>,
    timed: Mutex<Vec<Free>>,
}

struct Free(CUevent);

// SAFETY: events may be used from every thread; the handle is owned.
unsafe impl Send for Free {}

/// An owned event of CUDA that was recorded, and goes back to the pool.
pub(in crate::backend::cuda) struct Mark {
    context: Arc<Context>,
    handle: CUevent,
    timed: bool,
}

// SAFETY: all functions of the driver are safe to call from several threads, and events are of a
// context, not of a thread.
unsafe impl Send for Mark {}
// SAFETY: as for Send.
unsafe impl Sync for Mark {}

impl Mark {
    /// Returns its handle.
    pub(in crate::backend::cuda) fn handle(&self) -> CUevent {
        self.handle
    }

    /// Stands for the end of what is in `stream`; notes the time if `timed`.
    ///
    /// # Safety
    ///
    /// The stream is a live one of the context.
    pub(in crate::backend::cuda) unsafe fn record(
        context: &Arc<Context>,
        stream: CUstream,
        timed: bool,
    ) -> Result<Self, Failure> {
        let functions = context.enter()?;
        let mark = Self {
            context: Arc::clone(context),
            handle: Self::take(context, functions, timed)?,
            timed,
        };
        // SAFETY: event and stream are alive and of this context; nothing else has the event.
        let code = unsafe { (functions.cuEventRecord.pass())(mark.handle, stream) };
        context.check("cuEventRecord", code)?;
        Ok(mark)
    }

    fn take(context: &Context, functions: &Functions, timed: bool) -> Result<CUevent, Failure> {
        if let Some(Free(handle)) = context.pool.of(timed).pop() {
            return Ok(handle);
        }
        let mut flags = Flags::CU_EVENT_BLOCKING_SYNC.0;
        if !timed {
            flags |= Flags::CU_EVENT_DISABLE_TIMING.0;
        }
        let mut handle = std::ptr::null_mut();
        // SAFETY: the context is current; one handle is written.
        let code = unsafe { (functions.cuEventCreate.pass())(&raw mut handle, flags) };
        context.check("cuEventCreate", code)?;
        Ok(handle)
    }

    /// Returns whether it has been reached.
    pub(in crate::backend::cuda) fn is_reached(&self) -> Result<bool, Failure> {
        let functions = self.context.enter()?;
        // SAFETY: the event is alive.
        match unsafe { (functions.cuEventQuery.pass())(self.handle) } {
            SUCCESS => Ok(true),
            NOT_READY => Ok(false),
            code => self.context.check("cuEventQuery", code).map(|()| true),
        }
    }

    /// Blocks until it has been reached: for a short while by asking, then asleep.
    pub(in crate::backend::cuda) fn wait(&self) -> Result<(), Failure> {
        let begun = Instant::now();
        while begun.elapsed() < SPIN {
            if self.is_reached()? {
                return Ok(());
            }
            std::hint::spin_loop();
        }
        self.sleep()
    }

    /// Blocks until it has been reached, asleep.
    pub(in crate::backend::cuda) fn sleep(&self) -> Result<(), Failure> {
        let functions = self.context.enter()?;
        // SAFETY: the event is alive.
        let code = unsafe { (functions.cuEventSynchronize.pass())(self.handle) };
        self.context.check("cuEventSynchronize", code)
    }

    /// Makes later commands of `stream` wait until it has been reached.
    ///
    /// # Safety
    ///
    /// The stream is a live one of the same context.
    pub(in crate::backend::cuda) unsafe fn hold_back(
        &self,
        stream: CUstream,
    ) -> Result<(), Failure> {
        let functions = self.context.enter()?;
        // SAFETY: as the caller says. The stream waits for what the event stands for now, also if it
        // is recorded again (CUDA driver API, cuStreamWaitEvent).
        let code = unsafe { (functions.cuStreamWaitEvent.pass())(stream, self.handle, 0) };
        self.context.check("cuStreamWaitEvent", code)
    }

    /// Returns how much later than `earlier` it was reached, in nanoseconds. Both marks must have been reached
    /// and must record times.
    pub(in crate::backend::cuda) fn since(&self, earlier: &Self) -> Result<i64, Failure> {
        let functions = self.context.enter()?;
        let mut milliseconds = 0.0f32;
        // SAFETY: both events are alive and of one context; one number is written.
        let code = unsafe {
            (functions.cuEventElapsedTime.pass())(
                &raw mut milliseconds,
                earlier.handle,
                self.handle,
            )
        };
        self.context.check("cuEventElapsedTime", code)?;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "out of range is the largest, and no span is centuries long"
        )]
        Ok((f64::from(milliseconds) * 1e6).round() as i64)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.context.pool.of(self.timed).push(Free(self.handle));
    }
}

impl Pool {
    fn of(&self, timed: bool) -> std::sync::MutexGuard<'_, Vec<Free>> {
        let events = if timed { &self.timed } else { &self.plain };
        events.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Destroys what is in it.
    pub(in crate::backend::cuda) fn clear(&self, functions: &Functions) {
        for timed in [false, true] {
            for Free(handle) in self.of(timed).drain(..) {
                // SAFETY: the event is owned, and its context is current.
                unsafe { (functions.cuEventDestroy_v2.pass())(handle) };
            }
        }
    }
}
