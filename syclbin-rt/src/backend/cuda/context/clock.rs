// SPDX-License-Identifier: MIT OR Apache-2.0
//! The clock of a device: times that count from when the first queue with profiling was made.

use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use crate::backend::cuda::context::Context;
use crate::backend::cuda::context::mark::Mark;
use crate::backend::cuda::sys::CUstream;
use crate::backend::failure::Failure;
use crate::backend::process::gate::Passage;

/// The driver returns the time between two events in milliseconds, with 24 bits of precision. For a precision
/// of nanoseconds, an event is compared with a slightly older event.
const FRESH: Duration = Duration::from_secs(1);

/// Where times begin, in nanoseconds: something that came before is not to be negative.
const START: i64 = 1_000_000_000;

/// The clock of a context. It keeps the context, once it runs.
#[derive(Default)]
pub(in crate::backend::cuda) struct Clock(Mutex<Option<Running>>);

struct Running {
    /// When it began, on the clock of the host.
    begun: Instant,
    base: Arc<Base>,
}

/// An event that others are compared with.
pub(in crate::backend::cuda) struct Base {
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
    pub(in crate::backend::cuda) unsafe fn base(
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
    pub(in crate::backend::cuda) fn time_of(&self, mark: &Mark) -> Result<i64, Failure> {
        // Recorded before it in another stream, it may still be to come.
        self.mark.sleep()?;
        Ok(self.time()?.saturating_add(mark.since(&self.mark)?))
    }
}
