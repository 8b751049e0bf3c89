//! What the commands do: mostly processes of cargo, one after the other, each named before it runs.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use cargo_metadata::MetadataCommand;
use syclbin_toolchain::Component;

/// The sentence that says what failed.
pub(crate) type Result<T> = std::result::Result<T, String>;

/// The crates that need an installed compiler; plain `cargo build` and `cargo test` skip them.
const NEED_TOOLCHAIN: [&str; 9] = [
    "saxpy",
    "blur",
    "histogram",
    "mandelbrot",
    "matmul",
    "nbody",
    "particles",
    "pipeline",
    "end-to-end",
];

/// The tests of `end-to-end` whose kernels are compiled for all devices.
const ON_ALL_DEVICES: [&str; 5] = ["kernels", "rest", "scratch", "slim", "structs"];

/// The examples beside the demo, and what each says when device and Rust agree.
const EXAMPLES: [(&str, &str); 7] = [
    ("blur", "radius 6  320 x 200 pixels as Rust computes them"),
    ("histogram", "all bins as Rust counts them"),
    ("mandelbrot", "those compared as Rust computes them"),
    ("matmul", "agree     up to"),
    ("nbody", "after 4 steps as in Rust"),
    ("particles", "positions  as in Rust"),
    ("pipeline", "16 chunks of 65536, steps as Rust counts them"),
];

/// Installs what is missing, then does the main job.
pub(crate) fn demo() -> Result<()> {
    install_toolchain()?;
    let arguments = ["run", "--release", "--package", "saxpy"];
    step("saxpy", cargo().args(arguments))
}

/// Installs what is missing, then runs the other examples.
pub(crate) fn examples() -> Result<()> {
    install_toolchain()?;
    run_examples()
}

/// All that a change must pass.
pub(crate) fn test() -> Result<()> {
    let start = Instant::now();
    lint_sources()?;
    install_toolchain()?;
    lint_code()?;
    // A test that cannot run where it stands says so; where this is set, it fails.
    let device = std::env::var_os("SYCLBIN_REQUIRE_DEVICE").unwrap_or_else(|| "1".into());
    step(
        "tests of the libraries and programs",
        cargo().arg("test").env("SYCLBIN_REQUIRE_DEVICE", &device),
    )?;
    let mut examples = cargo();
    examples.arg("test").env("SYCLBIN_REQUIRE_DEVICE", &device);
    for package in NEED_TOOLCHAIN {
        examples.args(["--package", package]);
    }
    step("kernels from source, on a device", &mut examples)?;
    on_simulated_cuda(&device)?;
    let log = "test --package syclbin-rt --features log --test log";
    step("what is said to loggers", cargo().args(log.split(' ')))?;
    run_stress(&["--short".to_owned()])?;
    run_examples()?;
    judge()?;
    demo()?;
    eprintln!("\nall passed in {:.0?}", start.elapsed());
    Ok(())
}

/// The tests of the runtime once more, and those of kernels from source that are for all devices, on a
/// device of CUDA that is a simulation: a machine without NVIDIA's driver tests the other backend so.
fn on_simulated_cuda(required: &OsStr) -> Result<()> {
    let build = ["build", "--quiet", "--package", "simulated-cuda"];
    step("simulated CUDA", cargo().args(build))?;
    let program = target_folder()?.join("debug").join("with-simulated-cuda");
    let mut of_kernels = vec!["test", "--package", "end-to-end"];
    for test in ON_ALL_DEVICES {
        of_kernels.extend(["--test", test]);
    }
    for (name, arguments) in [
        (
            "tests of the runtime on simulated CUDA",
            vec!["test", "--package", "syclbin-rt"],
        ),
        ("kernels from source on simulated CUDA", of_kernels),
    ] {
        let cargo = cargo();
        let mut command = Command::new(&program);
        command.arg(cargo.get_program()).args(arguments);
        command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
        command.env("SYCLBIN_DEVICE", "cuda:gpu:0");
        step(name, command.env("SYCLBIN_REQUIRE_DEVICE", required))?;
    }
    Ok(())
}

/// Has the CPU device, or a better one, work until something is lost or left.
pub(crate) fn stress(arguments: &[String]) -> Result<()> {
    install_toolchain()?;
    run_stress(arguments)
}

fn run_stress(arguments: &[String]) -> Result<()> {
    // Built with optimization, as the numbers are those of a program in use.
    let run = ["run", "--quiet", "--release", "--package", "stress", "--"];
    step("stress", cargo().args(run).args(arguments))
}

/// Runs the examples and looks at what they say. They are run as they are built without `--release`:
/// whoever tries one does so too.
fn run_examples() -> Result<()> {
    for (name, expected) in EXAMPLES {
        let mut command = cargo();
        command.args(["run", "--quiet", "--package", name]);
        // The pictures in their folders are those that their READMEs show.
        match name {
            "mandelbrot" => {
                command
                    .arg("--")
                    .arg(target_folder()?.join("mandelbrot.png"));
            }
            "blur" => {
                command.args(["--", "examples/blur/before.png"]);
                command.arg(target_folder()?.join("after.png"));
            }
            _ => {}
        }
        eprintln!("== {name}");
        let output = command.stderr(Stdio::inherit()).output();
        let output = output.map_err(|error| format!("{name}: {error}"))?;
        let said = String::from_utf8_lossy(&output.stdout);
        eprint!("{said}");
        if !output.status.success() {
            return Err(format!("{name} ended with {}", output.status));
        }
        if !said.contains(expected) {
            return Err(format!("{name} does not say `{expected}`"));
        }
    }
    Ok(())
}

/// All that looks and runs nothing.
pub(crate) fn lint() -> Result<()> {
    lint_sources()?;
    install_toolchain()?;
    lint_code()
}

/// Installs what is missing, then has the reference runtime judge what this project writes.
pub(crate) fn oracle() -> Result<()> {
    install_toolchain()?;
    judge()
}

/// Installs what is missing, then says how to start the reference runtime's part of a benchmark.
pub(crate) fn submit() -> Result<()> {
    install_toolchain()?;
    crate::oracle::submit(&target_folder()?)
}

/// Fetches `nvcc` and prints where it is.
#[allow(clippy::print_stdout, reason = "the answer")]
pub(crate) fn nvcc() -> Result<()> {
    println!("{}", crate::nvcc::nvcc(&target_folder()?)?.display());
    Ok(())
}

fn judge() -> Result<()> {
    eprintln!("== the reference runtime as a judge");
    crate::oracle::run(&target_folder()?)
}

fn lint_sources() -> Result<()> {
    step("formatting", cargo().args(["fmt", "--all", "--check"]))
}

/// A target without a standard library: what compiles for it needs none.
const BARE_TARGET: &str = "thumbv7em-none-eabi";

/// The library of the format without its features, and where there is no standard library.
fn lint_library() -> Result<()> {
    let command = "clippy --package syclbin --all-targets -- --deny warnings";
    step("lints of syclbin alone", cargo().args(command.split(' ')))?;
    let folder = Command::new("rustc")
        .args(["--print", "target-libdir", "--target", BARE_TARGET])
        .output()
        .map_err(|error| format!("rustc: {error}"))?;
    let folder = String::from_utf8_lossy(&folder.stdout).trim().to_owned();
    if !Path::new(&folder).is_dir() {
        eprintln!(
            "skipped: syclbin without a standard library; `rustup target add {BARE_TARGET}` brings the target"
        );
        return Ok(());
    }
    let mut command = cargo();
    command.args("check --package syclbin --features extract --target".split(' '));
    step(
        "syclbin without a standard library",
        command.arg(BARE_TARGET),
    )
}

/// Lints and documentation of all crates; some of them compile kernels first.
fn lint_code() -> Result<()> {
    lint_library()?;
    step(
        "lints",
        cargo().args("clippy --workspace --all-targets -- --deny warnings".split(' ')),
    )?;
    let log = "clippy --package syclbin-rt --features log --all-targets -- --deny warnings";
    step("lints with a logger", cargo().args(log.split(' ')))?;
    step(
        "documentation",
        cargo()
            .args("doc --workspace --no-deps --document-private-items".split(' '))
            .env("RUSTDOCFLAGS", "--deny warnings"),
    )
}

/// Builds the two programs of `cargo-syclbin` and has the first install the toolchain, with the
/// second beside the compiler library.
pub(crate) fn install_toolchain() -> Result<()> {
    let build = ["build", "--quiet", "--package", "cargo-syclbin"];
    step("cargo syclbin", cargo().args(build))?;
    let program = target_folder()?.join("debug").join("cargo-syclbin");
    step(
        "toolchain",
        Command::new(program)
            .args(["syclbin", "toolchain", "install"])
            .args(Component::ALL.map(|component| format!("--component={}", component.name()))),
    )
}

pub(crate) fn target_folder() -> Result<PathBuf> {
    let metadata = MetadataCommand::new().no_deps().exec();
    metadata
        .map(|metadata| metadata.target_directory.into_std_path_buf())
        .map_err(|error| format!("cargo metadata: {error}"))
}

/// The cargo that runs this, in the folder of the workspace.
pub(crate) fn cargo() -> Command {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.current_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    command
}

pub(crate) fn step(name: &str, command: &mut Command) -> Result<()> {
    eprintln!("== {name}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("{name}: `{}` ended with {status}", line(command))),
        Err(error) => Err(format!("{name}: `{}`: {error}", line(command))),
    }
}

fn line(command: &Command) -> String {
    std::iter::once(command.get_program())
        .chain(command.get_args())
        .map(OsStr::to_string_lossy)
        .collect::<Vec<_>>()
        .join(" ")
}
