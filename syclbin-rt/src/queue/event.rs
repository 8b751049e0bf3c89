// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events: the state of one command of a queue, to wait for on the host or in another command.

use std::fmt;
use std::task::{Poll, Waker};

use crate::backend;
use crate::backend::event::{Completion, WaitList};
use crate::backend::failure::Failure;
use crate::error::{Error, ErrorKind, Result};
use crate::module::kernel::Kernel;
use crate::queue::Queue;
use crate::queue::profile::Profile;
use crate::trace::{self, Class};

/// A command of a queue to wait for, such as a launched kernel.
///
/// Dropping an event does not wait: the command goes on. Most programs need no event, because reading a buffer
/// on the same queue waits by itself.
///
/// Other commands wait for an event through [`Launch::after`](crate::Launch::after) and [`Queue::barrier`].
/// Threads use [`Event::wait`], and tasks use `.await`:
///
/// ```no_run
/// # async fn run(event: syclbin_rt::Event) -> syclbin_rt::Result<()> {
/// (&event).await?; // or `event.await?`
/// println!("{:?}", event.profile()?.execution());
/// # Ok(())
/// # }
/// ```
///
/// An event is a handle of its queue. Dropping the last handle of a queue waits for the commands in it.
pub struct Event {
    what: What,
    raw: backend::Event,
}

/// The action of a command, for messages, and its queue.
pub(crate) enum What {
    /// The command runs this kernel, in the kernel's queue.
    // Not with a queue beside it: one more count of handles is a hundredth of a launch.
    Kernel(Kernel),
    /// Any other action, such as "copying a buffer".
    Action(&'static str, Queue),
}

/// The reason why a command cannot wait for events.
pub(crate) enum Unwaitable {
    /// The event with this index is of another context.
    Foreign(usize),
    /// The command of the event with this index failed.
    Failed(usize, Failure),
    /// The driver does not flush the event's queue.
    Driver(Failure),
}

impl Event {
    /// Creates the event of a command that runs `kernel`, in the kernel's queue.
    #[inline]
    pub(crate) fn of_kernel(kernel: &Kernel, raw: backend::Event) -> Self {
        if trace::is_on() {
            trace::command(kernel.queue(), Class::Kernel, kernel.name(), 0, &raw);
        }
        kernel.note_launch();
        let what = What::Kernel(kernel.clone());
        Self { what, raw }
    }

    /// Creates the event of another command in `queue`, which copies or fills no memory.
    pub(crate) fn of_action(queue: &Queue, action: &'static str, raw: backend::Event) -> Self {
        Self::of_any(queue, Class::Wait, action, 0, raw)
    }

    /// Creates the event of a command in `queue` that copies or fills `bytes`.
    pub(crate) fn of_copy(
        queue: &Queue,
        action: &'static str,
        bytes: usize,
        raw: backend::Event,
    ) -> Self {
        Self::of_any(queue, Class::Memory, action, bytes, raw)
    }

    /// Creates the event of a command in `queue`.
    pub(crate) fn of_any(
        queue: &Queue,
        class: Class,
        action: &'static str,
        bytes: usize,
        raw: backend::Event,
    ) -> Self {
        if trace::is_on() {
            trace::command(queue, class, action, bytes, &raw);
        }
        let what = What::Action(action, queue.clone());
        Self { what, raw }
    }

    /// Waits until the command has finished.
    ///
    /// # Errors
    ///
    /// When the command failed on the device, or a command that it waited for. Not all drivers report the
    /// latter: Intel's CPU driver (2026.2) reports it only to an `.await` that started before the command
    /// ended.
    ///
    /// [`ErrorKind::Assert`] when the queue has kernels with asserts, and one of these has failed. This waits for
    /// all commands of that queue. An `.await` does not report asserts.
    pub fn wait(&self) -> Result<()> {
        let _span = trace::span(Class::Wait, "waiting for an event", 0);
        self.raw.wait().map_err(|failure| self.failed(failure))?;
        self.queue().check_asserts()
    }

    /// Returns whether the command has finished.
    ///
    /// # Errors
    ///
    /// As for [`Event::wait`].
    pub fn is_complete(&self) -> Result<bool> {
        let flushed = self.queue().raw().flushed();
        let complete = flushed.and_then(|()| self.raw.is_complete());
        complete.map_err(|failure| self.failed(failure))
    }

    /// Waits until the commands of all `events` have finished, on any devices. It waits for all of them, even
    /// when one fails.
    ///
    /// # Errors
    ///
    /// The error of the first of `events` whose command failed.
    pub fn wait_all(events: &[&Self]) -> Result<()> {
        let waited = events.iter().map(|event| event.wait());
        waited.fold(Ok(()), Result::and)
    }

    /// Waits until the command has finished, and returns the times when it was queued, started and ended.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NoProfile`] when its queue was made without
    /// [`QueueOptions::profiling`](crate::QueueOptions::profiling); and as for [`Event::wait`].
    pub fn profile(&self) -> Result<Profile> {
        if !self.queue().options().profiling {
            let command = self.what.to_string();
            return Err(ErrorKind::NoProfile { command }.into());
        }
        self.wait()?;
        let times = self.raw.times();
        let times = times.map_err(|failure| self.failed(failure))?;
        Ok(Profile::new(&times))
    }

    /// Returns whether the command has finished. If it has not, `waker` is woken when it has.
    pub(crate) fn poll(&self, end: &mut Option<Completion>, waker: &Waker) -> Poll<Result<()>> {
        if let Err(failure) = self.queue().raw().flushed() {
            return Poll::Ready(Err(self.failed(failure)));
        }
        let ended = self.raw.poll(self.queue().raw(), end, waker);
        ended.map_err(|failure| self.failed(failure))
    }

    /// Turns `events` into the wait list of a command of `queue`.
    ///
    /// # Errors
    ///
    /// When an event is of another context, or the driver fails.
    pub(crate) fn wait_list<'a>(
        events: &'a [&'a Self],
        queue: &Queue,
    ) -> Result<WaitList<'a>, Unwaitable> {
        let queue = queue.raw();
        for (index, event) in events.iter().enumerate() {
            let of_event = event.queue().raw();
            if of_event.context_address() != queue.context_address() {
                return Err(Unwaitable::Foreign(index));
            }
            // Commands of another queue must be flushed before a command waits for them (OpenCL 3.0, clFlush).
            if !of_event.is(queue) {
                of_event.flushed().map_err(Unwaitable::Driver)?;
            }
            if queue.forgets_failures()
                && let Err(failure) = event.raw.is_complete()
            {
                return Err(Unwaitable::Failed(index, failure));
            }
        }
        Ok(WaitList::new(events.iter().map(|event| &event.raw)))
    }

    /// Returns the driver's event.
    pub(crate) fn raw(&self) -> &backend::Event {
        &self.raw
    }

    /// Returns the queue of the command.
    pub(crate) fn queue(&self) -> &Queue {
        match &self.what {
            What::Kernel(kernel) => kernel.queue(),
            What::Action(_, queue) => queue,
        }
    }

    /// Returns the action of the command.
    pub(crate) fn what(&self) -> &What {
        &self.what
    }

    /// Describes the driver's error. The code that only says that a dependency failed names nothing.
    pub(crate) fn failed(&self, failure: Failure) -> Error {
        let reason = if failure.is_of_dependency() {
            " (a command that it waited for failed; the event of that one says why)"
        } else {
            ""
        };
        let action = format!("{}{reason}", self.what);
        Error::driver(failure, action, self.queue().device())
    }
}

impl fmt::Display for What {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Kernel(kernel) => write!(f, "running kernel {}", kernel.name()),
            Self::Action(action, _) => f.write_str(action),
        }
    }
}

impl fmt::Debug for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Event({})", self.what)
    }
}

#[cfg(test)]
pub(in crate::queue) mod tests {
    use std::sync::{Arc, mpsc};
    use std::task::Wake;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::Arg;
    use crate::Buffer;
    use crate::Launch;
    use crate::common;

    const IOTA: &str = "_ZN18__sycl_kernel_fill4iotaEfPfi";

    /// Launches a kernel that writes ascending numbers when all of `after` has ended.
    pub(in crate::queue) fn iota(
        queue: &Queue,
        out: &mut Buffer<f32>,
        after: &[&Event],
    ) -> Result<Event> {
        iota_from(queue, 0.0, out, after)
    }

    /// The same from `start` on.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub(in crate::queue) fn iota_from(
        queue: &Queue,
        start: f32,
        out: &mut Buffer<f32>,
        after: &[&Event],
    ) -> Result<Event> {
        let kernel = common::kernel(queue, "vector_ops.object.syclbin", IOTA);
        let count = i32::try_from(out.len()).unwrap();
        let args = [Arg::scalar(start), Arg::write(out), Arg::scalar(count)];
        let launch = Launch::new(&kernel, &["start", "out", "count"], args);
        // SAFETY: it writes as many elements as there are.
        unsafe { launch.after(after).launch(1) }
    }

    /// Tells the test when it is woken.
    pub(in crate::queue) struct Bell(pub(in crate::queue) mpsc::Sender<()>);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    /// Says that the rest of a test needs a queue that takes commands after one that failed.
    pub(in crate::queue) fn say_queue_ended() {
        common::say_skipped("the rest: queues that take commands after one that failed");
    }

    // Intel's CPU driver (2026.2) reports a command whose dependency failed only to its callback.
    #[test]
    fn failed_dependency_stops_command_and_fails_future() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let (send, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Bell(send)));
        let mut out = queue.upload(&[7.0f32; 2])?;
        // An event that ends on the test's request.
        let Some((user, raw)) = backend::queue::pending_event(queue.raw()) else {
            common::say_skipped("no user events, and a failed kernel takes its context with it");
            return Ok(());
        };
        let event = Event::of_action(&queue, "being a test", raw);
        let launched = iota(&queue, &mut out, &[&event])?;
        let mut end = None;
        for _ in 0..3 {
            assert!(launched.poll(&mut end, &waker).is_pending());
        }
        assert!(!launched.is_complete()?);
        assert!(woken.try_recv().is_err(), "nothing has ended");

        user.end(-9999);
        woken.recv().unwrap();
        let Poll::Ready(polled) = launched.poll(&mut end, &waker) else {
            unreachable!("it woke the task");
        };
        let message = polled.unwrap_err().to_string();
        assert!(
            message.starts_with("clEnqueueNDRangeKernel failed with "),
            "{message}"
        );
        assert!(
            message.contains(" while running kernel fill::iota"),
            "{message}"
        );
        assert!(woken.try_recv().is_err(), "it is woken once");

        let message = Event::wait_all(&[&event, &launched])
            .unwrap_err()
            .to_string();
        assert!(
            message.contains("(-9999) while being a test on "),
            "{message}"
        );
        assert_eq!(event.is_complete().unwrap_err().to_string(), message);
        // Nothing has run, and the queue is usable.
        assert_eq!(queue.device().queue()?.download(&out)?, [7.0; 2]);
        let again = iota(&queue, &mut out, &[]);
        match again.and_then(|_| queue.download(&out)) {
            Ok(out) => assert_eq!(out, [0.0, 1.0]),
            Err(_) => say_queue_ended(),
        }
        Ok(())
    }

    #[test]
    fn dependency_error_points_to_the_failed_command() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let event = queue.barrier(&[])?;
        let failure = Failure::opencl("clEnqueueBarrierWithWaitList", -14);
        assert_eq!(
            event.failed(failure).to_string(),
            format!(
                "clEnqueueBarrierWithWaitList failed with \
                 CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (-14) while waiting at a barrier (a \
                 command that it waited for failed; the event of that one says why) on {}",
                queue.device()
            )
        );
        Ok(())
    }

    #[test]
    fn dropping_last_queue_handle_waits() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let mut out = queue.zeroed::<f32>(1 << 20)?;
        let mut last = None;
        for _ in 0..10 {
            last = Some(iota(&queue, &mut out, &[])?);
        }
        let event = last.unwrap();
        // The driver's event alone is not a handle.
        let raw = event
            .raw
            .shared()
            .map_err(|failure| event.failed(failure))?;
        let context = queue.raw().context();
        drop((queue, out));
        let complete = || raw.is_complete().map_err(|failure| format!("{failure:?}"));
        drop(event);
        assert_eq!(complete(), Ok(true));
        assert_eq!(context.finish_all(), Ok(()));
        Ok(())
    }

    #[test]
    fn finish_all_waits_for_every_queue() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let others = [queue.device().queue()?, queue.device().queue()?];
        let mut events = Vec::new();
        for queue in [&queue, &others[0], &others[1]] {
            let mut out = queue.zeroed::<f32>(1 << 20)?;
            events.push(iota(queue, &mut out, &[])?);
        }
        drop(queue.device().queue()?);
        assert_eq!(queue.raw().context().finish_all(), Ok(()));
        for event in &events {
            assert!(event.raw.is_complete().is_ok_and(|complete| complete));
        }
        Ok(())
    }

    #[test]
    fn what_is_launched_starts_without_anybody_asking() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let mut out = queue.zeroed::<f32>(1 << 10)?;
        let event = iota(&queue, &mut out, &[])?;
        let copied = queue.after(&[&event]).download_later(&out)?;
        let barrier = queue.barrier(&[])?;
        // This waits for the driver's event, which flushes nothing. The time limit is for a driver that never
        // starts.
        let long_after = Instant::now() + Duration::from_secs(60);
        for event in [&event, copied.event(), &barrier] {
            while event.raw.is_complete().is_ok_and(|complete| !complete) {
                assert!(Instant::now() < long_after, "{event:?} does not start");
                std::thread::yield_now();
            }
        }
        Ok(())
    }
}
