// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo xtask stress`: launches, threads, buffers and modules in numbers that show what is lost or
//! left. Prints a table, and fails if a result was lost or memory grew.
//!
//! Each piece of work is done in rounds. A leak makes the process larger in every round, while drivers and allocators
//! keep memory in some rounds only. So the smallest growth counts, and a larger bound limits the growth in all.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

mod arguments;
mod kernels;
mod memory;
mod random;
mod work;

use std::fmt::Write as _;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use syclbin_rt::{Device, Result};

/// Measured rounds of each piece of work.
const ROUNDS: usize = 4;
/// How much the process may grow in every round after the first, in KiB. Simulated CUDA devices never reuse an address,
/// which costs 4 KiB per buffer.
const MAY_GROW: u64 = 2 << 10;
/// How much the process may grow after the first round in all, in KiB. Allocators keep some of the freed memory, more
/// if there are many threads, and rusticl (25.0) keeps 9 MiB after its second queue.
const MAY_GROW_IN_ALL: u64 = 12 << 10;

/// Divides all numbers of a short run.
const SHORT: usize = 100;

/// A piece of work, how much of it there is, and whether programs come from the cache.
type Piece = (
    &'static str,
    usize,
    fn(&Device, usize) -> Result<usize>,
    bool,
);

const WORK: [Piece; 7] = [
    ("launches", 1_000_000, work::launches, true),
    (
        "launches, 16 threads on one queue",
        1_000_000,
        work::threads_on_one_queue,
        true,
    ),
    (
        "launches, 16 threads with a queue each",
        1_000_000,
        work::threads_on_their_queues,
        true,
    ),
    (
        "launches out of order, a tenth awaited",
        100_000,
        work::awaited,
        true,
    ),
    ("buffers of up to 64 KiB", 100_000, work::buffers, true),
    (
        "modules from the cache of programs",
        1_000,
        work::modules,
        true,
    ),
    ("modules compiled anew", 1_000, work::modules, false),
];

/// Whether the device executes kernels. Without that all results are lost, and memory is compared.
fn executes() -> bool {
    std::env::var("SYCLBIN_DEVICE_EXECUTES").map_or(true, |value| value != "no")
}

/// What became of a piece of work.
struct Outcome {
    count: usize,
    time: Duration,
    lost: usize,
    /// Resident memory after the first round, at the end, and at most, and the least growth of a round, in KiB.
    memory: Option<[u64; 4]>,
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    // A piece of work is done in a process of its own: `piece NUMBER` is one.
    let done = match words[..] {
        [] => table(1),
        ["--short"] => table(SHORT),
        ["kernels", ref directories @ ..] => kernels::run(directories),
        ["kernels-without", without, ref directories @ ..] => {
            kernels::run_without(without, directories)
        }
        ["piece", number, divisor] => piece(number, divisor),
        _ => Err("usage: stress [--short]\n       stress kernels DIRECTORY...".to_owned()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

/// Does all the work, prints the table, and tells what is not as it should be.
fn table(divisor: usize) -> std::result::Result<(), String> {
    let device = match Device::best() {
        Ok(device) => device,
        Err(error) if required() => return Err(format!("SYCLBIN_REQUIRE_DEVICE=1, but {error}")),
        Err(error) => {
            eprintln!("skipped: {error}");
            return Ok(());
        }
    };
    let mut wrong = String::new();
    say(&format!(
        "{device}\n\n\
         | what | how many | time | resident after a quarter | at the end | at most | least growth of a quarter | lost |\n\
         |---|---|---|---|---|---|---|---|"
    ));
    for (number, (name, ..)) in WORK.iter().enumerate() {
        let outcome = in_child(number, divisor).map_err(|error| format!("{name}: {error}"))?;
        let memory = match outcome.memory {
            Some(memory) => memory.map(|kib| format!("{:.1} MiB", kib as f64 / 1024.0)),
            None => ["-"; 4].map(str::to_owned),
        };
        say(&format!(
            "| {name} | {} | {:.1} s | {} | {} |",
            outcome.count,
            outcome.time.as_secs_f64(),
            memory.join(" | "),
            outcome.lost
        ));
        if outcome.lost > 0 && executes() {
            let _ = write!(wrong, "\n{name}: {} results were lost", outcome.lost);
        }
        match outcome.memory {
            Some([.., grown]) if grown > MAY_GROW => {
                let _ = write!(
                    wrong,
                    "\n{name}: memory grew by at least {grown} KiB in each round, more than {MAY_GROW}"
                );
            }
            Some([first, last, ..]) if last > first + MAY_GROW_IN_ALL => {
                let grown = last - first;
                let _ = write!(
                    wrong,
                    "\n{name}: memory grew by {grown} KiB in all, more than {MAY_GROW_IN_ALL}"
                );
            }
            Some(_) => {}
            None => eprintln!("{name}: this system does not tell how much memory a process has"),
        }
    }
    if wrong.is_empty() {
        Ok(())
    } else {
        Err(wrong.trim_start().to_owned())
    }
}

fn required() -> bool {
    std::env::var_os("SYCLBIN_REQUIRE_DEVICE").is_some_and(|value| value == "1")
}

#[allow(clippy::print_stdout, reason = "this is the answer")]
fn say(line: &str) {
    println!("{line}");
}

/// A piece of work in a process of its own, so that it has its own memory.
fn in_child(number: usize, divisor: usize) -> std::result::Result<Outcome, String> {
    let (_, _, _, cached) = WORK[number];
    let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
    let program = std::env::current_exe().map_err(|error| error.to_string())?;
    let mut child = Command::new(program);
    child.args(["piece", &number.to_string(), &divisor.to_string()]);
    if cached {
        child.env("SYCLBIN_CACHE", folder.path());
    } else {
        child.env("SYCLBIN_CACHE", "off");
    }
    let output = child.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| error.to_string())?;
    if !output.status.success() {
        return Err(output.status.to_string());
    }
    let said = String::from_utf8_lossy(&output.stdout);
    let numbers: Vec<u64> = said
        .split_whitespace()
        .map_while(|word| word.parse().ok())
        .collect();
    let (count, micros, lost, memory) = match numbers[..] {
        [count, micros, lost] => (count, micros, lost, None),
        [count, micros, lost, first, last, most, least] => {
            (count, micros, lost, Some([first, last, most, least]))
        }
        _ => return Err(format!("it said {said:?}")),
    };
    let number = |number| usize::try_from(number).unwrap_or(usize::MAX);
    Ok(Outcome {
        count: number(count),
        time: Duration::from_micros(micros),
        lost: number(lost),
        memory,
    })
}

/// Does one piece of work, and says what became of it.
fn piece(number: &str, divisor: &str) -> std::result::Result<(), String> {
    let found = number
        .parse()
        .ok()
        .and_then(|number: usize| WORK.get(number));
    let divisor: Option<usize> = divisor.parse().ok().filter(|divisor| *divisor > 0);
    let (Some((_, count, work, _)), Some(divisor)) = (found, divisor) else {
        return Err("usage: stress piece NUMBER DIVISOR".to_owned());
    };
    let (mut lost, mut sizes) = (0, Vec::new());
    // In a shorter round, memory that allocators keep could hide a leak.
    let round = (count / divisor / ROUNDS).max(5);
    let start = Instant::now();
    // The first round is not measured: drivers keep memory once. If 16 threads use a queue, rusticl (25.0) keeps 104 MiB.
    for number in 0..=ROUNDS {
        let done = Device::best().and_then(|device| work(&device, round));
        lost += done.map_err(|error| error.to_string())?;
        if number > 0 {
            sizes.extend(memory::resident());
        }
    }
    let count = (round * (ROUNDS + 1)) as u128;
    let mut words = vec![count, start.elapsed().as_micros(), lost as u128];
    if let (Some(least), [first, .., last]) = (memory::least_growth(&sizes), &sizes[..]) {
        words.extend([first.now, last.now, last.most, least].map(u128::from));
    }
    let words: Vec<String> = words.iter().map(u128::to_string).collect();
    say(&words.join(" "));
    Ok(())
}
