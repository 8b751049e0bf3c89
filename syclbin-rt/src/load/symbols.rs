// SPDX-License-Identifier: MIT OR Apache-2.0
//! The symbol index: which images define a symbol.

use std::collections::{BTreeMap, BTreeSet};

use crate::load::code::Code;
use crate::load::files::{Files, ImageIndex};

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
            let unit = files.unit(index);
            let exported = unit.map(|unit| unit.metadata.exported_symbols.names());
            for symbol in exported.into_iter().flatten() {
                push(&mut symbols.claimed, symbol, index);
            }
        }
        symbols
    }

    fn add(&mut self, files: &Files<'_>, index: ImageIndex, code: &Code) {
        for symbol in strong_exports(code) {
            push(&mut self.exported, symbol, index);
        }
        for symbol in code.weak_exports() {
            let images = self.weak.entry(symbol.to_owned()).or_default();
            let alike = |other: &ImageIndex| {
                other.file == index.file
                    && files.has_bfloat16_instructions(*other)
                        == files.has_bfloat16_instructions(index)
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

    /// Returns the images that define `symbol` for the image at `importer`: those of the same file, if there are any.
    /// Of weak definitions, which all mean the same, there is at most one.
    pub(crate) fn exporters(
        &self,
        files: &Files<'_>,
        importer: ImageIndex,
        symbol: &str,
    ) -> Vec<ImageIndex> {
        let images = |map: &BTreeMap<String, Vec<ImageIndex>>| -> Vec<ImageIndex> {
            map.get(symbol).cloned().unwrap_or_default()
        };
        let (mut strong, mut weak) = (images(&self.exported), images(&self.weak));
        let is_near = |index: &ImageIndex| index.file == importer.file;
        let has_near = strong.iter().chain(&weak).any(is_near);
        strong.retain(|index| is_near(index) == has_near);
        weak.retain(|index| is_near(index) == has_near);
        let is_weak = strong.is_empty();
        let mut images = if is_weak { weak } else { strong };
        // A device library comes in two forms; the form with instructions has been found to fit.
        let has_instructions = |index: &ImageIndex| files.has_bfloat16_instructions(*index);
        if images.iter().any(has_instructions) {
            images.retain(has_instructions);
        }
        if is_weak {
            images.truncate(1);
        }
        images
    }
}

fn push(map: &mut BTreeMap<String, Vec<ImageIndex>>, symbol: &str, index: ImageIndex) {
    map.entry(symbol.to_owned()).or_default().push(index);
}

/// Returns the symbols that no other module of a program may define.
pub(crate) fn strong_exports(code: &Code) -> BTreeSet<&str> {
    let weak: BTreeSet<&str> = code.weak_exports().into_iter().collect();
    let exports = code.exports().into_iter();
    exports.filter(|symbol| !weak.contains(symbol)).collect()
}
