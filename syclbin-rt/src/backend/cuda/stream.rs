// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, and the progress of their commands.
//!
//! A launch creates no driver event: an [`Event`] just stores a command's number. A mark (a recorded driver event)
//! is created when a thread waits or polls, or makes another queue wait. The mark then covers all commands enqueued
//! so far. Queues with profiling are an exception: they record the times of each command immediately.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::CUevent_flags as Flags;
use super::*;

/// The maximum number of marks that a stream stores. A command whose mark was dropped uses the next later mark.
const MAX_MARKS: usize = 8;

/// A stream, which is destroyed on drop unless it is foreign. For a queue's stream, the context holds a weak reference,
/// to wait for the stream's commands.
pub(crate) struct Stream {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: Raw<CUstream>,
    /// Whether another library created the stream.
    foreign: bool,
    /// The number of commands enqueued so far.
    queued: AtomicU64,
    /// The number of the last command that is known to have ended.
    ended: AtomicU64,
    /// Marks in ascending order, each with the number of the last command that it covers.
    marks: Mutex<Vec<(u64, Arc<Mark>)>>,
    pub(crate) waiter: Waiter<Arc<Mark>>,
}

impl Stream {
    /// Creates an empty stream that does not synchronize with the default stream.
    pub(crate) fn new(context: Arc<Context>, priority: Priority) -> Result<Arc<Self>> {
        let (mut least, mut greatest) = (0, 0);
        let range = (&raw mut least, &raw mut greatest);
        // SAFETY: the context is current; the call writes two values through valid pointers.
        unsafe { call!(context => cuCtxGetStreamPriorityRange(range.0, range.1)) }?;
        let number = match priority {
            Priority::Low => least,
            Priority::Normal => 0,
            Priority::High => greatest,
        };
        let handle = context.stream(number)?;
        Ok(Self::with_handle(context, handle, false))
    }

    /// Wraps a stream of `context`. The stream is destroyed on drop unless it is `foreign`.
    pub(crate) fn with_handle(context: Arc<Context>, handle: CUstream, foreign: bool) -> Arc<Self> {
        Arc::new(Self {
            context,
            handle: Raw(handle),
            foreign,
            queued: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            marks: Mutex::default(),
            waiter: Waiter::new(),
        })
    }

    /// Counts an enqueued command, and returns its number.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        // Release: a thread that reads the number also observes the command in the stream.
        self.queued.fetch_add(1, Ordering::Release) + 1
    }

    pub(crate) fn last(&self) -> u64 {
        self.queued.load(Ordering::Acquire)
    }

    pub(crate) fn has_ended(&self, number: u64) -> bool {
        self.ended.load(Ordering::Acquire) >= number
    }

    pub(crate) fn finish(&self) -> Result<()> {
        // Read before waiting, because the wait may not cover later commands.
        let last = self.last();
        // SAFETY: the stream is alive.
        unsafe { call!(self.context => cuStreamSynchronize(self.handle.0)) }?;
        self.ended.fetch_max(last, Ordering::AcqRel);
        Ok(())
    }

    /// Waits for all commands on the stream, the last of which copies from or to borrowed memory.
    pub(crate) fn settle(&self) -> Result<()> {
        let last = self.last();
        // SAFETY: the stream is alive and belongs to the context.
        unsafe { self.context.settle(self.handle.0) }?;
        self.ended.fetch_max(last, Ordering::AcqRel);
        Ok(())
    }

    /// Returns a mark after command `number`, and the number of the last command that the mark covers, or `None` if
    /// command `number` has ended.
    ///
    /// A newly recorded mark also covers all commands that were enqueued after command `number`.
    pub(crate) fn mark(&self, number: u64) -> Result<Option<(u64, Arc<Mark>)>> {
        if self.has_ended(number) {
            return Ok(None);
        }
        let _guard = CallGuard::new();
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((upto, mark)) = marks.iter().find(|(upto, _)| *upto >= number) {
            return Ok(Some((*upto, Arc::clone(mark))));
        }
        // Read before recording, so that the mark comes after all of these commands.
        let last = self.last();
        // SAFETY: the stream is alive and belongs to this context.
        let mark = Arc::new(unsafe { Mark::record(&self.context, self.handle.0, false) }?);
        if let Some((upto, first)) = marks.first()
            && first.is_reached()?
        {
            self.ended.fetch_max(*upto, Ordering::AcqRel);
        }
        marks.retain(|(upto, _)| !self.has_ended(*upto));
        // Replaces the newest mark, because the oldest is the next to be reached.
        if marks.len() >= MAX_MARKS {
            marks.pop();
        }
        marks.push((last, Arc::clone(&mark)));
        Ok(Some((last, mark)))
    }

    pub(crate) fn is_at(&self, number: u64) -> Result<bool> {
        let Some((upto, mark)) = self.mark(number)? else {
            return Ok(true);
        };
        let reached = mark.is_reached()?;
        if reached {
            self.ended.fetch_max(upto, Ordering::AcqRel);
        }
        Ok(reached)
    }

    /// Makes `other`, a live stream of the same context, wait for all commands on this stream, even those that another
    /// library enqueued, which [`Stream::count`] does not count.
    pub(crate) fn make_wait(&self, other: CUstream) -> Result<()> {
        // SAFETY: both streams are alive and belong to the context.
        unsafe { Mark::record(&self.context, self.handle.0, false)?.make_wait(other) }
    }

    /// Blocks until command `number` has ended.
    pub(crate) fn wait(&self, number: u64) -> Result<()> {
        if self.has_ended(number) {
            return Ok(());
        }
        if self.last() == number {
            // This is the last command, so finishing the stream is equivalent and saves a call.
            return self.finish();
        }
        if let Some((upto, mark)) = self.mark(number)? {
            mark.wait()?;
            self.ended.fetch_max(upto, Ordering::AcqRel);
        }
        Ok(())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.foreign {
            // SAFETY: the stream is owned. If commands are still running, the driver keeps it until they have ended
            // (CUDA driver API, cuStreamDestroy).
            let _ = unsafe { call!(self.context => cuStreamDestroy_v2(self.handle.0)) };
        }
    }
}

/// How long a thread polls before it sleeps until the driver wakes it.
const SPIN: Duration = Duration::from_micros(50);

/// A context's unused driver events, kept for reuse.
#[derive(Default)]
pub(crate) struct Pool {
    plain: Mutex<Vec<Raw<CUevent>>>,
    /// The events that record the time.
    timed: Mutex<Vec<Raw<CUevent>>>,
}

/// A recorded CUDA event, which returns to the pool when dropped.
pub(crate) struct Mark {
    context: Arc<Context>,
    pub(crate) handle: Raw<CUevent>,
    timed: bool,
}

impl Mark {
    /// Records a mark after all commands in `stream`. If `timed`, the mark also records the time.
    ///
    /// # Safety
    ///
    /// The stream must be a live stream of the context.
    pub(crate) unsafe fn record(
        context: &Arc<Context>,
        stream: CUstream,
        timed: bool,
    ) -> Result<Self> {
        let unused = context.pool.of(timed).pop();
        let mut handle = unused.map_or(std::ptr::null_mut(), |Raw(handle)| handle);
        if handle.is_null() {
            let mut flags = Flags::CU_EVENT_BLOCKING_SYNC.0;
            if !timed {
                flags |= Flags::CU_EVENT_DISABLE_TIMING.0;
            }
            // SAFETY: the context is current; the call writes one handle through a valid pointer.
            unsafe { call!(context => cuEventCreate(&raw mut handle, flags)) }?;
        }
        let mark = Self {
            context: Arc::clone(context),
            handle: Raw(handle),
            timed,
        };
        // SAFETY: the event and the stream are alive and belong to this context; nothing else uses the event.
        unsafe { call!(context => cuEventRecord(handle, stream)) }?;
        Ok(mark)
    }

    pub(crate) fn is_reached(&self) -> Result<bool> {
        let functions = self.context.enter()?;
        // SAFETY: the event is alive.
        match unsafe { (functions.cuEventQuery.pass())(self.handle.0) } {
            SUCCESS => Ok(true),
            NOT_READY => Ok(false),
            code => self.context.check("cuEventQuery", code).map(|()| true),
        }
    }

    /// Blocks until the mark is reached: polls for a short while, then sleeps.
    pub(crate) fn wait(&self) -> Result<()> {
        let begun = Instant::now();
        while begun.elapsed() < SPIN && !self.is_reached()? {
            std::hint::spin_loop();
        }
        // Even if the mark is reached: a query does not print what kernels passed to `printf`.
        self.sleep()
    }

    pub(crate) fn sleep(&self) -> Result<()> {
        // SAFETY: the event is alive.
        unsafe { call!(self.context => cuEventSynchronize(self.handle.0)) }
    }

    /// Makes later commands on `stream` wait until the mark is reached.
    ///
    /// # Safety
    ///
    /// The stream must be a live stream of the same context.
    pub(crate) unsafe fn make_wait(&self, stream: CUstream) -> Result<()> {
        // SAFETY: the caller guarantees this. The stream waits for the event as last recorded, even if the event is
        // recorded again later (CUDA driver API, cuStreamWaitEvent).
        unsafe { call!(self.context => cuStreamWaitEvent(stream, self.handle.0, 0)) }
    }

    /// Returns the time from `earlier` to this mark in nanoseconds. Both marks must have been reached and must be
    /// timed.
    pub(crate) fn since(&self, earlier: &Self) -> Result<i64> {
        let mut milliseconds = 0.0f32;
        // SAFETY: both events are alive and belong to the same context; the call writes one value through a valid
        // pointer.
        unsafe {
            let time = &raw mut milliseconds;
            call!(self.context => cuEventElapsedTime(time, earlier.handle.0, self.handle.0))
        }?;
        #[allow(
            clippy::cast_possible_truncation,
            reason = "out-of-range values saturate, and no span is centuries long"
        )]
        Ok((f64::from(milliseconds) * 1e6).round() as i64)
    }
}

impl Drop for Mark {
    fn drop(&mut self) {
        self.context.pool.of(self.timed).push(self.handle);
    }
}

impl Pool {
    fn of(&self, timed: bool) -> std::sync::MutexGuard<'_, Vec<Raw<CUevent>>> {
        let events = if timed { &self.timed } else { &self.plain };
        events.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The maximum age of a base event. The driver returns the time between two events in milliseconds as a 32-bit
/// float, which is imprecise for long spans.
const FRESH: Duration = Duration::from_secs(1);

/// The time of the first base event in nanoseconds, large enough that earlier times are not negative.
const START: i64 = 1_000_000_000;

/// The clock of a context. Once running, it keeps the context alive.
#[derive(Default)]
pub(crate) struct Clock(Mutex<Option<Running>>);

struct Running {
    /// The host's time when the clock started.
    begun: Instant,
    /// The latest base event.
    base: Arc<Base>,
}

/// The event from which the times of later events are measured.
pub(crate) struct Base {
    mark: Arc<Mark>,
    recorded: Instant,
    /// The previous base event and its time; `None` for the first.
    before: Option<(Arc<Mark>, i64)>,
}

impl Clock {
    /// Returns the base event for the next timed events, and the current time by the host's clock. `context` owns this
    /// clock.
    pub(crate) fn base(&self, context: &Arc<Context>) -> Result<(Arc<Base>, i64)> {
        let record = |before| {
            // On this stream, no kernel delays the event.
            // SAFETY: the stream lives as long as the context.
            let mark = Arc::new(unsafe { Mark::record(context, context.allocating.0, true) }?);
            let recorded = Instant::now();
            Ok(Arc::new(Base {
                mark,
                recorded,
                before,
            }))
        };
        let _guard = CallGuard::new();
        let mut running = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(Running { begun, base }) = &mut *running else {
            let base: Arc<Base> = record(None)?;
            base.mark.sleep()?;
            let (begun, shared) = (Instant::now(), Arc::clone(&base));
            *running = Some(Running { begun, base });
            return Ok((shared, START));
        };
        // A base event has no time until it is reached, and the next base event needs that time.
        if base.recorded.elapsed() > FRESH
            && base.mark.is_reached()?
            && let Ok(time) = base.time()
        {
            *base = record(Some((Arc::clone(&base.mark), time)))?;
        }
        let elapsed = i64::try_from(begun.elapsed().as_nanos()).unwrap_or(i64::MAX);
        Ok((Arc::clone(base), START.saturating_add(elapsed)))
    }
}

impl Base {
    /// Returns the time of the base event, which must have been reached.
    fn time(&self) -> Result<i64> {
        match &self.before {
            Some((before, time)) => Ok(time.saturating_add(self.mark.since(before)?)),
            None => Ok(START),
        }
    }

    /// Returns the time of `mark`, which must have been reached.
    pub(crate) fn time_of(&self, mark: &Mark) -> Result<i64> {
        // The base event was recorded earlier, but on another stream, so it may be reached later.
        self.mark.sleep()?;
        Ok(self.time()?.saturating_add(mark.since(&self.mark)?))
    }
}
