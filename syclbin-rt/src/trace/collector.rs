// SPDX-License-Identifier: MIT OR Apache-2.0
//! The collector, which stores recorded slices and the commands whose times the device has not reported yet.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{LazyLock, Mutex, MutexGuard, TryLockError};
use std::time::{Duration, Instant};

use crate::backend::{self, CallGuard};
use crate::device::Device;
use crate::trace::Class;
use crate::trace::statistics::Statistics;

/// The maximum number of stored slices, shared by all active traces. More would use over 100 MB of memory. The
/// statistics include every slice.
const MOST: usize = 1 << 20;
/// The devices are queried for times whenever the number of pending commands reaches a multiple of this number.
const AT_ONCE: usize = 256;
/// How long a thread waits for the collector's lock. Only a hanging driver call holds the lock longer.
const LONGEST: Duration = Duration::from_secs(5);

static COLLECTOR: LazyLock<Mutex<Collector>> = LazyLock::new(Mutex::default);

#[derive(Default)]
pub(super) struct Collector {
    /// The number of active traces. Slices are stored only while a trace is active.
    pub(super) traces: usize,
    /// Whether to print the table when the process exits.
    pub(super) prints: bool,
    /// Commands whose times the device has not reported yet.
    pub(super) pending: Vec<(Slice, backend::Event)>,
    pub(super) slices: Vec<Slice>,
    /// The number of slices dropped because of the limit.
    pub(super) left_out: usize,
    pub(super) devices: Vec<Clock>,
    pub(super) statistics: Statistics,
}

/// A device, and the offset of its clock from the host's clock.
pub(super) struct Clock {
    pub(super) device: Device,
    /// The nanoseconds to add to a device time to get the host time. The host reads its clock after a command has been
    /// queued, so of all commands, the one with the smallest difference gives the most accurate offset.
    pub(super) offset: Option<i128>,
}

/// A recorded command or call.
pub(super) struct Slice {
    pub(super) track: Track,
    pub(super) class: Class,
    pub(super) name: Box<str>,
    pub(super) bytes: usize,
    /// The host time when the command was enqueued or the call began, in nanoseconds.
    pub(super) begun: u64,
    pub(super) state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Track {
    Thread(u32),
    Queue { device: usize, queue: u32 },
}

/// Whether and when a slice ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// Times in nanoseconds on the track's clock.
    Ended {
        started: u64,
        ended: u64,
    },
    Failed,
    /// The command has ended, but its queue recorded no times.
    Untimed,
    Unfinished,
}

impl Collector {
    /// Calls `act` with the collector. Returns `None` if another thread holds the collector for too long.
    pub(super) fn with<R>(act: impl FnOnce(&mut Self) -> R) -> Option<R> {
        // Must precede the lock: once the process is exiting, `CallGuard::new` blocks forever, and the exiting thread
        // may need the lock.
        let _guard = CallGuard::new();
        let mut collector = lock(&COLLECTOR, LONGEST)?;
        Some(act(&mut collector))
    }

    /// Unregisters a trace. If no trace remains, drops the slices, and the pending commands unless the table needs them.
    pub(super) fn end(&mut self) {
        self.traces = self.traces.saturating_sub(1);
        if self.traces == 0 {
            self.slices = Vec::new();
            self.left_out = 0;
            if !self.prints {
                self.pending = Vec::new();
            }
        }
    }

    /// Records a command that was enqueued.
    pub(super) fn command(&mut self, slice: Slice, event: &backend::Event) {
        // Without an owned event, the times cannot be queried, so the command is not recorded.
        let Ok(event) = event.shared() else { return };
        self.pending.push((slice, event));
        if self.pending.len().is_multiple_of(AT_ONCE) {
            self.harvest();
        }
    }

    /// Records the pending commands that have ended, with their times.
    pub(super) fn harvest(&mut self) {
        for (mut slice, event) in std::mem::take(&mut self.pending) {
            slice.state = match event.is_complete() {
                Ok(false) => {
                    self.pending.push((slice, event));
                    continue;
                }
                Err(_) => State::Failed,
                Ok(true) => self.times(&slice, &event),
            };
            self.keep(slice);
        }
    }

    fn times(&mut self, slice: &Slice, event: &backend::Event) -> State {
        let Ok(times) = event.profile() else {
            return State::Untimed;
        };
        if let Track::Queue { device, .. } = slice.track {
            let offset = i128::from(slice.begun) - times.queued.as_nanos().cast_signed();
            let known = &mut self.devices[device].offset;
            *known = Some(known.map_or(offset, |known| known.min(offset)));
        }
        let nanoseconds = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        State::Ended {
            started: nanoseconds(times.started),
            ended: nanoseconds(times.ended),
        }
    }

    /// Records a slice that has ended.
    pub(super) fn keep(&mut self, slice: Slice) {
        self.statistics.add(&slice);
        if self.traces == 0 {
            return;
        }
        if self.slices.len() < MOST {
            self.slices.push(slice);
        } else {
            self.left_out += 1;
        }
    }

    /// Returns the index of `device`, adding it if necessary.
    pub(super) fn device(&mut self, device: &Device) -> usize {
        let mut clocks = self.devices.iter();
        let known = clocks.position(|clock| clock.device == *device);
        known.unwrap_or_else(|| {
            let (device, offset) = (device.clone(), None);
            self.devices.push(Clock { device, offset });
            self.devices.len() - 1
        })
    }
}

/// Locks with a timeout: an exiting thread must not wait for a thread that hangs in a driver.
pub(super) fn lock<T>(mutex: &Mutex<T>, longest: Duration) -> Option<MutexGuard<'_, T>> {
    let begun = Instant::now();
    loop {
        match mutex.try_lock() {
            Ok(locked) => return Some(locked),
            Err(TryLockError::Poisoned(poisoned)) => return Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) if begun.elapsed() > longest => return None,
            Err(TryLockError::WouldBlock) => std::thread::yield_now(),
        }
    }
}

/// Returns this thread's number, or 0 while the thread is exiting.
pub(super) fn thread_number() -> u32 {
    static NEXT: AtomicU32 = AtomicU32::new(1);
    thread_local! {
        static NUMBER: Cell<u32> = const { Cell::new(0) };
    }
    let number = NUMBER.try_with(|number| {
        if number.get() == 0 {
            number.set(NEXT.fetch_add(1, Ordering::Relaxed));
        }
        number.get()
    });
    number.unwrap_or_default()
}
