// SPDX-License-Identifier: MIT OR Apache-2.0
//! Marks: events of CUDA, recorded in a stream, and taken from a pool.
//!
//! A launch creates no event of the driver: an [`Event`](crate::backend::cuda::event::Event) is the number of a
//! command. A mark is recorded when a thread waits, polls or makes another queue wait, and stands for all commands that
//! are in the queue by then. Queues with profiling record the times of each command at once.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::cuda::context::Context;
use crate::backend::cuda::errors::{NOT_READY, SUCCESS};
use crate::backend::cuda::sys::{CUevent, CUevent_flags as Flags, CUstream, Functions};
use crate::backend::failure::Failure;
use crate::backend::gate::Passage;

/// The time that a thread polls before it sleeps until the driver wakes it.
const SPIN: Duration = Duration::from_micros(50);

/// The unused events of a context.
#[derive(Default)]
pub(crate) struct Pool {
    plain: Mutex<Vec<Free>>,
    timed: Mutex<Vec<Free>>,
}

struct Free(CUevent);

// SAFETY: events may be used from every thread; the handle is owned.
unsafe impl Send for Free {}

/// An owned event of CUDA that was recorded, and goes back to the pool.
pub(crate) struct Mark {
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
    pub(crate) fn handle(&self) -> CUevent {
        self.handle
    }

    /// Stands for the end of what is in `stream`; notes the time if `timed`.
    ///
    /// # Safety
    ///
    /// The stream is a live one of the context.
    pub(crate) unsafe fn record(
        context: &Arc<Context>,
        stream: CUstream,
        timed: bool,
    ) -> Result<Self, Failure> {
        let mark = Self {
            context: Arc::clone(context),
            handle: Self::take(context, timed)?,
            timed,
        };
        // SAFETY: event and stream are alive and of this context; nothing else has the event.
        unsafe { call!(context, cuEventRecord(mark.handle, stream)) }?;
        Ok(mark)
    }

    fn take(context: &Context, timed: bool) -> Result<CUevent, Failure> {
        if let Some(Free(handle)) = context.pool.of(timed).pop() {
            return Ok(handle);
        }
        let mut flags = Flags::CU_EVENT_BLOCKING_SYNC.0;
        if !timed {
            flags |= Flags::CU_EVENT_DISABLE_TIMING.0;
        }
        let mut handle = std::ptr::null_mut();
        // SAFETY: the context is current; one handle is written.
        unsafe { call!(context, cuEventCreate(&raw mut handle, flags)) }?;
        Ok(handle)
    }

    /// Returns whether it has been reached.
    pub(crate) fn is_reached(&self) -> Result<bool, Failure> {
        let functions = self.context.enter()?;
        // SAFETY: the event is alive.
        match unsafe { (functions.cuEventQuery.pass())(self.handle) } {
            SUCCESS => Ok(true),
            NOT_READY => Ok(false),
            code => self.context.check("cuEventQuery", code).map(|()| true),
        }
    }

    /// Blocks until it has been reached: for a short while by asking, then asleep.
    pub(crate) fn wait(&self) -> Result<(), Failure> {
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
    pub(crate) fn sleep(&self) -> Result<(), Failure> {
        // SAFETY: the event is alive.
        unsafe { call!(self.context, cuEventSynchronize(self.handle)) }
    }

    /// Makes later commands of `stream` wait until it has been reached.
    ///
    /// # Safety
    ///
    /// The stream is a live one of the same context.
    pub(crate) unsafe fn hold_back(&self, stream: CUstream) -> Result<(), Failure> {
        // SAFETY: as the caller says. The stream waits for what the event stands for now, also if it
        // is recorded again (CUDA driver API, cuStreamWaitEvent).
        unsafe { call!(self.context, cuStreamWaitEvent(stream, self.handle, 0)) }
    }

    /// Returns how much later than `earlier` it was reached, in nanoseconds. Both marks must have been reached
    /// and must record times.
    pub(crate) fn since(&self, earlier: &Self) -> Result<i64, Failure> {
        let mut milliseconds = 0.0f32;
        // SAFETY: both events are alive and of one context; one number is written.
        unsafe {
            let time = &raw mut milliseconds;
            call!(
                self.context,
                cuEventElapsedTime(time, earlier.handle, self.handle)
            )
        }?;
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
    pub(crate) fn clear(&self, functions: &Functions) {
        for timed in [false, true] {
            for Free(handle) in self.of(timed).drain(..) {
                // SAFETY: the event is owned, and its context is current.
                unsafe { (functions.cuEventDestroy_v2.pass())(handle) };
            }
        }
    }
}

/// The driver returns the time between two events in milliseconds, with 24 bits of precision. For a precision
/// of nanoseconds, an event is compared with a slightly older event.
const FRESH: Duration = Duration::from_secs(1);

/// Where times begin, in nanoseconds: something that came before is not to be negative.
const START: i64 = 1_000_000_000;

/// The clock of a context. It keeps the context, once it runs.
#[derive(Default)]
pub(crate) struct Clock(Mutex<Option<Running>>);

struct Running {
    /// When it began, on the clock of the host.
    begun: Instant,
    base: Arc<Base>,
}

/// An event that others are compared with.
pub(crate) struct Base {
    mark: Arc<Mark>,
    recorded: Instant,
    /// That of an older one, and when that was; none of the first.
    before: Option<(Arc<Mark>, i64)>,
    time: OnceLock<i64>,
}

impl Clock {
    /// What to compare events with that are recorded next, and what time it is on the host.
    ///
    /// # Safety
    ///
    /// The stream is a live one of the context, whose clock this is.
    pub(crate) unsafe fn base(
        &self,
        context: &Arc<Context>,
        stream: CUstream,
    ) -> Result<(Arc<Base>, i64), Failure> {
        let _passage = Passage::new();
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = &mut *running else {
            // SAFETY: as the caller says.
            let mark = unsafe { Mark::record(context, stream, true) }?;
            mark.sleep()?;
            let begun = Instant::now();
            let base = Arc::new(Base {
                mark: Arc::new(mark),
                recorded: begun,
                before: None,
                time: OnceLock::from(START),
            });
            *running = Some(Running {
                begun,
                base: Arc::clone(&base),
            });
            return Ok((base, START));
        };
        // One that has not been reached yet cannot tell the time of the next.
        if known.base.recorded.elapsed() > FRESH
            && known.base.mark.is_reached()?
            && let Ok(time) = known.base.time()
        {
            known.base = Arc::new(Base {
                // SAFETY: as the caller says.
                mark: Arc::new(unsafe { Mark::record(context, stream, true) }?),
                recorded: Instant::now(),
                before: Some((Arc::clone(&known.base.mark), time)),
                time: OnceLock::new(),
            });
        }
        let elapsed = i64::try_from(known.begun.elapsed().as_nanos()).unwrap_or(i64::MAX);
        Ok((Arc::clone(&known.base), START.saturating_add(elapsed)))
    }
}

impl Base {
    /// When it was, if it has been reached.
    fn time(&self) -> Result<i64, Failure> {
        if let Some(time) = self.time.get() {
            return Ok(*time);
        }
        let time = match &self.before {
            Some((before, time)) => time.saturating_add(self.mark.since(before)?),
            None => START,
        };
        Ok(*self.time.get_or_init(|| time))
    }

    /// When `mark` was, which has been reached.
    pub(crate) fn time_of(&self, mark: &Mark) -> Result<i64, Failure> {
        // Recorded before it in another stream, it may still be to come.
        self.mark.sleep()?;
        Ok(self.time()?.saturating_add(mark.since(&self.mark)?))
    }
}
