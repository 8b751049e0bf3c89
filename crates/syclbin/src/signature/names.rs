// SPDX-License-Identifier: MIT OR Apache-2.0
//! The structs of a file: each name means one struct.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::cell::Cell;

use super::types::{Layout, Layouts, StructId};
use super::{Unsupported, recorded};
use crate::model::AbstractModule;

/// State that the modules of a file share.
#[derive(Default)]
pub(super) struct Names {
    pub(super) layouts: Layouts,
    /// Steps of comparing memory that were made.
    pub(super) steps: Cell<usize>,
    described: BTreeMap<String, StructId>,
    /// The strictest alignment that a description in the file has of a struct, by name and size.
    strictest: BTreeMap<(String, u64), u64>,
    /// Structs of one name that differ: both are named, and no kernel can take either.
    conflicts: BTreeMap<StructId, Unsupported>,
}

impl Names {
    /// Learns the alignments of structs from all modules: only kernels that take a struct or point to it know what
    /// `alignas` says.
    pub(super) fn align(&mut self, modules: &[AbstractModule<'_>]) {
        for layout in modules.iter().flat_map(recorded::structs) {
            if layout.described {
                let key = (layout.name, layout.size);
                let strictest = self.strictest.entry(key).or_default();
                *strictest = layout.align.max(*strictest);
            }
        }
    }

    /// Adds the structs of a description, and returns them in their order.
    pub(super) fn import(&mut self, layouts: Layouts) -> Vec<StructId> {
        let mut ids: Vec<StructId> = Vec::new();
        for mut layout in layouts.into_list() {
            for field in &mut layout.fields {
                if let Some(id) = field.ty.structure_mut() {
                    *id = ids[id.0];
                }
            }
            ids.push(if layout.described {
                let key = (layout.name.clone(), layout.size);
                let strictest = self.strictest.get(&key).copied().unwrap_or(1);
                layout.align = layout.align.max(strictest);
                self.insert(layout)
            } else {
                self.layouts.insert(layout)
            });
        }
        ids
    }

    /// Returns whether a struct has no members.
    pub(super) fn is_empty(&self, id: StructId) -> bool {
        let layout = self.layouts.get(id);
        layout.is_some_and(|layout| layout.fields.is_empty())
    }

    /// Adds a struct that C++ described.
    pub(super) fn insert(&mut self, layout: Layout) -> StructId {
        let name = layout.name.clone();
        let id = self.layouts.insert(layout);
        let first = *self.described.entry(name.clone()).or_insert(id);
        if first != id {
            let (a, b) = (self.layouts.describe(first), self.layouts.describe(id));
            let reason = Unsupported::new(format!(
                "two structs are called `{name}`, so rename one in C++: {a} and {b}"
            ));
            self.conflicts
                .entry(first)
                .or_insert_with(|| reason.clone());
            self.conflicts.insert(id, reason);
        }
        id
    }

    /// Returns the layouts, and for each struct that a conflict touches why it cannot be passed.
    pub(super) fn conflicts(mut self) -> (Layouts, BTreeMap<StructId, Unsupported>) {
        // A struct stands behind those it holds.
        for (id, layout) in self.layouts.iter() {
            let inner = layout
                .fields
                .iter()
                .filter_map(|field| field.ty.structure());
            let reasons = inner.filter_map(|inner| self.conflicts.get(&inner).cloned());
            if let Some(reason) = Vec::from_iter(reasons).pop() {
                self.conflicts.entry(id).or_insert(reason);
            }
        }
        (self.layouts, self.conflicts)
    }
}
