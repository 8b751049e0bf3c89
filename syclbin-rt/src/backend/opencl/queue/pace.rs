// SPDX-License-Identifier: MIT OR Apache-2.0
//! How far a queue may fall behind: a driver takes commands without end, and each costs it memory.
//!
//! Intel's CPU driver (2026.2) also returns from a wait for an event only when the whole queue is empty, so a thread that
//! launches without end would stop every other thread that waits.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::backend::failure::Failure;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::queue::handle::Handle;
use crate::backend::process::gate::Passage;

/// After this many commands without a wait, the thread that adds one waits. Without a bound, eight threads that
/// launched filled 13 GB with the commands of Intel's CPU driver (2026.2) in a few minutes.
const COMMANDS: usize = 1024;

/// Counts the commands of a queue, and has threads wait that add more than the device can do.
pub(in crate::backend::opencl) struct Pace {
    /// Commands since the last mark or wait. Threads that count at the same time may lose some: the bound need
    /// not be exact, and an exact count would cost every launch a locked instruction.
    queued: AtomicUsize,
    /// Whether to wait until the queue is empty, and not only until half of it is done.
    ///
    /// A thread that waits for an event of Intel's CPU driver (2026.2) works along, and comes back when the
    /// queue is empty, not when its command has ended. While another thread launches, that may be never.
    empties: bool,
    /// The end of what was in the queue at the last mark.
    mark: Mutex<Option<Event>>,
}

impl Pace {
    pub(in crate::backend::opencl) fn new(empties: bool) -> Self {
        Self {
            queued: AtomicUsize::new(0),
            empties,
            mark: Mutex::new(None),
        }
    }

    /// Counts a command that was enqueued in `queue`, and waits if there are too many.
    #[inline]
    pub(in crate::backend::opencl) fn count(&self, queue: &Handle, commands: usize) {
        let queued = self.queued.load(Ordering::Relaxed) + commands;
        self.queued.store(queued, Ordering::Relaxed);
        if queued >= COMMANDS {
            // The command is in the queue whatever happens here, so a failure is not an error of it.
            let _ = self.wait(queue);
        }
    }

    /// Records that a thread has waited for all commands in the queue.
    pub(in crate::backend::opencl) fn waited(&self) {
        self.queued.store(0, Ordering::Relaxed);
    }

    #[cold]
    fn wait(&self, queue: &Handle) -> Result<(), Failure> {
        let _passage = Passage::new();
        // Kept while this waits: others that launch come here too and add nothing, so the queue does get empty.
        let mut last = self.mark.lock().unwrap_or_else(PoisonError::into_inner);
        if self.queued.load(Ordering::Relaxed) < COMMANDS {
            return Ok(()); // another thread has waited
        }
        let mark = queue.mark()?;
        let waited_for = if self.empties {
            Some(mark)
        } else {
            last.replace(mark)
        };
        let ended = waited_for.map_or(Ok(()), |mark| mark.end().map(drop));
        self.waited();
        ended
    }
}
