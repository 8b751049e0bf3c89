// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs the two kernels of a file that make or CMake built: 2 * x + 3 for a few numbers.
#![allow(
    unsafe_code,
    reason = "nobody but the caller knows what a file from elsewhere holds"
)]
#![allow(clippy::print_stdout, reason = "a program for people to read")]

use std::error::Error;
use std::process::ExitCode;

use syclbin_rt::{Arg, Device, Module};

fn main() -> ExitCode {
    let Some(path) = std::env::args().nth(1) else {
        eprintln!("usage: other-builds FILE, as build/kernels.syclbin; see README.md");
        return ExitCode::from(2);
    };
    match run(&path) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {path}: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(path: &str) -> Result<(), Box<dyn Error>> {
    let file = std::fs::read(path)?;
    let queue = Device::best_for(&file)?.queue()?;
    println!("device    {}", queue.device());
    // SAFETY: a compiler made the file.
    let kernels = unsafe { Module::load(&queue, &file)? };
    let names = kernels.kernel_names();
    let names: Vec<_> = names
        .map(|name| name.trim_start_matches("__sycl_kernel_"))
        .collect();
    println!("kernels   {}", names.join(", "));

    let mut data = queue.upload(&[0.0f32, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0])?;
    for (name, value) in [("scale", 2.0f32), ("shift", 3.0)] {
        let kernel = kernels.kernel(name)?;
        let range = data.len();
        let arguments = [Arg::write(&mut data), Arg::scalar(value)];
        // SAFETY: each work-item changes an element of its own, and there are as many.
        unsafe { kernel.launch(arguments).launch(range)? };
    }
    let values = queue.download(&data)?;
    let values: Vec<_> = values.iter().map(f32::to_string).collect();
    println!("values    {}", values.join(", "));
    Ok(())
}
