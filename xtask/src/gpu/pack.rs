// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds a pack: executables, the files that they read, `pack.json` and `run.sh`.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use cargo_syclbin::ui::Size;
use gpu_report::plan::FILE;

use super::cargo::{self, Built, Executable, Kind, Linking};
use super::elf::GLIBC;
use super::zig::Zig;
use super::{at, elf, plan};
use crate::nvcc::nvcc;
use crate::steps::{Result, install_toolchain, step, target_folder};

pub(super) const SCRIPT: &str = "run.sh";
/// The maximum size of a pack's archive. Connections to machines with a GPU are often slow.
const LARGEST: u64 = 50_000_000;

/// Builds a pack for any machine in `directory`, and an archive of it, and prints the sizes.
pub(super) fn build(directory: &Path) -> Result<()> {
    let start = Instant::now();
    install_toolchain()?;
    let zig = Zig::get(&target_folder()?)?;
    build_with(&Linking::Portable(zig), directory)?;
    elf::check(&directory.join("bin"), GLIBC, &[])?;
    let archive = archive(directory)?;
    let packed = fs::metadata(&archive).map_err(|error| at(&archive, error))?;
    let packed = packed.len();
    eprintln!(
        "{}: {} in {:.0?}; run it by {SCRIPT}",
        directory.display(),
        Size(size(directory)?),
        start.elapsed()
    );
    eprintln!("{}: {}, the same packed", archive.display(), Size(packed));
    if packed > LARGEST {
        return Err(format!(
            "the archive has {}, more than {}: make it smaller",
            Size(packed),
            Size(LARGEST)
        ));
    }
    Ok(())
}

/// Builds a pack for machines like this one in `directory`.
pub(super) fn build_here(directory: &Path) -> Result<()> {
    install_toolchain()?;
    build_with(&Linking::Here, directory)
}

fn build_with(linking: &Linking, directory: &Path) -> Result<()> {
    clear(directory)?;
    let Built {
        executables,
        kernels,
    } = cargo::build(linking)?;
    // `clear` recognizes a pack by this file, even if a later step fails.
    let plan = plan::plan(commit(), &executables);
    let plan = serde_json::to_string_pretty(&plan).map_err(|error| at(directory, error))?;
    fs::create_dir_all(directory).map_err(|error| at(directory, error))?;
    write(&directory.join(FILE), &plan)?;
    for executable in &executables {
        copy(
            executable.path.as_std_path(),
            &directory.join("bin").join(&executable.name),
        )?;
    }
    let root = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."));
    copy_all(&test_files::directory(), &directory.join("files"))?;
    copy(
        &root.join("examples/blur/before.png"),
        &directory.join("before.png"),
    )?;
    for (package, kernels) in &kernels {
        let to = directory.join("modules").join(package);
        copy_modules(kernels.as_std_path(), &to)?;
    }
    prepare_benchmark(directory, &executables)?;
    let script = directory.join(SCRIPT);
    write(&script, include_str!("run.sh"))?;
    let executable = fs::Permissions::from_mode(0o755);
    fs::set_permissions(&script, executable).map_err(|error| at(&script, error))
}

fn archive(directory: &Path) -> Result<PathBuf> {
    let directory = std::path::absolute(directory).map_err(|error| at(directory, error))?;
    let mut name = directory.clone().into_os_string();
    name.push(".tar.gz");
    let mut tar = Command::new("tar");
    tar.arg("-czf").arg(&name);
    if let (Some(parent), Some(folder)) = (directory.parent(), directory.file_name()) {
        tar.arg("-C").arg(parent).arg(folder);
    }
    step("archive", &mut tar)?;
    Ok(PathBuf::from(name))
}

/// Removes an older pack. Fails if the directory contains anything else.
fn clear(directory: &Path) -> Result<()> {
    let is_empty = fs::read_dir(directory).map_or(true, |mut entries| entries.next().is_none());
    if is_empty {
        return Ok(());
    }
    if !directory.join(FILE).is_file() {
        return Err(at(directory, "not a pack; choose a new directory with -o"));
    }
    fs::remove_dir_all(directory).map_err(|error| at(directory, error))
}

/// Has the benchmark compile its SYCL and CUDA kernels now, because other machines lack the compilers.
fn prepare_benchmark(directory: &Path, executables: &[Executable]) -> Result<()> {
    let mut benchmarks = executables
        .iter()
        .filter(|built| built.kind == Kind::Benchmark);
    let benchmark = benchmarks.next().ok_or("cargo built no benchmark")?;
    let kernels = directory.join("kernels");
    fs::create_dir_all(&kernels).map_err(|error| at(&kernels, error))?;
    let mut command = Command::new(&benchmark.path);
    command.arg("prepare").arg(&kernels);
    command.env("NVCC", nvcc(&target_folder()?)?);
    step("kernels of the benchmark", &mut command)
}

/// Returns the commit, with the suffix `-dirty` if files have changed.
fn commit() -> String {
    let git = |arguments: &[&str]| {
        let mut command = Command::new("git");
        command
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .args(arguments);
        let output = command.output().ok()?;
        let text = String::from_utf8_lossy(&output.stdout).trim().to_owned();
        output.status.success().then_some(text)
    };
    match git(&["rev-parse", "--short=12", "HEAD"]) {
        Some(commit) if git(&["status", "--porcelain"]).is_none_or(|text| text.is_empty()) => {
            commit
        }
        Some(commit) => format!("{commit}-dirty"),
        None => "unknown".to_owned(),
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let parent = to.parent().unwrap_or(Path::new("."));
    fs::create_dir_all(parent).map_err(|error| at(parent, error))?;
    fs::copy(from, to)
        .map(drop)
        .map_err(|error| at(from, error))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| at(path, error))
}

pub(super) fn copy_all(from: &Path, to: &Path) -> Result<()> {
    for (path, _) in files(from)? {
        let relative = path.strip_prefix(from).map_err(|error| at(&path, error))?;
        copy(&path, &to.join(relative))?;
    }
    Ok(())
}

fn copy_modules(from: &Path, to: &Path) -> Result<()> {
    let files = files(from)?.into_iter().map(|(path, _)| path);
    for path in files.filter(|path| path.extension().is_some_and(|name| name == "syclbin")) {
        copy(&path, &to.join(path.file_name().unwrap_or_default()))?;
    }
    Ok(())
}

fn size(directory: &Path) -> Result<u64> {
    Ok(files(directory)?.iter().map(|(_, size)| size).sum())
}

/// Returns all files below a directory, with their sizes.
fn files(directory: &Path) -> Result<Vec<(PathBuf, u64)>> {
    let failed = |error| at(directory, error);
    let mut found = Vec::new();
    for entry in fs::read_dir(directory).map_err(failed)? {
        let entry = entry.map_err(failed)?;
        let metadata = entry.metadata().map_err(failed)?;
        if metadata.is_dir() {
            found.extend(files(&entry.path())?);
        } else {
            found.push((entry.path(), metadata.len()));
        }
    }
    Ok(found)
}
