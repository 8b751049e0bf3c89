// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds the executables of a pack with Cargo.

use std::collections::BTreeMap;
use std::io::BufReader;
use std::process::{Command, Stdio};

use cargo_metadata::camino::Utf8PathBuf;
use cargo_metadata::{Artifact, BuildScript, Message, TargetKind};

use super::elf::GLIBC;
use super::plan::FAULTS;
use super::zig::Zig;
use crate::examples::{self, EXAMPLES};
use crate::steps::{Result, SELECTION, cargo, line, timed};

/// The targets of the examples: besides SPIR-V and PTX, native code for the two GPU generations that are common in
/// data centres. Tests keep the default targets, so drivers also compile PTX, and the build cache already contains
/// the kernels.
const TARGETS: &str = "spir64,nvidia_gpu_sm_80,nvidia_gpu_sm_90";
const TRIPLE: &str = "x86_64-unknown-linux-gnu";

pub(super) struct Executable {
    /// Its name in the pack.
    pub(super) name: String,
    pub(super) kind: Kind,
    pub(super) path: Utf8PathBuf,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Tests,
    Program,
    Benchmark,
}

pub(super) struct Built {
    pub(super) executables: Vec<Executable>,
    /// The directory of kernels for each package name.
    pub(super) kernels: BTreeMap<String, Utf8PathBuf>,
}

pub(super) enum Linking {
    /// With optimization, for any machine with glibc [`GLIBC`].
    Portable(Zig),
    /// Like the tests and examples of `cargo xtask test`, so that nothing is compiled twice. The executables require
    /// the glibc of this machine.
    Here,
}

impl Linking {
    /// Returns Cargo with the first arguments for building all tests.
    fn tests(&self) -> Command {
        match self {
            Self::Portable(zig) => {
                let [_, features @ ..] = SELECTION;
                let packages = TESTED.iter().flat_map(|name| ["--package", name]);
                portable(zig, "test", packages.chain(features))
            }
            Self::Here => {
                let mut command = cargo();
                command.args(["test", "--quiet"]).args(SELECTION);
                command
            }
        }
    }

    /// Returns Cargo with the arguments for building all programs.
    fn programs(&self) -> Command {
        match self {
            Self::Portable(zig) => {
                let names = programs();
                let programs = names.flat_map(|name| ["--package", name, "--bin", name]);
                let mut command = portable(zig, "build", programs);
                command.env("SYCLBIN_TARGETS", TARGETS);
                command
            }
            Self::Here => examples::build_command(None),
        }
    }
}

/// Returns `cargo SUBCOMMAND` with optimization and zig as the linker.
fn portable<'a>(
    zig: &Zig,
    subcommand: &str,
    arguments: impl IntoIterator<Item = &'a str>,
) -> Command {
    let mut command = zig.cargo();
    command.args([subcommand, "--quiet"]).args(arguments);
    command
        .args(["--profile", "gpu"])
        .arg(format!("--target={TRIPLE}.{}.{}", GLIBC.0, GLIBC.1));
    command
}

pub(super) fn build(linking: &Linking) -> Result<Built> {
    let mut built = Built {
        executables: Vec::new(),
        kernels: BTreeMap::new(),
    };
    let mut tests = linking.tests();
    tests.args(["--no-run", "--tests", "--bench", "gpu"]);
    let work = [
        ("tests of the pack", tests, false),
        ("programs of the pack", linking.programs(), true),
    ];
    for (name, mut command, are_programs) in work {
        for message in timed(name, || messages(&mut command))? {
            match message {
                Message::CompilerArtifact(artifact) => {
                    let executable = executable(&artifact);
                    built.executables.extend(
                        executable.filter(|executable| {
                            are_programs == (executable.kind == Kind::Program)
                        }),
                    );
                }
                Message::BuildScriptExecuted(script) => built.kernels.extend(kernels(&script)),
                _ => {}
            }
        }
    }
    // Cargo builds the executables in any order.
    built
        .executables
        .sort_by(|one, other| one.name.cmp(&other.name));
    Ok(built)
}

fn messages(command: &mut Command) -> Result<Vec<Message>> {
    command
        .args(["--message-format", "json-render-diagnostics"])
        .stdout(Stdio::piped());
    let mut child = command
        .spawn()
        .map_err(|error| format!("{}: {error}", line(command)))?;
    let mut messages = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        for message in Message::parse_stream(BufReader::new(stdout)) {
            messages.push(message.map_err(|error| format!("messages of cargo: {error}"))?);
        }
    }
    match child.wait() {
        Ok(status) if status.success() => Ok(messages),
        Ok(status) => Err(format!("`{}` ended with {status}", line(command))),
        Err(error) => Err(format!("`{}`: {error}", line(command))),
    }
}

/// Returns the name of a package, and the directory of the kernels that its build script compiled.
fn kernels(script: &BuildScript) -> Option<(String, Utf8PathBuf)> {
    let directory = script.out_dir.join("syclbin");
    // `.../build/NAME-HASH/out`
    let (name, _) = script.out_dir.parent()?.file_name()?.rsplit_once('-')?;
    let is_packed = TESTED.contains(&name) || programs().any(|program| program == name);
    (is_packed && directory.is_dir()).then(|| (name.to_owned(), directory.clone()))
}

/// Tests that are left out. `main_thread` has its own harness, which cannot list tests. The others do not test a GPU:
/// `native` loads native code for Intel's CPU device, `allocation` counts host allocations, and `log` reads OpenCL
/// log messages.
const LEFT_OUT: [&str; 4] = ["allocation", "log", "main_thread", "native"];

/// The packages whose tests are packed.
const TESTED: [&str; 2] = ["syclbin-rt", "end-to-end"];

/// Returns the programs to pack. Examples with images are left out, because CUDA devices do not support them.
fn programs() -> impl Iterator<Item = &'static str> {
    let examples = EXAMPLES.iter().filter(|example| !example.uses_images());
    let examples = examples.map(|example| example.name);
    ["cargo-syclbin", "gpu-report", "stress"]
        .into_iter()
        .chain(examples)
}

/// The program that makes the calls for [`FAULTS`] to fail. Packs for other machines do not contain it.
const EXERCISE: &str = "exercise";

/// Returns the executable of an artifact under its name in the pack, or `None` if it is not packed.
fn executable(artifact: &Artifact) -> Option<Executable> {
    let mut files = artifact.filenames.iter();
    if let Some(path) = files.find(|path| path.file_name() == Some(FAULTS)) {
        return Some(Executable {
            name: FAULTS.to_owned(),
            kind: Kind::Program,
            path: path.clone(),
        });
    }
    let path = artifact.executable.clone()?;
    let target = &artifact.target;
    let package = artifact.manifest_path.parent()?.file_name()?;
    let is = |kind: TargetKind| target.kind.contains(&kind);
    if !artifact.profile.test {
        let name = target.name.clone();
        return programs()
            .chain([EXERCISE])
            .any(|program| program == name)
            .then_some(Executable {
                name,
                kind: Kind::Program,
                path,
            });
    }
    if !TESTED.contains(&package) || LEFT_OUT.contains(&target.name.as_str()) {
        return None;
    }
    let (name, kind) = if is(TargetKind::Bench) {
        (format!("{package}-bench-{}", target.name), Kind::Benchmark)
    } else if is(TargetKind::Lib) && package == "syclbin-rt" {
        (format!("{package}-unit"), Kind::Tests)
    } else if is(TargetKind::Test) {
        (format!("{package}-{}", target.name), Kind::Tests)
    } else {
        return None; // a library or program without tests
    };
    Some(Executable { name, kind, path })
}
