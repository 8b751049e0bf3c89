// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts how often each byte occurs in 16 MiB, with atomics and work-group memory.

use std::process::ExitCode;
use std::time::Instant;

use syclbin_rt::Result;

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "histogram";

    // SAFETY: the kernel looks at `count` bytes, and a byte is less than 256, so it stays inside of both
    // buffers.
    unsafe extern "SYCL" {
        safe fn histogram where bytes.len() >= count, bins.len() >= 256;
    }
}

const COUNT: usize = 1 << 24;
/// How many work-groups count. A few for each core are enough, as each work-item takes many bytes.
const GROUPS: usize = 64;

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
    let queue = kernels::Module::best_device()?.queue()?;
    println!("device    {}", queue.device());
    let kernels = kernels::Module::load(&queue)?;

    let bytes = bytes();
    let on_device = queue.upload(&bytes)?;
    let mut bins = queue.zeroed::<u32>(256)?;
    // The kernel was compiled for groups of this size, so only the whole range is left to say.
    let [group] = kernels::Module::HISTOGRAM_LOCAL_SIZE;
    let start = Instant::now();
    let launch = kernels.histogram(&on_device, COUNT as u64, &mut bins);
    launch.launch(GROUPS * group)?.wait()?;
    let time = start.elapsed();

    let counted = queue.download(&bins)?;
    let mut expected = [0u32; 256];
    for byte in &bytes {
        expected[usize::from(*byte)] += 1;
    }
    if let Some(byte) = (0..256).find(|&byte| counted[byte] != expected[byte]) {
        let (is, should) = (counted[byte], expected[byte]);
        eprintln!("byte {byte} was counted {is} times, and occurs {should} times");
        return Ok(false);
    }
    println!("bytes     {COUNT}, all bins as Rust counts them");
    println!("time      {time:.1?}");
    let most = expected.iter().max().copied().unwrap_or(1);
    for (first, bins) in (0..).step_by(16).zip(counted.chunks(16)) {
        let stars = bins.iter().sum::<u32>() / 16 * 60 / most;
        let bar = format!("{first:>3}       {}", "*".repeat(stars as usize));
        println!("{}", bar.trim_end());
    }
    Ok(true)
}

/// The same bytes in each run: sums of three random bytes, so that those in the middle are frequent.
fn bytes() -> Vec<u8> {
    let mut state = 1u32;
    let byte = || {
        // Xorshift: Marsaglia, Journal of Statistical Software 8 (14), 2003.
        state ^= state << 13;
        state ^= state >> 17;
        state ^= state << 5;
        let [a, b, c, _] = state.to_le_bytes().map(u16::from);
        u8::try_from((a + b + c) / 3).unwrap_or(u8::MAX)
    };
    std::iter::repeat_with(byte).take(COUNT).collect()
}
