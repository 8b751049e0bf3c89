// SPDX-License-Identifier: MIT OR Apache-2.0
//! Records declarations and types in a module.

use alloc::collections::BTreeMap;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::declaration::Declaration;
use super::definition::Definition;
use super::mangled;
use crate::metadata::without_run_prefix;
use crate::model::AbstractModule;
use crate::property::{PropertySet, Value, set};

/// Records `declarations` in `module`, for the kernels it has.
pub fn record<'d>(
    module: &mut AbstractModule<'_>,
    declarations: impl IntoIterator<Item = (&'d String, &'d Declaration)>,
) {
    for (symbol, declaration) in declarations {
        let names = module.metadata.set(set::KERNEL_NAMES);
        if names.is_some_and(|names| names.get(symbol).is_some()) {
            let value = Value::from(declaration.to_string());
            module
                .metadata
                .insert(set::DECLARATIONS, symbol.clone(), value);
        }
    }
}

/// Records in `module` where sources have its unnamed lambdas.
pub fn record_locations(module: &mut AbstractModule<'_>, locations: &BTreeMap<String, String>) {
    let names: Vec<String> = module.kernel_names().map(ToString::to_string).collect();
    for symbol in names {
        if let Some(location) = locations.get(&symbol) {
            let value = Value::from(location.as_str());
            module.metadata.insert(set::LOCATIONS, symbol, value);
        }
    }
}

/// Records in `module` the types of its device globals and specialization constants. The keys of `types` are
/// identifiers without the part that distinguishes sources, as in
/// [`Described::variables`](super::debug_info::Described::variables).
pub fn record_variables(module: &mut AbstractModule<'_>, types: &BTreeMap<String, String>) {
    for set in [set::DEVICE_GLOBALS, set::SPECIALIZATION_CONSTANTS] {
        let keys = module.metadata.set(set).into_iter();
        let keys = keys.flat_map(PropertySet::keys).map(without_run_prefix);
        let found = keys.filter_map(|name| Some((name, types.get(mangled::without_source(name))?)));
        let found: Vec<_> = found.map(|(name, ty)| (name.to_string(), ty)).collect();
        for (name, ty) in found {
            let value = Value::from(ty.as_str());
            module.metadata.insert(set::VARIABLES, name, value);
        }
    }
}

/// Records in `module` what structs and enumerations are.
pub fn record_layouts<'d>(
    module: &mut AbstractModule<'_>,
    definitions: impl IntoIterator<Item = &'d Definition>,
) {
    for definition in definitions {
        let value = Value::from(definition.to_string());
        let name = definition.name().to_string();
        module.metadata.insert(set::LAYOUTS, name, value);
    }
}
