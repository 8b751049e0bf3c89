// SPDX-License-Identifier: MIT OR Apache-2.0
//! The steps of the commands: mostly Cargo processes, which run in order and are announced.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, Instant};

use cargo_metadata::{Metadata, MetadataCommand};

use crate::{examples, separate, simulated_cuda};

/// A result whose error is a complete message.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// Runs the demo, which first installs everything that a user of this machine would install.
pub(crate) fn demo() -> Result<()> {
    step("the demo", cargo().args(["xtask", "demo"]))
}

pub(crate) fn examples() -> Result<()> {
    install_toolchain()?;
    simulated_cuda::build()?;
    examples::run()?;
    examples::run_on_simulated_cuda()?;
    separate::run()
}

/// Runs everything that a change must pass, and prints the time of each step.
pub(crate) fn test() -> Result<()> {
    let start = Instant::now();
    let outcome = test_all();
    let total = start.elapsed();
    eprintln!(
        "\n{}{}",
        table(&locked(&TAKEN), total),
        locked(&SKIPPED).join("")
    );
    outcome?;
    eprintln!("all passed in {total:.0?}");
    Ok(())
}

fn test_all() -> Result<()> {
    // Fetch and unpack third-party drivers, and the ocloc for tests, during the compilation.
    let ((), roots) = both(lint, crate::drivers::prepare)?;
    // A test that cannot run here is skipped. With this variable, it fails.
    let device = std::env::var_os("SYCLBIN_REQUIRE_DEVICE").unwrap_or_else(|| "1".into());
    tests(&device)?;
    // One of them must copy while its kernel runs, so nothing else runs now.
    examples::run()?;
    crate::drivers::build_simulated_xe()?;
    let pack = crate::gpu::build()?;
    // Drivers often keep only one processor busy, and so do other programs. They can run in parallel, because they share no
    // files.
    crate::drivers::check(roots, &pack, || {
        programs()?;
        // The pack includes tests on simulated CUDA and the short stress run.
        crate::gpu::check(&pack)
    })
}

/// Runs what packs do not contain.
fn programs() -> Result<()> {
    examples::run_on_simulated_cuda()?;
    separate::run()?;
    judge()?;
    demo()?;
    let mut demo = cargo();
    demo.args(["xtask", "demo"]);
    step(
        "the demo on simulated CUDA",
        &mut simulated_cuda::with(&demo)?,
    )
}

/// Does two things at the same time, each to its end.
pub(crate) fn both<A: Send, B>(
    one: impl FnOnce() -> Result<A> + Send,
    other: impl FnOnce() -> Result<B>,
) -> Result<(A, B)> {
    std::thread::scope(|scope| {
        let one = scope.spawn(one);
        let other = other();
        let one = one.join();
        let one = one.map_err(|_| "a thread of xtask panicked".to_owned())?;
        Ok((one?, other?))
    })
}

/// The packages and features of every step. Cargo would rebuild a library for other packages with other features. All
/// of our optional features are enabled.
pub(crate) const SELECTION: [&str; 3] = [
    "--workspace",
    "--features",
    "syclbin-rt/dlpack,syclbin-rt/half,syclbin-rt/log,syclbin-rt/ndarray,syclbin-rt/tracing",
];

fn tests(device: &OsStr) -> Result<()> {
    /// These tests run Cargo for minutes, so the other tests run at the same time. Those with `::` share a directory.
    const LONG: [&str; 4] = [
        "compiler::new_projects::",
        "compiler::published::",
        "compiler::user_crate::",
        "programs_compile_or_fail_as_expected",
    ];
    let cargo_test = |arguments: &[&str]| {
        let mut command = cargo();
        command.arg("test").args(SELECTION).args(arguments);
        command.env("SYCLBIN_REQUIRE_DEVICE", device);
        command
    };
    step("building tests", &mut cargo_test(&["--no-run"]))?;
    let long = || {
        let mut command = cargo_test(&["--no-fail-fast", "--test", "it", "--"]);
        let output = timed("tests that run Cargo", || {
            let output = command.args(LONG).output();
            output.map_err(|error| format!("tests that run Cargo: {error}"))
        })?;
        if output.status.success() {
            return Ok(());
        }
        Err(format!(
            "tests that run Cargo failed\n{}{}",
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr)
        ))
    };
    let mut others = cargo_test(&["--no-fail-fast", "--"]);
    others.args(LONG.iter().flat_map(|name| ["--skip", name]));
    both(long, || step("tests", &mut others))?;
    // `gpu check` runs the other device tests on two simulated devices. Here there is one, so buffers come from a pool.
    let names = [
        "stubs_pass_every_byte",
        "devices_compute_what_rust_does",
        "backend::cuda::",
    ];
    let tests = ["--lib", "--test", "it", "--"];
    let mut simulated = simulated_cuda::with(cargo_test(&tests).args(names))?;
    simulated.env("SYCLBIN_DEVICE", "cuda:gpu:0");
    step(
        "the CUDA backend and random kernels on simulated CUDA",
        &mut simulated,
    )
}

/// Stresses the CPU device, or a better one, until data is lost or memory leaks.
pub(crate) fn stress(arguments: &[String]) -> Result<()> {
    install_toolchain()?;
    run_stress(arguments)
}

fn run_stress(arguments: &[String]) -> Result<()> {
    // Build with optimization, because the figures describe a program in use.
    let run = ["run", "--quiet", "--release", "--package", "stress", "--"];
    step("stress", cargo().args(run).args(arguments))
}

/// Runs all static checks.
pub(crate) fn lint() -> Result<()> {
    // Cargo builds the installer in seconds. Then it downloads while Cargo compiles.
    let without_toolchain = || lint_sources().and_then(|()| lint_libraries());
    both(install_toolchain, without_toolchain)?;
    lint_code()
}

/// Installs missing components, then has the reference runtime check the output of this project.
pub(crate) fn oracle() -> Result<()> {
    install_toolchain()?;
    judge()
}

/// Installs missing components, then prints how to start the reference runtime's part of a benchmark.
pub(crate) fn submit() -> Result<()> {
    install_toolchain()?;
    oracle::submit(&target_folder()?)
}

#[allow(clippy::print_stdout, reason = "the answer")]
pub(crate) fn nvcc() -> Result<()> {
    println!("{}", crate::nvcc::nvcc(&target_folder()?)?.display());
    Ok(())
}

fn judge() -> Result<()> {
    let target = target_folder()?;
    timed("the reference runtime as a judge", || oracle::run(&target))
}

fn lint_sources() -> Result<()> {
    step("formatting", cargo().args(["fmt", "--all", "--check"]))?;
    separate::check_format()?;
    timed("prose", || crate::prose::run(&[]))?;
    timed("public API", || crate::api::run(&[]))?;
    timed("licences", || crate::licences::run(&[]))
}

/// A target without a standard library. Code that compiles for it is `no_std`.
const BARE_TARGET: &str = "thumbv7em-none-eabi";

/// Lints the libraries without their features, and the format without a standard library.
fn lint_libraries() -> Result<()> {
    let command = "clippy --package syclbin -- --deny warnings";
    step("lints of syclbin alone", cargo().args(command.split(' ')))?;
    let command = "clippy --package syclbin-rt --no-default-features -- --deny warnings";
    step(
        "lints of syclbin-rt without CUDA",
        cargo().args(command.split(' ')),
    )?;
    if !has_target(BARE_TARGET)? {
        skipped(
            "syclbin without a standard library",
            &format!("`rustup target add {BARE_TARGET}` installs the target"),
        );
        return Ok(());
    }
    let mut command = cargo();
    command.args("check --package syclbin-tools --features extract --target".split(' '));
    step(
        "syclbin without a standard library",
        command.arg(BARE_TARGET),
    )
}

/// Returns whether rustup has installed the standard library of a target.
pub(crate) fn has_target(target: &str) -> Result<bool> {
    let folder = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", target])
        .output()
        .map_err(|error| format!("rustc: {error}"))?;
    let folder = String::from_utf8_lossy(&folder.stdout).trim().to_owned();
    Ok(Path::new(&folder).is_dir())
}

/// Lints all crates, and builds the documentation of those that are published. Some of them compile kernels first.
fn lint_code() -> Result<()> {
    step(
        "lints",
        cargo()
            .arg("clippy")
            .args(SELECTION)
            .args(["--all-targets", "--", "--deny", "warnings"]),
    )?;
    let packages = workspace()?.packages.iter();
    let unpublished = packages.filter(|package| package.publish.is_some());
    step(
        "documentation",
        cargo()
            .arg("doc")
            .args(SELECTION)
            .args(["--no-deps", "--document-private-items"])
            .args(unpublished.map(|package| format!("--exclude={}", package.name)))
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )
}

/// Installs all components, because the tests need each of them.
pub(crate) fn install_toolchain() -> Result<()> {
    step("toolchain", cargo().args(["xtask", "toolchain"]))
}

/// Returns the packages and the target directory of the workspace, without dependencies.
pub(crate) fn workspace() -> Result<&'static Metadata> {
    static WORKSPACE: OnceLock<Result<Metadata>> = OnceLock::new();
    let workspace = WORKSPACE.get_or_init(|| {
        let metadata = MetadataCommand::new().no_deps().exec();
        metadata.map_err(|error| format!("cargo metadata: {error}"))
    });
    workspace.as_ref().map_err(String::clone)
}

pub(crate) fn target_folder() -> Result<PathBuf> {
    Ok(workspace()?.target_directory.clone().into_std_path_buf())
}

/// Returns the Cargo that runs this program, in the directory of the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    command
}

pub(crate) fn step(name: &str, command: &mut Command) -> Result<()> {
    timed(name, || match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: `{}` ended with {status}", line(command))),
        Err(error) => Err(format!("{name}: `{}`: {error}", line(command))),
    })
}

/// All steps so far, with their durations.
static TAKEN: Mutex<Vec<(String, Duration)>> = Mutex::new(Vec::new());

/// The lines of [`test()`]'s table for skipped steps.
static SKIPPED: Mutex<Vec<String>> = Mutex::new(Vec::new());

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Prints why a step is skipped, and repeats it below the table of [`test()`].
pub(crate) fn skipped(name: &str, reason: &str) {
    eprintln!("skipped: {name}: {reason}");
    locked(&SKIPPED).push(format!(" skipped  {name}: {reason}\n"));
}

/// Runs `work`, prints its name before and after, and records the time for the table of [`test()`].
pub(crate) fn timed<T>(name: &str, work: impl FnOnce() -> Result<T>) -> Result<T> {
    eprintln!("== {name}");
    let start = Instant::now();
    let outcome = work();
    let time = start.elapsed();
    if outcome.is_ok() {
        eprintln!("== {name}: {time:.0?}");
    }
    locked(&TAKEN).push((name.to_owned(), time));
    outcome
}

/// Formats the steps of at least a second, one per line, and the total.
fn table(steps: &[(String, Duration)], total: Duration) -> String {
    let long = steps.iter().filter(|(_, time)| time.as_secs() > 0);
    let total = [("total".to_owned(), total)];
    long.chain(&total)
        .map(|(name, time)| {
            format!(
                "{:>6} s  {name}
",
                time.as_secs()
            )
        })
        .collect()
}

/// Formats a command as a user would type it.
pub(crate) fn line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_lists_long_steps_and_the_total() {
        let steps = [("lints", 61_999), ("formatting", 900)];
        let steps = steps.map(|(name, time)| (name.to_owned(), Duration::from_millis(time)));
        let table = table(&steps, Duration::from_secs(1234));
        assert_eq!(table, "    61 s  lints\n  1234 s  total\n");
    }
}
