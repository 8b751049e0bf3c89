// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles all sources of a request, and returns their kernels and every file that was read.

pub(crate) mod diagnostics;
mod jobs;
mod link;
mod same_names;
mod tokens;

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Once;

use syclbin::Syclbin;
use syclbin_toolchain::INSTALL_COMMAND;
use syclbin_toolchain::file::paths_in;

use crate::cache::{Cache, Files};
use crate::cargo;
use crate::compiler::output::{Compiled, Outputs, no_kernel};
use crate::compiler::{Compiler, default_targets, headers};
use crate::error::{Error, Result};
use crate::request::Request;
use diagnostics::Diagnostics;
use jobs::{Job, JobResult};

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
    let context = Context {
        compiler,
        flags: flags(compiler, request),
        work: work.path(),
    };
    let results = context.compile_each(sources)?;
    let sources = sources.iter().map(PathBuf::as_path);
    let results = without_included(sources.zip(results).collect(), request);
    let (sources, results): (Vec<&Path>, Vec<_>) = results.into_iter().unzip();
    let mut compiled = all_or_error(&sources, results)?;
    same_names::resolve(&mut compiled, &sources);
    let mut files: BTreeSet<PathBuf> = request.files().map(Path::to_owned).collect();
    for one in &compiled {
        for path in &one.files {
            cargo::rerun_if_changed(path);
        }
        files.extend(one.files.iter().cloned());
    }
    Ok((link::link(compiled, &sources, request, &context)?, files))
}

/// The inputs that all compiles of a build share.
struct Context<'b> {
    compiler: &'b Compiler,
    /// The compiler arguments for all sources.
    flags: Vec<OsString>,
    /// The directory for intermediate files.
    work: &'b Path,
}

/// Returns the compiler arguments for all sources. If there are several sources, requests an object instead of an
/// executable: sources may use each other's functions, and only in an object do these functions stay linkable.
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
        let targets = default_targets::arguments(&compiler.found, &cargo::env);
        if targets.is_empty() {
            warn_without_nvidia(compiler);
        }
        flags.extend(targets);
    }
    if default_targets::name_native(&flags) {
        // These variables determine which compilers of native code are found.
        cargo::env("PATH");
        cargo::env("OPENCL_DYLIB_PATH");
    }
    flags.extend(headers::arguments());
    if !compiler.found.is_own() {
        // Other compilers do not include `headers::ASSERT` implicitly.
        flags.extend(["-include", "syclbin_assert.hpp"].map(OsString::from));
    }
    flags
}

/// Warns once that a release build will contain no code for NVIDIA GPUs. Users of the program may have such a GPU even
/// if the build machine does not.
fn warn_without_nvidia(compiler: &Compiler) {
    static ONCE: Once = Once::new();
    if cargo::env_again("PROFILE").is_some_and(|profile| profile == "release") {
        let variable = default_targets::VARIABLE;
        // Only `syclbin-clang` uses components.
        let remedy = if !compiler.found.is_own() {
            format!("set {variable}=spir64,nvptx64-nvidia-cuda")
        } else if cfg!(windows) {
            "build on x86-64 Linux".to_owned()
        } else {
            format!("run `{INSTALL_COMMAND} --component nvidia`")
        };
        ONCE.call_once(|| {
            cargo::warning(&format!(
                "this release build contains no code for NVIDIA GPUs; {remedy} to compile for them, or set \
                 {variable}=spir64 to silence this warning"
            ));
        });
    }
}

/// The start of the warning of `syclbin-clang` that an optional step failed.
const NOT_COMPILED: &str = "syclbin-clang: warning: cannot compile ";

impl Context<'_> {
    fn compile_each(&self, sources: &[PathBuf]) -> Result<Vec<Result<Compiled>>> {
        let mut cache = Cache::open(self.compiler, &self.flags);
        let look_up = |source: &PathBuf| cache.as_mut().ok_or(None)?.look_up(source);
        let cached: Vec<_> = sources.iter().map(look_up).collect();
        let missing = sources.iter().zip(&cached);
        let missing = missing.filter(|(_, cached)| cached.is_err());
        let missing: Vec<&Path> = missing.map(|(source, _)| source.as_path()).collect();
        let mut compiled = self.run(&missing)?.into_iter();
        let mut after = Files::default();
        let results = sources.iter().zip(cached).filter_map(|(source, cached)| {
            let pending = match cached {
                Ok(compiled) => return Some(Ok(compiled)),
                Err(pending) => pending,
            };
            let result = compiled.next()?;
            // A target may be missing for lack of memory or disk space, so the next run compiles again.
            let is_whole = |it: &Compiled| !it.diagnostics.contains(NOT_COMPILED);
            if let (Some(cache), Some(pending), Ok(compiled)) = (&cache, &pending, &result)
                && is_whole(compiled)
            {
                cache.keep(pending, source, compiled, &mut after);
            }
            Some(result)
        });
        Ok(results.collect())
    }

    /// Compiles each source, running as many compilers in parallel as there are tokens. Compilers other than
    /// `syclbin-clang` compile each source twice: the first output is the code that runs, and the second provides debug
    /// information, which distinguishes `unsigned n` from `int n`.
    fn run(&self, sources: &[&Path]) -> Result<Vec<Result<Compiled>>> {
        let mut flags = self.flags.clone();
        flags.extend(diagnostics::has_colour().then(|| "-fcolor-diagnostics".into()));
        // Debug information is read only from SPIR-V, so the targets are omitted.
        let mut debug_flags = default_targets::split(&flags).0;
        debug_flags.extend(DEBUG_FLAGS.map(OsString::from));
        let mut outputs = Vec::new();
        let mut jobs = Vec::new();
        for (index, source) in sources.iter().enumerate() {
            let work = self.work.join(index.to_string());
            std::fs::create_dir_all(&work).map_err(Error::write(&work))?;
            let output = Outputs::in_folder(&work, self.compiler.found.is_own());
            let code = Job {
                flags: flags.clone(),
                source: source.to_path_buf(),
                output: output.code.clone(),
                depfile: Some(output.dependencies.clone()),
                only_with: None,
            };
            let debug = output.described.as_ref().map(|described| Job {
                flags: debug_flags.clone(),
                output: described.clone(),
                depfile: None,
                only_with: Some(jobs.len()),
                ..code.clone()
            });
            jobs.push(code);
            jobs.extend(debug);
            outputs.push(output);
        }
        let mut outcomes = jobs::run(self.compiler, &jobs).into_iter();
        let mut results = Vec::new();
        for (source, output) in sources.iter().zip(outputs) {
            let code = outcomes.next().flatten();
            let debug = output.described.as_ref().and_then(|_| outcomes.next());
            let diagnostics = said(code).and_then(|said_of_code| {
                said(debug.flatten())?;
                Ok(diagnostics::plain(&said_of_code))
            });
            let program = self.compiler.program();
            results.push(diagnostics.and_then(|text| output.read(program, source, text)));
        }
        Ok(results)
    }
}

/// Additional flags for the second compile, which produces debug information.
const DEBUG_FLAGS: [&str; 3] = [
    "-g",
    // Also describes structs that appear only as template arguments, as in `work_group_memory<Pair[]>`.
    "-fstandalone-debug",
    // Annotates functions with their properties, such as `nd_range_kernel<2>`, which SPIR-V would otherwise not
    // contain.
    "-Dadd_ir_attributes_function(...)=add_ir_attributes_function(__VA_ARGS__),\
     clang::annotate(\"syclbin: \" #__VA_ARGS__)",
];

/// Returns the diagnostics of a compile. They are empty for a skipped compile, because the failure that caused the skip
/// is reported elsewhere.
fn said(outcome: JobResult) -> Result<String> {
    outcome.unwrap_or_else(|| Ok(String::new()))
}

/// Removes each source that was added by a pattern and is included by another source, even if it does not compile on
/// its own.
fn without_included<'s>(
    mut sources: Vec<(&'s Path, Result<Compiled>)>,
    request: &Request,
) -> Vec<(&'s Path, Result<Compiled>)> {
    if request.matched.is_empty() {
        return sources;
    }
    let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
    let mut read: Vec<(PathBuf, BTreeSet<PathBuf>)> = (sources.iter())
        .map(|(path, result)| {
            let files = result.iter().flat_map(|one| &one.files);
            (real(path), files.map(|file| real(file)).collect())
        })
        .collect();
    let mut index = 0;
    while index < sources.len() {
        let own = &read[index].0;
        let mut others = read.iter().enumerate().filter(|(other, _)| *other != index);
        let is_included = others.any(|(_, (_, files))| files.contains(own));
        if is_included && request.matched.contains(sources[index].0) {
            drop(sources.remove(index));
            read.remove(index);
        } else {
            index += 1;
        }
    }
    sources
}

/// Prints the warnings of all sources and returns their results. If any source failed, returns the errors instead.
fn all_or_error(sources: &[&Path], results: Vec<Result<Compiled>>) -> Result<Vec<Compiled>> {
    let mut said = Diagnostics::default();
    let (mut failed, mut failures) = (Vec::new(), Vec::new());
    let mut compiled = Vec::new();
    for (source, result) in sources.iter().zip(results) {
        match result {
            Ok(one) => compiled.push((source, one)),
            Err(error) => {
                said.add(error.diagnostics());
                failed.push(*source);
                failures.push(error);
            }
        }
    }
    let summary = said.summary(sources.len(), failed.into_iter());
    let diagnostics = said.text.clone();
    for (source, one) in &compiled {
        cargo::warning(&said.add(&one.diagnostics));
        if !one.is_of_use {
            cargo::warning(&format!("{}: {}", source.display(), no_kernel(&one.files)));
        }
    }
    if failures.is_empty() {
        return Ok(compiled.into_iter().map(|(_, one)| one).collect());
    }
    if sources.len() == 1 {
        return Err(failures.remove(0));
    }
    Err(Error::Sources {
        failures,
        diagnostics,
        summary,
    })
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
    for path in paths_in(folder) {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        if name.starts_with(WORK) && !name.starts_with(&own) {
            // A directory that cannot be removed only wastes disk space.
            let _ = std::fs::remove_dir_all(&path);
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
