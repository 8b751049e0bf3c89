// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds a build's compiler. Cargo tracks every file and variable that affects the choice of the compiler.

pub mod default_targets;
pub mod depfile;
pub mod headers;
pub(crate) mod output;

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use syclbin_toolchain::{COMPILER_LIBRARY, Component, HOME_VARIABLE, Home};

use crate::cache::named_files;
use crate::cargo;
use crate::error::{Error, Result};
use crate::request::{Request, Triples};
use crate::search::{Detected, Origin, Problem, Search};

/// Environment variables read by clang, icpx and `syclbin-clang`, or by the GCC tools that they run.
const READ_BY_CLANG: [&str; 7] = [
    "CPATH",
    "CPLUS_INCLUDE_PATH",
    "C_INCLUDE_PATH",
    "COMPILER_PATH",
    "GCC_EXEC_PREFIX",
    "SDKROOT",
    "SYSROOT",
];

/// Environment variables that add compiler arguments.
pub(crate) const ARGUMENTS: [&str; 3] = [
    "CCC_OVERRIDE_OPTIONS",
    "__INTEL_PRE_CFLAGS",
    "__INTEL_POST_CFLAGS",
];

/// Environment variables that name a file of compiler arguments, or a directory of such files.
const CONFIGURATIONS: [&str; 4] = [
    "CLANG_CONFIG_FILE_SYSTEM_DIR",
    "CLANG_CONFIG_FILE_USER_DIR",
    "ICPXCFG",
    "ICXCFG",
];

pub(crate) fn variables() -> impl Iterator<Item = &'static str> {
    let all = READ_BY_CLANG.into_iter().chain(ARGUMENTS);
    all.chain(CONFIGURATIONS)
}

/// A program that accepts clang's command line and supports `-fsyclbin`.
#[derive(Clone, Debug)]
pub(crate) struct Compiler {
    pub(crate) found: Detected,
    /// The compiler's files and directories. If one changes, kernels are recompiled.
    pub(crate) parts: Vec<PathBuf>,
}

impl Compiler {
    /// Returns the compiler that `request` names, or else the first that [`Search`] finds. Makes Cargo track
    /// everything that affects the choice.
    pub(crate) fn find(request: &Request) -> Result<Self> {
        for variable in variables() {
            cargo::env(variable);
        }
        let Triples { target, host } = request.triples();
        let search = Search {
            variable: &cargo::env,
            target,
            host,
        };
        let mut passed_over = Vec::new();
        let found = search.run(request.compiler.as_deref(), &mut passed_over);
        for passed_over in passed_over {
            // After an update, it may be the first usable candidate.
            let files = passed_over.candidate.files();
            files
                .filter(|file| file.exists())
                .for_each(cargo::rerun_if_changed);
            // Only a candidate that hangs deserves a warning, because it delays every build. An error lists it anyway.
            if found.is_ok() && matches!(passed_over.problem, Problem::Hangs { .. }) {
                cargo::warning(&passed_over.to_string());
            }
        }
        if let Err(Error::NoCompiler { .. }) = &found {
            installations()
                .iter()
                .for_each(|path| cargo::rerun_if_changed(path));
        }
        let found = found?;
        let mut parts: Vec<PathBuf> = Vec::new();
        match &found.candidate.origin {
            Origin::Installed(installed) => {
                // A newer version would be installed in the parent directory, so Cargo tracks that directory.
                parts.extend(installed.folder.parent().map(Path::to_owned));
                parts.push(installed.folder.join(COMPILER_LIBRARY));
            }
            // A `syclbin-clang` that is installed later would take precedence.
            Origin::Path | Origin::Default => parts.extend(installations()),
            _ => {}
        }
        parts.extend(default_targets::parts(&found, &cargo::env));
        parts.extend(found.candidate.files().map(Path::to_owned));
        parts.extend(configurations(found.candidate.files()));
        let leading = found.candidate.leading.iter();
        let leading = leading.filter_map(|word| word.to_str());
        parts.extend(leading.flat_map(named_files).map(Path::to_owned));
        for part in &parts {
            cargo::rerun_if_changed(part);
        }
        Ok(Self { found, parts })
    }

    pub(crate) fn program(&self) -> &Path {
        &self.found.candidate.program
    }

    /// Returns the program to run, and the arguments that precede all others.
    pub(crate) fn words(&self) -> impl Iterator<Item = &OsStr> {
        let leading = self.found.candidate.leading.iter();
        std::iter::once(self.program().as_os_str()).chain(leading.map(OsString::as_os_str))
    }
}

/// Returns the directory in which `syclbin-clang` is installed, so that Cargo notices an installation. Creates it if it
/// is missing, because Cargo reruns a script in each build while a tracked path is missing. Cargo also reruns the script
/// if a tracked path is newer than the script's start, so the directory gets an old timestamp. On Windows, this fails,
/// and the next build runs the script once more.
fn installations() -> Option<PathBuf> {
    let home = Home::locate(cargo::env(HOME_VARIABLE).as_deref()).ok()?;
    let versions = home.versions(Component::Compiler);
    if !versions.exists() {
        std::fs::create_dir_all(&versions).ok()?;
        let directory = std::fs::File::open(&versions);
        let _ = directory.and_then(|directory| directory.set_modified(SystemTime::UNIX_EPOCH));
    }
    Some(versions)
}

/// Returns the configuration files that programs read implicitly: files next to the programs, and files in directories
/// that environment variables name.
fn configurations<'p>(programs: impl Iterator<Item = &'p Path>) -> BTreeSet<PathBuf> {
    let mut folders = BTreeSet::new();
    for program in programs {
        let real = program.canonicalize().ok();
        let both = [Some(program), real.as_deref()].into_iter().flatten();
        folders.extend(both.filter_map(Path::parent).map(Path::to_owned));
    }
    let named = CONFIGURATIONS.into_iter().filter_map(cargo::env_again);
    let (files, more): (Vec<PathBuf>, Vec<PathBuf>) =
        named.map(PathBuf::from).partition(|path| path.is_file());
    folders.extend(more);
    let entries = folders.iter().flat_map(std::fs::read_dir).flatten();
    let paths = entries.flatten().map(|entry| entry.path());
    let beside = paths.filter(|path| path.extension().is_some_and(|end| end == "cfg"));
    beside.chain(files).collect()
}
