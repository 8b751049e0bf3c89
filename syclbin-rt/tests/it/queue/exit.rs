// SPDX-License-Identifier: MIT OR Apache-2.0
//! A process exits while other threads are in the runtime: it ends with the status that it was given, and prints
//! nothing. `tests/main_thread.rs` does so on the main thread.
#![allow(unsafe_code, reason = "launching without a contract is unsafe")]

use std::io::Write as _;
use std::process::{Child, Stdio};
use std::sync::{Arc, Barrier};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use syclbin_rt::{Arg, Aspect, Buffer, Device, DeviceArray, Event, Kernel, Launch, Queue, Result};

use crate::common;

/// What a child does in its threads, and how many threads it has.
const WORK: &str = "SYCLBIN_RT_TEST_WORK";
const THREADS: &str = "SYCLBIN_RT_TEST_THREADS";

/// How often each work is tried with each number of threads: 3 times, or as often as this variable says.
const ROUNDS: &str = "SYCLBIN_TEST_ROUNDS";
/// How many children run at once.
const AT_ONCE: usize = 4;
/// What a child exits with.
const STATUS: i32 = 42;

const LEN: usize = 1 << 8;
const FILE: &str = "vector_ops.object.syclbin";
const IOTA: &str = "_ZN18__sycl_kernel_fill4iotaEfPfi";

struct Worker {
    queue: Queue,
    kernel: Result<Kernel>,
    buffer: Buffer<f32>,
}

impl Worker {
    fn iota(&mut self) -> Launch<'_, 3> {
        let count = i32::try_from(LEN).expect("it is small");
        let args = [
            Arg::scalar(0.0f32),
            Arg::write(&mut self.buffer),
            Arg::scalar(count),
        ];
        Launch::new(&self.kernel, &["start", "out", "count"], args)
    }

    fn launch(&mut self) -> Result<Event> {
        // SAFETY: it writes as many elements as there are.
        unsafe { self.iota().launch(LEN) }
    }

    fn prepared(&mut self) -> Result<()> {
        let prepared = self.iota().prepare(LEN)?;
        for _ in 0..10 {
            // SAFETY: it writes as many elements as there are.
            unsafe { prepared.launch() }?;
        }
        Ok(())
    }

    /// Until its end is known, by polling as an executor does.
    fn awaited(&mut self) -> Result<()> {
        let mut end = std::pin::pin!(self.launch()?.into_future());
        let mut context = Context::from_waker(Waker::noop());
        loop {
            match end.as_mut().poll(&mut context) {
                Poll::Ready(ended) => return ended,
                Poll::Pending => std::thread::yield_now(),
            }
        }
    }
}

type Work = fn(&mut Worker) -> Result<()>;

const WORKS: &[(&str, Work)] = &[
    ("load", |worker| {
        common::load(&worker.queue, &common::testfile(FILE)).map(drop)
    }),
    ("launch", |worker| worker.launch().map(drop)),
    ("launch and wait", |worker| worker.launch()?.wait()),
    ("prepared", Worker::prepared),
    ("await", Worker::awaited),
    ("download", |worker| {
        worker.queue.download(&worker.buffer).map(drop)
    }),
    ("map", |worker| worker.queue.map(&worker.buffer).map(drop)),
    ("buffers", |worker| {
        worker.queue.upload(&[1.0f32; LEN]).map(drop)
    }),
    ("arrays", |worker| {
        DeviceArray::upload(&worker.queue, &[1.0f32; LEN]).map(drop)
    }),
    ("queues", |worker| worker.queue.device().queue()?.wait()),
    ("devices", |_| Device::all().map(drop)),
];

#[test]
fn exit_during_work_is_clean() {
    let Some(queue) = common::queue() else {
        return;
    };
    if cfg!(windows) {
        // `ExitProcess` ends all other threads, even inside a driver, before any handler runs.
        return common::say_skipped("on Windows, exiting during work is never clean");
    }
    let has_arrays = queue.device().has(Aspect::USM_DEVICE_ALLOCATIONS);
    let rounds = std::env::var(ROUNDS).map_or(3, |rounds| rounds.parse().expect("a number"));
    let mut waiting = Vec::new();
    for (work, _) in WORKS {
        if *work == "arrays" && !has_arrays {
            continue;
        }
        for threads in [1, 8] {
            waiting.extend(std::iter::repeat_n((*work, threads), rounds));
        }
    }
    let mut failed = Vec::new();
    let mut running = std::collections::VecDeque::new();
    for (work, threads) in waiting {
        // All of them outlast the time after which a silent program counts as hung.
        let line = format!("exit during {work}, {threads} threads\n");
        let _ = std::io::stderr().write_all(line.as_bytes());
        running.push_back((work, threads, start(work, threads)));
        if running.len() == AT_ONCE {
            failed.extend(running.pop_front().and_then(failure));
        }
    }
    failed.extend(running.into_iter().filter_map(failure));
    assert!(failed.is_empty(), "{}: {failed:#?}", failed.len());
}

fn start(work: &str, threads: usize) -> Child {
    common::child(module_path!(), "a_child_exits_while_it_works")
        .env(WORK, work)
        .env(THREADS, threads.to_string())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program starts")
}

fn failure((work, threads, child): (&str, usize, Child)) -> Option<String> {
    let output = child.wait_with_output().expect("its output");
    let printed = String::from_utf8_lossy(&output.stderr);
    let clean = output.status.code() == Some(STATUS) && printed.is_empty();
    (!clean).then(|| format!("{work}, {threads} threads: {}, {printed}", output.status))
}

/// What the test above runs in processes of their own.
#[test]
fn a_child_exits_while_it_works() {
    let (Ok(work), Ok(threads)) = (std::env::var(WORK), std::env::var(THREADS)) else {
        return;
    };
    let (_, work) = WORKS
        .iter()
        .find(|(name, _)| *name == work)
        .expect("a work");
    let threads: usize = threads.parse().expect("a number");
    let ready = Arc::new(Barrier::new(threads + 1));
    let queue = common::queue().expect("the device that the other test found");
    let kernel = common::kernel(&queue, FILE, IOTA).expect("the kernel");
    for _ in 0..threads {
        let mut worker = Worker {
            buffer: queue.zeroed(LEN).expect("memory"),
            queue: queue.clone(),
            kernel: Ok(kernel.clone()),
        };
        let ready = ready.clone();
        std::thread::spawn(move || {
            let mut round = || {
                if let Err(error) = work(&mut worker) {
                    eprintln!("{error}");
                }
            };
            // One who starts over at once would keep the driver's locks from the others.
            round();
            round();
            ready.wait();
            loop {
                round();
            }
        });
    }
    ready.wait();
    std::thread::sleep(Duration::from_millis(1));
    std::process::exit(STATUS);
}
