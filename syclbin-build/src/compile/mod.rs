// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles all sources of a request, and returns their kernels and every file that was read.

mod ahead_of_time;
pub(crate) mod diagnostics;
mod imports;
mod included;
mod jobs;
mod same_names;
mod tokens;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Once;

use syclbin::{State, Syclbin};
use syclbin_toolchain::INSTALL_COMMAND;

use crate::cache::{Cache, Pending};
use crate::cargo;
use crate::compiler::default_targets;
use crate::compiler::headers;
use crate::compiler::output::{Compiled, Outputs, no_kernel};
use crate::compiler::{Compiler, Job};
use crate::error::{Error, Result};
use crate::request::Request;
use diagnostics::Diagnostics;
use jobs::{JobResult, Task};
use tokens::Tokens;

pub(crate) fn compile(
    compiler: &Compiler,
    request: &Request,
    folder: &Path,
) -> Result<(Syclbin<'static>, BTreeSet<PathBuf>)> {
    let sources = &request.sources;
    sweep(folder);
    let work = tempfile::Builder::new()
        .prefix(&own_work())
        .tempdir_in(folder)
        .map_err(Error::write(folder))?;
    let flags = flags(compiler, request);
    let results = compile_each(compiler, sources, &flags, work.path())?;
    let results = included::without(sources.iter().zip(results).collect(), request);
    let (sources, results): (Vec<&Path>, Vec<_>) = results.into_iter().unzip();
    let mut compiled = all_or_error(&sources, results)?;
    same_names::resolve(&mut compiled, &sources);
    let mut files: BTreeSet<PathBuf> = request.sources.iter().cloned().collect();
    for one in &compiled {
        for path in &one.files {
            cargo::rerun_if_changed(path);
        }
        files.extend(one.files.iter().cloned());
    }
    let mut whole = link(compiled, &sources, request)?;
    let is_wanted = request.links || default_targets::name_native(&flags);
    if is_wanted && !request.links_at_load && ahead_of_time::uses_other_sources(&whole) {
        whole = ahead_of_time::link(whole, compiler, &flags, work.path())?;
    }
    Ok((whole, files))
}

/// Returns the compiler arguments for all sources. Several sources may use each other's functions, which executables do
/// not support. With `-fsyclbin=object`, the compiler keeps the functions linkable.
fn flags(compiler: &Compiler, request: &Request) -> Vec<OsString> {
    let is_linked = request.sources.len() > 1 || request.links_at_load;
    let state = if is_linked {
        "-fsyclbin=object"
    } else {
        "-fsyclbin=executable"
    };
    let own = [
        "-fsycl",
        state,
        // Otherwise, compiler drivers that default to the old offloading model ignore `-fsyclbin`.
        "--offload-new-driver",
        // Keeps parameter names.
        "-fno-discard-value-names",
        // Otherwise, `parallel_for(range)` is compiled twice. Stubs launch only the variant for exact ranges.
        "-fsycl-range-rounding=disable",
        "-O2",
    ];
    let mut flags: Vec<OsString> = own.map(OsString::from).into();
    flags.extend(request.arguments.iter().cloned());
    if default_targets::split(&request.arguments).1.is_empty() {
        let targets = compiler.default_targets();
        if targets.is_empty() {
            warn_without_nvidia(compiler);
        }
        flags.extend(targets);
    }
    flags.extend(headers::arguments());
    if !compiler.is_own() {
        flags.extend(headers::assert_arguments());
    }
    flags
}

/// Warns once if this is a release build, which will skip NVIDIA GPUs. The build machine may have none, but its users
/// may.
fn warn_without_nvidia(compiler: &Compiler) {
    static ONCE: Once = Once::new();
    if cargo::env_again("PROFILE").is_some_and(|profile| profile == "release") {
        let variable = default_targets::VARIABLE;
        // Only `syclbin-clang` uses components.
        let remedy = if compiler.is_own() {
            format!("run `{INSTALL_COMMAND} --component nvidia`")
        } else {
            format!("set {variable}=spir64,nvptx64-nvidia-cuda")
        };
        ONCE.call_once(|| {
            cargo::warning(&format!(
                "this release build contains no code for NVIDIA GPUs; {remedy} to compile for them, or set \
                 {variable}=spir64 to build without it"
            ));
        });
    }
}

fn compile_each(
    compiler: &Compiler,
    sources: &[PathBuf],
    flags: &[OsString],
    work: &Path,
) -> Result<Vec<Result<Compiled>>> {
    let mut cache = Cache::open(compiler, flags);
    let mut results: Vec<Option<Result<Compiled>>> = Vec::new();
    let mut missing: Vec<(usize, Option<Pending>)> = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let pending = match cache.as_mut().map(|cache| cache.look_up(source)) {
            Some(Ok(compiled)) => {
                results.push(Some(Ok(compiled)));
                continue;
            }
            Some(Err(pending)) => pending,
            None => None,
        };
        missing.push((index, pending));
        results.push(None);
    }
    let to_compile: Vec<&Path> = missing.iter().map(|(i, _)| sources[*i].as_path()).collect();
    let compiled = run(compiler, &to_compile, flags, work)?;
    let mut after = Cache::after();
    for ((index, pending), result) in missing.into_iter().zip(compiled) {
        if let (Some(cache), Some(pending), Ok(compiled)) = (&cache, &pending, &result) {
            cache.keep(pending, &sources[index], compiled, &mut after);
        }
        results[index] = Some(result);
    }
    Ok(results.into_iter().flatten().collect())
}

/// Compiles each source twice, with as many parallel compilers as there are tokens. The first output is the code that
/// runs. The second provides debug information, which distinguishes `unsigned n` from `int n`.
fn run(
    compiler: &Compiler,
    sources: &[&Path],
    flags: &[OsString],
    work: &Path,
) -> Result<Vec<Result<Compiled>>> {
    let has_colour = diagnostics::has_colour();
    let mut outputs = Vec::new();
    let mut tasks = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let work = work.join(index.to_string());
        std::fs::create_dir_all(&work).map_err(Error::write(&work))?;
        let output = Outputs::in_folder(&work);
        let code = Job {
            flags: flags.to_vec(),
            source: source.to_path_buf(),
            output: output.code.clone(),
            depfile: Some(output.dependencies.clone()),
            has_colour,
        };
        let mut debug = Job {
            output: output.described.clone(),
            depfile: None,
            ..code.clone()
        };
        // This information is read only from SPIR-V, so the targets are omitted.
        debug.flags = default_targets::split(flags).0;
        let described = [
            "-g",
            // Includes structs that only template arguments use, as in work_group_memory<Pair[]>.
            "-fstandalone-debug",
            // Annotates functions with their properties, such as nd_range_kernel<2>. Otherwise, SPIR-V does not contain
            // them.
            "-Dadd_ir_attributes_function(...)=add_ir_attributes_function(__VA_ARGS__),\
             clang::annotate(\"syclbin: \" #__VA_ARGS__)",
        ];
        debug.flags.extend(described.map(OsString::from));
        let only_with = Some(tasks.len());
        tasks.push(Task {
            job: code,
            only_with: None,
        });
        tasks.push(Task {
            job: debug,
            only_with,
        });
        outputs.push(output);
    }
    let mut outcomes = jobs::run(compiler, &tasks, &mut Tokens::of_environment()).into_iter();
    let mut results = Vec::new();
    for (source, output) in sources.iter().zip(outputs) {
        let (code, debug) = (outcomes.next(), outcomes.next());
        let diagnostics = said(code.flatten()).and_then(|said_of_code| {
            said(debug.flatten())?;
            Ok(diagnostics::plain(&said_of_code))
        });
        results.push(diagnostics.and_then(|text| output.read(compiler.program(), source, text)));
    }
    Ok(results)
}

/// Returns the diagnostics of a compile. They are empty for a skipped compile, because the failure that caused the skip
/// is reported elsewhere.
fn said(outcome: JobResult) -> Result<String> {
    outcome.unwrap_or_else(|| Ok(String::new()))
}

/// Prints the warnings of all sources and returns their results. If any source failed, returns the errors instead.
fn all_or_error(sources: &[&Path], results: Vec<Result<Compiled>>) -> Result<Vec<Compiled>> {
    let mut said = Diagnostics::default();
    let mut failures = Vec::new();
    let mut failed = Vec::new();
    let mut compiled = Vec::new();
    for (source, result) in sources.iter().zip(results) {
        match result {
            Ok(one) => compiled.push((source, one)),
            Err(error) => {
                failed.push(*source);
                failures.push(error);
            }
        }
    }
    for failure in &failures {
        said.add(failure.diagnostics());
    }
    let summary = said.summary(sources.len(), failed.into_iter());
    let diagnostics = said.text().to_owned();
    for (source, one) in &compiled {
        cargo::warning(&said.add(&one.diagnostics));
        if !one.is_of_use {
            cargo::warning(&format!("{}: {}", source.display(), no_kernel(&one.files)));
        }
    }
    match (failures.pop(), sources.len()) {
        (None, _) => Ok(compiled.into_iter().map(|(_, one)| one).collect()),
        (Some(only), 1) => Err(only),
        (Some(last), _) => {
            failures.push(last);
            Err(Error::Sources {
                failures,
                diagnostics,
                summary,
            })
        }
    }
}

/// Combines all modules into one file.
fn link(compiled: Vec<Compiled>, sources: &[&Path], request: &Request) -> Result<Syclbin<'static>> {
    let mut whole = Syclbin::new(State::Executable);
    let mut origins = Vec::new();
    for (index, one) in compiled.into_iter().enumerate() {
        origins.extend(one.modules.iter().map(|_| index));
        whole.modules.extend(one.modules);
    }
    let state = if request.links_at_load {
        State::Object
    } else {
        imports::state(&whole, &origins, sources).map_err(Error::Undefined)?
    };
    let mut linked = Syclbin::new(state);
    linked.modules = whole.modules;
    Ok(linked)
}

const WORK: &str = ".compile-";

/// Returns the name prefix of this process's working directories. A process may run several builds at once.
fn own_work() -> String {
    format!("{WORK}{}-", std::process::id())
}

/// Removes the working directories of killed build scripts. Cargo runs only one script at a time in `OUT_DIR`, so no
/// other process uses these directories.
fn sweep(folder: &Path) {
    let own = own_work();
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    for entry in entries {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        if name.starts_with(WORK) && !name.starts_with(&own) {
            // A directory that cannot be removed only wastes disk space.
            let _ = std::fs::remove_dir_all(entry.path());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeping_leaves_directories_of_this_process() {
        let folder = tempfile::tempdir().unwrap();
        let own = format!("{}1", own_work());
        for name in [&own, ".compile-0-1", "saxpy.syclbin"] {
            std::fs::create_dir(folder.path().join(name)).unwrap();
        }
        sweep(folder.path());
        let left = |name: &str| folder.path().join(name).exists();
        assert!(left(&own) && left("saxpy.syclbin") && !left(".compile-0-1"));
        assert!(own.starts_with(WORK), "another process can sweep it");
    }
}
