// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams: work in its order, done by a thread of its own.

use std::collections::VecDeque;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::capture::Capture;
use super::context::Context;
use super::event::Event;
use super::work::Work;
use crate::call::{Code, Outcome};

/// How much a stream takes before calls block.
const DEPTH: u64 = 1024;

/// What all streams of a context have in common.
#[derive(Default)]
pub(crate) struct Shared {
    /// What a kernel did that nothing can be done after.
    lost: Mutex<Option<Code>>,
    /// Held by who hands in work, so that what the null stream waits for is well defined.
    order: Mutex<()>,
}

impl Shared {
    /// The error that all calls have to give, if there is one.
    pub(crate) fn check(&self) -> Outcome<()> {
        match *self.lost.lock().unwrap_or_else(PoisonError::into_inner) {
            Some(code) => Err(code),
            None => Ok(()),
        }
    }

    /// The first error stays.
    pub(crate) fn lose(&self, code: Code) {
        let mut lost = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        lost.get_or_insert(code);
    }
}

/// A stream.
pub(crate) struct Stream {
    pub(crate) handle: u64,
    pub(crate) context: u64,
    /// Whether it waits for the null stream, and that one for it.
    pub(crate) blocking: bool,
    pub(crate) priority: i32,
    pub(crate) capture: Mutex<Option<Capture>>,
    queue: Arc<Queue>,
    shared: Arc<Shared>,
}

#[derive(Default)]
struct Queue {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    tasks: VecDeque<Task>,
    submitted: u64,
    done: u64,
    running: bool,
    closing: bool,
}

enum Task {
    Work(Work),
    /// Until another stream has done so many.
    Wait(Arc<Queue>, u64),
    /// Until an event was recorded so many times.
    WaitEvent(Arc<Event>, u64),
    Record(Arc<Event>, u64),
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn wait_for(&self, count: u64) {
        let mut state = self.state();
        while state.done < count {
            state = self
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Stream {
    pub(crate) fn new(
        handle: u64,
        context: u64,
        blocking: bool,
        priority: i32,
        shared: &Arc<Shared>,
    ) -> Self {
        Self {
            handle,
            context,
            blocking,
            priority,
            capture: Mutex::default(),
            queue: Arc::default(),
            shared: Arc::clone(shared),
        }
    }

    pub(crate) fn capture(&self) -> MutexGuard<'_, Option<Capture>> {
        self.capture.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Hands in work, or adds it to the graph that is being captured.
    pub(crate) fn submit(&self, context: &Context, work: Work) -> Outcome<()> {
        if let Some(capture) = &mut *self.capture() {
            return capture.add(work);
        }
        self.hand_in(context, Task::Work(work))
    }

    /// Records an event behind all that is in it.
    pub(crate) fn record(&self, context: &Context, event: &Arc<Event>) -> Outcome<()> {
        if let Some(capture) = &*self.capture() {
            capture.check()?;
            event.captured(capture);
            return Ok(());
        }
        let number = event.expect();
        self.hand_in(context, Task::Record(Arc::clone(event), number))
    }

    /// Lets what comes later wait for what was recorded.
    pub(crate) fn wait_event(&self, context: &Context, event: &Arc<Event>) -> Outcome<()> {
        if let Some(other) = event.capture() {
            let mut own = self.capture();
            return match &mut *own {
                Some(own) => own.join(&other),
                None => {
                    *own = Some(other.follow());
                    Ok(())
                }
            };
        }
        if self.capture().is_some() {
            return Err(Code::CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
        }
        match event.expected() {
            0 => Ok(()),
            number => self.hand_in(context, Task::WaitEvent(Arc::clone(event), number)),
        }
    }

    fn hand_in(&self, context: &Context, task: Task) -> Outcome<()> {
        // As NVIDIA's driver does: a call blocks while so much is in the stream.
        let submitted = self.queue.state().submitted;
        self.queue.wait_for(submitted.saturating_sub(DEPTH));
        let _order = self
            .shared
            .order
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let is_null = std::ptr::eq(self, &*context.null);
        if is_null {
            for other in context.streams().iter().filter(|other| other.blocking) {
                if other.capture().is_some() {
                    return Err(Code::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT);
                }
                self.wait_for_other(other);
            }
        } else if self.blocking {
            self.wait_for_other(&context.null);
        }
        self.push(task);
        Ok(())
    }

    fn wait_for_other(&self, other: &Self) {
        let state = other.queue.state();
        if state.done < state.submitted {
            let task = Task::Wait(Arc::clone(&other.queue), state.submitted);
            drop(state);
            self.push(task);
        }
    }

    fn push(&self, task: Task) {
        let mut state = self.queue.state();
        state.tasks.push_back(task);
        state.submitted += 1;
        if !state.running {
            state.running = true;
            let queue = Arc::clone(&self.queue);
            let shared = Arc::clone(&self.shared);
            std::thread::spawn(move || work(&queue, &shared));
        }
        drop(state);
        self.queue.changed.notify_all();
    }

    /// Whether all is done.
    pub(crate) fn is_empty(&self) -> bool {
        let state = self.queue.state();
        state.done == state.submitted
    }

    /// Waits for all that is in it now.
    pub(crate) fn wait(&self) {
        let count = self.queue.state().submitted;
        self.queue.wait_for(count);
    }

    /// Its thread ends after what is in it.
    pub(crate) fn close(&self) {
        self.queue.state().closing = true;
        self.queue.changed.notify_all();
    }
}

/// What the thread of a stream does.
fn work(queue: &Queue, shared: &Shared) {
    loop {
        let mut state = queue.state();
        let task = loop {
            if let Some(task) = state.tasks.pop_front() {
                break task;
            }
            if state.closing {
                return;
            }
            state = queue
                .changed
                .wait(state)
                .unwrap_or_else(PoisonError::into_inner);
        };
        drop(state);
        match task {
            Task::Work(work) => {
                if shared.check().is_ok()
                    && let Err(code) = work.run()
                {
                    shared.lose(code);
                }
                work.told(shared);
            }
            Task::Wait(other, count) => other.wait_for(count),
            Task::WaitEvent(event, number) => event.wait_for(number),
            Task::Record(event, number) => event.happened(number),
        }
        queue.state().done += 1;
        queue.changed.notify_all();
    }
}
