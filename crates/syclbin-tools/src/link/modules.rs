// SPDX-License-Identifier: MIT OR Apache-2.0
//! Links each module of a file with the modules that define its imports. A linked module contains copies of the
//! functions that it calls, so it can be compiled ahead of time.

use alloc::borrow::{Cow, ToOwned as _};
use alloc::collections::BTreeSet;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::{LinkError, Object, link};
use crate::__private::described;
use syclbin::__private::failed_assert::VARIABLE;
use syclbin::__private::spirv::{Import, Module};
use syclbin::metadata::DeviceRequirements;
use syclbin::property::{PropertySet, PropertySets, key, set};
use syclbin::{AbstractModule, Image, ptx};

const NVIDIA: &str = "nvptx64-nvidia-cuda";

/// A module that was left unchanged, to be linked at load time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name}: {obstacle}; it will be linked at load time")]
pub struct Unlinked {
    /// A description of the module by its kernels.
    pub name: String,
    /// The reason why the module was left unchanged.
    pub obstacle: Obstacle,
}

/// The reason why a module cannot be linked ahead of time.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Obstacle {
    /// The modules are incompatible.
    #[error(transparent)]
    Code(#[from] LinkError),
    /// A required module contains variables that the host accesses by name.
    #[error("{0} has device globals, whose addresses are known only at load time")]
    DeviceGlobals(String),
    /// The module calls virtual functions, whose names do not appear in its code.
    #[error("it uses virtual functions, which can be linked only at load time")]
    VirtualFunctions,
    /// A module's device requirements are malformed.
    #[error("{0} has malformed device requirements; recompile its source")]
    Requirements(String),
}

struct Symbols {
    imports: BTreeSet<String>,
    weak: BTreeSet<String>,
    strong: BTreeSet<String>,
}

/// Links the SPIR-V of each module with the modules in the same file that define its imports. Other images of a linked
/// module move to a separate module.
///
/// Returns the modules that cannot be linked although the file defines some of their imports. They are left unchanged.
pub fn link_modules(modules: &mut Vec<AbstractModule<'static>>) -> Vec<Unlinked> {
    let mut unlinked = Vec::new();
    let symbols: Vec<Option<Symbols>> = modules.iter().map(symbols).collect();
    let mut linked = Vec::new();
    for (index, own) in symbols.iter().enumerate() {
        let mut imports = own.iter().flat_map(|own| &own.imports);
        let is_exported = |symbol: &String| exporters(&symbols, symbol).next().is_some();
        let result = (imports.any(is_exported)).then(|| link_one(modules, &symbols, index));
        match result.transpose() {
            Ok(module) => linked.push(module),
            Err(obstacle) => {
                let name = described(&modules[index]);
                unlinked.push(Unlinked { name, obstacle });
                linked.push(None);
            }
        }
    }
    let before = core::mem::take(modules).into_iter();
    for (mut module, linked) in before.zip(linked) {
        if let Some(linked) = linked {
            modules.push(linked);
            module.images.retain(|image| image.spirv().is_none());
            if module.images.is_empty() {
                continue;
            }
            // This module no longer contains SPIR-V. Readers assume that the first IR image is SPIR-V, so store PTX as
            // native code.
            module.images.iter_mut().for_each(store_ptx_as_native);
        }
        modules.push(module);
    }
    unlinked
}

/// Declares PTX as native code for its target architecture.
pub fn store_ptx_as_native(image: &mut Image<'static>) {
    if image.is_ptx()
        && let Ok(ptx) = ptx::Module::parse(&image.bytes)
    {
        *image = Image::native(&ptx.target.to_string(), NVIDIA, image.bytes.clone());
    }
}

/// Returns the symbols of a module if its SPIR-V is readable.
fn symbols(module: &AbstractModule<'_>) -> Option<Symbols> {
    let code = Module::parse(code(module)?).ok()?;
    let text = |symbols: &mut dyn Iterator<Item = &str>| symbols.map(ToString::to_string).collect();
    let weak: BTreeSet<String> = text(&mut code.weak_exports());
    let is_symbol = |symbol: &&str| Import::of(symbol) == Import::Symbol;
    Some(Symbols {
        imports: text(&mut code.imports().filter(is_symbol)),
        strong: text(&mut code.exports().filter(|symbol| !weak.contains(*symbol))),
        weak,
    })
}

/// Returns the SPIR-V of a module, if it contains exactly one SPIR-V image.
fn code<'m>(module: &'m AbstractModule<'_>) -> Option<&'m [u8]> {
    let mut all = module.images.iter().filter_map(Image::spirv);
    let only = all.next();
    only.filter(|_| all.next().is_none())
}

/// Returns the modules that define a symbol, with strong definitions first, and whether each definition is strong.
fn exporters<'s>(
    symbols: &'s [Option<Symbols>],
    symbol: &'s str,
) -> impl Iterator<Item = (usize, bool)> + 's {
    let all = |strong: bool| {
        let symbols = symbols.iter().enumerate();
        symbols.filter_map(move |(index, found)| {
            let found = found.as_ref()?;
            let set = if strong { &found.strong } else { &found.weak };
            set.contains(symbol).then_some((index, strong))
        })
    };
    all(true).chain(all(false))
}

fn link_one(
    modules: &[AbstractModule<'static>],
    symbols: &[Option<Symbols>],
    start: usize,
) -> Result<AbstractModule<'static>, Obstacle> {
    let name = |index: usize| described(&modules[index]);
    let mut needed = Vec::from([start]);
    let mut resolved = BTreeSet::new();
    let mut next = 0;
    while let Some(index) = needed.get(next).copied() {
        next += 1;
        let imports = symbols[index].iter().flat_map(|found| &found.imports);
        for symbol in imports {
            let mut found = exporters(symbols, symbol);
            let Some((exporter, is_strong)) = found.next() else {
                continue; // it remains an import
            };
            // A file may contain the same module twice. Definitions in identical modules do not conflict.
            let differs = |(other, strong): &(usize, bool)| {
                *strong && code(&modules[*other]) != code(&modules[exporter])
            };
            if let Some((other, _)) = found.find(differs).filter(|_| is_strong) {
                let (symbol, modules) = (symbol.clone(), [exporter, other].map(name));
                return Err(LinkError::Duplicate { symbol, modules }.into());
            }
            resolved.insert(symbol.as_str());
            if !needed.contains(&exporter) {
                needed.push(exporter);
            }
        }
    }
    let metadata = linked_metadata(modules, &needed, &resolved)?;
    let names: Vec<String> = needed.iter().copied().map(name).collect();
    let objects = names.iter().zip(&needed).map(|(name, index)| Object {
        name,
        spirv: code(&modules[*index]).unwrap_or_default(),
    });
    let objects: Vec<_> = objects.collect();
    let linked = link(objects[0], &objects[1..])?;
    let mut module = modules[start].clone();
    module.images.retain(|image| image.spirv().is_some());
    if let Some(image) = module.images.first_mut() {
        image.bytes = Cow::Owned(linked);
    }
    module.metadata = metadata;
    Ok(module)
}

/// Returns the properties of a linked module. `needed` lists the linked modules, starting with the module itself.
/// `resolved` lists the imports that they define.
///
/// # Errors
///
/// Returns an error if only the loader can link the modules, or if a module has malformed properties.
pub fn linked_metadata(
    modules: &[AbstractModule<'static>],
    needed: &[usize],
    resolved: &BTreeSet<&str>,
) -> Result<PropertySets<'static>, Obstacle> {
    let name = |index: usize| described(&modules[index]);
    let requirements = |index: usize| {
        let requirements = DeviceRequirements::read(&modules[index].metadata);
        requirements.map_err(|_| Obstacle::Requirements(name(index)))
    };
    let start = needed[0];
    let mut linked = modules[start].metadata.clone();
    let mut all = requirements(start)?;
    for &index in needed {
        let metadata = &modules[index].metadata;
        let has = |set| metadata.set(set).is_some_and(|set| !set.is_empty());
        if has(set::VIRTUAL_FUNCTIONS) {
            return Err(Obstacle::VirtualFunctions);
        }
        let mut globals = metadata.keys(set::DEVICE_GLOBALS);
        if index != start && globals.any(|global| global != VARIABLE) {
            return Err(Obstacle::DeviceGlobals(name(index)));
        }
        // Keep the properties of the variable that records failed asserts. The linker merges equal variables, so the
        // linked module contains only one such variable.
        let mapping = format!("{VARIABLE}@{}", key::GLOBAL_ID_MAPPING);
        for (set, key) in [
            (set::DEVICE_GLOBALS, VARIABLE),
            (set::PROGRAM_METADATA, &*mapping),
        ] {
            if let Some(value) = metadata.get(set, key) {
                linked.insert(set, key.to_owned(), value.clone());
            }
        }
        let more = requirements(index)?;
        add_new(&mut all.aspects, more.aspects);
        add_new(&mut all.matrices.0, more.matrices.0);
        add_new(&mut all.matrix_products.0, more.matrix_products.0);
    }
    all.write(&mut linked);
    let imported = set::IMPORTED_SYMBOLS;
    linked.retain(imported, |symbol| !resolved.contains(symbol));
    if linked.set(imported).is_some_and(PropertySet::is_empty) {
        linked.remove_set(imported);
    }
    Ok(linked)
}

fn add_new<T: PartialEq>(all: &mut Vec<T>, more: Vec<T>) {
    for item in more {
        if !all.contains(&item) {
            all.push(item);
        }
    }
}
