// SPDX-License-Identifier: MIT OR Apache-2.0
//! Combines the modules of all sources into one file. Links them ahead of time on request, or if they contain native
//! code, which cannot be linked later.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::path::Path;

use syclbin::__private::spirv::Import;
use syclbin::{AbstractModule, Container, State, Syclbin};
use syclbin_tools::__private::link::link_modules;
use syclbin_tools::__private::{exports, imports, spelled};

use crate::cargo;
use crate::compile::jobs::{self, Job};
use crate::compile::{Context, said};
use crate::compiler::default_targets;
use crate::compiler::output::Compiled;
use crate::error::{Error, Result, Undefined};
use crate::request::Request;

type Module = AbstractModule<'static>;

/// Combines the modules of `compiled`. `sources` contains the source of each element. A module that cannot be linked
/// ahead of time stays unchanged, and causes a warning.
///
/// # Errors
///
/// Fails if device code uses a symbol that no source defines, unless the file is linked with others at load time. Also
/// fails if the compiler cannot link native code.
pub(crate) fn link(
    compiled: Vec<Compiled>,
    sources: &[&Path],
    request: &Request,
    context: &Context<'_>,
) -> Result<Syclbin<'static>> {
    let of_sources = compiled.into_iter().zip(sources);
    let of_sources = of_sources.flat_map(|(one, source)| {
        let modules = one.modules.into_iter();
        modules.map(move |module| (*source, module))
    });
    let (sources, mut modules): (Vec<&Path>, Vec<Module>) = of_sources.unzip();
    if request.links_at_load {
        return Ok(file(State::Object, modules));
    }
    check(&modules, &sources).map_err(Error::Undefined)?;
    let is_native = default_targets::name_native(&context.flags);
    if (request.links || is_native) && need_linking(&modules) {
        if is_native && context.compiler.found.is_own() {
            return compile_natively(modules, context);
        }
        for module in link_modules(&mut modules) {
            cargo::warning(&module.to_string());
        }
    }
    Ok(linked_file(modules))
}

fn file(state: State, modules: Vec<Module>) -> Syclbin<'static> {
    let mut file = Syclbin::new(state);
    file.modules = modules;
    file
}

/// Returns the modules as an executable, or as an object if they still have to be linked.
fn linked_file(modules: Vec<Module>) -> Syclbin<'static> {
    let state = if need_linking(&modules) {
        State::Object
    } else {
        State::Executable
    };
    file(state, modules)
}

/// Returns whether a module imports a symbol that another module exports.
fn need_linking(modules: &[Module]) -> bool {
    let exported: BTreeSet<&str> = modules.iter().flat_map(exports).collect();
    let mut imported = modules.iter().flat_map(imports);
    imported.any(|symbol| exported.contains(symbol))
}

/// Checks that every symbol that device code uses is defined by a module. Otherwise, returns the undefined symbols as
/// the error. `sources` contains the source of each module.
fn check(modules: &[Module], sources: &[&Path]) -> Result<(), Vec<Undefined>> {
    let exported: BTreeSet<&str> = modules.iter().flat_map(exports).collect();
    let mut undefined: BTreeMap<&str, BTreeSet<&Path>> = BTreeMap::new();
    for (module, source) in modules.iter().zip(sources) {
        for symbol in imports(module) {
            // Skip the device library's symbols, because the device determines which variant is linked.
            if !exported.contains(symbol) && Import::of(symbol) == Import::Symbol {
                undefined.entry(symbol).or_default().insert(source);
            }
        }
    }
    let each = undefined.into_iter().map(|(symbol, sources)| Undefined {
        symbol: symbol.to_owned(),
        name: spelled(symbol),
        sources: sources.into_iter().map(Path::to_owned).collect(),
    });
    let each: Vec<_> = each.collect();
    if each.is_empty() { Ok(()) } else { Err(each) }
}

/// Lets the compiler link the modules and generate their native code again, because the native code for a single source
/// lacks the functions that other sources define.
fn compile_natively(modules: Vec<Module>, context: &Context<'_>) -> Result<Syclbin<'static>> {
    let files = ["objects.syclbin", "linked.syclbin"];
    let [objects, output] = files.map(|name| context.work.join(name));
    let unusable = |problem: String| Error::Output {
        program: context.compiler.program().to_owned(),
        source_file: objects.clone(),
        problem,
    };
    let bytes = syclbin::write::to_vec(&file(State::Object, modules), Container::default());
    let bytes = bytes.map_err(|error| unusable(error.to_string()))?;
    std::fs::write(&objects, bytes).map_err(Error::write(&objects))?;
    let mut flags = ["-fsycl", "-fsycl-link"].map(OsString::from).to_vec();
    flags.extend(default_targets::split(&context.flags).1);
    let is_cuda = |flag: &&OsString| flag.to_string_lossy().starts_with("--cuda-path=");
    flags.extend(context.flags.iter().filter(is_cuda).cloned());
    let job = Job {
        flags,
        source: objects.clone(),
        output: output.clone(),
        ..Job::default()
    };
    let outcome = jobs::run(context.compiler, &[job]).pop().flatten();
    cargo::warning(&said(outcome)?);
    let bytes = std::fs::read(&output).map_err(|error| unusable(error.to_string()))?;
    let linked = syclbin::read::parse(&bytes).map_err(|error| unusable(error.to_string()))?;
    Ok(linked_file(linked.into_owned().modules))
}

#[cfg(test)]
mod tests {
    use syclbin::property::set;

    use super::*;

    fn module(exported: &[&str], imported: &[&str]) -> Module {
        let mut module = AbstractModule::default();
        for (set, symbols) in [
            (set::EXPORTED_SYMBOLS, exported),
            (set::IMPORTED_SYMBOLS, imported),
        ] {
            for symbol in symbols {
                module.metadata.insert(set, (*symbol).to_owned(), 1u32);
            }
        }
        module
    }

    #[test]
    fn file_is_executable_only_without_open_imports() {
        let state_of = |modules| linked_file(modules).state();
        let alone = vec![module(&["_Z5twicef"], &[]), module(&[], &[])];
        assert_eq!(state_of(alone), Some(State::Executable));
        let linked = vec![module(&["_Z5twicef"], &[]), module(&[], &["_Z5twicef"])];
        assert_eq!(state_of(linked), Some(State::Object));
        // No source defines the device library.
        let library = [module(&[], &["__devicelib_assert_fail"])];
        assert_eq!(check(&library, &[Path::new("a.cpp")]), Ok(()));
        assert_eq!(state_of(library.into()), Some(State::Executable));
    }

    #[test]
    fn undefined_function_is_demangled_with_its_users() {
        let modules = [
            module(&[], &["_ZN2ns5twiceEfPi", "half"]),
            module(&["other"], &["_ZN2ns5twiceEfPi"]),
        ];
        let undefined = check(&modules, &["a.cpp", "b.cpp"].map(Path::new)).unwrap_err();
        let text = Error::Undefined(undefined).to_string();
        let expected = "device code uses symbols that no source defines:\n  \
             ns::twice(float, int *) (_ZN2ns5twiceEfPi), used in a.cpp, b.cpp\n  half, used in a.cpp\n";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("SYCL_EXTERNAL"), "{text}");
    }
}
