// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, their commands and their progress.
//!
//! A launch creates no event of the driver: an [`Event`] is the number of a
//! command. A mark is recorded when a thread waits, polls or makes another queue wait, and stands for all commands that
//! are in the queue by then. Queues with profiling record the times of each command at once.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError, mpsc};
use std::time::{Duration, Instant};

use super::CUevent_flags as Flags;
use super::*;

/// The number of stored marks of a stream. For a command whose mark was dropped, the next later mark counts.
const MAX_MARKS: usize = 8;

/// A mark, and the poller to notify when it is reached.
type Waiting = (Arc<Mark>, Completion);

/// An owned stream: the context knows it too, to wait for it.
///
/// Its commands are counted, and an event is the number of a command. A mark is only recorded for a query
/// whether a command has ended. So a launch costs the host nothing beside the launch.
pub(crate) struct Stream {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: CUstream,
    /// Whether another library made it.
    foreign: bool,
    /// The number of commands that were enqueued.
    queued: AtomicU64,
    /// The highest number of a command that is known to have ended.
    ended: AtomicU64,
    /// Marks, and up to which number they stand for all commands; in ascending order.
    marks: Mutex<Vec<(u64, Arc<Mark>)>>,
    /// The thread that waits for those who poll, once there are some.
    waiter: Mutex<Option<mpsc::Sender<Waiting>>>,
}

// SAFETY: streams are of a context, not of a thread, and all functions of the driver are safe to call
// from several threads.
unsafe impl Send for Stream {}
// SAFETY: as for Send.
unsafe impl Sync for Stream {}

impl Stream {
    /// Creates an empty stream, which does not wait for the default stream.
    pub(crate) fn new(context: Arc<Context>) -> Result<Arc<Self>> {
        let mut handle = std::ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
        // SAFETY: the context is current; one handle is written.
        unsafe { call!(context => cuStreamCreate(&raw mut handle, flags)) }?;
        Ok(Self::with_handle(context, handle, false))
    }

    /// Wraps a stream of `context`, which is destroyed at the end unless it is `foreign`.
    pub(crate) fn with_handle(context: Arc<Context>, handle: CUstream, foreign: bool) -> Arc<Self> {
        let stream = Arc::new(Self {
            context,
            handle,
            foreign,
            queued: AtomicU64::new(0),
            ended: AtomicU64::new(0),
            marks: Mutex::default(),
            waiter: Mutex::default(),
        });
        stream.context.queues.register(&stream);
        stream
    }

    /// Counts an enqueued command, and returns its number.
    #[inline]
    pub(crate) fn count(&self) -> u64 {
        // Release: who sees the number sees that the command is in the stream.
        self.queued.fetch_add(1, Ordering::Release) + 1
    }

    /// Returns the number of the last command.
    fn last(&self) -> u64 {
        self.queued.load(Ordering::Acquire)
    }

    fn ended_up_to(&self, number: u64) {
        self.ended.fetch_max(number, Ordering::AcqRel);
    }

    pub(crate) fn has_ended(&self, number: u64) -> bool {
        self.ended.load(Ordering::Acquire) >= number
    }

    /// Waits for all of its commands.
    pub(crate) fn finish(&self) -> Result<()> {
        // Read before: what comes later may not be waited for.
        let last = self.last();
        // SAFETY: the stream is alive.
        unsafe { call!(self.context => cuStreamSynchronize(self.handle)) }?;
        self.ended_up_to(last);
        Ok(())
    }

    /// Waits for everything in it, the last of which is a copy from or to memory of the host that is
    /// only borrowed.
    pub(crate) fn settle(&self) -> Result<()> {
        let last = self.last();
        // SAFETY: the stream is alive and of the context.
        unsafe { self.context.settle(self.handle) }?;
        self.ended_up_to(last);
        Ok(())
    }

    /// Returns a mark after command `number`, and the last command that it covers; `None` if command `number`
    /// has ended.
    ///
    /// A mark that is recorded only now comes after all commands that were enqueued meanwhile.
    pub(crate) fn mark(&self, number: u64) -> Result<Option<(u64, Arc<Mark>)>> {
        if self.has_ended(number) {
            return Ok(None);
        }
        let _guard = CallGuard::new();
        let mut marks = self.marks.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((upto, mark)) = marks.iter().find(|(upto, _)| *upto >= number) {
            return Ok(Some((*upto, Arc::clone(mark))));
        }
        // Read before it is recorded, so that it comes after all of these.
        let last = self.last();
        // SAFETY: the stream is alive and of this context.
        let mark = Arc::new(unsafe { Mark::record(&self.context, self.handle, false) }?);
        marks.retain(|(upto, _)| !self.has_ended(*upto));
        if marks.len() >= MAX_MARKS {
            marks.remove(0);
        }
        marks.push((last, Arc::clone(&mark)));
        Ok(Some((last, mark)))
    }

    /// Returns whether command `number` has ended.
    pub(crate) fn is_at(&self, number: u64) -> Result<bool> {
        let Some((upto, mark)) = self.mark(number)? else {
            return Ok(true);
        };
        let reached = mark.is_reached()?;
        if reached {
            self.ended_up_to(upto);
        }
        Ok(reached)
    }

    /// Blocks until command `number` has ended.
    pub(crate) fn wait(&self, number: u64) -> Result<()> {
        if self.has_ended(number) {
            return Ok(());
        }
        if self.last() == number {
            // Nothing is behind it, so this is the same and one call less.
            return self.finish();
        }
        if let Some((upto, mark)) = self.mark(number)? {
            mark.wait()?;
            self.ended_up_to(upto);
        }
        Ok(())
    }

    /// Ends `completion` when `mark` of this stream is reached. Returns `false` if no thread can be started for
    /// that.
    pub(crate) fn notify(&self, mark: Arc<Mark>, completion: Completion) -> bool {
        let mut waiter = self.waiter.lock().unwrap_or_else(PoisonError::into_inner);
        if waiter.is_none() {
            let (sender, receiver) = mpsc::channel::<Waiting>();
            let thread = std::thread::Builder::new().name("syclbin-wakers".to_owned());
            // It ends with the stream. The marks of a stream are reached one after the other, so it
            // is enough to wait for one at a time.
            let spawned = thread.spawn(move || {
                for (mark, completion) in receiver {
                    completion.end(mark.sleep());
                }
            });
            *waiter = spawned.is_ok().then_some(sender);
        }
        let sent = waiter
            .as_ref()
            .map(|waiter| waiter.send((mark, completion)));
        sent.is_some_and(|sent| sent.is_ok())
    }
}

impl Drop for Stream {
    fn drop(&mut self) {
        if !self.foreign
            && let Ok(functions) = self.context.enter()
        {
            // SAFETY: the stream is owned. Should something still be in it, the driver keeps it until
            // that has ended (CUDA driver API, cuStreamDestroy).
            unsafe { (functions.cuStreamDestroy_v2.pass())(self.handle) };
        }
    }
}

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
    ) -> Result<Self> {
        let mark = Self {
            context: Arc::clone(context),
            handle: Self::take(context, timed)?,
            timed,
        };
        // SAFETY: event and stream are alive and of this context; nothing else has the event.
        unsafe { call!(context => cuEventRecord(mark.handle, stream)) }?;
        Ok(mark)
    }

    fn take(context: &Context, timed: bool) -> Result<CUevent> {
        if let Some(Free(handle)) = context.pool.of(timed).pop() {
            return Ok(handle);
        }
        let mut flags = Flags::CU_EVENT_BLOCKING_SYNC.0;
        if !timed {
            flags |= Flags::CU_EVENT_DISABLE_TIMING.0;
        }
        let mut handle = std::ptr::null_mut();
        // SAFETY: the context is current; one handle is written.
        unsafe { call!(context => cuEventCreate(&raw mut handle, flags)) }?;
        Ok(handle)
    }

    /// Returns whether it has been reached.
    pub(crate) fn is_reached(&self) -> Result<bool> {
        let functions = self.context.enter()?;
        // SAFETY: the event is alive.
        match unsafe { (functions.cuEventQuery.pass())(self.handle) } {
            SUCCESS => Ok(true),
            NOT_READY => Ok(false),
            code => self.context.check("cuEventQuery", code).map(|()| true),
        }
    }

    /// Blocks until it has been reached: for a short while by asking, then asleep.
    pub(crate) fn wait(&self) -> Result<()> {
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
    pub(crate) fn sleep(&self) -> Result<()> {
        // SAFETY: the event is alive.
        unsafe { call!(self.context => cuEventSynchronize(self.handle)) }
    }

    /// Makes later commands of `stream` wait until it has been reached.
    ///
    /// # Safety
    ///
    /// The stream is a live one of the same context.
    pub(crate) unsafe fn hold_back(&self, stream: CUstream) -> Result<()> {
        // SAFETY: as the caller says. The stream waits for what the event stands for now, also if it
        // is recorded again (CUDA driver API, cuStreamWaitEvent).
        unsafe { call!(self.context => cuStreamWaitEvent(stream, self.handle, 0)) }
    }

    /// Returns how much later than `earlier` it was reached, in nanoseconds. Both marks must have been reached
    /// and must record times.
    pub(crate) fn since(&self, earlier: &Self) -> Result<i64> {
        let mut milliseconds = 0.0f32;
        // SAFETY: both events are alive and of one context; one number is written.
        unsafe {
            let time = &raw mut milliseconds;
            call!(self.context => cuEventElapsedTime(time, earlier.handle, self.handle))
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
    ) -> Result<(Arc<Base>, i64)> {
        let _guard = CallGuard::new();
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
    fn time(&self) -> Result<i64> {
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
    pub(crate) fn time_of(&self, mark: &Mark) -> Result<i64> {
        // Recorded before it in another stream, it may still be to come.
        self.mark.sleep()?;
        Ok(self.time()?.saturating_add(mark.since(&self.mark)?))
    }
}
