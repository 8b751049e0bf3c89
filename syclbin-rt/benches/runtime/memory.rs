// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffers made and dropped, uploaded and downloaded, beside the same calls by hand and beside `memcpy`.

use std::hint::black_box;
use std::ptr::{null, null_mut};
use std::time::Instant;

use opencl3::command_queue::{
    create_command_queue, enqueue_fill_buffer, enqueue_read_buffer, enqueue_write_buffer, finish,
};
use opencl3::context::context::create_context;
use opencl3::event::release_event;
use opencl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
use opencl3::types::{CL_TRUE, cl_command_queue, cl_context, cl_int, cl_mem};
use syclbin_rt::Device;

use crate::figures::Rounds;
use crate::raw::{device, failed};
use crate::report::{NANOSECONDS, Report};
use crate::stub::told;
use crate::world::{World, numbers};

/// The part's name in a process of its own.
pub(crate) const MEMORY: &str = "--memory";

const ROUNDS: usize = 25;

/// What is done to a buffer before it is dropped.
#[derive(Clone, Copy)]
enum What {
    Zero,
    Upload,
    Download,
}

/// A row: its name, the size of a buffer, and how many buffers a round takes.
const ROWS: [(&str, What, usize, u32); 6] = [
    ("make and drop 4 kB", What::Zero, 4 << 10, 500),
    ("make and drop 1 MB", What::Zero, 1 << 20, 100),
    ("upload and drop 4 kB", What::Upload, 4 << 10, 500),
    ("upload and drop 1 MB", What::Upload, 1 << 20, 100),
    ("upload 256 MB", What::Upload, 256 << 20, 1),
    ("download 256 MB", What::Download, 256 << 20, 1),
];
const CONTESTANTS: [&str; 3] = ["syclbin-rt", "raw", "memcpy"];

/// Has a process with the world's environment measure each row.
pub(crate) fn bench(world: &World, report: &mut Report) -> Result<(), String> {
    report.table("time for one buffer");
    let rounds = world.rounds(ROUNDS);
    for (index, (row, what, _, _)) in ROWS.into_iter().enumerate() {
        let mut times: [Rounds; 3] = Default::default();
        let mut ratios: [Rounds; 3] = Default::default();
        let words = [MEMORY, &index.to_string(), &rounds.to_string()];
        for line in world.ask(&mut world.child(&words)?)?.lines() {
            let taken: [f64; 3] = numbers(line)?;
            for ((times, ratios), time) in times.iter_mut().zip(&mut ratios).zip(taken) {
                times.add(time);
                ratios.add(time / taken[1]);
            }
        }
        for ((column, times), ratios) in CONTESTANTS.into_iter().zip(&times).zip(&ratios) {
            let is_measured = column != "memcpy" || !matches!(what, What::Zero);
            if is_measured {
                report.add(row, column, NANOSECONDS, times, Some(ratios.median()));
            }
        }
        match what {
            What::Zero => report.goal(&format!("{row}, µs"), times[0].median() / 1e3, 0.5),
            _ if row.ends_with("256 MB") => {
                let ratio = times[0].median() / times[2].median();
                report.goal(&format!("{row}, over memcpy"), ratio, 1.0);
            }
            _ => {}
        }
    }
    Ok(())
}

/// The process that measures a row: a line for each round, with the nanoseconds of each contestant.
pub(crate) fn process(words: &[&str]) -> Result<(), String> {
    let [row, rounds]: [usize; 2] = numbers(&words.join(" "))?;
    let (_, what, size, count) = ROWS.get(row).copied().ok_or("no such row")?;
    let queue = Device::best().and_then(|device| device.queue());
    let queue = queue.map_err(told)?;
    let (raw, data) = (Raw::new()?, vec![1u8; size]);
    let full = queue.upload(&data).map_err(told)?;
    let raw_full = raw.upload(&data).map_err(failed("uploading"))?;
    // The first round creates what drivers and pools keep.
    for round in 0..=rounds {
        let ours = each(
            count,
            || match what {
                What::Zero => queue.zeroed::<u8>(size).map(drop).map_err(told),
                What::Upload => queue.upload(&data).map(drop).map_err(told),
                What::Download => queue.download(&full).map(drop).map_err(told),
            },
            || queue.wait().map_err(told),
        )?;
        let by_hand = each(
            count,
            || {
                let done = match what {
                    What::Zero => raw.zeroed(size).and_then(release),
                    What::Upload => raw.upload(&data).and_then(release),
                    What::Download => raw.download(raw_full, size),
                };
                done.map_err(failed("raw calls"))
            },
            || finish(raw.queue).map_err(failed("clFinish")),
        )?;
        let memcpy = each(
            count,
            || {
                drop(black_box(black_box(&data).clone()));
                Ok(())
            },
            || Ok(()),
        )?;
        if round > 0 {
            println!("{ours} {by_hand} {memcpy}");
        }
    }
    Ok(())
}

/// Nanoseconds for each of `count` calls, until what they enqueued has ended.
fn each(
    count: u32,
    mut work: impl FnMut() -> Result<(), String>,
    finish: impl FnOnce() -> Result<(), String>,
) -> Result<f64, String> {
    let start = Instant::now();
    for _ in 0..count {
        work()?;
    }
    finish()?;
    Ok(start.elapsed().as_nanos() as f64 / f64::from(count))
}

/// The same by hand. Nothing of it is released, because the process ends with it.
struct Raw {
    context: cl_context,
    queue: cl_command_queue,
}

impl Raw {
    fn new() -> Result<Self, String> {
        let (device, _) = device()?;
        let context = create_context(&[device], null(), None, null_mut());
        let context = context.map_err(failed("clCreateContext"))?;
        // SAFETY: the device is one of the context.
        let queue = unsafe { create_command_queue(context, device, 0) };
        let queue = queue.map_err(failed("clCreateCommandQueue"))?;
        Ok(Self { context, queue })
    }

    fn create(&self, size: usize) -> Result<cl_mem, cl_int> {
        // SAFETY: the context is alive, and the flags name no host memory.
        unsafe { create_buffer(self.context, CL_MEM_READ_WRITE, size, null_mut()) }
    }

    fn zeroed(&self, size: usize) -> Result<cl_mem, cl_int> {
        let (memory, zero) = (self.create(size)?, 0u32);
        let pattern = (&raw const zero).cast();
        // SAFETY: the driver copies the pattern before it returns, and the buffer has `size` bytes.
        let event =
            unsafe { enqueue_fill_buffer(self.queue, memory, pattern, 4, 0, size, 0, null()) }?;
        // SAFETY: the event is not used again.
        unsafe { release_event(event) }?;
        Ok(memory)
    }

    fn upload(&self, data: &[u8]) -> Result<cl_mem, cl_int> {
        let memory = self.create(data.len())?;
        let (size, start) = (data.len(), data.as_ptr().cast());
        // SAFETY: the call blocks until all of `data` was read, and the event is not used again.
        unsafe {
            let event =
                enqueue_write_buffer(self.queue, memory, CL_TRUE, 0, size, start, 0, null())?;
            release_event(event)?;
        }
        Ok(memory)
    }

    fn download(&self, memory: cl_mem, size: usize) -> Result<(), cl_int> {
        let mut data: Vec<u8> = Vec::with_capacity(size);
        let start = data.as_mut_ptr().cast();
        // SAFETY: the call blocks until `size` bytes were written, and the event is not used again.
        unsafe {
            let event =
                enqueue_read_buffer(self.queue, memory, CL_TRUE, 0, size, start, 0, null())?;
            data.set_len(size);
            release_event(event)?;
        }
        drop(black_box(data));
        Ok(())
    }
}

fn release(memory: cl_mem) -> Result<(), cl_int> {
    // SAFETY: the buffer is not used again. The driver keeps it until its commands have ended.
    unsafe { release_mem_object(memory) }
}
