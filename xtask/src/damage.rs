// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests of damaged input and of memory accesses that take too long for the regular tests.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::steps::{Result, cargo, step, target_folder};

const TARGETS: [&str; 3] = ["read", "round_trip", "property"];

/// Tests every truncation and every value of every byte of every test file.
pub(crate) fn corrupt() -> Result<()> {
    let mut command = cargo();
    command.args("test --release --package syclbin-fuzz --test it corrupt::".split(' '));
    command.env("SYCLBIN_CORRUPT", "1");
    step("damaged files", &mut command)
}

/// Runs each fuzz target in turn, starting from the test files and the corpus of earlier runs.
///
/// Stable Rust without a sanitizer suffices, because the library contains no unsafe code.
pub(crate) fn fuzz(arguments: &[String]) -> Result<()> {
    let minutes: u32 = match arguments {
        [] => 1,
        [flag, minutes] if flag == "--minutes" => minutes
            .parse()
            .map_err(|_| format!("`{minutes}` is no number of minutes"))?,
        _ => return Err("usage: cargo xtask fuzz [--minutes N]".into()),
    };
    if !cargo()
        .args(["fuzz", "--version"])
        .output()
        .is_ok_and(|output| output.status.success())
    {
        return Err("cargo-fuzz is not installed; get it with `cargo install cargo-fuzz`".into());
    }
    let work = target_folder()?.join("fuzz");
    let texts = work.join("texts");
    write_texts(&test_files::directory(), &texts)?;
    for target in TARGETS {
        let corpus = work.join("corpus").join(target);
        std::fs::create_dir_all(&corpus)
            .map_err(|error| format!("{}: {error}", corpus.display()))?;
        let seeds = match target {
            "property" => texts.clone(),
            _ => test_files::directory(),
        };
        let mut command = cargo();
        command
            .args("fuzz run --sanitizer none --features libfuzzer --fuzz-dir tests/fuzz".split(' '))
            .arg(target)
            .args([&corpus, &seeds])
            .args(["--", "-max_len=65536", "-timeout=20", "-rss_limit_mb=2048"])
            .arg(format!("-max_total_time={}", minutes * 60))
            .args(["-print_final_stats=1", "-verbosity=0"]);
        step(&format!("fuzz {target}, {minutes} min"), &mut command)?;
    }
    Ok(())
}

/// The tests of `syclbin` that Miri finishes in seconds.
const FORMAT: &str = "content merge metadata model offload property::set spirv::module spirv::uses";

/// Tests of `syclbin-rt` that call no driver, mainly of unsafe code and of threads.
const RUNTIME: &str = "backend::cuda::copy backend::cuda::kernel backend::cuda::program backend::event backend::gate \
    backend::opencl::partition backend::range backend::slice backend::wakers error::tests launch::accessor launch::arg \
    launch::number launch::parameter_kinds memory::copy module::stub trace:: \
    --skip every_pattern --skip exit_waits --skip downloads_without --skip only_regular_files";

/// Interprets tests with Miri, which finds undefined behaviour and data races.
///
/// The gate's model of `exit()` runs in 16 schedules.
pub(crate) fn miri() -> Result<()> {
    let interpret = |name, flags, package, tests: &str| {
        // Cargo's own variable names the Cargo of another toolchain.
        let mut command = Command::new("rustup");
        command
            .args("run nightly cargo miri test --lib --package".split(' '))
            .args([package, "--"])
            .args(tests.split_whitespace())
            .env("MIRIFLAGS", format!("-Zmiri-disable-isolation {flags}"))
            .current_dir(crate::files::root());
        step(name, &mut command)
    };
    interpret("format", "", "syclbin", FORMAT)?;
    interpret("runtime", "", "syclbin-rt", RUNTIME)?;
    // A gate never reopens, so each child has its own processes. Threads that sleep at the gate count as leaks.
    for child in ["closes_its_gate", "exits_during_calls"] {
        let flags =
            "-Zmiri-env-set=SYCLBIN_RT_TEST_CHILD=1 -Zmiri-ignore-leaks -Zmiri-many-seeds=0..16";
        interpret("exit", flags, "syclbin-rt", &format!("a_child_{child}"))?;
    }
    Ok(())
}

/// Writes the metadata of each test file to a file, as seeds for the target `property`.
fn write_texts(testfiles: &Path, folder: &Path) -> Result<()> {
    let fail = |path: &Path, error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    std::fs::create_dir_all(folder).map_err(|error| fail(folder, &error))?;
    let entries = std::fs::read_dir(testfiles).map_err(|error| fail(testfiles, &error))?;
    let paths = entries.filter_map(|entry| Some(entry.ok()?.path()));
    for path in paths.filter(|path| path.extension().is_some_and(|ext| ext == "syclbin")) {
        let bytes = std::fs::read(&path).map_err(|error| fail(&path, &error))?;
        let file = syclbin::read::File::parse(&bytes).map_err(|error| fail(&path, &error))?;
        for (index, module) in file.modules().enumerate() {
            let metadata = module.and_then(|module| module.metadata());
            let metadata = metadata.map_err(|error| fail(&path, &error))?;
            let name = path.file_stem().unwrap_or_default().to_owned();
            let target = PathBuf::from(name).with_extension(format!("{index}.txt"));
            let target = folder.join(target);
            std::fs::write(&target, metadata.text).map_err(|error| fail(&target, &error))?;
        }
    }
    Ok(())
}
