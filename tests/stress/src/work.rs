// SPDX-License-Identifier: MIT OR Apache-2.0
//! The work: each piece does `count` things on a device, and tells how many results were wrong.

use std::collections::VecDeque;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake};
use std::thread::Thread;

use syclbin_rt::{Arg, Buffer, Device, Event, Kernel, Launch, Module, Queue, QueueOptions, Result};

use crate::random::Random;

/// Threads that work at once.
pub(crate) const THREADS: usize = 16;
/// Launches that may be under way on a queue.
const UNDER_WAY: usize = 1000;
/// The largest buffer, in bytes.
const LARGEST: usize = 64 << 10;
/// Buffers that are there at once.
const AT_ONCE: usize = 32;

/// It has PTX beside SPIR-V.
const FILE: &[u8] = include_bytes!("../../files/nvidia/vector_ops.object.syclbin");

fn load(queue: &Queue) -> Result<Module> {
    // SAFETY: a compiler made the file.
    unsafe { Module::load(queue, FILE) }
}

/// A counter on the device, to which each launch adds 1.
struct Counter {
    kernel: Result<Kernel>,
    one: Buffer<f32>,
    sum: Buffer<f32>,
}

impl Counter {
    fn new(queue: &Queue, module: &Module) -> Result<Self> {
        Ok(Self {
            kernel: Ok(module.kernel("saxpy")?),
            one: queue.upload(&[1.0f32; 4])?,
            sum: queue.zeroed(4)?,
        })
    }

    fn add(&mut self, after: &[&Event]) -> Result<Event> {
        let args = [
            Arg::scalar(1.0f32),
            Arg::read(&self.one),
            Arg::write(&mut self.sum),
            Arg::scalar(4u32),
        ];
        let launch = Launch::new(&self.kernel, &["a", "x", "y", "n"], args).after(after);
        // SAFETY: both buffers have 4 elements.
        unsafe { launch.launch(4) }
    }

    /// How many of the sums are not what `count` additions come to.
    fn lost(&self, queue: &Queue, count: usize) -> Result<usize> {
        // Floats count that far without a gap: no caller asks for more than a million.
        let expected = count as f32;
        let sums = queue.download(&self.sum)?;
        Ok(sums.iter().filter(|sum| **sum != expected).count())
    }
}

/// Launches one after the other.
pub(crate) fn launches(device: &Device, count: usize) -> Result<usize> {
    let queue = device.queue()?;
    let mut counter = Counter::new(&queue, &load(&queue)?)?;
    for done in 1..=count {
        let event = counter.add(&[])?;
        if done % UNDER_WAY == 0 {
            event.wait()?;
        }
    }
    counter.lost(&queue, count)
}

/// Launches of several threads into one queue, each with a kernel and buffers of its own.
pub(crate) fn threads_on_one_queue(device: &Device, count: usize) -> Result<usize> {
    let queue = device.queue()?;
    let module = load(&queue)?;
    in_threads(|_| count_on(&queue, &module, count / THREADS))
}

/// The same with a queue for each thread.
pub(crate) fn threads_on_their_queues(device: &Device, count: usize) -> Result<usize> {
    in_threads(|_| {
        let queue = device.queue()?;
        let module = load(&queue)?;
        count_on(&queue, &module, count / THREADS)
    })
}

fn count_on(queue: &Queue, module: &Module, count: usize) -> Result<usize> {
    let mut counter = Counter::new(queue, module)?;
    for done in 1..=count {
        let event = counter.add(&[])?;
        if done % (UNDER_WAY / THREADS) == 0 {
            event.wait()?;
        }
    }
    counter.lost(queue, count)
}

/// What is lost in all threads.
fn in_threads(work: impl Fn(usize) -> Result<usize> + Sync) -> Result<usize> {
    let work = &work;
    std::thread::scope(|scope| {
        let threads: Vec<_> = (0..THREADS)
            .map(|thread| scope.spawn(move || work(thread)))
            .collect();
        let results = threads
            .into_iter()
            .map(|thread| thread.join().expect("the thread ends"));
        results.sum()
    })
}

/// Launches on a queue out of order, each after the one before, of which every tenth is awaited.
pub(crate) fn awaited(device: &Device, count: usize) -> Result<usize> {
    let queue = device.queue_with(QueueOptions::new().out_of_order())?;
    let mut counter = Counter::new(&queue, &load(&queue)?)?;
    let mut last: Option<Event> = None;
    for done in 1..=count {
        let event = match &last {
            Some(last) => counter.add(&[last])?,
            None => counter.add(&[])?,
        };
        if done % 10 == 0 {
            block_on(async { (&event).await })?;
        }
        last = Some(event);
    }
    counter.lost(&queue, count)
}

/// Buffers of random sizes and content that are made, changed, read and dropped in another order.
pub(crate) fn buffers(device: &Device, count: usize) -> Result<usize> {
    let queue = device.queue()?;
    let mut random = Random::new(6);
    let mut held: VecDeque<(Buffer<u8>, u64)> = VecDeque::new();
    let mut lost = 0;
    for seed in 0..count as u64 {
        let len = random.below(LARGEST);
        let content = content(seed, len);
        let buffer = match seed % 3 {
            0 => queue.upload(&content)?,
            1 => {
                let mut buffer = queue.zeroed::<u8>(len)?;
                queue.write(&mut buffer, &content)?;
                buffer
            }
            _ => {
                let mut buffer = queue.zeroed::<u8>(len)?;
                let sent = queue.write_later(&mut buffer, content)?;
                drop(sent);
                buffer
            }
        };
        held.push_back((buffer, seed));
        if held.len() > AT_ONCE {
            let out = held.swap_remove_back(random.below(AT_ONCE));
            if let Some((buffer, seed)) = out {
                lost += usize::from(!is_whole(&queue, &buffer, seed)?);
            }
        }
    }
    for (buffer, seed) in held {
        lost += usize::from(!is_whole(&queue, &buffer, seed)?);
    }
    Ok(lost)
}

fn content(seed: u64, len: usize) -> Vec<u8> {
    let mut random = Random::new(seed);
    let mut bytes = Vec::with_capacity(len + 8);
    while bytes.len() < len {
        bytes.extend(random.next().to_le_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn is_whole(queue: &Queue, buffer: &Buffer<u8>, seed: u64) -> Result<bool> {
    Ok(queue.download(buffer)? == content(seed, buffer.len()))
}

/// Modules that are loaded, used once, and dropped.
pub(crate) fn modules(device: &Device, count: usize) -> Result<usize> {
    let queue = device.queue()?;
    let mut lost = 0;
    for _ in 0..count {
        let module = load(&queue)?;
        let mut counter = Counter::new(&queue, &module)?;
        drop(module);
        counter.add(&[])?.wait()?;
        lost += counter.lost(&queue, 1)?;
    }
    Ok(lost)
}

/// Runs a future on this thread, which sleeps meanwhile.
fn block_on<F: Future>(future: F) -> F::Output {
    struct Unpark(Thread);
    impl Wake for Unpark {
        fn wake(self: Arc<Self>) {
            self.0.unpark();
        }
    }
    let waker = Arc::new(Unpark(std::thread::current())).into();
    let mut context = Context::from_waker(&waker);
    let mut future = pin!(future);
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return output,
            Poll::Pending => std::thread::park(),
        }
    }
}
