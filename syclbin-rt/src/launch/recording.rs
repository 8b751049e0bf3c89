// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings: launches, copies and other libraries' work that are enqueued together and can be replayed.

use std::fmt;
use std::sync::{Mutex, PoisonError};

use bytemuck::Pod;

use crate::backend::{
    self, AnyRange, CallGuard, DeviceSlice, Failure, Graph, MemoryUse, OwnedRegion, QueueHandle,
    WaitList, pattern,
};
use crate::error::{Error, Result};
use crate::launch::invocation::Invocation;
use crate::launch::prepared::BoundKernel;
use crate::launch::{Checked, Launch};
use crate::memory::copy::same_elements;
use crate::queue::Queue;
use crate::queue::event::Event;
use crate::trace::Class;

/// Collects launches, copies and the work of other libraries for a [`Recording`]. Created by [`Queue::record`].
///
/// Recording a command does not run it. The recorder keeps alive the memory of its launches, copies and fills, so you
/// may drop their buffers. It does not keep alive what another library's work uses ([`Recorder::capture`]).
#[must_use = "nothing runs until the recording is replayed"]
pub struct Recorder {
    /// The steps so far. The graph contains the first `added` of them, and is created when it is first needed.
    recording: Recording,
    /// `None` if a step could not be added, because the graph may contain a part of it.
    added: Option<usize>,
}

impl Queue {
    /// Starts a recording of launches and copies for this queue.
    pub fn record(&self) -> Recorder {
        let recording = Recording {
            graph: None,
            steps: Vec::new(),
            queue: self.clone(),
            replaying: Mutex::new(()),
        };
        let added = Some(0);
        Recorder { recording, added }
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
        if !fixed.kernel.queue().is(&self.recording.queue) {
            let problem =
                "its module was loaded on another queue; record it with that queue's `record`";
            return Err(fixed.kernel.refused(problem));
        }
        self.recording.steps.push(Step::Launch(Box::new(fixed)));
        Ok(())
    }

    /// Records a copy of `from` to `to`, like [`Queue::copy`].
    ///
    /// # Errors
    ///
    /// Fails if the lengths differ, if one of the slices is on another device, or if a host view of the memory conflicts.
    /// On OpenCL, also fails if one slice
    /// belongs to a [`Buffer`](crate::Buffer) and the other to an array, because such a copy needs two commands.
    pub fn copy<T: Pod>(&mut self, from: &DeviceSlice<T>, to: &mut DeviceSlice<T>) -> Result<()> {
        // They count as used before the check: of this and a view that begins meanwhile, at least one sees the other.
        let uses = [
            MemoryUse::new(&from.region().memory, false),
            MemoryUse::new(&to.region().memory, true),
        ];
        self.recording.queue.can_use(from, false)?;
        self.recording.queue.can_use(to, true)?;
        same_elements(from.len(), to.len())?;
        let (from, to) = (from.region(), to.region());
        if !from.memory.has_direct_copy(&to.memory) {
            let what = "a copy between a `Buffer` and unified shared memory";
            return Err(unrecordable(what));
        }
        // Drivers reject empty copies.
        if from.bytes() > 0 {
            self.recording.steps.push(Step::Copy {
                from: from.part(0, from.len),
                to: to.part(0, to.len),
                _uses: uses,
            });
        }
        Ok(())
    }

    /// Records a fill that sets all elements of `slice` to `value`, like [`Queue::fill`].
    ///
    /// # Errors
    ///
    /// Fails if the slice is on another device, or if a host view of the memory conflicts. Also fails if the element size
    /// exceeds 128 bytes or is not a power of two, unless all bytes of `value` are equal: devices cannot fill memory with such elements.
    pub fn fill<T: Pod>(&mut self, slice: &mut DeviceSlice<T>, value: T) -> Result<()> {
        let region = slice.region();
        let used = MemoryUse::new(&region.memory, true);
        self.recording.queue.can_use(slice, true)?;
        if region.bytes() == 0 {
            return Ok(());
        }
        let Some(pattern) = pattern(bytemuck::bytes_of(&value)) else {
            return Err(unrecordable(
                "a fill with elements that are larger than 128 bytes or whose size is not a power of two",
            ));
        };
        self.recording.steps.push(Step::Fill {
            region: region.part(0, region.len),
            pattern: pattern.to_vec(),
            _use: used,
        });
        Ok(())
    }

    /// Records the work that another CUDA library, such as cuBLAS or cuDNN, enqueues on the stream that `enqueue`
    /// receives. In each replay, this work runs after the commands recorded earlier and before those recorded later. It
    /// counts as one command. If `enqueue` enqueues nothing on the stream, nothing is recorded.
    ///
    /// Nothing runs on the stream, which exists only during this call: the driver *captures* the work as a graph (CUDA
    /// driver API, cuStreamBeginCapture). While `enqueue` runs, the device's primary context is current.
    ///
    /// A library that waits for the stream or allocates device memory makes the capture fail. So call it once before
    /// you record it, because many libraries allocate memory when they are first used. cuBLAS also needs a
    /// workspace that you allocate (`cublasSetWorkspace`).
    ///
    /// ```no_run
    /// # #![allow(unsafe_code)]
    /// use syclbin_rt::native::QueueHandle;
    /// # use syclbin_rt::{Error, Queue, Result};
    /// # struct Blas;
    /// # impl Blas {
    /// #     fn set_stream(&self, stream: *mut std::ffi::c_void) -> Result<()> { Ok(()) }
    /// #     fn multiply(&self) -> Result<()> { Ok(()) }
    /// # }
    /// # fn run(queue: &Queue, blas: &Blas) -> Result<()> {
    /// let mut recorder = queue.record();
    /// // SAFETY: the matrices and the workspace outlive the recording, and only commands on `queue` use them.
    /// unsafe {
    ///     recorder.capture::<Error>(|handle| {
    ///         let QueueHandle::Cuda { stream, .. } = handle else { unreachable!() };
    ///         blas.set_stream(stream)?;
    ///         blas.multiply()
    ///     })?;
    /// }
    /// let recording = recorder.finish()?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the error of `enqueue`. Also fails if the device is not a CUDA device, if its driver is older than CUDA
    /// 12, or if the driver cannot capture the work. After an error or a panic of `enqueue`, nothing has been recorded,
    /// and the recorder remains usable.
    ///
    /// # Safety
    ///
    /// - `enqueue` must use the stream only to enqueue work. It must neither end the capture nor destroy the stream. If
    ///   it makes other streams wait for this work, the stream must wait for them before `enqueue` returns.
    /// - The work must be sound each time it runs.
    /// - Everything that the work uses, such as memory, kernels and workspaces, must stay alive until the [`Recording`]
    ///   is dropped. The recording does not keep it alive, even if it belongs to this crate.
    /// - While a replay runs, nothing else may write the memory that the work uses, or read the memory that the work
    ///   writes. Commands on an in-order queue do not run during a replay on that queue. [`Queue::map`] does not check
    ///   this.
    #[allow(unsafe_code, reason = "another library's work cannot be checked")]
    pub unsafe fn capture<E: From<Error>>(
        &mut self,
        enqueue: impl FnOnce(QueueHandle) -> Result<(), E>,
    ) -> Result<(), E> {
        let device = self.recording.queue.device().clone();
        let Some(graph) = self.graph()? else {
            let what = "recordings of another library's work (enqueue it between replays of two recordings)";
            return Err(Error::unsupported(what, "CUDA 12 or later", &device).into());
        };
        let mut enqueued = Ok(());
        let enqueue = Box::new(|stream| {
            enqueued = enqueue(stream);
            enqueued.is_ok()
        });
        // SAFETY: the caller guarantees this.
        let captured = unsafe { graph.capture(enqueue) };
        enqueued?;
        let action =
            "capturing another library's work (which must neither wait nor allocate device memory)";
        if captured.map_err(device.failed(action))? {
            self.recording.steps.push(Step::Captured);
        }
        Ok(())
    }

    /// Ends the recording.
    ///
    /// # Errors
    ///
    /// Fails if the driver rejects the request.
    pub fn finish(mut self) -> Result<Recording> {
        let device = self.recording.queue.device().clone();
        if self.recording.is_empty() {
            self.recording.graph = None; // a capture may have created it
        } else if let Some(graph) = self.graph()? {
            graph.finish().map_err(device.failed(RECORD))?;
        }
        Ok(self.recording)
    }

    /// Returns the graph, which then contains all steps. Returns `None` if the driver does not support graphs.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    fn graph(&mut self) -> Result<Option<&mut Box<dyn Graph>>> {
        let recording = &mut self.recording;
        let device = recording.queue.device();
        if recording.graph.is_none() {
            let graph = recording.queue.raw().graph();
            recording.graph = graph.map_err(device.failed(RECORD))?;
        }
        let Some(graph) = &mut recording.graph else {
            return Ok(None);
        };
        let rejected = "the driver rejected an earlier step of this recording; record again";
        let added = self.added.take().ok_or_else(|| Error::invalid(rejected))?;
        for step in recording.steps.iter().skip(added) {
            let added = match step {
                Step::Launch(fixed) => {
                    // SAFETY: the arguments are set, checked and kept alive. The code that recorded the launch
                    // guarantees the rest.
                    let added = unsafe { graph.add_kernel(&fixed.object, &fixed.range) };
                    added.map_err(|failure| fixed.kernel.failed("recording", failure))?;
                    Ok(())
                }
                Step::Copy { from, to, .. } => graph.add_copy(from, to),
                Step::Fill {
                    region, pattern, ..
                } => graph.add_fill(region, pattern),
                Step::Captured => Ok(()), // added when it was captured
            };
            added.map_err(device.failed(RECORD))?;
        }
        self.added = Some(recording.steps.len());
        Ok(Some(graph))
    }
}

/// Returns the error for an operation that needs more than one command.
fn unrecordable(what: &str) -> Error {
    Error::invalid(format_args!(
        "{what} needs more than one command and cannot be recorded; enqueue it between replays of two recordings"
    ))
}

impl fmt::Debug for Recorder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Recording { queue, steps, .. } = &self.recording;
        write!(f, "Recorder({} steps for {queue:?})", steps.len())
    }
}

const RECORD: &str = "recording launches and copies";
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
    /// Another library's work, which only the graph contains.
    Captured,
}

impl Recording {
    /// Enqueues all commands, and returns without waiting for them.
    ///
    /// The replay starts after all commands enqueued earlier on the queue, even if the queue is
    /// [out of order](crate::QueueOptions::out_of_order). Its commands run one after the other, and the commands of two
    /// replays do not interleave. Commands that another thread enqueues at the same time may run in
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
        let guard = CallGuard::new();
        // Without this lock, drivers would interleave the commands of concurrent replays, even those of a graph.
        let alone = self.replaying.lock();
        let alone = alone.unwrap_or_else(PoisonError::into_inner);
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
        // A `tracing` subscriber that learns of the event may replay, too.
        drop((alone, guard));
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
        // Otherwise, replays could overlap on an out-of-order queue.
        raw.in_order().map_err(self.failed())?;
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
            // Unreachable: a recording with captured work has a graph.
            Step::Captured => raw.barrier(after),
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
