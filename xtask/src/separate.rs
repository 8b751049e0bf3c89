// SPDX-License-Identifier: MIT OR Apache-2.0
//! The examples with separate workspaces: one requires system packages, the other many crates.

use std::path::PathBuf;
use std::process::{Command, Stdio};

use crate::steps::{Result, cargo, skipped, step, target_folder, timed};
use crate::{files, simulated_cuda};

const NAMES: [&str; 2] = ["candle", "stencil-mpi"];

pub(crate) fn check_format() -> Result<()> {
    NAMES.iter().try_for_each(|name| {
        let mut command = cargo();
        command.args(["fmt", "--check", "--manifest-path"]);
        step(
            &format!("formatting of {name}"),
            command.arg(manifest(name)),
        )
    })
}

/// Runs both examples on the best device, and the MPI example also on two simulated GPUs.
pub(crate) fn run() -> Result<()> {
    let candle = build("candle")?;
    timed("running candle", || {
        let product = printed(Command::new(&candle).args(["1024", "2048"]))?;
        contains(&product, "agree     with candle's own result")?;
        let decoder = printed(Command::new(&candle).args(["decoder", "small"]))?;
        contains(&decoder, "agree     with candle: 20 tokens")?;
        let file = target_folder()?.join("candle-small.gguf");
        printed(Command::new(&candle).arg("save").arg(&file))?;
        let mut model = Command::new(&candle);
        let prompt = "1 2 3 4 5 6 7 8 9 10".split(' ');
        let text = printed(model.arg("model").arg(&file).arg("check").args(prompt))?;
        contains(&text, "agree     with candle: 64 tokens")?;
        let product = printed(Command::new(&candle).args(["matmul", "65", "70", "75"]))?;
        contains(&product, "65 x 70 x 75: device")
    })?;
    if let Some(missing) = missing_for_mpi() {
        skipped("stencil-mpi", &missing);
        return Ok(());
    }
    let stencil = build("stencil-mpi")?;
    timed("running stencil-mpi", || waves(&stencil))
}

fn manifest(name: &str) -> PathBuf {
    files::root().join("examples").join(name).join("Cargo.toml")
}

/// Builds an example in the target directory of the main workspace, and returns the program.
fn build(name: &str) -> Result<PathBuf> {
    let target = target_folder()?;
    let mut command = cargo();
    command.args(["build", "--quiet", "--manifest-path"]);
    command.arg(manifest(name)).arg("--target-dir").arg(&target);
    command.env_remove("SYCLBIN_TARGETS");
    step(name, &mut command)?;
    Ok(target.join("debug").join(name))
}

/// Returns a message if a requirement of `stencil-mpi` is missing.
fn missing_for_mpi() -> Option<String> {
    let answers = |program: &str, argument: &str| {
        let mut command = Command::new(program);
        command
            .arg(argument)
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command.status().is_ok_and(|status| status.success())
    };
    let programs = [("mpicc", "-show"), ("mpirun", "--version")];
    let missing = programs
        .iter()
        .find(|(program, argument)| !answers(program, argument));
    if let Some((program, _)) = missing {
        return Some(format!(
            "`{program}` does not run; install libopenmpi-dev and openmpi-bin"
        ));
    }
    let is_named = std::env::var_os("LIBCLANG_PATH").is_some();
    (!is_named && !has_libclang()).then(|| "libclang is missing; install libclang-dev".to_owned())
}

/// Returns whether the system's loader finds libclang. `libclang-cpp` does not count.
fn has_libclang() -> bool {
    let output = Command::new("ldconfig").arg("-p").output();
    output.is_ok_and(|output| {
        let text = String::from_utf8_lossy(&output.stdout);
        let mut names = text.lines().map(str::trim_start);
        names.any(|name| {
            let rest = name.strip_prefix("libclang");
            rest.is_some_and(|rest| {
                rest.starts_with(".so") || rest.starts_with("-1") || rest.starts_with("-2")
            })
        })
    })
}

/// Runs one, two and four ranks, and compares their checksums.
fn waves(program: &PathBuf) -> Result<()> {
    let mut checksums = Vec::new();
    for ranks in ["1", "2", "4"] {
        let printed = printed(
            mpirun(ranks)
                .arg(program)
                .args(["200", "320", "300", "--compare"]),
        )?;
        contains(&printed, "all as one rank computes them")?;
        contains(&printed, "all as Rust computes them")?;
        let checksum = printed.lines().find(|line| line.starts_with("checksum"));
        checksums.push(
            checksum
                .map(str::to_owned)
                .ok_or("stencil-mpi prints no checksum")?,
        );
    }
    if checksums.iter().any(|checksum| *checksum != checksums[0]) {
        return Err(format!(
            "1, 2 and 4 ranks get different waves: {checksums:?}"
        ));
    }
    let mut command =
        simulated_cuda::with(
            mpirun("2")
                .arg(program)
                .args(["40", "60", "20", "--compare"]),
        )?;
    command.env(simulated_cuda::SETTINGS, "devices=2");
    command.env_remove("SYCLBIN_DEVICE");
    let printed = printed(&mut command)?;
    contains(&printed, "device    Simulated CUDA device")?;
    contains(&printed, "all as Rust computes them")?;
    // The second column is the index of the device.
    let ranks = printed.lines().filter(|line| line.starts_with("rank "));
    let devices: Vec<_> = ranks
        .filter_map(|line| line.split_whitespace().nth(2))
        .collect();
    if devices != ["0", "1"] {
        return Err(format!("two ranks use the devices {devices:?} of two"));
    }
    Ok(())
}

/// Starts `mpirun`. The variables allow Open MPI to run as root, to start more ranks than cores, and to wait without
/// keeping a core busy. Other implementations ignore them.
fn mpirun(ranks: &str) -> Command {
    let mut command = Command::new("mpirun");
    command.args(["-n", ranks]);
    for name in [
        "OMPI_ALLOW_RUN_AS_ROOT",
        "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM",
        "OMPI_MCA_rmaps_base_oversubscribe",
        "OMPI_MCA_mpi_yield_when_idle",
    ] {
        command.env(name, "1");
    }
    command.env("PRTE_MCA_rmaps_default_mapping_policy", ":oversubscribe");
    command
}

fn printed(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.stderr(Stdio::inherit()).output();
    let output = output.map_err(|error| format!("{program}: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    eprint!("{printed}");
    if !output.status.success() {
        return Err(format!("{program} ended with {}", output.status));
    }
    Ok(printed)
}

fn contains(printed: &str, expected: &str) -> Result<()> {
    if !printed.contains(expected) {
        return Err(format!("`{expected}` is not printed"));
    }
    Ok(())
}
