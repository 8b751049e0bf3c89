// SPDX-License-Identifier: MIT OR Apache-2.0
//! The tree of C++ namespaces: the contents of each generated module.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::Ident;
use syclbin::signature::{Element, KernelName, StructId, Type};

use crate::stub::Stub;
use crate::stub::left_out::LeftOut;
use crate::variables::globals::PlannedGlobal;

/// The types that the generated modules already have.
pub(crate) const OWN_TYPES: [&str; 4] = ["Module", "Kernels", "Builder", "left_out"];

/// A C++ namespace, or the whole file.
#[derive(Default)]
pub(crate) struct Namespace<'f> {
    pub(crate) stubs: Vec<Stub<'f>>,
    /// The left-out kernels that could have a function by their names.
    pub(crate) left_out: Vec<LeftOut<'f>>,
    pub(crate) globals: Vec<PlannedGlobal<'f>>,
    pub(crate) structs: Vec<(StructId, Ident)>,
    pub(crate) inner: BTreeMap<String, Inner<'f>>,
}

/// A namespace inside another.
#[derive(Default)]
pub(crate) struct Inner<'f> {
    /// Its module.
    pub(crate) module: Option<Ident>,
    pub(crate) namespace: Namespace<'f>,
}

impl<'f> Namespace<'f> {
    pub(crate) fn at(&mut self, path: &[String]) -> &mut Self {
        path.iter().fold(self, |scope, part| {
            &mut scope.inner.entry(part.clone()).or_default().namespace
        })
    }

    /// Returns what the namespace is in C++: `C++ namespace`, unless its kernels only have the name of their source.
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

    /// Returns whether the namespace has a struct of kernels.
    pub(crate) fn has_kernels(&self) -> bool {
        let mut inner = self.inner.values();
        !(self.stubs.is_empty() && self.left_out.is_empty() && self.globals.is_empty())
            || inner.any(|inner| inner.namespace.has_kernels())
    }

    pub(crate) fn each_stub<'s>(&'s self, look: &mut impl FnMut(&'s Stub<'f>)) {
        self.stubs.iter().for_each(&mut *look);
        for inner in self.inner.values() {
            inner.namespace.each_stub(look);
        }
    }

    pub(crate) fn structs_in_use(&self, in_use: &mut BTreeSet<StructId>) {
        let parameters = self.stubs.iter().flat_map(|stub| stub.parameters);
        in_use.extend(parameters.filter_map(|parameter| parameter_structure(&parameter.ty)));
        let globals = self
            .globals
            .iter()
            .filter_map(|global| global.global.ty.as_ref().ok());
        in_use.extend(globals.filter_map(structure));
        for inner in self.inner.values() {
            inner.namespace.structs_in_use(in_use);
        }
    }
}

/// Returns the struct that a stub of this parameter names.
fn parameter_structure(ty: &Type) -> Option<StructId> {
    match ty {
        // The launch passes only its size.
        Type::LocalMemory { size: Some(_), .. } => None,
        ty => ty.structure(),
    }
}

/// Returns the struct that `element` is or contains. A pointer in memory never points to a struct with a
/// layout.
pub(crate) fn structure(element: &Element) -> Option<StructId> {
    match element {
        Element::Struct(id) => Some(*id),
        Element::Array { of, .. } => structure(of),
        _ => None,
    }
}
