// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan: the names of kernels and structs, the kernels without a function, and the mistakes in the items. Only
//! items can be mistaken: a kernel that cannot have a function is left out.

pub(crate) mod namespace;
pub(crate) mod requests;
mod type_names;

use std::collections::BTreeMap;

use syclbin::signature::KernelName;
use syclbin::signature::{KernelSignature, StructId};

use crate::file::File;
use crate::input::Input;
use crate::input::items::KernelItem;
use crate::names::cpp_name;
use crate::names::default_names::{self, OWN_METHODS, RustName, default_names};
use crate::plan::namespace::Namespace;
use crate::plan::requests::{requests, selected};
use crate::stub::Stub;
use crate::stub::left_out::LeftOut;
use crate::types::Types;
use crate::variables::globals::PlannedGlobal;

pub(crate) struct Plan<'f> {
    pub(crate) root: Namespace<'f>,
    /// The kernels and variables without a function, by C++ name, with the reason.
    pub(crate) omitted: Vec<(String, String)>,
    /// Why kernels have no function, by symbol.
    pub(crate) reasons: BTreeMap<&'f str, String>,
    pub(crate) types: Types<'f>,
    /// The user's types.
    pub(crate) own: Vec<(StructId, syn::Path)>,
}

/// The names that are taken, with what has them.
type Taken = BTreeMap<RustName, String>;

impl<'f> Plan<'f> {
    pub(crate) fn new(input: &'f Input, file: &'f File, errors: &mut Vec<syn::Error>) -> Self {
        let kernels = &file.signatures.kernels;
        let names = default_names(kernels);
        let requests = requests(input, file, &names, errors);
        let selected = selected(input, file, &names, errors);
        let mut plan = Self {
            root: Namespace::default(),
            omitted: Vec::new(),
            reasons: BTreeMap::new(),
            types: Types::new(&file.signatures.layouts),
            own: Vec::new(),
        };
        let mut taken = Taken::new();
        let kernels = kernels.iter().zip(requests).zip(names).enumerate();
        for (_, ((kernel, item), name)) in kernels.filter(|(index, _)| selected.contains(index)) {
            if let Err(error) = plan.add(kernel, item, name, &input.items.kernels, &mut taken) {
                errors.push(error);
            }
        }
        plan.add_globals(file, &mut taken);
        plan.refuse_unsafe_globals(file, errors);
        plan.name_types(input, file, errors);
        plan
    }

    /// Adds a kernel. `name` is its default name, and `items` are the items of all kernels.
    ///
    /// # Errors
    ///
    /// Fails if an item is wrong: it gives the kernel a name that is taken, or the kernel cannot have a function.
    fn add(
        &mut self,
        kernel: &'f KernelSignature,
        item: Option<&'f KernelItem>,
        name: Option<RustName>,
        items: &[KernelItem],
        taken: &mut Taken,
    ) -> syn::Result<()> {
        let called = cpp_name::called(kernel, name.as_ref());
        let rename = item.and_then(|item| item.rename.clone());
        let path = name
            .as_ref()
            .map_or_else(Vec::new, |name| name.path.clone());
        let ident = rename.clone().or(name.map(|name| name.ident));
        let reason = match (kernel.left_out(), &ident) {
            (Some(reason), _) => Some(reason.to_string()),
            (None, None) => Some(format!(
                "its symbol has no name that Rust could use; `fn {called} as NAME;` in `include_syclbin!` gives it one"
            )),
            (None, Some(_)) => None,
        };
        // Every form for rounded ranges stands beside a kernel that does the same.
        if let Some(reason) = reason.as_ref().filter(|_| !kernel.is_rounded_range()) {
            self.reasons.insert(&kernel.symbol, reason.clone());
            let omitted = (called.clone(), reason.clone());
            // A reduction is several kernels.
            if self.omitted.last() != Some(&omitted) {
                self.omitted.push(omitted);
            }
        }
        if let (Some(reason), Some(item)) = (&reason, item) {
            let message = format!("this kernel has no function: {reason}");
            return Err(item.cpp.error(message));
        }
        let Some(ident) = ident.filter(|_| reason.is_none() || !cpp_name::is_of_runtime(kernel))
        else {
            return Ok(());
        };
        if rename.is_some() && OWN_METHODS.contains(&ident.to_string().as_str()) {
            let message =
                format!("the generated module has a function `{ident}`; write another name");
            return Err(syn::Error::new(ident.span(), message));
        }
        let key = RustName {
            path: path.clone(),
            ident: ident.clone(),
        };
        if let Some(first) = taken.get(&key) {
            let message = format!(
                "the kernels `{first}` and `{called}` would both be called `{ident}`; write another name"
            );
            let mut renames = items.iter().filter_map(|item| item.rename.as_ref());
            let chosen = rename
                .as_ref()
                .or_else(|| renames.find(|name| **name == ident));
            return Err(syn::Error::new(chosen.unwrap_or(&ident).span(), message));
        }
        taken.insert(key, called.clone());
        let scope = self.root.at(&path);
        match (reason, &kernel.parameters) {
            (None, Ok(parameters)) => scope.stubs.push(Stub {
                ident,
                kernel,
                parameters,
                item,
            }),
            (reason, _) => scope.left_out.push(LeftOut {
                ident,
                called,
                kernel,
                reason: reason.unwrap_or_default(),
            }),
        }
        Ok(())
    }

    /// Rejects contracts if a global holds pointers. A kernel may read any variable of its file, and nothing
    /// checks where the pointers in it lead.
    fn refuse_unsafe_globals(&self, file: &File, errors: &mut Vec<syn::Error>) {
        let mut globals = file.signatures.globals.iter();
        let pointers = globals.find(|global| {
            let element = global.ty.as_ref().ok();
            element.is_some_and(|element| self.types.holds_pointer(element))
        });
        let Some(global) = pointers else { return };
        let called = global.name.as_ref().map(KernelName::qualified);
        let called = called.unwrap_or_else(|| global.id.clone());
        let mut safe = Vec::new();
        self.root
            .each_stub(&mut |stub| safe.extend(stub.contract().map(|(item, _)| &item.cpp)));
        errors.extend(safe.into_iter().map(|item| {
            item.error(format!(
                "no kernel of this file can be safe: device global `{called}` holds device pointers, \
                 and nothing checks where they point"
            ))
        }));
    }

    fn add_globals(&mut self, file: &'f File, taken: &mut Taken) {
        for global in &file.signatures.globals {
            let called = global
                .name
                .as_ref()
                .map_or_else(|| global.id.clone(), KernelName::qualified);
            let mut omit = |reason: String| self.omitted.push((called.clone(), reason));
            if let Err(reason) = &global.ty {
                omit(reason.to_string());
                continue;
            }
            let Some(name) = &global.name else {
                omit("its symbol has no name that Rust could use; `syclbin_rt::Module::global` takes the symbol".into());
                continue;
            };
            // In C++, a kernel cannot share the name of a variable beside it, but its Rust name can.
            let Some(name) = default_names::of_variable(name, |name| taken.contains_key(name))
            else {
                continue; // every name of C++ has one
            };
            self.root.at(&name.path).globals.push(PlannedGlobal {
                ident: name.ident.clone(),
                global,
            });
            taken.insert(name, called);
        }
    }
}
