// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chooses the Rust names of structs and of modules for namespaces.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syclbin::signature::{Layout, StructId};

use crate::file::File;
use crate::input::Input;
use crate::input::items::RustType;
use crate::names::known;
use crate::names::{self, Scope};
use crate::plan::Plan;
use crate::plan::{Namespace, OWN_TYPES, structure};
use crate::types::structs;
use crate::types::{TypePath, Types};

impl<'f> Plan<'f> {
    /// Names every struct in use, and the module of every namespace.
    pub(crate) fn name_types(
        &mut self,
        input: &Input,
        file: &'f File,
        errors: &mut Vec<syn::Error>,
    ) {
        let layouts = &file.signatures.layouts;
        let mut own: BTreeMap<StructId, &RustType> = BTreeMap::new();
        for item in &input.items.types {
            let named = layouts
                .iter()
                .filter(|(_, layout)| item.cpp.is(&layout.name));
            let ids: Vec<StructId> = named.map(|(id, _)| id).collect();
            if ids.is_empty() && file.path.is_some() {
                let names = layouts.iter().map(|(_, layout)| layout.name.as_str());
                let message = match known(item.cpp.text(), names) {
                    None => "no kernel of this file has a struct parameter".to_owned(),
                    Some(known) => format!(
                        "no kernel of this file has a parameter of this struct; the structs are {known}"
                    ),
                };
                errors.push(item.cpp.error(message));
            }
            for id in ids {
                if own.insert(id, &item.rust).is_some() {
                    errors.push(
                        item.cpp
                            .error("this struct was already assigned a type above"),
                    );
                }
            }
        }
        let mut in_use = BTreeSet::new();
        self.root.structs_in_use(&mut in_use);
        let constants = file.signatures.constants.iter();
        let elements = constants.filter_map(|constant| constant.ty.as_ref().ok());
        in_use.extend(elements.filter_map(structure));
        let mut all: Vec<StructId> = in_use.iter().copied().collect();
        while let Some(id) = all.pop() {
            let replaced = matches!(own.get(&id), Some(RustType::Own(_)));
            let fields = layouts
                .get(id)
                .filter(|_| !replaced)
                .map(|layout| &layout.fields);
            for inner in fields
                .into_iter()
                .flatten()
                .filter_map(|field| structure(&field.ty))
            {
                if in_use.insert(inner) {
                    all.push(inner);
                }
            }
        }
        // Checks the layout of a user's struct even if no selected kernel takes it.
        for (id, rust) in &own {
            if let RustType::Own(path) = rust {
                self.own.push((*id, path.clone()));
            }
        }
        for id in in_use {
            let Some(layout) = layouts.get(id) else {
                continue;
            };
            let (path, name) = structs::name(layout);
            let renamed = match own.get(&id) {
                Some(RustType::Own(path)) => {
                    self.types.paths.insert(id, TypePath::Own(path.clone()));
                    continue;
                }
                Some(RustType::Named(ident)) => {
                    let free = Scope::of_types(OWN_TYPES).claim(&names::plain(ident));
                    if free.as_ref() != Some(ident) {
                        let message = format!(
                            "the generated module uses the name `{ident}`; choose another name"
                        );
                        errors.push(syn::Error::new(ident.span(), message));
                    }
                    Some(ident.clone())
                }
                None => None,
            };
            let Some(ident) = renamed.or_else(|| names::identifier(&name)) else {
                continue; // every C++ name yields a Rust name
            };
            self.root.at(&path).structs.push((id, ident));
        }
        let chosen = input
            .items
            .types
            .iter()
            .filter_map(|item| match &item.rust {
                RustType::Named(name) => Some(name),
                RustType::Own(_) => None,
            });
        let mut naming = Naming {
            chosen: chosen.collect(),
            types: &mut self.types,
            errors,
        };
        naming.name(&mut self.root, &[]);
    }
}

struct Naming<'n, 'f> {
    /// The struct names that items choose.
    chosen: Vec<&'n Ident>,
    types: &'n mut Types<'f>,
    errors: &'n mut Vec<syn::Error>,
}

impl<'f> Naming<'_, 'f> {
    fn name(&mut self, namespace: &mut Namespace<'f>, path: &[Ident]) {
        let mut scope = Scope::of_types(OWN_TYPES);
        let mut first: BTreeMap<String, &'f Layout> = BTreeMap::new();
        let layouts = self.types.layouts;
        for (id, ident) in &mut namespace.structs {
            let Some(layout) = layouts.get(*id) else {
                continue;
            };
            // Only names from items cause errors. Default names are made unique with underscores.
            if let Some(other) = first.get(&ident.to_string())
                && layout.described
                && other.described
                && let Some(chosen) = self.chosen.iter().find(|name| **name == ident)
            {
                let message = format!(
                    "the structs `{}` and `{}` would both be called `{ident}`; choose another name",
                    other.name, layout.name
                );
                self.errors.push(syn::Error::new(chosen.span(), message));
            }
            first.entry(ident.to_string()).or_insert(layout);
            if let Some(claimed) = scope.claim(&names::plain(ident)) {
                *ident = claimed;
            }
            let path = [path, std::slice::from_ref(ident)].concat();
            self.types.paths.insert(*id, TypePath::Generated(path));
        }
        for (name, inner) in &mut namespace.inner {
            inner.module = scope.claim(name);
            let module = inner.module.iter().cloned();
            let path: Vec<Ident> = path.iter().cloned().chain(module).collect();
            self.name(inner, &path);
        }
    }
}
