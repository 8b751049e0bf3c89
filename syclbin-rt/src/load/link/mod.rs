// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linking: finds the images that together define all symbols that an image uses.
//!
//! Symbols are searched in the file of the image that imports them, then in all other files. An image that is
//! found may import in turn, also from the file where the search began. A function that is `inline` in C++ may
//! be in several images.
//!
//! Only the code counts, SPIR-V or PTX: the property sets of a file contain what its compiler meant to offer,
//! but the code contains what is there. Everything is resolved before a driver sees any of it, because some
//! drivers end the process on an unresolved import.

pub(crate) mod error;
pub(crate) mod symbol_index;
#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::spirv::{ASSERT_FAIL, Import};

use crate::load::device_code::Code;
use crate::load::files::{Files, ImageIndex};
use crate::load::image;
use crate::load::link::error::{ASSERT, LinkError, Undefined, UndefinedSymbol, UnusableImage};
use crate::load::link::symbol_index::strong_exports;

/// Returns `start` and all images that it needs, directly or indirectly.
///
/// # Errors
///
/// When no image or several images define a symbol, and when a specialization constant is only an import.
pub(crate) fn closure(files: &Files<'_>, start: ImageIndex) -> Result<Vec<ImageIndex>, LinkError> {
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
    fn code(&self, index: ImageIndex) -> Result<&'f Code, LinkError> {
        self.files.code(index).map_err(LinkError::Unfit)
    }

    /// Adds an image to the images of the program.
    fn add(&mut self, index: ImageIndex) -> Result<(), LinkError> {
        self.images.push(index);
        let code = self.code(index)?;
        // A linker takes any of these, or the definition that is not weak.
        for symbol in code.weak_exports() {
            self.defined.entry(symbol).or_insert(None);
        }
        // Either may list a kernel.
        let weak: BTreeSet<&str> = code.weak_exports().into_iter().collect();
        let kernels = code.kernels().into_iter();
        let mut symbols = strong_exports(code);
        symbols.extend(kernels.filter(|kernel| !weak.contains(kernel)));
        for symbol in symbols {
            if let Some(Some(other)) = self.defined.insert(symbol, Some(index)) {
                return Err(LinkError::DefinedTwice {
                    symbol: symbol.to_owned(),
                    modules: [self.files.name(other), self.files.name(index)],
                });
            }
        }
        Ok(())
    }

    /// Adds the images that define the imports of an image.
    fn resolve(&mut self, index: ImageIndex) -> Result<(), LinkError> {
        let code = self.code(index)?;
        check_constants(code)?;
        self.add_virtual_functions(index)?;
        for symbol in code.imports() {
            if self.defined.contains_key(symbol) || self.undefined.contains_key(symbol) {
                continue;
            }
            if symbol == ASSERT_FAIL && self.files.facts().has(ASSERT) {
                continue; // the driver has it
            }
            let symbols = self.files.symbols();
            match symbols.exporter(self.files, index, symbol)? {
                Some(exporter) => self.add(exporter)?,
                None => {
                    self.undefined.insert(symbol, index);
                }
            }
        }
        Ok(())
    }

    /// Adds the images of the same file that define the virtual functions which an image calls. A call goes through
    /// a pointer, so the code does not name what it calls.
    fn add_virtual_functions(&mut self, index: ImageIndex) -> Result<(), LinkError> {
        let files = self.files;
        let sets = |index| Some(&files.unit(index)?.metadata.virtual_functions);
        let called = sets(index).map_or(&[][..], |sets| &sets.uses.0);
        for set in called {
            let defines = |other: &ImageIndex| {
                other.file == index.file
                    && sets(*other).is_some_and(|sets| sets.defines.0.contains(set))
                    && files.code(*other).is_ok()
            };
            let definers: Vec<ImageIndex> = files.images().filter(defines).collect();
            if definers.is_empty() {
                return Err(LinkError::VirtualFunctions(set.clone()));
            }
            for definer in definers {
                let same = |other: &ImageIndex| {
                    (other.file, other.module) == (definer.file, definer.module)
                };
                if !self.images.iter().any(same) {
                    self.add(definer)?;
                }
            }
        }
        Ok(())
    }

    /// Returns the images, if they define all their symbols.
    fn finish(self, start: ImageIndex) -> Result<Vec<ImageIndex>, LinkError> {
        if self.undefined.is_empty() {
            return Ok(self.images);
        }
        if self.undefined.contains_key(ASSERT_FAIL) {
            return Err(LinkError::NoAssert);
        }
        let files = self.files;
        let symbol = |(symbol, importer): (&&str, &ImageIndex)| UndefinedSymbol {
            symbol: (*symbol).to_owned(),
            importer: (*importer != start).then(|| files.name(*importer)),
        };
        let claimed = self.undefined.keys().flat_map(|symbol| {
            let images = files.symbols().claimed(symbol).iter();
            images.map(|index| unusable(files, *index, symbol))
        });
        Err(LinkError::Undefined(Undefined {
            symbols: self.undefined.iter().map(symbol).collect(),
            linked: files.linked(),
            unusable: claimed.collect(),
        }))
    }
}

/// Describes an image that should export `symbol` but cannot be used.
fn unusable(files: &Files<'_>, index: ImageIndex, symbol: &str) -> UnusableImage {
    UnusableImage {
        symbol: symbol.to_owned(),
        module: files.name(index),
        image: index.image,
        format: files.image(index).map(image::describe).unwrap_or_default(),
        reason: files.code(index).err(),
    }
}

fn check_constants(code: &Code) -> Result<(), LinkError> {
    let constants = code.imports().into_iter();
    let constants: Vec<String> = constants
        .filter(|symbol| Import::of(symbol) == Import::SpecializationConstant)
        .map(str::to_owned)
        .collect();
    if constants.is_empty() {
        Ok(())
    } else {
        Err(LinkError::UnloweredConstants(constants))
    }
}
