// SPDX-License-Identifier: MIT OR Apache-2.0
//! The modules of a crate, read from its files.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use syn::{Attribute, Item, UseTree};

use super::{joined, strip};
use crate::files;
use crate::steps::Result;

/// A crate, without test modules and test items.
#[derive(Default)]
pub(super) struct Source {
    /// The items of each module, by its path from the root.
    pub(super) modules: BTreeMap<Vec<String>, Vec<Item>>,
    /// The names of all types and traits.
    pub(super) defined: BTreeSet<String>,
}

pub(super) fn defined(item: &Item) -> Option<String> {
    let name = match item {
        Item::Enum(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some(name.to_string())
}

fn name(item: &Item) -> Option<String> {
    defined(item).or_else(|| {
        let name = match item {
            Item::Const(item) => &item.ident,
            Item::Fn(item) => &item.sig.ident,
            Item::Static(item) => &item.ident,
            _ => return None,
        };
        Some(name.to_string())
    })
}

impl Source {
    pub(super) fn read(root: &Path) -> Result<Self> {
        let mut source = Self::default();
        let directory = root.parent().unwrap_or(root);
        source.add_file(root, directory, Vec::new())?;
        Ok(source)
    }

    /// Parses a crate of one file.
    #[cfg(test)]
    pub(super) fn of(text: &str) -> Result<Self> {
        let mut source = Self::default();
        let file = syn::parse_file(text).map_err(|error| error.to_string())?;
        source.add(file.items, Path::new(""), Vec::new())?;
        Ok(source)
    }

    /// Adds the module `path`. `directory` contains the files of its submodules.
    fn add_file(&mut self, file: &Path, directory: &Path, path: Vec<String>) -> Result<()> {
        let parsed =
            syn::parse_file(&files::read(file)?).map_err(|error| files::at(file, &error))?;
        self.add(parsed.items, directory, path)
    }

    fn add(&mut self, items: Vec<Item>, directory: &Path, path: Vec<String>) -> Result<()> {
        let items: Vec<_> = items
            .into_iter()
            .filter(|item| !strip::is_test(strip::attributes(item)))
            .collect();
        for item in &items {
            self.defined.extend(defined(item));
            let Item::Mod(module) = item else { continue };
            let name = module.ident.to_string();
            let (inner, path) = (directory.join(&name), joined(&path, &name));
            if let Some((_, items)) = &module.content {
                self.add(items.clone(), &inner, path)?;
            } else if let Some(file) = named_file(&module.attrs) {
                let file = directory.join(file);
                let inner = file.parent().unwrap_or(directory).to_owned();
                self.add_file(&file, &inner, path)?;
            } else {
                let file = directory.join(format!("{name}.rs"));
                let file = if file.is_file() {
                    file
                } else {
                    inner.join("mod.rs")
                };
                self.add_file(&file, &inner, path)?;
            }
        }
        self.modules.entry(path).or_default().extend(items);
        Ok(())
    }

    /// Resolves `path` in the module `from` to a module of this crate.
    pub(super) fn module(&self, from: &[String], path: &[String]) -> Option<Vec<String>> {
        let mut module = from.to_vec();
        let mut rest = path;
        if path.first().is_some_and(|first| first == "crate") {
            module.clear();
            rest = &path[1..];
        }
        for part in rest {
            match part.as_str() {
                "self" => {}
                "super" => drop(module.pop()),
                part => module.push(part.to_owned()),
            }
        }
        self.modules.contains_key(&module).then_some(module)
    }

    /// Resolves `path::name` in the module `from`. Returns several items if features choose among them.
    pub(super) fn find(&self, from: &[String], path: &[String], name: &str) -> Vec<&Item> {
        let Some(module) = self.module(from, path) else {
            return Vec::new();
        };
        let items = &self.modules[&module];
        let named: Vec<_> = items
            .iter()
            .filter(|item| self::name(item).as_deref() == Some(name))
            .collect();
        if !named.is_empty() {
            return named;
        }
        for item in items {
            if let Item::Use(import) = item
                && let Some((path, behind)) = imported(&import.tree, name)
                // `pub use half;` re-exports a crate.
                && !path.is_empty()
            {
                return self.find(&module, &path, &behind);
            }
        }
        Vec::new()
    }
}

/// Resolves `name` in a `use` tree to a path and the original name.
fn imported(tree: &UseTree, name: &str) -> Option<(Vec<String>, String)> {
    match tree {
        UseTree::Path(part) => {
            let (mut path, name) = imported(&part.tree, name)?;
            path.insert(0, part.ident.to_string());
            Some((path, name))
        }
        UseTree::Group(group) => group.items.iter().find_map(|tree| imported(tree, name)),
        UseTree::Name(found) if found.ident == name => Some((Vec::new(), name.to_owned())),
        UseTree::Rename(found) if found.rename == name => {
            Some((Vec::new(), found.ident.to_string()))
        }
        _ => None,
    }
}

/// Returns the file in `#[path = "file"]`.
fn named_file(attributes: &[Attribute]) -> Option<PathBuf> {
    let value = attributes
        .iter()
        .find(|attribute| attribute.path().is_ident("path"));
    let syn::Expr::Lit(value) = &value?.meta.require_name_value().ok()?.value else {
        return None;
    };
    let syn::Lit::Str(file) = &value.lit else {
        return None;
    };
    Some(file.value().into())
}
