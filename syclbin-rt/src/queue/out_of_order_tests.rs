// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of out-of-order queues: which commands may overtake others, which must wait, and which a failure stops.

use std::sync::{Arc, mpsc};
use std::task::{Poll, Waker};
use std::time::{Duration, Instant};

use crate::backend::failure::Rejection;
use crate::backend::queue::is_out_of_order;
use crate::backend::{Direction, Failure, Region, WaitList};
use crate::queue::event::Event;
use crate::queue::event::tests::{
    Bell, iota, iota_from, iota_kernel, iota_launch, say_queue_ended,
};
use crate::{Arg, Buffer, Launch, Queue, QueueOptions, Result, backend, common};

/// An event that the test completes on request.
struct Gate {
    user: Option<backend::UserEvent>,
    event: Event,
}

impl Gate {
    fn new(queue: &Queue) -> Self {
        let (user, raw) =
            backend::queue::pending_event(queue.raw()).expect("OpenCL has user events");
        let event = Event::of_action(queue, "being a test", raw);
        Self {
            user: Some(user),
            event,
        }
    }

    /// Completes the event with 0 or an error code.
    fn end(&mut self, status: i32) {
        if let Some(user) = self.user.take() {
            user.end(status);
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        // After a failed test, dropping the queue must not wait forever.
        self.end(0);
    }
}

/// Returns a queue that the driver runs out of order, and another queue of the same device.
fn queues() -> Result<Option<[Queue; 2]>> {
    let Some(queue) = common::queue_with(QueueOptions::new().out_of_order())? else {
        return Ok(None);
    };
    if !is_out_of_order(queue.raw()) {
        common::say_skipped("out-of-order queues");
        return Ok(None);
    }
    let other = queue.device().queue()?;
    Ok(Some([queue, other]))
}

/// Returns whether `event` completes before the gate opens. The time limit is for drivers that never reorder, which
/// OpenCL allows.
fn overtakes(event: &Event) -> Result<bool> {
    let long_after = Instant::now() + Duration::from_secs(5);
    while !event.is_complete()? {
        if Instant::now() > long_after {
            common::say_skipped("commands that overtake others on their queue");
            return Ok(false);
        }
        std::thread::yield_now();
    }
    Ok(true)
}

fn sevens(queue: &Queue) -> Result<Buffer<f32>> {
    queue.upload(&[7.0f32; 2])
}

#[test]
fn new_memory_does_not_wait_for_the_queue() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    if queue.device().takes_ptx() {
        common::say_skipped("user events");
        return Ok(());
    }
    let mut held = sevens(&queue)?;
    let mut gate = Gate::new(&queue);
    let waiting = iota(&queue, &mut held, &[&gate.event])?;
    // Without a second queue, these would wait forever.
    let uploaded = queue.upload(&vec![7u8; 1 << 20])?;
    let zeroed = queue.zeroed::<u8>(1 << 20)?;
    assert!(!waiting.is_complete()?);
    gate.end(0);
    assert!(queue.download(&uploaded)?.iter().all(|byte| *byte == 7));
    assert!(queue.download(&zeroed)?.iter().all(|byte| *byte == 0));
    assert_eq!(queue.download(&held)?, [0.0, 1.0]);
    Ok(())
}

#[test]
#[allow(unsafe_code, reason = "launching a kernel is unsafe")]
fn kernels_are_found_during_an_assert_read() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile("made/asserts.syclbin"))?;
    let kernel = module.kernel("halve");
    let mut data = queue.upload(&[2])?;
    let mut held = sevens(&queue)?;
    // SAFETY: one work-item for each element.
    let launched = unsafe { Launch::new(&kernel, &["data"], [Arg::write(&mut data)]).launch(1)? };
    let mut gate = Gate::new(&queue);
    iota(&queue, &mut held, &[&gate.event])?;
    let found = std::thread::scope(|scope| {
        let waiting = scope.spawn(|| launched.wait());
        std::thread::sleep(Duration::from_millis(50)); // until it reads the record
        let (send, receive) = mpsc::channel();
        let module = &module;
        scope.spawn(move || send.send(module.kernel("halve").map(drop)));
        let found = receive.recv_timeout(Duration::from_secs(20));
        assert!(!waiting.is_finished());
        gate.end(0);
        let waited = waiting.join().expect("it does not panic");
        waited.expect("2 is even");
        found
    });
    found.expect("it waits for no command")
}

#[test]
fn command_overtakes_one_that_waits() -> Result<()> {
    let Some([queue, other]) = queues()? else {
        return Ok(());
    };
    let (mut held, mut free) = (sevens(&other)?, sevens(&other)?);
    let mut gate = Gate::new(&queue);
    let waiting = iota(&queue, &mut held, &[&gate.event])?;
    let running = iota(&queue, &mut free, &[])?;
    if overtakes(&running)? {
        assert!(!waiting.is_complete()?);
        assert_eq!(other.download(&free)?, [0.0, 1.0]);
        assert_eq!(other.download(&held)?, [7.0; 2]);
    }
    gate.end(0);
    waiting.wait()?;
    running.wait()?;
    assert_eq!(queue.download(&held)?, [0.0, 1.0]);
    assert_eq!(queue.download(&free)?, [0.0, 1.0]);
    Ok(())
}

#[test]
fn command_overtakes_one_that_waits_for_another_queue() -> Result<()> {
    let Some([queue, other]) = queues()? else {
        return Ok(());
    };
    let (mut there, mut held) = (sevens(&other)?, sevens(&other)?);
    let mut free = sevens(&other)?;
    let mut gate = Gate::new(&queue);
    let first = iota(&other, &mut there, &[&gate.event])?;
    let waiting = iota(&queue, &mut held, &[&first])?;
    let running = iota(&queue, &mut free, &[])?;
    if overtakes(&running)? {
        assert!(!waiting.is_complete()?);
        assert!(!first.is_complete()?);
    }
    gate.end(0);
    waiting.wait()?;
    assert!(first.is_complete()?);
    assert_eq!(queue.download(&held)?, [0.0, 1.0]);
    assert_eq!(queue.download(&free)?, [0.0, 1.0]);
    Ok(())
}

#[test]
fn future_of_overtaking_command_is_woken_first() -> Result<()> {
    let Some([queue, other]) = queues()? else {
        return Ok(());
    };
    let (mut held, mut free) = (sevens(&other)?, sevens(&other)?);
    let mut gate = Gate::new(&queue);
    let waiting = iota(&queue, &mut held, &[&gate.event])?;
    let running = iota(&queue, &mut free, &[])?;
    let (send, woken) = mpsc::channel();
    let waker = Waker::from(Arc::new(Bell(send)));
    let (mut end_of_waiting, mut end_of_running) = (None, None);
    assert!(waiting.poll(&mut end_of_waiting, &waker).is_pending());
    if overtakes(&running)? {
        let ended = running.poll(&mut end_of_running, &waker);
        assert!(matches!(ended, Poll::Ready(Ok(()))));
        assert!(waiting.poll(&mut end_of_waiting, &waker).is_pending());
        assert!(
            woken.try_recv().is_err(),
            "nothing that was polled has ended"
        );
    }
    gate.end(0);
    woken.recv().expect("the end of the command wakes the task");
    let ended = waiting.poll(&mut end_of_waiting, &waker);
    assert!(matches!(ended, Poll::Ready(Ok(()))));
    Ok(())
}

#[test]
fn nothing_overtakes_a_barrier() -> Result<()> {
    let Some([queue, other]) = queues()? else {
        return Ok(());
    };
    let mut numbers = sevens(&other)?;
    for events in [0, 1] {
        let [mut before, mut listed] = [Gate::new(&queue), Gate::new(&queue)];
        let first = iota_from(&queue, 10.0, &mut numbers, &[&before.event])?;
        let barrier = queue.barrier(&[&listed.event][..events])?;
        let last = iota_from(&queue, 20.0, &mut numbers, &[])?;
        assert!(!barrier.is_complete()? && !last.is_complete()?);
        if events == 0 {
            before.end(0);
            barrier.wait()?;
            listed.end(0);
        } else {
            listed.end(0);
            assert!(!barrier.is_complete()? && !last.is_complete()?);
            before.end(0);
            barrier.wait()?;
        }
        assert!(first.is_complete()?);
        last.wait()?;
        assert_eq!(queue.download(&numbers)?, [20.0, 21.0]);
    }
    Ok(())
}

#[test]
#[allow(unsafe_code, reason = "recording a launch is unsafe")]
fn replays_follow_each_other() -> Result<()> {
    let Some([queue, other]) = queues()? else {
        return Ok(());
    };
    let mut numbers = sevens(&other)?;
    let kernel = iota_kernel(&queue);
    let mut recordings = Vec::new();
    for start in [10.0, 20.0] {
        let mut recorder = queue.record();
        // SAFETY: the kernel writes only the elements of the buffer.
        unsafe { iota_launch(&kernel, start, &mut numbers).record(&mut recorder, 1) }?;
        recordings.push(recorder.finish()?);
    }
    let mut gate = Gate::new(&queue);
    let first = recordings[0].replay_after(&[&gate.event])?;
    let second = recordings[1].replay()?;
    std::thread::sleep(Duration::from_millis(50)); // enough to overtake
    assert!(!first.is_complete()? && !second.is_complete()?);
    gate.end(0);
    second.wait()?;
    assert!(first.is_complete()?);
    assert_eq!(other.download(&numbers)?, [20.0, 21.0]);
    Ok(())
}

#[test]
fn failed_dependency_stops_only_what_waits_for_it() -> Result<()> {
    let Some([queue, other]) = queues()? else {
        return Ok(());
    };
    let (mut held, mut free) = (sevens(&other)?, sevens(&other)?);
    let mut gate = Gate::new(&queue);
    let waiting = iota(&queue, &mut held, &[&gate.event])?;
    let after_that = iota(&queue, &mut held, &[&waiting])?;
    let (send, woken) = mpsc::channel();
    let waker = Waker::from(Arc::new(Bell(send)));
    let mut end = None;
    assert!(after_that.poll(&mut end, &waker).is_pending());
    let running = iota(&queue, &mut free, &[])?;
    gate.end(-9999);
    woken.recv().expect("the failure wakes the task");
    assert!(matches!(
        after_that.poll(&mut end, &waker),
        Poll::Ready(Err(_))
    ));
    assert!(waiting.wait().is_err());
    assert_eq!(other.download(&held)?, [7.0; 2]);
    if running.wait().is_err() {
        say_queue_ended();
        return Ok(());
    }
    queue.wait()?;
    assert_eq!(other.download(&free)?, [0.0, 1.0]);
    iota_from(&queue, 3.0, &mut held, &[])?;
    assert_eq!(queue.download(&held)?, [3.0, 4.0]);
    Ok(())
}

#[test]
fn command_after_failed_event_does_not_run() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let mut out = sevens(&queue)?;
    let mut gate = Gate::new(&queue);
    gate.end(-9999);
    // The launch is rejected or fails later. Some drivers report the latter only to futures.
    if let Ok(launched) = iota(&queue, &mut out, &[&gate.event]) {
        let _ = launched.wait();
    }
    assert_eq!(queue.device().queue()?.download(&out)?, [7.0; 2]);
    Ok(())
}

#[test]
fn barriers_beside_a_failed_command_end() -> Result<()> {
    for fails_first in [true, false] {
        let Some([queue, other]) = queues()? else {
            return Ok(());
        };
        let (mut held, mut free) = (sevens(&other)?, sevens(&other)?);
        let mut gate = Gate::new(&queue);
        let waiting = iota(&queue, &mut held, &[&gate.event])?;
        let ready = iota(&other, &mut free, &[])?;
        if fails_first {
            gate.end(-9999);
            assert!(waiting.wait().is_err());
        }
        // Drivers reject the barrier, let it fail, or ignore the failure.
        let barrier = queue.barrier(&[&ready]);
        if !fails_first {
            gate.end(-9999);
        }
        if let Ok(barrier) = barrier {
            let _ = barrier.wait();
        }
        let _ = queue.wait();
        assert_eq!(other.download(&free)?, [0.0, 1.0]);
    }
    Ok(())
}

#[test]
fn dropped_transfer_waits_for_its_copy() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let source = sevens(&queue)?;
    let mut gate = Gate::new(&queue);
    let transfer = queue.after(&[&gate.event]).download_later(&source)?;
    std::thread::scope(|scope| {
        let dropping = scope.spawn(move || drop(transfer));
        std::thread::sleep(Duration::from_millis(50)); // enough to end without the copy
        assert!(!dropping.is_finished());
        gate.end(0);
        dropping.join().expect("it does not panic");
    });
    Ok(())
}

#[test]
fn rejected_transfer_does_not_wait_for_the_queue() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let mut held = sevens(&queue)?;
    let memory = Arc::clone(&sevens(&queue)?.region().memory);
    let mut gate = Gate::new(&queue);
    let waiting = iota(&queue, &mut held, &[&gate.event])?;
    // The region is one byte longer than the memory.
    let region = Region::new(memory, 0, 9, 1);
    let nothing = WaitList::NOTHING;
    let started = (queue.raw()).transfer_later(&region, vec![0u8; 9], Direction::ToHost, nothing);
    let failure = started.err().expect("it does not fit");
    assert_eq!(failure, Failure::Rejected(Rejection::OutOfBounds));
    assert!(!waiting.is_complete()?);
    gate.end(0);
    waiting.wait()
}
