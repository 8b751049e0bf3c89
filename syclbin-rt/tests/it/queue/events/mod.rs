// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events: commands wait for each other, threads and tasks for commands.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

pub(crate) mod futures;

use std::future::{Future, IntoFuture};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc;
use std::task::{Context, Poll, Wake, Waker};

use syclbin_rt::{
    Arg, Buffer, Event, EventFuture, Kernel, Launch, Module, Priority, Queue, QueueOptions, Result,
    Transfer, TransferFuture,
};

use crate::common;

/// Large enough for a kernel to be still at work when the next one is queued.
const N: usize = 1 << 20;

/// The kernels of one queue.
struct Kernels {
    iota: Result<Kernel>,
    saxpy: Result<Kernel>,
}

impl Kernels {
    fn load(queue: &Queue) -> Result<Self> {
        let module: Module = common::load(queue, &common::testfile("vector_ops.object.syclbin"))?;
        Ok(Self {
            iota: module.kernel("_ZN18__sycl_kernel_fill4iotaEfPfi"),
            saxpy: module.kernel("saxpy"),
        })
    }

    /// `out[i] = start + i`, by a single work-item, and so slowly.
    fn iota(&self, start: f32, out: &mut Buffer<f32>, after: &[&Event]) -> Result<Event> {
        let count = i32::try_from(out.len()).expect("a small buffer");
        let args = [Arg::scalar(start), Arg::write(out), Arg::scalar(count)];
        let launch = Launch::new(&self.iota, &["start", "out", "count"], args);
        // SAFETY: it writes as many elements as there are.
        unsafe { launch.after(after).launch(1) }
    }

    /// `y[i] += a * x[i]`.
    fn saxpy(
        &self,
        a: f32,
        x: &Buffer<f32>,
        y: &mut Buffer<f32>,
        after: &[&Event],
    ) -> Result<Event> {
        assert_eq!(x.len(), y.len());
        let n = u32::try_from(x.len()).expect("a small buffer");
        let args = [Arg::scalar(a), Arg::read(x), Arg::write(y), Arg::scalar(n)];
        let launch = Launch::new(&self.saxpy, &["a", "x", "y", "n"], args);
        // SAFETY: the kernel checks its index against `n`, which is the length of both buffers.
        unsafe { launch.after(after).launch(x.len()) }
    }
}

fn out_of_order() -> Result<Option<Queue>> {
    common::queue_with(QueueOptions::new().out_of_order())
}

#[test]
fn out_of_order_diamond_follows_its_dependencies() -> Result<()> {
    let Some(queue) = out_of_order()? else {
        return Ok(());
    };
    assert!(queue.options() == QueueOptions::new().out_of_order());
    let kernels = Kernels::load(&queue)?;
    let mut a = queue.zeroed(N)?;
    let (mut b, mut c) = (queue.zeroed(N)?, queue.zeroed(N)?);
    for start in [0.0, 1.0, 2.0, 3.0] {
        queue.write(&mut b, &vec![1.0; N])?;
        queue.write(&mut c, &vec![2.0; N])?;
        let first = kernels.iota(start, &mut a, &[])?;
        let left = kernels.saxpy(2.0, &a, &mut b, &[&first])?;
        let right = kernels.saxpy(3.0, &a, &mut c, &[&first])?;
        let last = kernels.saxpy(10.0, &b, &mut c, &[&left, &right])?;
        last.wait()?;
        let mut c = queue.download(&c)?.into_iter().zip(0u32..);
        assert!(c.all(|(c, i)| {
            let a = start + i as f32;
            c == 10.0 * (2.0 * a + 1.0) + (3.0 * a + 2.0)
        }));
    }
    Ok(())
}

#[test]
fn queues_of_every_priority_run_commands() -> Result<()> {
    for priority in [Priority::Low, Priority::Normal, Priority::High] {
        let options = QueueOptions::new().priority(priority);
        let Some(queue) = common::queue_with(options)? else {
            return Ok(());
        };
        assert!(queue.options() == options);
        let kernels = Kernels::load(&queue)?;
        let mut x = queue.zeroed(N)?;
        kernels.iota(7.0, &mut x, &[])?;
        assert_eq!(queue.download(&x)?[..2], [7.0, 8.0]);
    }
    Ok(())
}

#[test]
fn waiting_calls_follow_all_earlier_commands() -> Result<()> {
    let Some(queue) = out_of_order()? else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let (mut x, mut y) = (queue.zeroed(N)?, queue.zeroed(N)?);
    let expected: Vec<f32> = (0u32..).take(N).map(|i| i as f32).collect();
    kernels.iota(0.0, &mut x, &[])?;
    assert_eq!(queue.download(&x)?, expected);
    kernels.iota(1.0, &mut x, &[])?;
    let mut data = vec![0.0; N];
    queue.read(&x, &mut data)?;
    assert!(data.iter().zip(&expected).all(|(x, i)| *x == i + 1.0));
    // What is written does not reach a launch before.
    let wrote = kernels.iota(2.0, &mut x, &[])?;
    kernels.saxpy(1.0, &x, &mut y, &[&wrote])?;
    queue.write(&mut x, &vec![0.0; N])?;
    assert!(queue.download(&x)?.iter().all(|x| *x == 0.0));
    let y = queue.download(&y)?;
    assert!(y.iter().zip(&expected).all(|(y, i)| *y == i + 2.0));
    Ok(())
}

#[test]
fn device_global_accesses_follow_all_earlier_commands() -> Result<()> {
    let Some(queue) = out_of_order()? else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let mut x = queue.zeroed(N)?;
    let module = common::load(&queue, &common::testfile("globals.object.syclbin"))?;
    let (table, store) = (
        module.global::<[i32; 4]>("_Z5table")?,
        module.kernel("store"),
    );
    for value in 0..20 {
        let slow = kernels.iota(0.0, &mut x, &[])?;
        let launch = Launch::new(&store, &["value"], [Arg::scalar(value)]);
        // SAFETY: it writes nothing but the variable.
        unsafe { launch.after(&[&slow]).launch(1)? };
        assert_eq!(table.read()?, [0, value, 2 * value, 3 * value]);
        let launch = Launch::new(&store, &["value"], [Arg::scalar(value)]);
        let slow = kernels.iota(0.0, &mut x, &[])?;
        // SAFETY: as above.
        unsafe { launch.after(&[&slow]).launch(1)? };
        table.write(&[-value; 4])?;
        queue.wait()?;
        assert_eq!(table.read()?, [-value; 4]);
    }
    Ok(())
}

#[test]
fn barrier_separates_commands_before_and_after() -> Result<()> {
    let Some(queue) = out_of_order()? else {
        return Ok(());
    };
    let other = queue.device().queue()?;
    let (kernels, elsewhere) = (Kernels::load(&queue)?, Kernels::load(&other)?);
    let (mut x, mut y) = (queue.zeroed(N)?, queue.zeroed(N)?);
    let (mut z, mut sum) = (queue.zeroed(N)?, queue.zeroed::<f32>(N)?);
    for start in [0.0, 1.0, 2.0] {
        queue.write(&mut sum, &vec![0.0; N])?;
        kernels.iota(start, &mut x, &[])?;
        kernels.iota(start, &mut y, &[])?;
        let there = elsewhere.iota(start, &mut z, &[])?;
        // Of all three one only is named.
        let all = queue.barrier(&[&there])?;
        let one = kernels.saxpy(1.0, &x, &mut sum, &[])?;
        let two = kernels.saxpy(2.0, &y, &mut sum, &[&one])?;
        kernels.saxpy(3.0, &z, &mut sum, &[&two])?;
        all.wait()?;
        assert_eq!(format!("{all:?}"), "Event(waiting at a barrier)");
        assert!(there.is_complete()?);
        let mut sum = queue.download(&sum)?.into_iter().zip(0u32..);
        assert!(sum.all(|(sum, i)| sum == 6.0 * (start + i as f32)));
    }
    Ok(())
}

#[test]
fn in_order_queues_synchronize_by_events() -> Result<()> {
    let Some(one) = common::queue() else {
        return Ok(());
    };
    let two = one.device().queue()?;
    let (on_one, on_two) = (Kernels::load(&one)?, Kernels::load(&two)?);
    let (mut x, mut y) = (one.zeroed(N)?, one.zeroed(N)?);
    for start in [0.0, 1.0, 2.0, 3.0] {
        two.write(&mut y, &vec![0.0; N])?;
        let wrote = on_one.iota(start, &mut x, &[])?;
        two.barrier(&[&wrote])?;
        on_two.saxpy(1.0, &x, &mut y, &[])?;
        // And back: `x` is not to change before it was read.
        one.barrier(&[&two.barrier(&[])?])?;
        let again = on_one.iota(-start, &mut x, &[])?;
        let read = on_two.saxpy(-1.0, &x, &mut y, &[&again])?;
        one.barrier(&[&read])?;
        let mut y = one.download(&y)?.into_iter();
        assert!(y.all(|y| y == 2.0 * start));
    }
    Ok(())
}

#[test]
fn many_dependencies_are_all_waited_for() -> Result<()> {
    let Some(queue) = out_of_order()? else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    for many in [8, 9, 20] {
        let mut parts = Vec::new();
        for _ in 0..many {
            parts.push(queue.zeroed(1 << 16)?);
        }
        let mut events = Vec::new();
        for part in &mut parts {
            events.push(kernels.iota(1.0, part, &[])?);
        }
        let all: Vec<&Event> = events.iter().collect();
        let mut sum = queue.zeroed(1 << 16)?;
        // The last one is that which runs last, if any.
        let last = parts.last().expect("some");
        let done = kernels.saxpy(1.0, last, &mut sum, &all)?;
        done.wait()?;
        for event in &events {
            assert!(event.is_complete()?);
        }
        Event::wait_all(&all)?;
        assert_eq!(queue.download(&sum)?[..2], [1.0, 2.0]);
    }
    Event::wait_all(&[])
}

#[test]
fn threads_share_one_out_of_order_queue() -> Result<()> {
    let Some(queue) = out_of_order()? else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let work = |start: f32| -> Result<Vec<f32>> {
        let (mut x, mut y) = (queue.zeroed(10_000)?, queue.zeroed(10_000)?);
        let mut last = kernels.iota(start, &mut x, &[])?;
        for _ in 0..50 {
            last = kernels.saxpy(1.0, &x, &mut y, &[&last])?;
        }
        last.wait()?;
        queue.download(&y)
    };
    each_on_its_thread(work)
}

#[test]
fn threads_wait_while_others_use_the_queue() -> Result<()> {
    let Some(queue) = out_of_order()? else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    // Often, because a driver that cannot do this at once still can most of the time.
    let work = |start: f32| -> Result<Vec<f32>> {
        let (mut x, mut y) = (queue.zeroed(100)?, queue.zeroed(100)?);
        for _ in 0..1000 {
            y = queue.zeroed(100)?;
            let first = kernels.iota(start, &mut x, &[])?;
            kernels.saxpy(50.0, &x, &mut y, &[&first])?;
            queue.wait()?;
        }
        queue.download(&y)
    };
    each_on_its_thread(work)
}

#[test]
fn threads_have_own_queues_on_one_device() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let shared = queue.zeroed(10_000)?;
    let work = |start: f32| -> Result<Vec<f32>> {
        let queue = queue.device().queue()?;
        let kernels = Kernels::load(&queue)?;
        let (mut x, mut y) = (queue.zeroed(10_000)?, queue.zeroed(10_000)?);
        kernels.iota(start, &mut x, &[])?;
        for _ in 0..50 {
            kernels.saxpy(1.0, &x, &mut y, &[])?;
            kernels.saxpy(1.0, &shared, &mut y, &[])?;
        }
        queue.download(&y)
    };
    each_on_its_thread(work)
}

/// Eight threads do `work`, and get 50 times what it counts from.
fn each_on_its_thread(work: impl Fn(f32) -> Result<Vec<f32>> + Sync) -> Result<()> {
    let work = &work;
    let starts = [0u8, 1, 2, 3, 4, 5, 6, 7].map(f32::from);
    std::thread::scope(|scope| {
        let threads = starts.map(|start| (start, scope.spawn(move || work(start))));
        for (start, thread) in threads {
            let results = thread.join().expect("no panic")?;
            let mut results = results.into_iter().zip(0u32..);
            assert!(results.all(|(y, i)| y == 50.0 * (start + i as f32)));
        }
        Ok(())
    })
}

#[test]
fn a_profile_tells_when_a_command_ran() -> Result<()> {
    let Some(queue) = common::queue_with(QueueOptions::new().profiling())? else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let mut x = queue.zeroed(N)?;
    let first = kernels.iota(0.0, &mut x, &[])?;
    let profile = first.profile()?;
    assert!(profile.queued <= profile.submitted);
    assert!(profile.submitted <= profile.started);
    assert!(profile.started < profile.ended);
    assert_eq!(profile.execution(), profile.ended - profile.started);
    let next = kernels.iota(0.0, &mut x, &[])?.profile()?;
    assert!(profile.ended <= next.started);
    Ok(())
}

#[test]
fn missing_profile_error_names_the_option() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = Kernels::load(&queue)?;
    let mut x = queue.zeroed(10)?;
    let event = kernels.iota(0.0, &mut x, &[])?;
    assert_eq!(
        event.profile().unwrap_err().to_string(),
        "no times were recorded while running kernel fill::iota; create the queue with \
        Device::queue_with(QueueOptions::new().profiling())"
    );
    event.wait()
}
