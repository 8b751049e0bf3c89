// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of damaged input and of memory accesses that take too long for the regular tests.

use std::path::Path;
use std::process::Command;

use crate::files;
use crate::steps::{Result, cargo, step, target_folder};

const TARGETS: [&str; 8] = [
    "read",
    "round_trip",
    "property",
    "link",
    "expand",
    "items",
    "lower",
    "inputs",
];

/// Tests every truncation and every value of every byte of every test file.
pub(crate) fn corrupt() -> Result<()> {
    let mut command = cargo();
    command.args("test --release --package syclbin-fuzz --test it corrupt::".split(' '));
    command.env("SYCLBIN_CORRUPT", "1");
    step("damaged files", &mut command)
}

/// Runs each fuzz target in turn, starting from test files or texts, the repository's corpus, and that of earlier runs.
///
/// Stable Rust without a sanitizer suffices, because the library contains no unsafe code.
pub(crate) fn fuzz(arguments: &[String]) -> Result<()> {
    const USAGE: &str = "usage: cargo xtask fuzz [--minutes N | --hours N]";
    // libFuzzer never ends if it is given 0 seconds.
    let number = |text: &String| {
        text.parse::<u16>()
            .ok()
            .filter(|number| *number > 0)
            .map(usize::from)
    };
    let number = |text| number(text).ok_or(USAGE);
    let minutes = match arguments {
        [] => 1,
        [flag, minutes] if flag == "--minutes" => number(minutes)?,
        // The targets share these hours equally.
        [flag, hours] if flag == "--hours" => number(hours)? * 60 / TARGETS.len(),
        _ => return Err(USAGE.into()),
    };
    if !cargo()
        .args(["fuzz", "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return Err("cargo-fuzz is not installed; get it with `cargo install cargo-fuzz`".into());
    }
    let work = target_folder()?.join("fuzz");
    let (texts, items) = (work.join("texts"), work.join("items"));
    write_texts(&texts)?;
    write_items(&items)?;
    for target in TARGETS {
        let corpus = work.join("corpus").join(target);
        create_directory(&corpus)?;
        let kept = files::root().join("tests/fuzz/corpus").join(target);
        let seeds = match target {
            "property" => texts.clone(),
            "items" => items.clone(),
            "inputs" => kept.clone(),
            _ => test_files::directory(),
        };
        let mut command = cargo();
        command
            .args("fuzz run --sanitizer none --features libfuzzer --fuzz-dir tests/fuzz".split(' '))
            .arg(target)
            .args([&corpus, &kept, &seeds])
            .args(["--", "-max_len=65536", "-timeout=20", "-rss_limit_mb=2048"])
            .arg(format!("-max_total_time={}", minutes * 60))
            .args(["-print_final_stats=1", "-verbosity=0"]);
        step(&format!("fuzz {target}, {minutes} min"), &mut command)?;
    }
    Ok(())
}

/// The tests of `syclbin` that Miri finishes in seconds.
const FORMAT: &str = "content merge metadata model offload property::set spirv::module spirv::uses";

/// Tests of `syclbin-rt` that call no driver and start no process, mainly of unsafe code and of threads.
const RUNTIME: &str = "backend::cuda::copy backend::cuda::kernel backend::cuda::program backend::event backend::gate \
    backend::opencl::partition backend::range backend::slice backend::wakers error::tests launch::accessor launch::arg \
    launch::number launch::parameter_kinds memory::copy module::stub trace:: \
    --skip every_pattern --skip exit_waits --skip downloads_without --skip only_regular_files --skip burst_of_wakers \
    --skip images_fit --skip table_keeps --skip starts_recording --skip leaves_commands --skip may_replay \
    --skip surplus_slices";

/// Interprets tests with Miri, which finds undefined behaviour and data races.
///
/// The model of `exit()`, during driver calls and while programs are built, runs in 16 schedules.
pub(crate) fn miri() -> Result<()> {
    let interpret = |name, flags, package, tests: &str| {
        // Cargo's own variable names the Cargo of another toolchain.
        let mut command = Command::new("rustup");
        command
            .args("run nightly cargo miri test --lib --package".split(' '))
            .args([package, "--"])
            .args(tests.split_whitespace())
            .env("MIRIFLAGS", format!("-Zmiri-disable-isolation {flags}"))
            .current_dir(files::root());
        step(name, &mut command)
    };
    interpret("format", "", "syclbin", FORMAT)?;
    interpret("runtime", "", "syclbin-rt", RUNTIME)?;
    // A gate never reopens, so each child has its own processes. Threads that sleep at the gate count as leaks.
    for child in [
        "closes_its_gate",
        "exits_during_calls",
        "exits_during_builds",
    ] {
        let flags =
            "-Zmiri-env-set=SYCLBIN_RT_TEST_CHILD=1 -Zmiri-ignore-leaks -Zmiri-many-seeds=0..16";
        interpret("exit", flags, "syclbin-rt", &format!("a_child_{child}"))?;
    }
    Ok(())
}

/// Writes the metadata of each test file to a file, as seeds for the target `property`.
fn write_texts(folder: &Path) -> Result<()> {
    create_directory(folder)?;
    for (name, bytes) in test_files::all("", ".syclbin") {
        let text = |index, text: &[u8]| {
            let path = folder.join(format!("{name}.{index}.txt"));
            std::fs::write(&path, text).map_err(|error| files::at(&path, &error))
        };
        let file =
            syclbin::read::File::parse(&bytes).map_err(|error| format!("{name}: {error}"))?;
        for (index, module) in file.modules().enumerate() {
            let metadata = module.and_then(|module| module.metadata());
            let metadata = metadata.map_err(|error| format!("{name}: {error}"))?;
            text(index, metadata.text)?;
        }
    }
    Ok(())
}

/// Writes the first contract block of each example source file to a file, as seeds for the target `items`.
fn write_items(folder: &Path) -> Result<()> {
    const START: &str = "unsafe extern \"SYCL\"";
    create_directory(folder)?;
    for (index, path) in files::listed(&["examples/*.rs"])?.iter().enumerate() {
        let text = files::read(path)?;
        if let Some((_, items)) = text.split_once(START) {
            let items = items.split_once("\n}").map_or(items, |(items, _)| items);
            let items = format!("{START}{items}");
            files::write(&folder.join(format!("{index}.rs")), &items)?;
        }
    }
    Ok(())
}

fn create_directory(path: &Path) -> Result<()> {
    std::fs::create_dir_all(path).map_err(|error| files::at(path, &error))
}
