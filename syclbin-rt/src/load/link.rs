// SPDX-License-Identifier: MIT OR Apache-2.0
//! Finds the images to link with an image, so that together they define every symbol that they use.
//!
//! A symbol is looked up first in the file of the importing image, then in all other files. The exporting image
//! may itself import symbols, even from the importing image's file. Several images may define the same C++ `inline`
//! function.
//!
//! Only the SPIR-V or PTX code counts: property sets record what the compiler intended to export, but the code contains
//! the actual definitions. All imports are resolved before the code reaches a driver, because some drivers crash the
//! process on an unresolved import.

use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::spirv::{ASSERT_FAIL, Import};
use syclbin::__private::{listed, mangled};

use crate::load::code::{self, Code};
use crate::load::files::{Files, ImageIndex};

/// The extension that a device reports if its driver implements the assert-failure function.
const ASSERT: &str = "cl_intel_devicelib_assert";

/// Returns `start` and all images that it needs, directly or indirectly.
///
/// # Errors
///
/// Fails if the device does not accept `start`, if a symbol or a virtual function is undefined, if several images
/// define the same symbol (except for weak definitions), or if an image imports a specialization constant.
pub(crate) fn closure(files: &Files<'_>, start: ImageIndex) -> Result<Vec<ImageIndex>, String> {
    let mut closure = Closure {
        files,
        images: Vec::new(),
        defined: BTreeMap::new(),
        undefined: BTreeMap::new(),
    };
    closure.add(start)?;
    let mut next = 0;
    while let Some(index) = closure.images.get(next).copied() {
        next += 1;
        closure.resolve(index)?;
    }
    closure.finish(start)
}

/// The images of a program, while their imports are resolved.
struct Closure<'f> {
    files: &'f Files<'f>,
    images: Vec<ImageIndex>,
    /// The symbols that the images define; `None` stands for a weak definition.
    defined: BTreeMap<&'f str, Option<ImageIndex>>,
    /// The symbols that no file defines, with the first image that imports each.
    undefined: BTreeMap<&'f str, ImageIndex>,
}

impl<'f> Closure<'f> {
    fn add(&mut self, index: ImageIndex) -> Result<(), String> {
        self.images.push(index);
        let code = self.files.code(index)?;
        // A linker picks any of the weak definitions, or the strong definition if there is one.
        for symbol in code.weak_exports() {
            self.defined.entry(symbol).or_insert(None);
        }
        // A kernel may also be a weak export.
        let weak: BTreeSet<&str> = code.weak_exports().into_iter().collect();
        let kernels = code.kernels().into_iter();
        let mut symbols = strong_exports(code);
        symbols.extend(kernels.filter(|kernel| !weak.contains(kernel)));
        for symbol in symbols {
            if let Some(Some(other)) = self.defined.insert(symbol, Some(index)) {
                return Err(format!(
                    "{} is defined by both {} and {}, and both are needed; define it only once",
                    called(symbol),
                    self.files.name(other),
                    self.files.name(index)
                ));
            }
        }
        Ok(())
    }

    /// Adds the images that define the imports of an image.
    fn resolve(&mut self, index: ImageIndex) -> Result<(), String> {
        let code = self.files.code(index)?;
        check_constants(code)?;
        self.add_virtual_functions(index)?;
        for symbol in code.imports() {
            if self.defined.contains_key(symbol) || self.undefined.contains_key(symbol) {
                continue;
            }
            if symbol == ASSERT_FAIL && self.files.facts.has(ASSERT) {
                continue; // the driver provides it
            }
            match self.exporter(index, symbol)? {
                Some(exporter) => self.add(exporter)?,
                None => _ = self.undefined.insert(symbol, index),
            }
        }
        Ok(())
    }

    /// Returns the image that defines `symbol` for the image at `importer`, if any. Fails if several modules
    /// define it differently.
    fn exporter(&self, importer: ImageIndex, symbol: &str) -> Result<Option<ImageIndex>, String> {
        let files = self.files;
        let exporters = files.symbols().exporters(files, importer, symbol);
        let Some((first, others)) = exporters.split_first() else {
            return Ok(None);
        };
        // All images of a module are interchangeable.
        let differs = |other: &&ImageIndex| {
            !other.is_same_module(*first) && files.image(**other).bytes != files.image(*first).bytes
        };
        match others.iter().find(differs) {
            None => Ok(Some(*first)),
            Some(other) => Err(format!(
                "{} is exported by both {} and {}; remove one of them",
                called(symbol),
                files.name(*first),
                files.name(*other)
            )),
        }
    }

    /// Adds the images in the same file that define the virtual functions called by an image. Such calls go through
    /// pointers, so the code does not name their targets.
    fn add_virtual_functions(&mut self, index: ImageIndex) -> Result<(), String> {
        let files = self.files;
        let uses = &files.unit(index).metadata.virtual_functions.uses;
        for set in BTreeSet::from_iter(&uses.0) {
            let is_fit =
                |other: &&ImageIndex| other.file == index.file && files.code(**other).is_ok();
            let definers = files.symbols().virtual_functions.get(set);
            let definers = Vec::from_iter(definers.into_iter().flatten().filter(is_fit));
            if definers.is_empty() {
                return Err(format!(
                    "it calls virtual functions of {set}, but no module of the file defines them for this device; \
                     compile the sources that call them together with the sources that define them"
                ));
            }
            for definer in definers {
                let mut images = self.images.iter();
                if !images.any(|other| other.is_same_module(*definer)) {
                    self.add(*definer)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the images, if every symbol is defined.
    fn finish(self, start: ImageIndex) -> Result<Vec<ImageIndex>, String> {
        if self.undefined.is_empty() {
            return Ok(self.images);
        }
        if self.undefined.contains_key(ASSERT_FAIL) {
            return Err(format!(
                "it relies on the driver to handle a failed `assert`, but the device lacks {ASSERT}; recompile \
                 without SYCLBIN_NATIVE_ASSERT"
            ));
        }
        let files = self.files;
        let symbol = |(symbol, importer): (&&str, &ImageIndex)| {
            let symbol = called(symbol);
            if *importer == start {
                symbol
            } else {
                format!("{symbol} (used by {})", files.name(*importer))
            }
        };
        let searched = match files.linked() {
            0 => "this file does not export them, and no other file is linked with it".to_owned(),
            1 => "neither this file nor the linked file exports them".to_owned(),
            linked => format!("neither this file nor the {linked} linked files export them"),
        };
        let unusable = self.undefined.keys().flat_map(|symbol| {
            let images = files.symbols().claimed.get(*symbol).into_iter().flatten();
            images.map(|index| unusable(files, *index, symbol))
        });
        Err(format!(
            "it uses undefined symbols: {}; {searched}; link the \
             file that defines them (`Module::builder(&queue).link(..)`), or compile the sources together{}",
            listed(self.undefined.iter().map(symbol)),
            unusable.collect::<String>()
        ))
    }
}

/// Describes an image that should export `symbol` according to its file, and explains why it does not.
fn unusable(files: &Files<'_>, index: ImageIndex, symbol: &str) -> String {
    let format = code::describe(files.image(index));
    let reason = files.code(index).err();
    let reason = reason.as_deref().unwrap_or("the code does not define it");
    format!(
        "\n    {} should be in {}, image {} ({format}): {reason}",
        called(symbol),
        files.name(index),
        index.image
    )
}

fn check_constants(code: &Code) -> Result<(), String> {
    let mut constants = code.imports();
    constants.retain(|symbol| Import::of(symbol) == Import::SpecializationConstant);
    if constants.is_empty() {
        return Ok(());
    }
    Err(format!(
        "it reads specialization constants that its compiler did not lower ({}); recompile with syclbin-clang, or with \
         clang++ from a DPC++ release",
        listed(constants)
    ))
}

/// Formats a symbol, together with its C++ name if it can be demangled.
fn called(symbol: &str) -> String {
    let Some(name) = mangled::parse(symbol).filter(|_| symbol.starts_with("_Z")) else {
        return symbol.to_owned();
    };
    format!("{} [{symbol}]", name.declared())
}

/// The images that define each symbol. Uses maps, because a hostile file may contain a hundred thousand symbols.
#[derive(Default)]
pub(crate) struct SymbolIndex {
    /// The images with a strong definition, of which a program may contain only one.
    exported: BTreeMap<String, Vec<ImageIndex>>,
    /// The images with a weak definition: at most one per file and per variant of a device library.
    weak: BTreeMap<String, Vec<ImageIndex>>,
    /// The images that export the symbol according to their file's metadata.
    claimed: BTreeMap<String, Vec<ImageIndex>>,
    /// The images that define each set of virtual functions, according to their metadata.
    virtual_functions: BTreeMap<String, Vec<ImageIndex>>,
}

impl SymbolIndex {
    pub(crate) fn new(files: &Files<'_>) -> Self {
        let mut symbols = Self::default();
        for index in files.images() {
            if let Ok(code) = files.code(index) {
                symbols.add(files, index, code);
            }
            let metadata = &files.unit(index).metadata;
            for symbol in metadata.exported_symbols.names() {
                push(&mut symbols.claimed, symbol, index);
            }
            for set in &metadata.virtual_functions.defines.0 {
                push(&mut symbols.virtual_functions, set, index);
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

    /// Returns the images that define `symbol` for the image at `importer`: those in the same file if there are any, or
    /// else those in other files. All weak definitions are equivalent, so at most one of them is returned.
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

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
