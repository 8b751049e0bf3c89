// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links a build's sources ahead of time, on request or because native code cannot be linked later.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::path::Path;

use syclbin::__private::spirv::Import;
use syclbin::property::set;
use syclbin::{AbstractModule, Container, State, Syclbin};
use syclbin_tools::__private::link::link_modules;

use crate::cargo;
use crate::compile::jobs::{self, Task};
use crate::compile::tokens::Tokens;
use crate::compiler::default_targets;
use crate::compiler::output::{exports, symbols};
use crate::compiler::{Compiler, Job};
use crate::error::{Error, Result};

/// Links the modules of `file`, whose sources use each other's functions. A module that cannot be linked stays
/// unchanged, with a warning.
pub(crate) fn link(
    mut file: Syclbin<'static>,
    compiler: &Compiler,
    flags: &[OsString],
    work: &Path,
) -> Result<Syclbin<'static>> {
    if compiler.links_files() && default_targets::name_native(flags) {
        file = compile_natively(file, compiler, flags, work)?;
    } else {
        for module in link_modules(&mut file.modules) {
            cargo::warning(&format!("{module}; it will be linked at load time"));
        }
    }
    let state = if needs_linking(&file) {
        State::Object
    } else {
        State::Executable
    };
    let mut linked = Syclbin::new(state);
    linked.modules = file.modules;
    Ok(linked)
}

/// Returns whether a module still imports a symbol that another module exports.
fn needs_linking(file: &Syclbin<'_>) -> bool {
    let exported: BTreeSet<&str> = file.modules.iter().flat_map(exports).collect();
    let mut imported = file.modules.iter().flat_map(imports);
    imported.any(|symbol| exported.contains(symbol))
}

/// Returns whether a module uses a function or variable that another source defines. The device library does not count,
/// because the device determines which variant is linked.
pub(crate) fn uses_other_sources(file: &Syclbin<'_>) -> bool {
    let mut all = file.modules.iter().flat_map(imports);
    all.any(|symbol| Import::of(symbol) == Import::Symbol)
}

fn imports<'m>(module: &'m AbstractModule<'_>) -> impl Iterator<Item = &'m str> {
    symbols(module, set::IMPORTED_SYMBOLS)
}

/// Makes the compiler link the modules and compile them to native code again. The native code from a single source
/// lacks the functions that other sources define.
fn compile_natively(
    file: Syclbin<'static>,
    compiler: &Compiler,
    flags: &[OsString],
    work: &Path,
) -> Result<Syclbin<'static>> {
    let [objects, output] = ["objects.syclbin", "linked.syclbin"].map(|name| work.join(name));
    let mut all = Syclbin::new(State::Object);
    all.modules = file.modules;
    let unusable = |problem: String| Error::Output {
        program: compiler.program().to_owned(),
        source_file: objects.clone(),
        problem,
    };
    let bytes = syclbin::write::to_vec(&all, Container::default())
        .map_err(|error| unusable(error.to_string()))?;
    std::fs::write(&objects, bytes).map_err(Error::write(&objects))?;
    let mut link_flags = vec![OsString::from("-fsycl"), OsString::from("-fsycl-link")];
    link_flags.extend(default_targets::split(flags).1);
    let task = Task {
        job: Job {
            flags: link_flags,
            source: objects.clone(),
            output: output.clone(),
            depfile: None,
            has_colour: false,
        },
        only_with: None,
    };
    let mut outcomes = jobs::run(compiler, &[task], &mut Tokens::of_environment());
    let diagnostics = outcomes
        .pop()
        .flatten()
        .unwrap_or_else(|| Ok(String::new()))?;
    cargo::warning(&diagnostics);
    let bytes = std::fs::read(&output).map_err(|error| unusable(error.to_string()))?;
    let linked = syclbin::read::parse(&bytes).map_err(|error| unusable(error.to_string()))?;
    Ok(linked.into_owned())
}
