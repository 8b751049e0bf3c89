// SPDX-License-Identifier: MIT OR Apache-2.0
//! Plans the module: names of kernels and structs, left-out kernels, and errors in the items. Only items cause
//! errors. A kernel is left out if no function can be generated for it.

pub(crate) mod requests;
mod type_names;

use std::collections::{BTreeMap, BTreeSet};

use crate::file::File;
use crate::input::Input;
use crate::input::items::KernelItem;
use crate::names::default_names::{OWN_METHODS, RustName, default_names};
use crate::names::{cpp_name, default_names, plain, qualified};
use crate::plan::requests::requests;
use crate::stub::{LeftOut, Stub};
use crate::types::Types;
use crate::variables::PlannedGlobal;
use proc_macro2::Ident;
use syclbin::signature::{Element, KernelName, KernelSignature, StructId, Type};

pub(crate) struct Plan<'f> {
    pub(crate) root: Namespace<'f>,
    /// The kernels and variables without a function: C++ name and reason.
    pub(crate) omitted: Vec<(String, String)>,
    /// The reasons why kernels have no function, by symbol.
    pub(crate) reasons: BTreeMap<&'f str, String>,
    pub(crate) types: Types<'f>,
    /// The user's own types.
    pub(crate) own: Vec<(StructId, syn::Path)>,
}

/// The names that are taken, each with a description of its owner.
type Taken = BTreeMap<RustName, String>;

impl<'f> Plan<'f> {
    pub(crate) fn new(input: &'f Input, file: &'f File, errors: &mut Vec<syn::Error>) -> Self {
        let kernels = &file.signatures.kernels;
        let names = default_names(kernels);
        let mut requests = requests(input, file, &names, errors);
        let mut plan = Self {
            root: Namespace::default(),
            omitted: Vec::new(),
            reasons: BTreeMap::new(),
            types: Types::new(&file.signatures.layouts),
            own: Vec::new(),
        };
        let mut taken = Taken::new();
        for (index, (kernel, name)) in kernels.iter().zip(names).enumerate() {
            if let Some(item) = requests.remove(&index) {
                let added = plan.add(kernel, item, name, &input.items.kernels, &mut taken);
                errors.extend(added.err());
            }
        }
        plan.add_globals(file, &mut taken);
        plan.refuse_unsafe_globals(file, errors);
        plan.name_types(input, file, errors);
        plan
    }

    /// Adds a kernel under its default name `name`, unless an item renames it. `items` are the items of all kernels.
    ///
    /// # Errors
    ///
    /// Fails if an item requests a name that is taken, or a kernel for which no function can be generated.
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
        let (path, ident) = name.map(|name| (name.path, name.ident)).unzip();
        let (path, ident) = (path.unwrap_or_default(), rename.clone().or(ident));
        let reason = match (kernel.left_out(), &ident) {
            (Some(reason), _) => Some(reason.to_string()),
            (None, None) => Some(format!(
                "its symbol contains no valid Rust name; name the kernel with `fn {called} as NAME;` in \
                 `include_syclbin!`"
            )),
            (None, Some(_)) => None,
        };
        // An equivalent kernel accompanies every rounded-range variant, so the variant is not reported.
        if let Some(reason) = reason.as_ref().filter(|_| !kernel.is_rounded_range()) {
            self.reasons.insert(&kernel.symbol, reason.clone());
            let omitted = (called.clone(), reason.clone());
            // A reduction consists of several kernels; report it once.
            if self.omitted.last() != Some(&omitted) {
                self.omitted.push(omitted);
            }
        }
        if let (Some(reason), Some(item)) = (&reason, item) {
            let message = format!("no Rust function is generated for this kernel: {reason}");
            return Err(item.cpp.error(message));
        }
        let Some(ident) = ident.filter(|_| reason.is_none() || !cpp_name::is_of_runtime(kernel))
        else {
            return Ok(());
        };
        if rename.is_some() && OWN_METHODS.contains(&ident.to_string().as_str()) {
            let message =
                format!("the generated module already defines `{ident}`; choose another name");
            return Err(syn::Error::new(ident.span(), message));
        }
        let key = RustName {
            path: path.clone(),
            ident: ident.clone(),
        };
        if let Some(first) = taken.get(&key) {
            let message = format!(
                "the kernels `{first}` and `{called}` would both be called `{ident}`; choose another name"
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

    /// Rejects contracts if a device global contains pointers. A kernel may read any variable in its file, and nothing
    /// checks these pointers.
    fn refuse_unsafe_globals(&self, file: &File, errors: &mut Vec<syn::Error>) {
        let mut globals = file.signatures.globals.iter();
        let pointers = globals.find(|global| {
            let element = global.ty.as_ref().ok();
            element.is_some_and(|element| self.types.holds_pointer(element))
        });
        let Some(global) = pointers else { return };
        let called = qualified(global.name.as_ref(), &global.id);
        let stubs = self.root.all_stubs().into_iter();
        for (item, _) in stubs.filter_map(|(_, stub)| stub.contract()) {
            errors.push(item.cpp.error(format!(
                "no kernel of this file can be safe: device global `{called}` may contain device pointers, and nothing \
                 checks where they point"
            )));
        }
    }

    fn add_globals(&mut self, file: &'f File, taken: &mut Taken) {
        let mut last = BTreeMap::new();
        for global in &file.signatures.globals {
            let called = qualified(global.name.as_ref(), &global.id);
            let mut omit = |reason: String| self.omitted.push((called.clone(), reason));
            if let Err(reason) = &global.ty {
                omit(reason.to_string());
                continue;
            }
            let Some(name) = &global.name else {
                omit("its symbol contains no valid Rust name; `syclbin_rt::Module::global` accepts the \
                    symbol".into());
                continue;
            };
            // In C++, kernel and variable names differ within a scope, but their Rust names may coincide.
            let Some(name) = default_names::of_variable(name, taken, &mut last) else {
                continue; // every C++ name yields a Rust name
            };
            self.root.at(&name.path).globals.push(PlannedGlobal {
                ident: name.ident.clone(),
                global,
            });
            taken.insert(name, called);
        }
    }
}

/// A C++ namespace, or the whole file.
#[derive(Default)]
pub(crate) struct Namespace<'f> {
    pub(crate) stubs: Vec<Stub<'f>>,
    /// The left-out kernels whose names are valid function names.
    pub(crate) left_out: Vec<LeftOut<'f>>,
    pub(crate) globals: Vec<PlannedGlobal<'f>>,
    pub(crate) structs: Vec<(StructId, Ident)>,
    pub(crate) inner: BTreeMap<String, Namespace<'f>>,
    /// The name of the module that is generated for the namespace, or `None` for the whole file.
    pub(crate) module: Option<Ident>,
}

impl<'f> Namespace<'f> {
    pub(crate) fn at(&mut self, path: &[String]) -> &mut Self {
        path.iter().fold(self, |scope, part| {
            scope.inner.entry(part.clone()).or_default()
        })
    }

    /// Returns the kind of the namespace, for documentation. The namespace may also represent the source file of its
    /// kernels.
    pub(crate) fn what(&self) -> &'static str {
        let stubs = self.stubs.iter().map(|stub| stub.kernel);
        let mut kernels = stubs.chain(self.left_out.iter().map(|left_out| left_out.kernel));
        let has_source = |name: &KernelName| name.source.is_some();
        if kernels.any(|kernel| kernel.name.as_ref().is_some_and(has_source)) {
            "C++ source or namespace"
        } else {
            "C++ namespace"
        }
    }

    /// Returns whether the namespace contains kernels or device globals, and thus needs a struct.
    pub(crate) fn has_kernels(&self) -> bool {
        let mut inner = self.inner.values();
        !(self.stubs.is_empty() && self.left_out.is_empty() && self.globals.is_empty())
            || inner.any(Self::has_kernels)
    }

    /// Returns all stubs, each with its path in this namespace.
    pub(crate) fn all_stubs(&self) -> Vec<(String, &Stub<'f>)> {
        let own = self.stubs.iter().map(|stub| (plain(&stub.ident), stub));
        let inner = self.inner.iter().flat_map(|(name, inner)| {
            let stubs = inner.all_stubs().into_iter();
            stubs.map(move |(path, stub)| (format!("{name}::{path}"), stub))
        });
        own.chain(inner).collect()
    }

    pub(crate) fn structs_in_use(&self, in_use: &mut BTreeSet<StructId>) {
        let types = self.stubs.iter().flat_map(|stub| stub.parameters);
        let types = types.map(|parameter| &parameter.ty);
        // A launch passes only the size of local memory, so the generated code does not need its element type.
        let types = types.filter(|ty| !matches!(ty, Type::LocalMemory { size: Some(_), .. }));
        in_use.extend(types.filter_map(Type::structure));
        let globals = self.globals.iter().flat_map(|global| &global.global.ty);
        in_use.extend(globals.filter_map(Element::structure));
        for inner in self.inner.values() {
            inner.structs_in_use(in_use);
        }
    }
}
