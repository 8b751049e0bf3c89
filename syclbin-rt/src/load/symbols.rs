// SPDX-License-Identifier: MIT OR Apache-2.0
//! The symbol index, which maps each symbol to the images that define it.

use std::collections::{BTreeMap, BTreeSet};

use crate::load::code::Code;
use crate::load::files::{Files, ImageIndex};

/// The images that define each symbol. Uses maps, because a hostile file may contain a hundred thousand symbols.
#[derive(Default)]
pub(crate) struct SymbolIndex {
    /// The images with a strong definition, of which a program may contain only one.
    exported: BTreeMap<String, Vec<ImageIndex>>,
    /// The images with a weak definition: at most one per file and per variant of a device library.
    weak: BTreeMap<String, Vec<ImageIndex>>,
    /// The images that export the symbol according to their file's metadata.
    claimed: BTreeMap<String, Vec<ImageIndex>>,
}

impl SymbolIndex {
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
            // One entry per file, rather than per module, saves memory.
            if !images.iter().any(alike) {
                images.push(index);
            }
        }
    }

    pub(crate) fn claimed(&self, symbol: &str) -> &[ImageIndex] {
        self.claimed.get(symbol).map_or(&[], Vec::as_slice)
    }

    /// Returns the images that define `symbol` for the image at `importer`, preferably from the same file. All weak
    /// definitions are equivalent, so at most one of them is returned.
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
        // Device libraries come in two variants. The variant with dedicated instructions is listed only if the device
        // supports it.
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
