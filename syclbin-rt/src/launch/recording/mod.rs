// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings: launches and copies that are enqueued together, repeatedly.

pub(crate) mod recorder;

use std::fmt;
use std::sync::{Mutex, PoisonError};

use crate::backend::failure::Failure;
use crate::backend::gate::CallGuard;
use crate::backend::slice::OwnedRegion;
use crate::backend::{self, Graph, MemoryUse, WaitList};
use crate::error::{Error, Result};
use crate::launch::bound_kernel::BoundKernel;
use crate::queue::Queue;
use crate::queue::event::Event;
use crate::trace::Class;

/// The action of a replay, for messages.
const REPLAY: &str = "replaying a recording";

/// Launches and copies, checked once, that run one after the other in each replay.
///
/// ```no_run
/// # use syclbin_rt::{Arg, Buffer, Kernel, Launch, Queue, Result};
/// # fn run(queue: &Queue, kernel: &Result<Kernel>) -> Result<()> {
/// # fn step<'a>(kernel: &'a Result<Kernel>, x: &'a mut Buffer<f32>) -> Launch<'a, 1> {
/// #     Launch::new(kernel, &["x"], [Arg::write(x)])
/// # }
/// let mut x = queue.zeroed::<f32>(1024)?;
/// let mut last = queue.zeroed::<f32>(1024)?;
/// let mut recorder = queue.record();
/// // SAFETY: the buffer has 1024 elements, whenever it is replayed.
/// unsafe { step(kernel, &mut x).record(&mut recorder, 1024)? };
/// recorder.copy(&x, &mut last)?;
/// let recording = recorder.finish()?;
/// for _ in 0..1000 {
///     recording.replay()?;
/// }
/// let last = queue.download(&last)?;
/// # Ok(())
/// # }
/// ```
///
/// With CUDA 12 and later, a recording is a CUDA graph, and a replay is one driver call
/// ([`Recording::is_one_call`]). Dropping the recording then waits until its queue is empty. OpenCL drivers
/// enqueue the commands one after the other.
#[must_use = "nothing runs before `replay`"]
pub struct Recording {
    // Dropped first: it waits until nothing runs that uses the steps.
    graph: Option<Box<dyn Graph>>,
    steps: Vec<Step>,
    queue: Queue,
    /// Locked while the steps are enqueued, so that the steps of two replays do not mix.
    replaying: Mutex<()>,
}

/// One command.
enum Step {
    Launch(Box<BoundKernel>),
    Copy {
        from: OwnedRegion,
        to: OwnedRegion,
        _uses: [MemoryUse; 2],
    },
    Fill {
        region: OwnedRegion,
        pattern: Vec<u8>,
        _use: MemoryUse,
    },
}

impl Recording {
    /// Enqueues all commands, and returns without waiting for them.
    ///
    /// The replay starts after every command that was put into the queue before, unless the queue is
    /// [out of order](crate::QueueOptions::out_of_order). In either case its commands run one after the other,
    /// and the commands of two replays do not mix. Commands that another thread enqueues at the same time may
    /// run in between.
    ///
    /// Unless a replay is [one call](Recording::is_one_call), the event and its profile belong to the last
    /// command.
    ///
    /// # Errors
    ///
    /// When the driver refuses. If a replay is not one call, some of its commands may still run.
    pub fn replay(&self) -> Result<Event> {
        self.replay_after(&[])
    }

    /// Replays as [`Recording::replay`] does, but only after all of `events` have finished.
    ///
    /// # Errors
    ///
    /// As for [`Recording::replay`], and when an event is of another device.
    #[allow(
        unsafe_code,
        reason = "launching is unsafe; the caller who recorded a kernel guarantees it"
    )]
    pub fn replay_after(&self, events: &[&Event]) -> Result<Event> {
        let after = self.queue.wait_list(events)?;
        let _guard = CallGuard::new();
        // Drivers mix commands that threads enqueue at once, also the commands of a graph.
        let _alone = self
            .replaying
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let replayed = match &self.graph {
            // SAFETY: the recording has ended; its memory and kernels are kept here, and those who
            // recorded them vouch for what they do.
            Some(graph) => unsafe { graph.enqueue(&after) },
            None => self.one_by_one(&after),
        };
        for step in &self.steps {
            if let Step::Launch(fixed) = step {
                fixed.kernel.note_launch();
            }
        }
        let raw =
            replayed.map_err(|failure| Error::driver(failure, REPLAY, self.queue.device()))?;
        Ok(Event::of_any(&self.queue, Class::Kernel, REPLAY, 0, raw))
    }

    #[allow(
        unsafe_code,
        reason = "launching is unsafe; the caller who recorded a kernel guarantees it"
    )]
    fn one_by_one(&self, after: &WaitList<'_>) -> Result<backend::Event, Failure> {
        let raw = self.queue.raw();
        let Some((last, others)) = self.steps.split_last() else {
            return raw.barrier(after);
        };
        // Each step waits for `after`: if the step before it failed because of `after`, that would not stop the
        // next step.
        for step in others {
            if let Step::Launch(fixed) = step {
                // SAFETY: as in `recorder::graph`.
                unsafe {
                    fixed
                        .object
                        .enqueue_without_event(raw, &fixed.grid, after)?;
                };
            } else {
                drop(self.start(step, after)?);
            }
            raw.in_order()?;
        }
        let last = self.start(last, after)?;
        // As for a launch, a failed flush is not a failure of the replay, which is enqueued.
        let _ = raw.flush_after(self.steps.len());
        Ok(last)
    }

    #[allow(
        unsafe_code,
        reason = "launching is unsafe; the caller who recorded a kernel guarantees it"
    )]
    fn start(&self, step: &Step, after: &WaitList<'_>) -> Result<backend::Event, Failure> {
        let raw = self.queue.raw();
        match step {
            Step::Launch(fixed) => {
                // SAFETY: as in `recorder::graph`.
                unsafe { fixed.object.enqueue(raw, &fixed.grid, after) }
            }
            Step::Copy { from, to, .. } => raw.start_copy(from, to, after),
            Step::Fill {
                region, pattern, ..
            } => raw.start_fill(region, pattern, after),
        }
    }

    /// Returns whether a replay is one driver call: a CUDA graph.
    #[must_use]
    pub fn is_one_call(&self) -> bool {
        self.graph.is_some()
    }

    /// Returns the number of launches and copies.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns whether the recording has no commands.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty()
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Recording({} steps for {:?})", self.len(), self.queue)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::common;

    #[test]
    fn replay_stops_after_a_failed_event() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let mut buffer = queue.upload(&[7u32, 7])?;
        let mut recorder = queue.record();
        recorder.fill(&mut buffer.slice_mut(..1)?, 1)?;
        recorder.fill(&mut buffer.slice_mut(1..)?, 2)?;
        let recording = recorder.finish()?;
        let Some((user, raw)) = backend::queue::pending_event(queue.raw()) else {
            common::say_skipped("no user events, and a failed kernel takes its context with it");
            return Ok(());
        };
        let event = Event::of_action(&queue, "being a test", raw);
        let replayed = recording.replay_after(&[&event])?;
        assert!(!replayed.is_complete()?);
        user.end(-9999);
        // If a dependency failed, the CPU driver (2026.2) reports the failure only to callbacks.
        let _ = replayed.wait();
        assert_eq!(queue.device().queue()?.download(&buffer)?, [7, 7]);
        if recording.replay()?.wait().is_err() {
            common::say_skipped("the rest: queues that take commands after one that failed");
            return Ok(());
        }
        assert_eq!(queue.download(&buffer)?, [1, 2]);
        Ok(())
    }
}
