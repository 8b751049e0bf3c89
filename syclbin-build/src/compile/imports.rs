// SPDX-License-Identifier: MIT OR Apache-2.0
//! Checks that the sources define every device function and variable that they use.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syclbin::__private::spirv::Import;
use syclbin::property::set;
use syclbin::{State, Syclbin};
use syclbin_tools::__private::spelled;

use crate::compiler::output::{exports, symbols};
use crate::error::Undefined;

/// Returns the state of `file`. `origins` contains the index of each module's source. The state is `Object` if a module
/// imports a symbol that another module exports, because the modules must then be linked.
///
/// # Errors
///
/// Fails if device code uses a symbol that no module defines.
pub(crate) fn state(
    file: &Syclbin<'_>,
    origins: &[usize],
    sources: &[&Path],
) -> Result<State, Vec<Undefined>> {
    let exported: BTreeSet<&str> = file.modules.iter().flat_map(exports).collect();
    let mut undefined: BTreeMap<&str, BTreeSet<usize>> = BTreeMap::new();
    let mut state = State::Executable;
    for (module, origin) in file.modules.iter().zip(origins) {
        for symbol in symbols(module, set::IMPORTED_SYMBOLS) {
            if exported.contains(symbol) {
                state = State::Object;
            } else if Import::of(symbol) == Import::Symbol {
                undefined.entry(symbol).or_default().insert(*origin);
            }
        }
    }
    if undefined.is_empty() {
        return Ok(state);
    }
    let each = undefined.into_iter().map(|(symbol, origins)| Undefined {
        symbol: symbol.to_owned(),
        name: spelled(symbol),
        sources: origins
            .iter()
            .map(|origin| sources[*origin].to_owned())
            .collect(),
    });
    Err(each.collect())
}

#[cfg(test)]
mod tests {
    use syclbin::AbstractModule;

    use super::*;

    fn module(exported: &[&str], imported: &[&str]) -> AbstractModule<'static> {
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

    fn state_of(modules: Vec<AbstractModule<'static>>) -> Result<State, Vec<Undefined>> {
        let mut file = Syclbin::new(State::Executable);
        file.modules = modules;
        super::state(
            &file,
            &[0, 1],
            &["a.cpp", "b.cpp"].map(std::path::Path::new),
        )
    }

    #[test]
    fn file_is_executable_only_without_open_imports() {
        let alone = vec![module(&["_Z5twicef"], &[]), module(&[], &[])];
        assert_eq!(state_of(alone), Ok(State::Executable));
        let linked = vec![module(&["_Z5twicef"], &[]), module(&[], &["_Z5twicef"])];
        assert_eq!(state_of(linked), Ok(State::Object));
        // No source defines the device library.
        let library = vec![module(&[], &["__devicelib_assert_fail"]), module(&[], &[])];
        assert_eq!(state_of(library), Ok(State::Executable));
    }

    #[test]
    fn undefined_function_is_demangled_with_its_users() {
        let undefined = state_of(vec![
            module(&[], &["_ZN2ns5twiceEfPi", "half"]),
            module(&["other"], &["_ZN2ns5twiceEfPi"]),
        ])
        .unwrap_err();
        let text = crate::Error::Undefined(undefined).to_string();
        let expected = "device code uses symbols that no source defines:\n  \
             ns::twice(float, int *) (_ZN2ns5twiceEfPi), used in a.cpp, b.cpp\n  half, used in a.cpp\n";
        assert!(text.starts_with(expected), "{text}");
        assert!(text.contains("SYCL_EXTERNAL"), "{text}");
    }
}
