// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that launches without end does not keep others from waiting, and fills no memory.
#![allow(unsafe_code, reason = "launching without a contract is unsafe")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::thread::ScopedJoinHandle;
use std::time::{Duration, Instant};

use syclbin_rt::{Arg, Aspect, Buffer, Kernel, Launch, Queue, Result, SharedArray};

use crate::common;

/// Few, so that a kernel is short also where it is interpreted.
const LEN: usize = 4;
const IOTA: &str = "_ZN18__sycl_kernel_fill4iotaEfPfi";

/// A hundred times what waits for a queue. It took longer than a minute when a wait was for an empty queue. Five times
/// on a device that needs long for the commands in front: rusticl runs them on few threads.
fn wait_in_all_ways(queue: &Queue) -> Result<()> {
    let buffer = queue.upload(&[1u32, 2, 3])?;
    let started = Instant::now();
    for round in 0..100 {
        if round >= 5 && started.elapsed() > Duration::from_secs(10) {
            break;
        }
        assert_eq!(queue.map(&buffer)?.to_vec(), [1, 2, 3]);
        assert_eq!(queue.download(&buffer)?, [1, 2, 3]);
        queue.wait()?;
        if queue.device().has(Aspect::USM_SHARED_ALLOCATIONS) {
            drop(SharedArray::upload(queue, &[1.0f32])?);
        }
    }
    Ok(())
}

/// A launch over `LEN`, which writes as many elements of `out`.
fn iota<'a>(kernel: &'a Result<Kernel>, out: &'a mut Buffer<f32>) -> Launch<'a, 3> {
    let count = i32::try_from(LEN).expect("it is small");
    let args = [Arg::scalar(0.0f32), Arg::write(out), Arg::scalar(count)];
    Launch::new(kernel, &["start", "out", "count"], args)
}

fn launch_until(stop: &AtomicBool, queue: &Queue) -> Result<()> {
    let kernel = common::kernel(queue, "vector_ops.object.syclbin", IOTA);
    let mut out = queue.zeroed(LEN)?;
    while !stop.load(Ordering::Relaxed) {
        // SAFETY: it writes as many elements as there are.
        drop(unsafe { iota(&kernel, &mut out).launch(LEN) }?);
    }
    Ok(())
}

/// Ends the process unless a message comes in time: the test would hang if the waits do.
fn abort_without(end: &mpsc::Receiver<()>) {
    if end.recv_timeout(Duration::from_secs(120)).is_err() {
        eprintln!("waits did not end in 120 s");
        std::process::abort();
    }
}

fn waits_end_while_launching(queue: &Queue, launching: &Queue) -> Result<()> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let launcher = threads.spawn(|| launch_until(&stop, launching));
        let (ended, end) = mpsc::channel();
        threads.spawn(move || abort_without(&end));
        // A panic must stop the other threads, too.
        let waited = catch_unwind(AssertUnwindSafe(|| wait_in_all_ways(queue)));
        stop.store(true, Ordering::Relaxed);
        let _ = ended.send(());
        launcher.join().expect("it does not panic")?;
        waited.unwrap_or_else(|panic| resume_unwind(panic))
    })
}

#[test]
fn waits_end_while_another_thread_launches() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    waits_end_while_launching(&queue, &queue)
}

#[test]
fn waits_end_while_another_queue_is_fed() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    waits_end_while_launching(&queue, &queue.device().queue()?)
}

fn replay(queue: &Queue, times: usize) -> Result<()> {
    let kernel = common::kernel(queue, "vector_ops.object.syclbin", IOTA);
    let mut out = queue.zeroed(LEN)?;
    let mut recorder = queue.record();
    for _ in 0..3 {
        // SAFETY: it writes as many elements as there are.
        unsafe { iota(&kernel, &mut out).record(&mut recorder, LEN) }?;
    }
    let recording = recorder.finish()?;
    for _ in 0..times {
        drop(recording.replay()?);
    }
    Ok(())
}

fn download(queue: &Queue, times: usize) -> Result<()> {
    let buffer = queue.upload(&[1u32, 2, 3])?;
    for _ in 0..times {
        assert_eq!(queue.download(&buffer)?, [1, 2, 3]);
    }
    Ok(())
}

/// A blocking copy may wait for commands that another thread has not flushed, with a lock that this thread needs.
#[test]
fn copies_end_while_threads_replay() -> Result<()> {
    const TIMES: usize = 100;
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let queue = &queue;
    std::thread::scope(|threads| {
        let (ended, end) = mpsc::channel();
        threads.spawn(move || abort_without(&end));
        let work = (0..8).map(|thread| {
            threads.spawn(move || match thread % 2 {
                0 => replay(queue, TIMES),
                _ => download(queue, TIMES),
            })
        });
        let work: Vec<_> = work.collect();
        let mut results = work.into_iter().map(ScopedJoinHandle::join);
        let result = results.try_for_each(|result| result.expect("it does not panic"));
        let _ = ended.send(());
        result
    })
}
