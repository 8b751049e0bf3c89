// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `syclbin-rt` costs, beside the same calls by hand and beside the reference runtime.
//!
//! ```text
//! cargo bench -p syclbin-rt --bench runtime                             # all parts
//! cargo bench -p syclbin-rt --bench runtime -- launch start             # these parts
//! cargo bench -p syclbin-rt --bench runtime -- memory --json /tmp/a     # figures also as a file, by absolute path
//! cargo bench -p syclbin-rt --bench runtime -- --short                  # does it work?
//! ```
//!
//! benches/README.md describes the method, and BENCHMARKS.md lists the figures, which `cargo xtask bench` writes. The
//! reference runtime is built by `cargo xtask submit`, which fetches it once (172 MB). What is missing is left out.
//! Without `--bench`, as `cargo test --benches` runs it, each contestant launches once.
#![allow(
    clippy::print_stdout,
    missing_docs,
    reason = "a program for people to read"
)]
#![allow(
    unsafe_code,
    reason = "launching a kernel is unsafe, and so are raw calls"
)]

mod contestant;
mod figures;
mod first;
mod instructions;
mod launch;
mod memory;
mod process;
mod quality;
mod raw;
mod repeated;
mod report;
mod scale;
mod start;
mod stub;
mod world;

use std::process::ExitCode;

use contestant::{ALL, Arguments};
use process::{CONTESTANT, Process, Reference};
use report::Report;
use world::World;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [CONTESTANT, name, ref words @ ..] => child(contestant::process(name, words)),
        [first::FIRST, ref words @ ..] => child(first::process(words)),
        [quality::QUALITY, ref words @ ..] => child(quality::process(words)),
        [memory::MEMORY, ref words @ ..] => child(memory::process(words)),
        [scale::FILE, ref words @ ..] => child(scale::file(words)),
        [scale::THREADS, ref words @ ..] => child(scale::threads(words)),
        _ if words.contains(&"--list") => Ok(()), // a test runner asks for tests
        _ if words.contains(&"--bench") => bench(&words),
        _ => each_launches_once(),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// What a child could not do is told to its parent, in the place of an answer.
fn child(done: Result<(), String>) -> Result<(), String> {
    done.inspect_err(|error| println!("error {error}"))
}

/// Runs some parts or all, and writes their figures to a file if asked to.
fn bench(words: &[&str]) -> Result<(), String> {
    const PARTS: [&str; 6] = [
        "launch",
        "instructions",
        "start",
        "quality",
        "memory",
        "scale",
    ];
    let (mut parts, mut file) = (Vec::new(), None);
    let mut left = words.iter().copied();
    while let Some(word) = left.next() {
        match word {
            "--json" => file = Some(left.next().ok_or("--json takes a file")?),
            word if word.starts_with("--") => {}
            part if PARTS.contains(&part) => parts.push(part),
            part => return Err(format!("no part `{part}`, only {}", PARTS.join(", "))),
        }
    }
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    let world = World::new(words.contains(&"--short"))?;
    let reference = match wanted("launch") || wanted("start") {
        true => Reference::get(),
        false => Err("not asked for".to_owned()),
    };
    let reference = reference.as_ref().map_err(String::as_str);
    let mut report = Report::default();
    for part in PARTS.into_iter().filter(|part| wanted(part)) {
        match part {
            "launch" => launch::bench(&world, reference, &mut report)?,
            "instructions" => instructions::bench(&world, &mut report),
            "start" => start::bench(&world, reference, &mut report)?,
            "quality" => quality::bench(&world, &mut report)?,
            "memory" => memory::bench(&world, &mut report)?,
            _ => scale::bench(&world, &mut report)?,
        }
    }
    let Some(file) = file else {
        return Ok(());
    };
    let device = world.ask(&mut world.child(&[first::FIRST, "device"])?)?;
    let text = format!("{:#}\n", report.json(&device));
    std::fs::write(file, text).map_err(|error| format!("{file}: {error}"))
}

/// A test of the bench itself.
fn each_launches_once() -> Result<(), String> {
    let world = match World::new(true) {
        Ok(world) => world,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return Ok(());
        }
    };
    for entry in &ALL {
        let mut process = Process::start(&mut world.child(&[CONTESTANT, entry.name])?)
            .map_err(|error| format!("{}: {error}", entry.name))?;
        for arguments in Arguments::ALL {
            process.launch(arguments, 1)?;
        }
    }
    Ok(())
}
