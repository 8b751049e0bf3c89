// SPDX-License-Identifier: MIT OR Apache-2.0
//! Chooses the Rust names of structs and of modules for namespaces.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syclbin::signature::{Element, Layout, StructId};

use crate::file::File;
use crate::input::Input;
use crate::input::items::RustType;
use crate::names::{self, Scope, known};
use crate::plan::{Namespace, Plan};
use crate::types::{TypePath, Types, structs};

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
            let named = layouts.iter().filter(|(_, of)| item.cpp.is(&of.name));
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
                    let message = "this struct was already assigned a type above";
                    errors.push(item.cpp.error(message));
                }
            }
        }
        let mut in_use = BTreeSet::new();
        self.root.structs_in_use(&mut in_use);
        let constants = file.signatures.constants.iter();
        let elements = constants.filter_map(|constant| constant.ty.as_ref().ok());
        in_use.extend(elements.filter_map(Element::structure));
        let mut all: Vec<StructId> = in_use.iter().copied().collect();
        while let Some(id) = all.pop() {
            let replaced = matches!(own.get(&id), Some(RustType::Own(_)));
            let layout = layouts.get(id).filter(|_| !replaced).into_iter();
            let fields = layout.flat_map(|layout| &layout.fields);
            let inner = fields.filter_map(|field| field.ty.structure());
            all.extend(inner.filter(|inner| in_use.insert(*inner)));
        }
        // Checks the layout of a user's struct even if no selected kernel uses it.
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
            let ident = match own.get(&id) {
                Some(RustType::Own(path)) => {
                    self.types.paths.insert(id, TypePath::Own(path.clone()));
                    continue;
                }
                Some(RustType::Named(ident)) => {
                    let free = Scope::of_types().claim(&names::plain(ident));
                    if free.as_ref() != Some(ident) {
                        let message = format!(
                            "the generated module uses the name `{ident}`; choose another name"
                        );
                        errors.push(syn::Error::new(ident.span(), message));
                    }
                    Some(ident.clone())
                }
                None => names::identifier(&name), // every C++ name yields a Rust name
            };
            let structs = &mut self.root.at(&path).structs;
            structs.extend(ident.map(|ident| (id, ident)));
        }
        let items = input.items.types.iter();
        let chosen = items.filter_map(|item| match &item.rust {
            RustType::Named(name) => Some(name),
            RustType::Own(_) => None,
        });
        let chosen: Vec<&Ident> = chosen.collect();
        name_in(&mut self.root, &[], &chosen, &mut self.types, errors);
    }
}

/// Names the structs and modules in `namespace`, whose module is `path`. `chosen` are the struct names in items.
fn name_in<'f>(
    namespace: &mut Namespace<'f>,
    path: &[Ident],
    chosen: &[&Ident],
    types: &mut Types<'f>,
    errors: &mut Vec<syn::Error>,
) {
    let mut scope = Scope::of_types();
    let mut first: BTreeMap<String, &'f Layout> = BTreeMap::new();
    for (id, ident) in &mut namespace.structs {
        let Some(layout) = types.layouts.get(*id) else {
            continue;
        };
        // Only names from items cause errors. Default names are made unique with underscores or numbers.
        if let Some(other) = first.get(&ident.to_string())
            && layout.described
            && other.described
            && let Some(chosen) = chosen.iter().find(|name| **name == ident)
        {
            let message = format!(
                "the structs `{}` and `{}` would both be called `{ident}`; choose another name",
                other.name, layout.name
            );
            errors.push(syn::Error::new(chosen.span(), message));
        }
        first.entry(ident.to_string()).or_insert(layout);
        if let Some(claimed) = scope.claim(&names::plain(ident)) {
            *ident = claimed;
        }
        let path = [path, std::slice::from_ref(ident)].concat();
        types.paths.insert(*id, TypePath::Generated(path));
    }
    for (name, inner) in &mut namespace.inner {
        inner.module = scope.claim(name);
        let path = [path, inner.module.as_slice()].concat();
        name_in(inner, &path, chosen, types, errors);
    }
}
