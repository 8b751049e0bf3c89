// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events, each of which tracks one command, so that threads, tasks and other commands can wait for that command.

use std::borrow::Borrow;
use std::fmt;
use std::future::{Future, IntoFuture};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use crate::backend::{self, Completion, Failure, Profile, WaitList};
use crate::error::{Error, Result};
use crate::queue::Queue;
use crate::trace::{self, Class};

/// The completion of a command on a queue, such as a launched kernel.
///
/// Dropping an event does not wait for the command, which continues to run. Most programs do not need events, because
/// reading a buffer waits for earlier commands on the same queue.
///
/// To make other commands wait for an event, use [`Launch::after`](crate::Launch::after) or [`Queue::barrier`]. Threads
/// wait with [`Event::wait`], and tasks with `.await`:
///
/// ```no_run
/// # async fn run(event: syclbin_rt::Event) -> syclbin_rt::Result<()> {
/// (&event).await?; // or `event.await?`
/// println!("{:?}", event.profile()?.execution());
/// # Ok(())
/// # }
/// ```
///
/// An event keeps its queue alive. Dropping the last handle to a queue waits for all commands on that queue.
pub struct Event {
    pub(crate) what: What,
    pub(crate) raw: backend::Event,
}

/// What a command does, for messages, and the command's queue.
pub(crate) enum What {
    /// The command runs this kernel on the kernel's queue.
    // The queue is not stored separately: updating a second reference count would cost 1% of the launch time.
    Kernel(Arc<dyn Command>),
    /// Any other action, such as "copying a buffer".
    Action(&'static str, Queue),
}

/// The part of a kernel that its events need.
pub(crate) trait Command: Send + Sync {
    fn name(&self) -> &str;
    fn queue(&self) -> &Queue;
    /// Makes the next wait check for failed asserts in the kernel. Call this after a launch.
    fn note_launch(&self);
}

impl Event {
    #[inline]
    pub(crate) fn of_kernel(kernel: Arc<dyn Command>, raw: backend::Event) -> Self {
        if trace::is_on() {
            trace::command(kernel.queue(), Class::Kernel, kernel.name(), 0, &raw);
        }
        kernel.note_launch();
        let what = What::Kernel(kernel);
        Self { what, raw }
    }

    /// Creates the event of a command on `queue` that neither launches a kernel nor copies or fills memory.
    pub(crate) fn of_action(queue: &Queue, action: &'static str, raw: backend::Event) -> Self {
        Self::of_any(queue, Class::Wait, action, 0, raw)
    }

    /// Creates the event of a command on `queue` other than a launch.
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
    /// Fails if the command, or a command that it waited for, failed on the device. Not all drivers report the latter:
    /// Intel's CPU driver (2026.2) reports it only to an `.await` that started before the command ended.
    ///
    /// Returns [`ErrorKind::Assert`](crate::ErrorKind::Assert) if an assert in a kernel on the queue failed. If kernels
    /// on the queue contain asserts, this function waits for all commands on the queue, as does `.await`.
    pub fn wait(&self) -> Result<()> {
        let _span = trace::span(Class::Wait, "waiting for an event", 0);
        self.raw.wait().map_err(|failure| self.failed(failure))?;
        self.queue().check_asserts()
    }

    /// Returns whether the command has finished.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Event::wait`], but does not check for failed asserts.
    pub fn is_complete(&self) -> Result<bool> {
        let flushed = self.queue().raw().flushed();
        let complete = flushed.and_then(|()| self.raw.is_complete());
        complete.map_err(|failure| self.failed(failure))
    }

    /// Waits until the commands of all `events` have finished, even if one fails. The events may belong to different
    /// devices.
    ///
    /// # Errors
    ///
    /// Returns the first error of [`Event::wait`], in the order of `events`.
    pub fn wait_all(events: &[&Self]) -> Result<()> {
        let waited = events.iter().map(|event| event.wait());
        waited.fold(Ok(()), Result::and)
    }

    /// Waits until the command has finished, and returns when it was queued, started and ended.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::InvalidArgument`](crate::ErrorKind::InvalidArgument) if the queue was created without
    /// [`QueueOptions::profiling`](crate::QueueOptions::profiling). Also fails for the same reasons as [`Event::wait`].
    pub fn profile(&self) -> Result<Profile> {
        if !self.queue().options().profiling {
            return Err(Error::invalid(format_args!(
                "no times were recorded while {}; create the queue with \
                 Device::queue_with(QueueOptions::new().profiling())",
                self.what
            )));
        }
        self.wait()?;
        self.raw.profile().map_err(|failure| self.failed(failure))
    }

    /// Returns the result if the command has finished. Otherwise wakes `waker` when it finishes.
    pub(crate) fn poll(&self, end: &mut Option<Completion>, waker: &Waker) -> Poll<Result<()>> {
        if let Err(failure) = self.queue().raw().flushed() {
            return Poll::Ready(Err(self.failed(failure)));
        }
        let ended = self.raw.poll(self.queue().raw(), end, waker);
        ended.map(|ended| {
            ended.map_err(|failure| self.failed(failure))?;
            self.queue().check_asserts()
        })
    }

    pub(crate) fn queue(&self) -> &Queue {
        match &self.what {
            What::Kernel(kernel) => kernel.queue(),
            What::Action(_, queue) => queue,
        }
    }

    /// Converts a driver failure to an error. If the failure only means that a dependency failed, the message points to
    /// the dependency.
    pub(crate) fn failed(&self, failure: Failure) -> Error {
        let reason = if failure.is_of_dependency() {
            " (a command that it depends on failed, and that command's event reports the cause)"
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

/// A future that completes when a command finishes. Created by `.await` or [`IntoFuture::into_future`] of an [`Event`]
/// or `&Event`.
///
/// The future works with any executor and does not occupy an executor thread. When the command has finished, a thread
/// of this crate wakes the task. If a waker blocks that thread, another thread wakes the remaining tasks.
///
/// The command runs whether the future is polled or not. Dropping the future does not cancel the command.
#[must_use = "the command runs even if the future is dropped; to wait, `.await` the future"]
pub struct EventFuture<E: Borrow<Event> = Event> {
    event: E,
    end: Option<Completion>,
}

impl<E: Borrow<Event> + Unpin> Future for EventFuture<E> {
    /// Fails for the same reasons as [`Event::wait`].
    type Output = Result<()>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        this.event.borrow().poll(&mut this.end, context.waker())
    }
}

impl IntoFuture for Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture;

    fn into_future(self) -> EventFuture {
        let end = None;
        EventFuture { event: self, end }
    }
}

impl<'a> IntoFuture for &'a Event {
    type Output = Result<()>;
    type IntoFuture = EventFuture<&'a Event>;

    fn into_future(self) -> EventFuture<&'a Event> {
        let end = None;
        EventFuture { event: self, end }
    }
}

impl<E: Borrow<Event>> fmt::Debug for EventFuture<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "EventFuture({})", self.event.borrow().what)
    }
}

const BARRIER: &str = "waiting at a barrier";

impl Queue {
    /// Enqueues a barrier and returns its event.
    ///
    /// Commands enqueued later on this queue wait for `events` and for all commands enqueued earlier. Use a barrier
    /// to make one queue wait for another:
    ///
    /// ```no_run
    /// # use syclbin_rt::{Event, Queue, Result};
    /// # fn main() -> Result<()> {
    /// # let queue = syclbin_rt::Device::best()?.queue()?;
    /// let copies = queue.device().queue()?;
    /// let done = queue.barrier(&[])?;
    /// copies.barrier(&[&done])?;
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    ///
    /// Fails if an event belongs to another device or context, or if the driver rejects the request. With some drivers,
    /// also fails if the command of an event has already failed.
    pub fn barrier(&self, events: &[&Event]) -> Result<Event> {
        let list = self.wait_list(events, None)?;
        let raw = self.raw().barrier(&list);
        let raw = raw.map_err(self.device().failed(BARRIER))?;
        Ok(Event::of_action(self, BARRIER, raw))
    }

    /// Converts `events` to the wait list of a command on this queue. For a launch, `kernel` is the name of its kernel.
    ///
    /// # Errors
    ///
    /// Fails if an event belongs to another context, or if the driver fails to flush. If the driver ignores failed
    /// dependencies, also fails if the command of an event has already failed.
    pub(crate) fn wait_list<'a>(
        &self,
        events: &'a [&'a Event],
        kernel: Option<&str>,
    ) -> Result<WaitList<'a>> {
        let queue = self.raw();
        for (index, event) in events.iter().enumerate() {
            let of_event = event.queue().raw();
            if of_event.context_address() != queue.context_address() {
                let (what, elsewhere) = (&event.what, self.elsewhere(event.queue().device()));
                let problem = format!("cannot wait for event {index} ({what}): it {elsewhere}");
                return Err(match kernel {
                    Some(kernel) => Error::launch(kernel, problem),
                    None => Error::invalid(problem),
                });
            }
            // Commands on another queue must be flushed before a command waits for them (OpenCL 3.0, clFlush).
            if !of_event.is(queue) {
                let flushed = of_event.flushed();
                flushed.map_err(self.device().failed("flushing an event's queue"))?;
            }
            if self.device().facts().ignores_failed_dependencies
                && let Err(failure) = event.raw.is_complete()
            {
                return Err(event.failed(failure));
            }
        }
        Ok(WaitList::new(events.iter().map(|event| &event.raw)))
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use std::sync::{Arc, mpsc};
    use std::task::Wake;
    use std::time::{Duration, Instant};

    use super::*;
    use crate::{Arg, Buffer, Kernel, Launch, common};

    const IOTA: &str = "_ZN18__sycl_kernel_fill4iotaEfPfi";

    /// Launches a kernel that writes ascending numbers, once all of `after` have finished.
    pub(crate) fn iota(queue: &Queue, out: &mut Buffer<f32>, after: &[&Event]) -> Result<Event> {
        iota_from(queue, 0.0, out, after)
    }

    /// Launches the same kernel, with numbers that begin at `start`.
    #[allow(unsafe_code, reason = "launching a kernel is unsafe")]
    pub(crate) fn iota_from(
        queue: &Queue,
        start: f32,
        out: &mut Buffer<f32>,
        after: &[&Event],
    ) -> Result<Event> {
        let kernel = iota_kernel(queue);
        // SAFETY: the kernel writes only the elements of the buffer.
        unsafe { iota_launch(&kernel, start, out).after(after).launch(1) }
    }

    pub(crate) fn iota_kernel(queue: &Queue) -> Result<Kernel> {
        common::kernel(queue, "vector_ops.object.syclbin", IOTA)
    }

    pub(crate) fn iota_launch<'a>(
        kernel: &'a Result<Kernel>,
        start: f32,
        out: &'a mut Buffer<f32>,
    ) -> Launch<'a, 3> {
        let count = i32::try_from(out.len()).unwrap();
        let args = [Arg::scalar(start), Arg::write(out), Arg::scalar(count)];
        Launch::new(kernel, &["start", "out", "count"], args)
    }

    /// Notifies the test when it is woken.
    pub(crate) struct Bell(pub(crate) mpsc::Sender<()>);

    impl Wake for Bell {
        fn wake(self: Arc<Self>) {
            let _ = self.0.send(());
        }
    }

    /// Prints that the rest of a test needs a queue that still accepts commands after a failed command.
    pub(crate) fn say_queue_ended() {
        common::say_skipped("the rest: queues that accept commands after a failed command");
    }

    // Intel's CPU driver (2026.2) reports a failed dependency only to the callback of the command.
    #[test]
    fn failed_dependency_stops_command_and_fails_future() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let (send, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Bell(send)));
        let mut out = queue.upload(&[7.0f32; 2])?;
        // An event that the test completes.
        let Some((user, raw)) = backend::queue::pending_event(queue.raw()) else {
            common::say_skipped("no user events, and a failing kernel would destroy the context");
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
        // Nothing has run, and the queue is still usable.
        assert_eq!(queue.device().queue()?.download(&out)?, [7.0; 2]);
        let again = iota(&queue, &mut out, &[]);
        match again.and_then(|_| queue.download(&out)) {
            Ok(out) => assert_eq!(out, [0.0, 1.0]),
            Err(_) => say_queue_ended(),
        }
        Ok(())
    }

    #[test]
    fn waiting_transfer_is_not_complete() -> Result<()> {
        let Some(queue) = common::queue() else {
            return Ok(());
        };
        let buffer = queue.upload(&[1, 2, 3])?;
        let Some((user, raw)) = backend::queue::pending_event(queue.raw()) else {
            common::say_skipped("user events");
            return Ok(());
        };
        let event = Event::of_action(&queue, "being a test", raw);
        let transfer = queue.after(&[&event]).download_later(&buffer)?;
        let complete = transfer.is_complete();
        user.end(0);
        assert!(!complete?);
        assert_eq!(transfer.wait()?, [1, 2, 3]);
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
                 CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST (-14) while waiting at a barrier (a command that it \
                 depends on failed, and that command's event reports the cause) on {}",
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
        // The driver's event alone does not keep the queue alive.
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
        // Polls the driver's event, which does not flush. The time limit catches drivers that never start the
        // command.
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
