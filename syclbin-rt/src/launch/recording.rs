// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings: launches and copies that are enqueued together and can be replayed.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

use crate::backend::{
    self, AnyRange, CallGuard, DeviceSlice, Failure, Graph, MemoryUse, OwnedRegion, WaitList,
    pattern,
};
use crate::error::{Error, Result};
use crate::launch::invocation::Invocation;
use crate::launch::prepared::BoundKernel;
use crate::launch::{Checked, Launch};
use crate::memory::copy::same_elements;
use crate::queue::Queue;
use crate::queue::event::Event;
use crate::trace::Class;

/// Collects launches and copies for a [`Recording`]. Created by [`Queue::record`].
///
/// Recording a command does not run it. The recorder keeps the memory that its commands use alive, so buffers may be
/// dropped.
#[must_use = "nothing runs until the recording is replayed"]
pub struct Recorder {
    queue: Queue,
    steps: Vec<Step>,
}

impl Queue {
    /// Starts a recording of launches and copies for this queue.
    pub fn record(&self) -> Recorder {
        Recorder {
            queue: self.clone(),
            steps: Vec::new(),
        }
    }
}

impl<const N: usize, R: Into<AnyRange>> Launch<'_, N, R> {
    /// Records the launch over `range` instead of launching it.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Launch::launch`], or if the recorder belongs to a queue other than the kernel's.
    /// Also fails if the launch has events to wait for ([`Launch::after`]).
    ///
    /// # Safety
    ///
    /// The requirements of [`Launch::launch`] apply to each replay of the recording.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub unsafe fn record(self, recorder: &mut Recorder, range: impl Into<R>) -> Result<()> {
        recorder.add(&self.call()?, range.into().into())
    }
}

impl<const N: usize, R: Into<AnyRange>> Launch<'_, N, R, Checked> {
    /// Records the launch over `range` instead of launching it, if the contract holds.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Launch::record`] and [`SafeLaunch::launch`](crate::SafeLaunch::launch).
    pub fn record(self, recorder: &mut Recorder, range: impl Into<R>) -> Result<()> {
        recorder.add(&self.call()?, range.into().into())
    }
}

impl Recorder {
    fn add(&mut self, call: &Invocation<'_>, range: AnyRange) -> Result<()> {
        let fixed = BoundKernel::new(call, range)?;
        if !fixed.kernel.queue().is(&self.queue) {
            let problem =
                "its module was loaded on another queue; record it with that queue's `record`";
            return Err(fixed.kernel.refused(problem));
        }
        self.steps.push(Step::Launch(Box::new(fixed)));
        Ok(())
    }

    /// Records a copy of `from` to `to`, like [`Queue::copy`].
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, or if one of the slices is on another device. Also fails if one slice belongs to a
    /// [`Buffer`](crate::Buffer) and the other to an array, because such a copy needs two commands.
    pub fn copy<T: Pod>(&mut self, from: &DeviceSlice<T>, to: &mut DeviceSlice<T>) -> Result<()> {
        self.queue.same_device(from)?;
        self.queue.same_device(to)?;
        same_elements(from.len(), to.len())?;
        let (from, to) = (from.region(), to.region());
        if from.memory.address().is_some() != to.memory.address().is_some() {
            let what = "a copy between a `Buffer` and unified shared memory";
            return Err(unrecordable(what));
        }
        // Drivers reject empty copies.
        if from.bytes() > 0 {
            self.steps.push(Step::Copy {
                from: from.part(0, from.len),
                to: to.part(0, to.len),
                _uses: [
                    MemoryUse::new(&from.memory, false),
                    MemoryUse::new(&to.memory, true),
                ],
            });
        }
        Ok(())
    }

    /// Records a fill that sets all elements of `slice` to `value`, like [`Queue::fill`].
    ///
    /// # Errors
    ///
    /// Fails if the slice is on another device, or if the element size exceeds 128 bytes or is not a power of two.
    /// Devices cannot fill memory with such elements.
    pub fn fill<T: Pod>(&mut self, slice: &mut DeviceSlice<T>, value: T) -> Result<()> {
        self.queue.same_device(slice)?;
        let region = slice.region();
        if region.bytes() == 0 {
            return Ok(());
        }
        let Some(pattern) = pattern(bytemuck::bytes_of(&value)) else {
            return Err(unrecordable(
                "a fill with elements that are larger than 128 bytes or whose size is not a power of two",
            ));
        };
        self.steps.push(Step::Fill {
            region: region.part(0, region.len),
            pattern: pattern.to_vec(),
            _use: MemoryUse::new(&region.memory, true),
        });
        Ok(())
    }

    /// Ends the recording.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request.
    pub fn finish(self) -> Result<Recording> {
        let Self { queue, steps } = self;
        let graph = graph(&queue, &steps)
            .map_err(queue.device().failed("recording launches and copies"))?;
        Ok(Recording {
            graph,
            steps,
            queue,
            replaying: Mutex::new(()),
        })
    }
}

/// Returns the error for an operation that needs more than one command.
fn unrecordable(what: &str) -> Error {
    Error::invalid(format_args!(
        "{what} needs more than one command and cannot be recorded; enqueue it between two recordings"
    ))
}

/// Records the steps as a graph. Returns `None` if there are no steps, or if the driver does not support graphs.
#[allow(unsafe_code, reason = "launching a kernel is unsafe")]
fn graph(queue: &Queue, steps: &[Step]) -> Result<Option<Box<dyn Graph>>, Failure> {
    if steps.is_empty() {
        return Ok(None);
    }
    let Some(mut graph) = queue.raw().graph()? else {
        return Ok(None);
    };
    for step in steps {
        match step {
            // SAFETY: the arguments are set, checked and kept alive. The code that recorded the launch guarantees the
            // rest.
            Step::Launch(fixed) => unsafe { graph.add_kernel(&fixed.object, &fixed.range)? },
            Step::Copy { from, to, .. } => graph.add_copy(from, to)?,
            Step::Fill {
                region, pattern, ..
            } => graph.add_fill(region, pattern)?,
        }
    }
    graph.finish()?;
    Ok(Some(graph))
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { queue, steps } = self;
        write!(f, "Recorder({} steps for {queue:?})", steps.len())
    }
}

const REPLAY: &str = "replaying a recording";

/// A sequence of launches and copies that was checked once and can be replayed repeatedly.
///
/// ```no_run
/// # use syclbin_rt::{Arg, Buffer, Kernel, Launch, Queue, Result};
/// # fn run(queue: &Queue, kernel: &Kernel) -> Result<()> {
/// # fn step<'a>(kernel: &'a Kernel, x: &'a mut Buffer<f32>) -> Launch<'a, 1> {
/// #     kernel.launch([Arg::write(x)])
/// # }
/// let mut x = queue.zeroed::<f32>(1024)?;
/// let mut last = queue.zeroed::<f32>(1024)?;
/// let mut recorder = queue.record();
/// // SAFETY: the buffer has 1024 elements at each replay.
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
/// With CUDA 12 and later, a recording is a CUDA graph: a replay is a single driver call ([`Recording::is_one_call`]),
/// and dropping the recording waits until its queue is empty. With other drivers, a replay enqueues the commands one
/// after the other.
#[must_use = "nothing runs until `replay` is called"]
pub struct Recording {
    // Dropped first: its destructor waits until no replay uses the steps.
    graph: Option<Box<dyn Graph>>,
    steps: Vec<Step>,
    queue: Queue,
    /// Locked while the steps are enqueued, so that the steps of two replays do not interleave.
    replaying: Mutex<()>,
}

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
    /// The replay starts after all commands enqueued earlier on the queue, unless the queue is
    /// [out of order](crate::QueueOptions::out_of_order). In either case, its commands run one after the other, and the
    /// commands of two replays do not interleave. Commands that another thread enqueues at the same time may run in
    /// between.
    ///
    /// Unless a replay is [one call](Recording::is_one_call), the event and its profile belong to the last
    /// command.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request. Unless a replay is one call, some of its commands may run nevertheless.
    pub fn replay(&self) -> Result<Event> {
        self.replay_after(&[])
    }

    /// Replays as [`Recording::replay`] does, but only after all of `events` have finished.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Recording::replay`], or if an event belongs to another device.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub fn replay_after(&self, events: &[&Event]) -> Result<Event> {
        let after = self.queue.wait_list(events, None)?;
        let _guard = CallGuard::new();
        // Without this lock, drivers would interleave the commands of concurrent replays, even those of a graph.
        let alone = self.replaying.lock();
        let _alone = alone.unwrap_or_else(PoisonError::into_inner);
        let replayed = match &self.graph {
            // SAFETY: the recording has ended and keeps its memory and kernels alive. The code that recorded the
            // kernels guarantees that they are sound.
            Some(graph) => unsafe { graph.enqueue(&after) }.map_err(self.failed()),
            None => self.one_by_one(&after),
        };
        for step in &self.steps {
            if let Step::Launch(fixed) = step {
                fixed.kernel.command().note_launch();
            }
        }
        let class = Class::Kernel;
        Ok(Event::of_any(&self.queue, class, REPLAY, 0, replayed?))
    }

    fn failed(&self) -> impl FnOnce(Failure) -> Error + '_ {
        self.queue.device().failed(REPLAY)
    }

    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    fn one_by_one(&self, after: &WaitList<'_>) -> Result<backend::Event> {
        let raw = self.queue.raw();
        let Some((last, others)) = self.steps.split_last() else {
            return raw.barrier(after).map_err(self.failed());
        };
        // Every step must wait for `after`: if only the first did, the other steps would run even if an event
        // failed.
        for step in others {
            if let Step::Launch(fixed) = step {
                // SAFETY: the arguments are set, checked and kept alive. The code that recorded the launch guarantees
                // the rest. `after` contains only events of this queue's context.
                let started =
                    unsafe { fixed.object.enqueue_without_event(raw, &fixed.range, after) };
                started.map_err(|failure| fixed.kernel.failed("replaying", failure))?;
            } else {
                drop(self.start(step, after)?);
            }
            raw.in_order().map_err(self.failed())?;
        }
        let last = self.start(last, after)?;
        // The replay is enqueued, so a failed flush does not fail it.
        let _ = raw.flush_after(self.steps.len());
        Ok(last)
    }

    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    fn start(&self, step: &Step, after: &WaitList<'_>) -> Result<backend::Event> {
        let raw = self.queue.raw();
        let started = match step {
            Step::Launch(fixed) => {
                // SAFETY: as in `one_by_one`.
                let started = unsafe { fixed.object.enqueue(raw, &fixed.range, after) };
                return started.map_err(|failure| fixed.kernel.failed("replaying", failure));
            }
            Step::Copy { from, to, .. } => raw.start_copy(from, to, after),
            Step::Fill {
                region, pattern, ..
            } => raw.start_fill(region, pattern, after),
        };
        started.map_err(self.failed())
    }

    /// Returns whether a replay is a single driver call, which requires a CUDA graph.
    #[must_use]
    pub fn is_one_call(&self) -> bool {
        self.graph.is_some()
    }

    /// Returns the number of recorded commands.
    #[must_use]
    pub fn len(&self) -> usize {
        self.steps.len()
    }

    /// Returns whether the recording contains no commands.
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
        let Some((user, raw)) = backend::pending_event(queue.raw()) else {
            common::say_skipped(
                "the driver has no user events, and a failing kernel would destroy the context",
            );
            return Ok(());
        };
        let event = Event::of_action(&queue, "being a test", raw);
        let replayed = recording.replay_after(&[&event])?;
        assert!(!replayed.is_complete()?);
        user.end(-9999);
        // If a dependency failed, the CPU driver (2026.2) reports that only to callbacks.
        let _ = replayed.wait();
        assert_eq!(queue.device().queue()?.download(&buffer)?, [7, 7]);
        if recording.replay()?.wait().is_err() {
            common::say_skipped("the rest: the queue accepts no commands after a failed one");
            return Ok(());
        }
        assert_eq!(queue.download(&buffer)?, [1, 2]);
        Ok(())
    }
}
