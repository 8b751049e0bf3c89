// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recorders: collect the commands of a recording.

use std::fmt;
use std::sync::Mutex;

use bytemuck::Pod;

use crate::backend::failure::Failure;
use crate::backend::slice::DeviceSlice;
use crate::backend::slice::pattern;
use crate::backend::{Graph, MemoryUse};
use crate::error::{Error, ErrorKind, Result};
use crate::launch::Launch;
use crate::launch::bound_kernel::BoundKernel;
use crate::launch::invocation::{Contract, Invocation};
use crate::launch::range::AnyRange;
use crate::launch::recording::{Recording, Step};
use crate::launch::safe_launch::SafeLaunch;
use crate::queue::Queue;
use crate::queue::copy::same_elements;

/// Collects launches and copies for a [`Recording`]. Made by [`Queue::record`].
///
/// Recording a command does not run it. The recorder keeps the memory of its commands alive, so buffers may be
/// dropped.
#[must_use = "nothing runs before the recording is replayed"]
pub struct Recorder {
    queue: Queue,
    steps: Vec<Step>,
}

impl Queue {
    /// Starts to record launches and copies for this queue.
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
    /// As for [`Launch::prepare`], and when the recorder is for a queue other than the kernel's.
    ///
    /// # Safety
    ///
    /// As for [`Launch::launch`], each time that the recording is replayed.
    #[allow(
        unsafe_code,
        reason = "what a kernel does is beyond every check; the duty is the caller's"
    )]
    pub unsafe fn record(self, recorder: &mut Recorder, range: impl Into<R>) -> Result<()> {
        recorder.add(&self.call()?, &range.into().into(), None)
    }
}

impl<const N: usize, R: Into<AnyRange>> SafeLaunch<'_, N, R> {
    /// Records the launch over `range` instead of launching it, if the contract holds.
    ///
    /// # Errors
    ///
    /// As for [`Launch::record`] and [`SafeLaunch::launch`].
    pub fn record(self, recorder: &mut Recorder, range: impl Into<R>) -> Result<()> {
        let (launch, contract) = self.parts();
        recorder.add(&launch.call()?, &range.into().into(), Some(contract))
    }
}

impl Recorder {
    fn add(
        &mut self,
        call: &Invocation<'_>,
        range: &AnyRange,
        contract: Option<Contract>,
    ) -> Result<()> {
        let fixed = BoundKernel::new(call, range, contract)?;
        if !fixed.kernel.queue().is(&self.queue) {
            return Err(ErrorKind::RecordedQueue {
                kernel: fixed.kernel.name().to_owned(),
            }
            .into());
        }
        self.steps.push(Step::Launch(Box::new(fixed)));
        Ok(())
    }

    /// Records a copy of `from` to `to`, as [`Queue::copy`] does.
    ///
    /// # Errors
    ///
    /// When the lengths differ, and when one of the slices is on another device. Also when one slice is of a
    /// [`Buffer`](crate::Buffer) and the other of an array, because such a copy takes two commands.
    pub fn copy<T: Pod>(&mut self, from: &DeviceSlice<T>, to: &mut DeviceSlice<T>) -> Result<()> {
        self.queue.same_device(from)?;
        self.queue.same_device(to)?;
        same_elements(from.len(), to.len())?;
        let (from, to) = (from.region(), to.region());
        if from.memory.address().is_some() != to.memory.address().is_some() {
            return Err(ErrorKind::Unrecordable {
                what: "a copy between a buffer and an array with an address",
            }
            .into());
        }
        // A driver refuses to copy nothing.
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

    /// Records a fill of all elements of `slice` with `value`, as [`Queue::fill`] does.
    ///
    /// # Errors
    ///
    /// When the slice is on another device, and for elements that devices cannot fill memory with: elements
    /// whose size is over 128 bytes or not a power of two.
    pub fn fill<T: Pod>(&mut self, slice: &mut DeviceSlice<T>, value: T) -> Result<()> {
        self.queue.same_device(slice)?;
        let region = slice.region();
        if region.bytes() == 0 {
            return Ok(());
        }
        let Some(pattern) = pattern(bytemuck::bytes_of(&value)) else {
            return Err(ErrorKind::Unrecordable {
                what: "a fill with elements of more than 128 bytes, or whose size is not a power of two",
            }
            .into());
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
    /// When the driver refuses.
    pub fn finish(self) -> Result<Recording> {
        let Self { queue, steps } = self;
        let graph = graph(&queue, &steps).map_err(|failure| {
            Error::driver(failure, "recording launches and copies", queue.device())
        })?;
        Ok(Recording {
            graph,
            steps,
            queue,
            replaying: Mutex::new(()),
        })
    }
}

/// Returns the steps as a graph; `None` if the driver does not support graphs.
#[allow(
    unsafe_code,
    reason = "launching is unsafe; the caller who recorded a kernel guarantees it"
)]
fn graph(queue: &Queue, steps: &[Step]) -> Result<Option<Box<dyn Graph>>, Failure> {
    if steps.is_empty() {
        return Ok(None);
    }
    let Some(mut graph) = queue.raw().graph()? else {
        return Ok(None);
    };
    for step in steps {
        match step {
            // SAFETY: the arguments are set, checked and kept. The code that recorded the launch guarantees the rest.
            Step::Launch(fixed) => unsafe { graph.add_kernel(&fixed.object, &fixed.grid)? },
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
        write!(
            f,
            "Recorder({} steps for {:?})",
            self.steps.len(),
            self.queue
        )
    }
}
