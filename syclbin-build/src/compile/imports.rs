// SPDX-License-Identifier: MIT OR Apache-2.0
//! Imports: every device function that one source uses is defined by another, or the build fails.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use syclbin::__private::spirv::Import;
use syclbin::property::set;
use syclbin::{State, Syclbin};
use syclbin_tools::__private::spelled;

use crate::compiler::output::{exports, symbols};
use crate::error::Undefined;

/// Returns the state of `file`, whose modules come from the sources with the numbers `origins`. The state is
/// `Object` if a module imports a symbol of another, because the modules must then be linked.
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
