// SPDX-License-Identifier: MIT OR Apache-2.0
//! The executables of a pack, as Cargo builds them.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::process::Stdio;

use cargo_metadata::camino::Utf8PathBuf;
use cargo_metadata::{Artifact, BuildScript, Message, TargetKind};

use super::elf::GLIBC;
use super::zig::Zig;
use crate::examples::EXAMPLES;
use crate::steps::{Result, timed};

/// What the examples are compiled for beside SPIR-V and PTX: native code for the two generations of GPUs
/// that are common in data centres. The tests keep the default targets, so that drivers compile PTX, too;
/// their kernels are then in the cache of builds.
const TARGETS: &str = "spir64,nvidia_gpu_sm_80,nvidia_gpu_sm_90";
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

/// An executable that Cargo built.
pub(super) struct Executable {
    /// Its name in the pack.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) path: Utf8PathBuf,
}

/// What an executable is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tests,
    Program,
    Benchmark,
}

/// What Cargo built for a pack.
pub(super) struct Built {
    pub(super) executables: Vec<Executable>,
    /// The directories with the kernels of a package, and its name.
    pub(super) kernels: BTreeMap<String, Utf8PathBuf>,
}

/// Builds all executables.
pub(super) fn build(zig: &Zig) -> Result<Built> {
    let tests = "test --no-run --package syclbin-rt --package end-to-end --tests --bench gpu";
    let mut programs = String::from(
        "build --package cargo-syclbin --bin cargo-syclbin --package gpu-report --bin gpu-report \
         --package stress --bin stress",
    );
    for example in &EXAMPLES {
        programs.push_str(&format!(" --package {0} --bin {0}", example.name));
    }
    let mut built = Built {
        executables: Vec::new(),
        kernels: BTreeMap::new(),
    };
    for (arguments, targets) in [(tests, None), (&programs, Some(TARGETS))] {
        let messages = timed(&format!("cargo {arguments}"), || {
            messages(zig, arguments, targets)
        })?;
        for message in messages {
            match message {
                Message::CompilerArtifact(artifact) => {
                    built.executables.extend(executable(&artifact));
                }
                Message::BuildScriptExecuted(script) => built.kernels.extend(kernels(&script)),
                _ => {}
            }
        }
    }
    // Cargo builds them in any order.
    built
        .executables
        .sort_by(|one, other| one.name.cmp(&other.name));
    Ok(built)
}

/// What one run of Cargo says, with kernels for `targets` or for the default ones.
fn messages(zig: &Zig, arguments: &str, targets: Option<&str>) -> Result<Vec<Message>> {
    let mut command = zig.cargo();
    command
        .args(arguments.split_whitespace())
        .args(["--profile", "gpu", "--quiet", "--message-format"])
        .arg("json-render-diagnostics")
        .arg(format!("--target={TRIPLE}.{}.{}", GLIBC.0, GLIBC.1))
        .stdout(Stdio::piped());
    if let Some(targets) = targets {
        command.env("SYCLBIN_TARGETS", targets);
    }
    let mut child = command
        .spawn()
        .map_err(|error| format!("cargo-zigbuild did not start: {error}"))?;
    let mut messages = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for message in Message::parse_stream(BufReader::new(stdout)) {
            messages.push(message.map_err(|error| format!("messages of cargo: {error}"))?);
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(messages),
        Ok(status) => Err(format!("`cargo {arguments}` ended with {status}")),
        Err(error) => Err(format!("`cargo {arguments}`: {error}")),
    }
}

/// The directory of the kernels that a build script compiled, and the name of the package.
fn kernels(script: &BuildScript) -> Option<(String, Utf8PathBuf)> {
    let directory = script.out_dir.join("syclbin");
    // `.../build/NAME-HASH/out`
    let (name, _) = script.out_dir.parent()?.file_name()?.rsplit_once('-')?;
    directory
        .is_dir()
        .then(|| (name.to_owned(), directory.clone()))
}

/// Programs that are left out. `main_thread` has a harness of its own, which cannot list its tests. The others say nothing
/// of a GPU: `native` loads native code for Intel's CPU device, `allocation` counts allocations of the host, and
/// `load-file` is a part of tests of compilers. `rotate` needs images, which CUDA does not have here.
const LEFT_OUT: [&str; 5] = ["allocation", "load-file", "main_thread", "native", "rotate"];

/// What is packed of what was built, and its name there.
fn executable(artifact: &Artifact) -> Option<Executable> {
    let path = artifact.executable.clone()?;
    let target = &artifact.target;
    if LEFT_OUT.contains(&target.name.as_str()) {
        return None;
    }
    let package = artifact.manifest_path.parent()?.file_name()?;
    let is = |kind: TargetKind| target.kind.contains(&kind);
    let (name, kind) = if is(TargetKind::Bench) {
        (format!("{package}-bench-{}", target.name), Kind::Benchmark)
    } else if !artifact.profile.test {
        (target.name.clone(), Kind::Program)
    } else if is(TargetKind::Lib) && package == "syclbin-rt" {
        (format!("{package}-unit"), Kind::Tests)
    } else if is(TargetKind::Test) {
        (format!("{package}-{}", target.name), Kind::Tests)
    } else {
        return None; // a library or program without tests
    };
    Some(Executable { name, kind, path })
}
