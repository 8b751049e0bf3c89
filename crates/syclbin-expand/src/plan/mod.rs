// SPDX-License-Identifier: MIT OR Apache-2.0
//! The plan: the names of kernels and structs, the kernels without a function, and the mistakes in the items.
//!
//! Two kernels with the same name are an error.

pub(crate) mod namespace;
pub(crate) mod requests;
mod type_names;

use std::collections::BTreeMap;

use proc_macro2::Ident;
use syclbin::signature::KernelName;
use syclbin::signature::{KernelSignature, StructId};

use crate::file::File;
use crate::input::Input;
use crate::input::items::KernelItem;
use crate::names;
use crate::names::cpp_name;
use crate::names::default_names::{DefaultName, default_names};
use crate::plan::namespace::Namespace;
use crate::plan::requests::{requests, selected};
use crate::stub::left_out::LeftOut;
use crate::stub::{Stub, parameter};
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

/// The kernels and variables with names, by namespace and Rust name.
type Taken = BTreeMap<(Vec<String>, String), String>;

/// The context that the names of kernels are checked against.
struct Context<'c> {
    input: &'c Input,
    taken: Taken,
    errors: &'c mut Vec<syn::Error>,
}

/// The functions that the generated structs already have.
const OWN_METHODS: [&str; 6] = [
    "best_device",
    "load",
    "load_file",
    "from_bytes",
    "builder",
    "new",
];

impl<'f> Plan<'f> {
    pub(crate) fn new(input: &'f Input, file: &'f File, errors: &mut Vec<syn::Error>) -> Self {
        let kernels = &file.signatures.kernels;
        let requests = requests(input, file, errors);
        let selected = selected(input, file, errors);
        let mut plan = Self {
            root: Namespace::default(),
            omitted: Vec::new(),
            reasons: BTreeMap::new(),
            types: Types::new(&file.signatures.layouts),
            own: Vec::new(),
        };
        let mut context = Context {
            input,
            taken: Taken::new(),
            errors,
        };
        let names = default_names(kernels)
            .into_iter()
            .zip(cpp_name::unique(kernels));
        let kernels = kernels.iter().zip(requests).zip(names).enumerate();
        for (_, ((kernel, item), (name, called))) in
            kernels.filter(|(index, _)| selected.contains(index))
        {
            plan.add(kernel, item, name, called, &mut context);
        }
        plan.add_globals(file, &mut context.taken);
        plan.refuse_unsafe_globals(file, errors);
        plan.name_types(input, file, errors);
        plan
    }

    /// Adds a kernel. `name` is its default name, and `called` is its name in items.
    fn add(
        &mut self,
        kernel: &'f KernelSignature,
        item: Option<&'f KernelItem>,
        name: Option<DefaultName>,
        called: String,
        context: &mut Context<'_>,
    ) {
        let Context {
            input,
            taken,
            errors,
        } = context;
        let (path, name) = match name {
            Some(name) => (name.path, Some(name.name)),
            None => (Vec::new(), None),
        };
        let rename = item.and_then(|item| item.rename.clone());
        let ident = match rename {
            Some(ident) => Ok(ident),
            None => identifier(&path, name.as_deref()),
        };
        let reason = match (&ident, &kernel.parameters) {
            (Err(reason), _) => Some(format!(
                "{reason}; `fn {called} as NAME;` in `include_syclbin!` gives it one"
            )),
            (_, Err(reason)) => {
                if reason.is_conflict() {
                    errors.push(syn::Error::new(
                        input.file.span(),
                        format!("kernel `{called}`: {reason}; rename one in C++, or leave the kernel out with `skip {{ {called} }}`"),
                    ));
                }
                Some(reason.to_string())
            }
            (Ok(_), Ok(parameters)) => parameters
                .iter()
                .enumerate()
                .find_map(parameter::unsupported),
        };
        if let (Some(reason), Some(item)) = (&reason, item) {
            errors.push(
                item.cpp
                    .error(format!("this kernel has no function: {reason}")),
            );
        }
        // Every such kernel stands beside one that does the same.
        if let Some(reason) = reason.as_ref().filter(|_| !kernel.is_rounded_range()) {
            self.reasons.insert(&kernel.symbol, reason.clone());
            let omitted = (cpp_name::of(kernel), reason.clone());
            // A reduction is several kernels.
            if self.omitted.last() != Some(&omitted) {
                self.omitted.push(omitted);
            }
        }
        // Users do not call the runtime's own kernels, so several may have one name.
        if reason.is_some() && item.is_none() && cpp_name::is_of_runtime(kernel) {
            return;
        }
        let Ok(mut ident) = ident else { return };
        if OWN_METHODS.contains(&ident.to_string().as_str()) {
            if item.is_some_and(|item| item.rename.is_some()) {
                let message =
                    format!("the generated module has a function `{ident}`; write another name");
                errors.push(syn::Error::new(ident.span(), message));
            }
            ident = Ident::new(&format!("{ident}_"), ident.span());
        }
        // The name is taken by a kernel of the same namespace.
        let key = (path.clone(), ident.to_string());
        if let Some(first) = taken.get(&key) {
            let message = format!(
                "the kernels `{first}` and `{called}` would both be called `{ident}`; \
                 name one of them: `fn {called} as ANOTHER_NAME;`"
            );
            // The error points at the item that chose the name, if there is one.
            let renames = input
                .items
                .kernels
                .iter()
                .filter_map(|item| item.rename.as_ref());
            let chosen = item.and_then(|item| item.rename.as_ref());
            let chosen = chosen.or_else(|| renames.into_iter().find(|name| **name == ident));
            let span = chosen.map_or_else(|| input.file.span(), Ident::span);
            self.reasons.insert(&kernel.symbol, message.clone());
            errors.push(syn::Error::new(span, message));
            return;
        }
        taken.insert(key, called);
        match (reason, &kernel.parameters) {
            (None, Ok(parameters)) => self.root.at(&path).stubs.push(Stub {
                ident,
                kernel,
                parameters,
                item,
            }),
            (reason, _) => {
                let scope = self.root.at(&path);
                let reason = reason.unwrap_or_default();
                scope.left_out.push((ident, LeftOut { kernel, reason }));
            }
        }
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
            let path = name.path.clone();
            // In C++, a kernel cannot share the name of a variable beside it, but its Rust name can.
            let mut text = name.base.clone();
            let ident = loop {
                let Some(ident) = names::identifier(&text) else {
                    break None;
                };
                let spelled = ident.to_string();
                if !OWN_METHODS.contains(&spelled.as_str())
                    && !taken.contains_key(&(path.clone(), spelled))
                {
                    break Some(ident);
                }
                text.push('_');
            };
            let nameable = path.iter().all(|part| names::identifier(part).is_some());
            let (Some(ident), true) = (ident, nameable) else {
                omit(
                    "its name is not a Rust identifier; `syclbin_rt::Module::global` takes the symbol"
                        .into(),
                );
                continue;
            };
            taken.insert((path.clone(), ident.to_string()), called);
            self.root
                .at(&path)
                .globals
                .push(PlannedGlobal { ident, global });
        }
    }
}

/// Returns the Rust name of a kernel.
///
/// # Errors
///
/// Returns the reason why it has none.
fn identifier(path: &[String], name: Option<&str>) -> Result<Ident, &'static str> {
    let name = name.ok_or("its symbol has no name that Rust could use")?;
    let nameable = path.iter().all(|part| names::identifier(part).is_some());
    names::identifier(name)
        .filter(|_| nameable)
        .ok_or("its name is not a Rust identifier")
}
