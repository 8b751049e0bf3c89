// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `syclbin-rt` costs, beside the same calls by hand and beside the reference runtime.
//!
//! ```text
//! cargo bench -p syclbin-rt                    # all, some two minutes
//! cargo bench -p syclbin-rt -- launch          # host time per launch
//! cargo bench -p syclbin-rt -- instructions    # instructions per launch; wants valgrind and cc
//! cargo bench -p syclbin-rt -- start           # from the start of a process to the first result
//! cargo bench -p syclbin-rt -- quality         # a kernel beside the same kernel in OpenCL C
//! ```
//!
//! benches/README.md says what is done, how, and what came of it. The reference runtime is built by
//! `cargo xtask submit`, which fetches it once (172 MB); what is missing is said, and left out.
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
mod process;
mod quality;
mod raw;
mod repeated;
mod start;
mod stub;
mod world;

use std::process::ExitCode;

use contestant::{ALL, Arguments};
use process::{CONTESTANT, Process, Reference, ours};
use world::World;

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        [CONTESTANT, name, ref words @ ..] => child(contestant::process(name, words)),
        [first::FIRST, ref words @ ..] => child(first::process(words)),
        [quality::QUALITY, ref words @ ..] => quality::process(words),
        _ if words.contains(&"--list") => Ok(()), // a test runner asks for tests
        _ if words.contains(&"--bench") => {
            let parts: Vec<&str> = words
                .into_iter()
                .filter(|word| !word.starts_with("--"))
                .collect();
            bench(&parts)
        }
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

/// A part of the bench, or all.
fn bench(parts: &[&str]) -> Result<(), String> {
    const PARTS: [&str; 4] = ["launch", "instructions", "start", "quality"];
    if let Some(part) = parts.iter().find(|part| !PARTS.contains(part)) {
        return Err(format!(
            "there is no part `{part}`, only {}",
            PARTS.join(", ")
        ));
    }
    let wanted = |part: &str| parts.is_empty() || parts.contains(&part);
    let world = World::new()?;
    let reference = match wanted("launch") || wanted("start") {
        true => Reference::get(),
        false => Err("not asked for".to_owned()),
    };
    let reference = reference.as_ref().map_err(String::as_str);
    if wanted("launch") {
        launch::bench(&world, reference)?;
    }
    if wanted("instructions") {
        instructions::bench(&world);
    }
    if wanted("start") {
        start::bench(&world, reference)?;
    }
    if wanted("quality") {
        quality::bench(&world)?;
    }
    Ok(())
}

/// A test of the bench itself.
fn each_launches_once() -> Result<(), String> {
    let world = match World::new() {
        Ok(world) => world,
        Err(reason) => {
            eprintln!("skipped: {reason}");
            return Ok(());
        }
    };
    for entry in &ALL {
        let mut process = Process::start(ours(entry.name)?.envs(world.environment()))
            .map_err(|error| format!("{}: {error}", entry.name))?;
        for arguments in Arguments::ALL {
            process.launch(arguments, 1)?;
        }
    }
    Ok(())
}
