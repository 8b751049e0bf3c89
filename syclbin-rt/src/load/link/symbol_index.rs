// SPDX-License-Identifier: MIT OR Apache-2.0
//! The symbol index: which images define a symbol.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::metadata::Symbols;

use crate::load::device_code::Code;
use crate::load::files::{Files, ImageIndex};
use crate::load::link::error::LinkError;
use crate::load::unit::Unit;

/// The images that have a symbol. These are maps because a hostile file may have a hundred thousand symbols.
#[derive(Default)]
pub(crate) struct SymbolIndex {
    /// The images whose code defines it exclusively.
    exported: BTreeMap<String, Vec<ImageIndex>>,
    /// The images whose code defines it and that others may too: an image of each file, and of each form of a
    /// device library.
    weak: BTreeMap<String, Vec<ImageIndex>>,
    /// The images of modules that should define it according to their files.
    claimed: BTreeMap<String, Vec<ImageIndex>>,
}

impl SymbolIndex {
    /// Reads the symbols of all files.
    pub(crate) fn new(files: &Files<'_>) -> Self {
        let mut symbols = Self::default();
        for index in files.images() {
            if let Ok(code) = files.code(index) {
                symbols.add(files, index, code);
            }
            let exported = files
                .unit(index)
                .map(|unit| &unit.metadata.exported_symbols);
            for symbol in exported.into_iter().flat_map(Symbols::names) {
                let images = symbols.claimed.entry(symbol.to_owned()).or_default();
                images.push(index);
            }
        }
        symbols
    }

    fn add(&mut self, files: &Files<'_>, index: ImageIndex, code: &Code) {
        for symbol in strong_exports(code) {
            let images = self.exported.entry(symbol.to_owned()).or_default();
            images.push(index);
        }
        for symbol in code.weak_exports() {
            let images = self.weak.entry(symbol.to_owned()).or_default();
            let alike = |other: &ImageIndex| {
                other.file == index.file
                    && has_bfloat16_instructions(files, *other)
                        == has_bfloat16_instructions(files, index)
            };
            // An entry for each file, instead of each module, saves memory.
            if !images.iter().any(alike) {
                images.push(index);
            }
        }
    }

    /// Returns the images that should define `symbol` according to their files.
    pub(crate) fn claimed(&self, symbol: &str) -> &[ImageIndex] {
        self.claimed.get(symbol).map_or(&[], Vec::as_slice)
    }

    /// Returns the only image that defines `symbol`, if there is any.
    ///
    /// # Errors
    ///
    /// When several images define it.
    pub(crate) fn exporter(
        &self,
        files: &Files<'_>,
        importer: ImageIndex,
        symbol: &str,
    ) -> Result<Option<ImageIndex>, LinkError> {
        let images = |map: &BTreeMap<String, Vec<ImageIndex>>| -> Vec<ImageIndex> {
            map.get(symbol).cloned().unwrap_or_default()
        };
        let (strong, weak) = (images(&self.exported), images(&self.weak));
        let near = |index: &ImageIndex| index.file == importer.file;
        let has_near = strong.iter().chain(&weak).any(near);
        let nearest = |images: Vec<ImageIndex>| -> Vec<ImageIndex> {
            let images = images.into_iter();
            images.filter(|index| near(index) == has_near).collect()
        };
        let mut candidates = nearest(strong);
        let is_weak = candidates.is_empty();
        if is_weak {
            candidates = nearest(weak);
        }
        // A device library comes in two forms; the form with instructions has been found to fit.
        let has_instructions = |index: &ImageIndex| has_bfloat16_instructions(files, *index);
        if candidates.iter().any(has_instructions) {
            candidates.retain(has_instructions);
        }
        if is_weak {
            // All weak definitions mean the same.
            return Ok(candidates.first().copied());
        }
        let Some((first, others)) = candidates.split_first() else {
            return Ok(None);
        };
        // All images of a module have the same meaning.
        let differs = |other: &&ImageIndex| {
            (other.file, other.module) != (first.file, first.module)
                && files.bytes(**other) != files.bytes(*first)
        };
        match others.iter().find(differs) {
            None => Ok(Some(*first)),
            Some(other) => Err(LinkError::ExportedTwice {
                symbol: symbol.to_owned(),
                modules: [files.name(*first), files.name(*other)],
            }),
        }
    }
}

/// Returns the symbols that no other module of a program may define.
pub(super) fn strong_exports(code: &Code) -> BTreeSet<&str> {
    let weak: BTreeSet<&str> = code.weak_exports().into_iter().collect();
    let exports = code.exports().into_iter();
    exports.filter(|symbol| !weak.contains(symbol)).collect()
}

fn has_bfloat16_instructions(files: &Files<'_>, index: ImageIndex) -> bool {
    files
        .unit(index)
        .is_some_and(Unit::has_bfloat16_instructions)
}
