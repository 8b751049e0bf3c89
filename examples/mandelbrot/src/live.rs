// SPDX-License-Identifier: MIT OR Apache-2.0
//! `--live`: the picture is drawn again each time the source of the kernel is saved.

use std::error::Error;
use std::path::Path;
use std::time::{Duration, SystemTime};

use syclbin_rt::Queue;

use crate::{TURNS, draw, kernels, write};

/// The source that build.rs compiles, too.
pub(crate) const SOURCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/kernels/mandelbrot.cpp");

/// The pause between two looks at the source and its headers.
const PAUSE: Duration = Duration::from_millis(20);

/// Draws until the user ends the program with Ctrl-C. The compiled kernels are beside the picture.
#[allow(clippy::print_stdout, reason = "a program for people to read")]
pub(crate) fn run(picture: &Path, source: &Path) -> Result<(), Box<dyn Error>> {
    let queue = kernels::Module::best_device()?.queue()?;
    println!("device    {}", queue.device());
    let started = SystemTime::now();
    let compiled = picture.with_extension("syclbin");
    let mut watch = syclbin_build::Build::new().source(source).watch(&compiled);
    println!("watching  {}; Ctrl-C ends", source.display());
    loop {
        match watch.poll() {
            None => std::thread::sleep(PAUSE),
            Some(Ok(outcome)) => {
                eprint!("{}", outcome.warnings);
                match draw_with(&queue, &compiled, picture) {
                    Ok(()) => println!(
                        "picture   {}{}",
                        picture.display(),
                        since_save(source, started)
                    ),
                    Err(error) => eprintln!("error: {error}; the last picture stays"),
                }
            }
            Some(Err(error)) => {
                eprint!("{}", error.diagnostics());
                eprintln!("error: {error}; the last picture stays");
            }
        }
    }
}

/// Draws with the kernels of another file.
#[allow(unsafe_code, reason = "the compiled code is beyond every check")]
fn draw_with(queue: &Queue, compiled: &Path, picture: &Path) -> Result<(), Box<dyn Error>> {
    // SAFETY: our compiler made the file. The author of the source keeps the contract.
    let kernels = unsafe { kernels::Module::builder(queue).load_file(compiled) }?;
    write(picture, &draw(queue, &kernels, TURNS)?)
}

/// Returns the time since the source was saved, if that was after the program `started`.
fn since_save(source: &Path, started: SystemTime) -> String {
    let saved = source.metadata().and_then(|metadata| metadata.modified());
    match saved.map(|saved| saved.elapsed()) {
        Ok(Ok(time)) if time < started.elapsed().unwrap_or_default() => {
            format!(", {time:.1?} after the source was saved")
        }
        _ => String::new(),
    }
}
