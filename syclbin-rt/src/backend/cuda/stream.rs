// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams: their commands and their progress.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError, mpsc};

use crate::backend::cuda::context::Context;
use crate::backend::cuda::mark::Mark;
use crate::backend::cuda::sys::{CUstream, CUstream_flags};
use crate::backend::event::Completion;
use crate::backend::failure::Failure;
use crate::backend::gate::Passage;

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
    pub(crate) fn new(context: Arc<Context>) -> Result<Arc<Self>, Failure> {
        let mut handle = std::ptr::null_mut();
        let flags = CUstream_flags::CU_STREAM_NON_BLOCKING.0;
        // SAFETY: the context is current; one handle is written.
        unsafe { call!(context, cuStreamCreate(&raw mut handle, flags)) }?;
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
        stream.context.register(&stream);
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
    pub(crate) fn finish(&self) -> Result<(), Failure> {
        // Read before: what comes later may not be waited for.
        let last = self.last();
        // SAFETY: the stream is alive.
        unsafe { call!(self.context, cuStreamSynchronize(self.handle)) }?;
        self.ended_up_to(last);
        Ok(())
    }

    /// Waits for everything in it, the last of which is a copy from or to memory of the host that is
    /// only borrowed.
    pub(crate) fn settle(&self) -> Result<(), Failure> {
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
    pub(crate) fn mark(&self, number: u64) -> Result<Option<(u64, Arc<Mark>)>, Failure> {
        if self.has_ended(number) {
            return Ok(None);
        }
        let _passage = Passage::new();
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
    pub(crate) fn is_at(&self, number: u64) -> Result<bool, Failure> {
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
    pub(crate) fn wait(&self, number: u64) -> Result<(), Failure> {
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
