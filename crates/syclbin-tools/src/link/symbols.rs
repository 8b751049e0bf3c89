// SPDX-License-Identifier: MIT OR Apache-2.0
//! Symbols: which definition each declaration stands for.

use alloc::collections::BTreeMap;

use super::LinkError;
use super::input::{Definition, Input};
use syclbin::__private::spirv::words::{LINKAGE_EXPORT, LINKAGE_IMPORT};

/// An id of a module: the number of the module, and the id.
pub(super) type Key = (usize, u32);

/// What modules have for a symbol.
#[derive(Default)]
struct Symbol {
    strong: Option<Key>,
    weak: Option<Key>,
    imported: Option<Key>,
}

/// Returns what each declaration stands for. A definition that others may repeat stands for the first of its kind,
/// or for the only one that others may not repeat. Declarations without a definition stand for the first of them.
pub(super) fn resolve(inputs: &[Input<'_>]) -> Result<BTreeMap<Key, Key>, LinkError> {
    let mut symbols: BTreeMap<&str, Symbol> = BTreeMap::new();
    for (index, input) in inputs.iter().enumerate() {
        for (id, link) in linked(input) {
            let symbol = symbols.entry(link.symbol.as_str()).or_default();
            let place = match link.kind {
                LINKAGE_EXPORT => &mut symbol.strong,
                LINKAGE_IMPORT => &mut symbol.imported,
                _ => &mut symbol.weak,
            };
            let (first, _) = *place.get_or_insert((index, id));
            if link.kind == LINKAGE_EXPORT && *place != Some((index, id)) {
                return Err(LinkError::Duplicate {
                    symbol: link.symbol.clone(),
                    modules: [inputs[first].name.clone(), input.name.clone()],
                });
            }
        }
    }
    let mut aliases = BTreeMap::new();
    for (index, input) in inputs.iter().enumerate() {
        for (id, link) in linked(input) {
            let symbol = symbols.get(link.symbol.as_str());
            let chosen = symbol.and_then(|found| found.strong.or(found.weak).or(found.imported));
            if let Some(chosen) = chosen.filter(|chosen| *chosen != (index, id)) {
                aliases.insert((index, id), chosen);
            }
        }
    }
    Ok(aliases)
}

/// Returns the ids of a module that have a symbol, in the order of their ids.
fn linked<'i>(input: &'i Input<'_>) -> impl Iterator<Item = (u32, &'i super::input::Link)> {
    input.links.iter().filter_map(|(id, link)| {
        let definition = input.definitions.get(id);
        let can_be_linked = matches!(
            definition,
            Some(Definition::Global(_) | Definition::Function(_))
        );
        can_be_linked.then_some((*id, link))
    })
}
