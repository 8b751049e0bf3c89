// SPDX-License-Identifier: MIT OR Apache-2.0
//! A thread that launches without end does not keep others from waiting, and fills no memory.
#![allow(unsafe_code, reason = "launching without a contract is unsafe")]

use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use syclbin_rt::{Arg, Aspect, Launch, Queue, Result, SharedArray};

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

fn launch_until(stop: &AtomicBool, queue: &Queue) -> Result<()> {
    let kernel = common::kernel(queue, "vector_ops.object.syclbin", IOTA);
    let mut out = queue.zeroed::<f32>(LEN)?;
    let count = i32::try_from(LEN).expect("it is small");
    while !stop.load(Ordering::Relaxed) {
        let args = [
            Arg::scalar(0.0f32),
            Arg::write(&mut out),
            Arg::scalar(count),
        ];
        let launch = Launch::new(&kernel, &["start", "out", "count"], args);
        // SAFETY: it writes as many elements as there are.
        drop(unsafe { launch.launch(LEN) }?);
    }
    Ok(())
}

fn waits_end_while_launching(queue: &Queue, launching: &Queue) -> Result<()> {
    let stop = AtomicBool::new(false);
    std::thread::scope(|threads| {
        let launcher = threads.spawn(|| launch_until(&stop, launching));
        let (ended, end) = mpsc::channel();
        threads.spawn(move || {
            // The test would hang if the waits do.
            if end.recv_timeout(Duration::from_secs(120)).is_err() {
                eprintln!("waits did not end in 120 s");
                std::process::abort();
            }
        });
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
