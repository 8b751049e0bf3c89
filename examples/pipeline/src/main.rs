// SPDX-License-Identifier: MIT OR Apache-2.0
//! How many steps numbers take to 1 in the Collatz sequence, chunk by chunk: while the kernel works on
//! one chunk, the next one is uploaded on another queue.

use std::process::ExitCode;
use std::time::Instant;

use syclbin_rt::{Buffer, Event, Profile, Queue, QueueOptions, Result, Transfer};

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "collatz";

    // SAFETY: each work-item reads one number and writes one.
    unsafe extern "SYCL" {
        safe fn collatz where numbers.len() >= range.items(), steps.len() >= range.items();
    }
}

const CHUNKS: u32 = 16;
/// The numbers of a chunk.
const CHUNK: u32 = 1 << 16;

/// Buffers for one chunk, and what is under way with them. Two of these take turns.
struct Slot {
    numbers: Buffer<u32>,
    steps: Buffer<u32>,
    under_way: Option<UnderWay>,
}

/// A chunk on its way: up, through the kernel, and down. The transfers own the memory of the host.
struct UnderWay {
    upload: Transfer<u32>,
    kernel: Event,
    download: Transfer<u32>,
}

/// What came of a chunk.
struct Done {
    steps: Vec<u32>,
    upload: Profile,
    kernel: Profile,
}

fn main() -> ExitCode {
    match run() {
        Ok(right) if right => ExitCode::SUCCESS,
        Ok(_) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// Whether the device counts as Rust does.
#[allow(clippy::print_stdout, reason = "a program for people to read")]
fn run() -> Result<bool> {
    let device = kernels::Module::best_device()?;
    println!("device    {device}");
    // Profiling only to tell in the end what ran at the same time.
    let uploads = device.queue_with(QueueOptions::new().profiling())?;
    let work = device.queue_with(QueueOptions::new().profiling())?;
    let kernels = kernels::Module::load(&work)?;
    let mut slots = [Slot::new(&uploads)?, Slot::new(&uploads)?];

    let start = Instant::now();
    let mut done = Vec::new();
    for chunk in 0..CHUNKS {
        // Of the chunk before the last one. The last one is under way in the other slot.
        let slot = &mut slots[chunk as usize % 2];
        let mut numbers = slot.finish(&mut done)?;
        numbers.clear();
        numbers.extend((0..CHUNK).map(|i| number(chunk, i)));

        // Nothing of this slot is in use any more, so the upload waits for nothing: it runs while
        // the kernel works on the other slot.
        let upload = uploads.write_later(&mut slot.numbers, numbers)?;
        let kernel = kernels
            .collatz(&slot.numbers, &mut slot.steps)
            .after(&[upload.event()])
            .launch(CHUNK as usize)?;
        // On the queue of the kernel, and so after it.
        let download = work.download_later(&slot.steps)?;
        slot.under_way = Some(UnderWay {
            upload,
            kernel,
            download,
        });
    }
    // The older one first.
    for chunk in CHUNKS..CHUNKS + 2 {
        slots[chunk as usize % 2].finish(&mut done)?;
    }
    let time = start.elapsed();

    let all = done.iter().flat_map(|done| &done.steps);
    let numbers = (0..CHUNKS).flat_map(|chunk| (0..CHUNK).map(move |i| number(chunk, i)));
    for (number, steps) in numbers.zip(all) {
        let expected = collatz(number);
        if *steps != expected {
            eprintln!("{number} takes {expected} steps, the device counted {steps}");
            return Ok(false);
        }
    }
    println!("numbers   {CHUNKS} chunks of {CHUNK}, steps as Rust counts them");
    let pairs = done.iter().zip(done.iter().skip(1));
    let both = pairs.filter(|(before, next)| at_once(&before.kernel, &next.upload));
    let both = both.count();
    println!("uploads   {both} of {} while the kernel ran", CHUNKS - 1);
    println!("time      {time:.1?}");
    Ok(true)
}

impl Slot {
    fn new(queue: &Queue) -> Result<Self> {
        Ok(Self {
            numbers: queue.zeroed(CHUNK as usize)?,
            steps: queue.zeroed(CHUNK as usize)?,
            under_way: None,
        })
    }

    /// Waits for what is under way in this slot, if anything is, and adds it to `done`. Gives back
    /// the memory that the numbers were uploaded from.
    fn finish(&mut self, done: &mut Vec<Done>) -> Result<Vec<u32>> {
        let Some(under_way) = self.under_way.take() else {
            return Ok(Vec::new());
        };
        done.push(Done {
            upload: under_way.upload.event().profile()?,
            kernel: under_way.kernel.profile()?,
            steps: under_way.download.wait()?,
        });
        under_way.upload.wait()
    }
}

/// Whether two commands ran at the same time.
fn at_once(one: &Profile, other: &Profile) -> bool {
    one.started < other.ended && other.started < one.ended
}

/// Number `i` of `chunk`.
fn number(chunk: u32, i: u32) -> u32 {
    chunk * CHUNK + i
}

/// What the kernel computes, in Rust.
fn collatz(number: u32) -> u32 {
    let mut number = u64::from(number);
    let mut steps = 0;
    while number > 1 {
        number = match number % 2 {
            0 => number / 2,
            _ => 3 * number + 1,
        };
        steps += 1;
    }
    steps
}
