// SPDX-License-Identifier: MIT OR Apache-2.0
//! y = a * x + y for a million elements, on the best device there is.

use std::process::ExitCode;
use std::time::{Duration, Instant};

use syclbin_rt::Result;

syclbin_rt::include_syclbin! { mod kernels = "saxpy"; }

const N: usize = 1_000_000;
const A: f32 = 2.0;
const RUNS: usize = 20;

fn main() -> ExitCode {
    match run() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run() -> Result<()> {
    let device = kernels::Module::best_device()?;
    println!("device    {device}");
    let queue = device.queue()?;
    let kernels = kernels::Module::load(&queue)?;

    // Small whole numbers, so that the device's result is exactly Rust's.
    let x: Vec<f32> = (0..N).map(|i| (i % 1000) as f32).collect();
    let y: Vec<f32> = (0..N).map(|i| (i % 77) as f32).collect();
    let on_device = queue.upload(&x)?;

    let mut fastest = Duration::MAX;
    let mut result = Vec::new();
    for _ in 0..RUNS {
        let mut y_on_device = queue.upload(&y)?;
        let start = Instant::now();
        let saxpy = kernels.saxpy(A, &on_device, &mut y_on_device, N as u32);
        // SAFETY: both buffers hold `N` elements, and the kernel touches no others.
        unsafe { saxpy.launch(N)? }.wait()?;
        fastest = fastest.min(start.elapsed());
        result = queue.download(&y_on_device)?;
    }

    let wrong = (0..N).find(|&i| result[i] != A * x[i] + y[i]);
    if let Some(i) = wrong {
        eprintln!("element {i} is {}, not {}", result[i], A * x[i] + y[i]);
        std::process::exit(1);
    }
    // Two reads and one write an element.
    let bytes = 3 * N * size_of::<f32>();
    println!("elements  {N}, all as Rust computes them");
    println!("time      {fastest:.1?} (fastest of {RUNS})");
    println!(
        "bandwidth {:.1} GB/s",
        bytes as f64 / fastest.as_secs_f64() / 1e9
    );
    Ok(())
}
