// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests thousands of random kernels in batches. If a kernel fails, makes it as small as possible.

mod shrink;

use std::collections::BTreeSet;
use std::process::Stdio;
use std::time::Instant;

use random_kernels::{Program, Setting, Side, differential, signatures};

use crate::steps::{self, Result, cargo, target_folder};

pub(crate) struct Kind {
    name: &'static str,
    /// The variable that tells the build script which kernels to generate.
    variable: &'static str,
    /// The variable of the other kind, set so that none of its kernels are generated.
    other: &'static str,
    /// The test that runs them.
    test: &'static str,
    /// The number of kernels per compilation. It limits the time and the memory of rustc.
    batch: usize,
    program: fn(&Setting) -> Program,
    parameters: fn(&Setting, usize) -> Vec<usize>,
}

const SIGNATURES: Kind = Kind {
    name: "signatures",
    variable: "SYCLBIN_RANDOM_SIGNATURES",
    other: "SYCLBIN_RANDOM_DIFFERENTIAL",
    test: "signatures::",
    batch: 500,
    program: signatures::program,
    parameters: signatures::parameters,
};

const DIFFERENTIAL: Kind = Kind {
    name: "differential",
    variable: "SYCLBIN_RANDOM_DIFFERENTIAL",
    other: "SYCLBIN_RANDOM_SIGNATURES",
    test: "differential::",
    batch: 200,
    program: differential::program,
    parameters: differential::statements,
};

/// Checks that devices compute the same results as Rust.
pub(crate) fn differential(arguments: &[String]) -> Result<()> {
    run(&DIFFERENTIAL, arguments)
}

/// Calls random kernels through their stubs.
pub(crate) fn signatures(arguments: &[String]) -> Result<()> {
    run(&SIGNATURES, arguments)
}

struct Options {
    setting: Setting,
    on_simulated_cuda: bool,
}

fn options(arguments: &[String]) -> Result<Options> {
    let mut options = Options {
        setting: Setting {
            seed: 1,
            first: 0,
            count: 100,
            keep: None,
            stray: None,
        },
        on_simulated_cuda: false,
    };
    let mut arguments = arguments.iter();
    while let Some(name) = arguments.next() {
        if name == "--simulated-cuda" {
            options.on_simulated_cuda = true;
            continue;
        }
        let value = arguments.next();
        let number = || {
            let number = value.and_then(|value| value.parse::<u64>().ok());
            number.ok_or_else(|| format!("`{name}` takes a number"))
        };
        let small = || usize::try_from(number()?).map_err(|error| error.to_string());
        match name.as_str() {
            "--seed" => options.setting.seed = number()?,
            "--first" => options.setting.first = small()?,
            "--count" => options.setting.count = small()?,
            "--stray" => {
                let side = value.map_or("", String::as_str);
                let stray = format!("stray={side}");
                options.setting = Setting::parse(&stray, &options.setting)?;
            }
            _ => {
                return Err(format!(
                    "`{name}`: expected --count, --seed, --first, --stray start|end or --simulated-cuda"
                ));
            }
        }
    }
    Ok(options)
}

fn run(kind: &Kind, arguments: &[String]) -> Result<()> {
    let options = options(arguments)?;
    steps::install_toolchain()?;
    if options.on_simulated_cuda {
        crate::simulated_cuda::build()?;
    }
    let start = Instant::now();
    let Setting {
        seed, first, count, ..
    } = options.setting;
    let end = first + count;
    let (mut next, mut failed) = (first, 0);
    while next < end {
        let batch = Setting {
            first: next,
            count: kind.batch.min(end - next),
            ..options.setting.clone()
        };
        next += batch.count;
        match attempt(kind, &options, &batch)? {
            Attempt::Passed => {}
            Attempt::Failed(numbers) => {
                failed += numbers.len();
                for number in numbers {
                    shrink::shrink(kind, &options, &one(&batch, number))?;
                }
            }
            Attempt::Broken => {
                let broken = bisect(kind, &options, &batch)?;
                failed += 1;
                shrink::shrink(kind, &options, &one(&batch, broken))?;
                next = broken + 1;
            }
        }
        let (done, elapsed) = (next - first, start.elapsed());
        eprintln!(
            "{}: {done} of {count} kernels of seed {seed}, {failed} failed, {elapsed:.0?}",
            kind.name
        );
    }
    match failed {
        0 => Ok(()),
        _ => Err(format!("{failed} of {count} kernels of seed {seed} failed")),
    }
}

#[derive(Debug, PartialEq, Eq)]
enum Attempt {
    Passed,
    /// The program ran, and these kernels failed.
    Failed(BTreeSet<usize>),
    /// The program did not compile, or it crashed.
    Broken,
}

fn one(batch: &Setting, number: usize) -> Setting {
    Setting {
        first: number,
        count: 1,
        ..batch.clone()
    }
}

/// Compiles and runs the kernels of `setting` on the best device. If they pass and the option is set, also runs them
/// on simulated CUDA.
fn attempt(kind: &Kind, options: &Options, setting: &Setting) -> Result<Attempt> {
    let outcome = attempt_on(kind, false, setting)?;
    match outcome {
        Attempt::Passed if options.on_simulated_cuda => attempt_on(kind, true, setting),
        outcome => Ok(outcome),
    }
}

/// Saves the output of the program in the target directory.
fn attempt_on(kind: &Kind, on_simulated_cuda: bool, setting: &Setting) -> Result<Attempt> {
    let mut command = cargo();
    command.args([
        "test",
        "--quiet",
        "--package",
        "random-kernels-run",
        "--test",
        "it",
    ]);
    command.args(["--", "--nocapture", kind.test]);
    if on_simulated_cuda {
        command.env("SYCLBIN_DEVICE", "cuda:gpu:0");
        command = crate::simulated_cuda::with(&command)?;
    }
    command.env(kind.variable, setting.to_string());
    command.env(kind.other, "count=0");
    command.env("SYCLBIN_REQUIRE_DEVICE", "1");
    match setting.stray {
        Some(Side::Start) => _ = command.env("SYCLBIN_GUARD", "start"),
        Some(Side::End) => _ = command.env("SYCLBIN_GUARD", "end"),
        None => {}
    }
    // These thousands of kernels are never compiled again.
    command.env("SYCLBIN_CACHE", "off");
    let output = command.stdin(Stdio::null()).output();
    let output = output.map_err(|error| format!("cargo test: {error}"))?;
    let text = [&output.stdout[..], &output.stderr[..]].concat();
    let folder = target_folder()?.join(kind.name);
    std::fs::create_dir_all(&folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    std::fs::write(folder.join("output.txt"), &text).map_err(|error| error.to_string())?;
    if output.status.success() {
        return Ok(Attempt::Passed);
    }
    let text = String::from_utf8_lossy(&text);
    let failures = text
        .lines()
        .filter_map(|line| line.strip_prefix("failed: kernel "));
    let numbers = failures.filter_map(|line| line.split_once(':')?.0.parse().ok());
    let numbers: BTreeSet<usize> = numbers.collect();
    Ok(if numbers.is_empty() {
        Attempt::Broken
    } else {
        Attempt::Failed(numbers)
    })
}

/// Returns the first kernel with which the program does not compile or crashes.
fn bisect(kind: &Kind, options: &Options, batch: &Setting) -> Result<usize> {
    let (mut first, mut count) = (batch.first, batch.count);
    while count > 1 {
        let half = Setting {
            first,
            count: count / 2,
            ..batch.clone()
        };
        if attempt(kind, options, &half)? == Attempt::Passed {
            first += half.count;
            count -= half.count;
        } else {
            count = half.count;
        }
    }
    Ok(first)
}
