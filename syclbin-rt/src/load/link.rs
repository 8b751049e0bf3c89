//! Linking: finds the images that together define all symbols that an image uses.
//!
//! Symbols are searched in the file of the image that imports them, then in all other files. An image that is
//! found may import in turn, also from the file where the search began. A function that is `inline` in C++ may
//! be in several images.
//!
//! Only the code counts, SPIR-V or PTX: the property sets of a file contain what its compiler meant to offer,
//! but the code contains what is there. Everything is resolved before a driver sees any of it, because some
//! drivers end the process on an unresolved import.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};

use syclbin::__private::mangled;
use syclbin::__private::spirv::{ASSERT_FAIL, Import};
use syclbin::metadata::{ArgumentMask, Bfloat16, ModuleMetadata};
use syclbin::{AbstractModule, Syclbin};

use crate::device::facts::Facts;
use crate::load::device_code::Code;
use crate::load::{image, requirements};

/// The extension of devices that have a function for failed asserts.
const ASSERT: &str = "cl_intel_devicelib_assert";

/// The loaded file, and the files that it is linked with.
pub(crate) struct Files<'a> {
    files: Vec<Vec<Unit<'a>>>,
    facts: &'a Facts,
    /// Filled when the first image imports anything.
    index: OnceCell<Index>,
    /// The images of the loaded file that have a kernel; filled when native code has no SPIR-V beside it.
    kernels: OnceCell<BTreeMap<String, Vec<Place>>>,
}

/// The images that have a symbol. These are maps because a hostile file may have a hundred thousand symbols.
#[derive(Default)]
struct Index {
    /// The images whose code defines it exclusively.
    exported: BTreeMap<String, Vec<Place>>,
    /// The images whose code defines it and that others may too: an image of each file, and of each form of a
    /// device library.
    weak: BTreeMap<String, Vec<Place>>,
    /// The other images of modules that should define it according to their files.
    claimed: BTreeMap<String, Vec<Place>>,
}

/// An abstract module.
pub(crate) struct Unit<'a> {
    pub(crate) module: AbstractModule<'a>,
    /// The meaning of its property sets, or the reason why they are malformed.
    pub(crate) metadata: Result<ModuleMetadata, String>,
    /// The code of each image, or the reason why the device does not take it; filled on demand.
    codes: OnceCell<Vec<Result<Code, String>>>,
    /// Its SPIR-V, whatever the device takes; filled on demand.
    described: OnceCell<Option<Code>>,
}

/// The position of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// 0 is the loaded file.
    pub(crate) file: usize,
    /// The abstract module.
    pub(crate) module: usize,
    pub(crate) image: usize,
}

impl<'a> Files<'a> {
    /// Creates the set of `files` for a device. The loaded file comes first.
    pub(crate) fn new(files: Vec<Syclbin<'a>>, facts: &'a Facts) -> Self {
        let units = |file: Syclbin<'a>| file.modules.into_iter().map(Unit::new).collect();
        Self {
            files: files.into_iter().map(units).collect(),
            facts,
            index: OnceCell::new(),
            kernels: OnceCell::new(),
        }
    }

    /// Returns the modules of the loaded file.
    pub(crate) fn loaded(&self) -> &[Unit<'a>] {
        self.files.first().map_or(&[], Vec::as_slice)
    }

    /// Returns the modules of all files.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Unit<'a>> + Clone {
        self.files.iter().flatten()
    }

    pub(crate) fn unit(&self, place: Place) -> Option<&Unit<'a>> {
        self.files.get(place.file)?.get(place.module)
    }

    /// Returns the code of an image, or the reason why the device does not take it.
    pub(crate) fn code(&self, place: Place) -> Result<&Code, String> {
        let code = self
            .unit(place)
            .and_then(|unit| unit.codes(self.facts).get(place.image));
        match code {
            Some(code) => code.as_ref().map_err(Clone::clone),
            None => Err("there is no such image".to_owned()),
        }
    }

    /// Returns the SPIR-V of a kernel in the loaded file, with the arguments that `mask` leaves. Native code of
    /// the kernel in a separate module was made from the same source.
    pub(crate) fn code_of(&self, kernel: &str, mask: Option<&ArgumentMask>) -> Option<&Code> {
        let kernels = self.kernels.get_or_init(|| {
            let mut kernels: BTreeMap<String, Vec<Place>> = BTreeMap::new();
            for place in self.places(0) {
                let names = self.code(place).map(Code::kernels);
                for name in names.into_iter().flatten() {
                    kernels.entry(name.to_owned()).or_default().push(place);
                }
            }
            kernels
        });
        let takes_the_same = |place: &&Place| {
            let metadata = self
                .unit(**place)
                .and_then(|unit| unit.metadata.as_ref().ok());
            metadata.is_some_and(|metadata| metadata.argument_masks.get(kernel) == mask)
        };
        let place = kernels.get(kernel)?.iter().find(takes_the_same)?;
        self.code(*place).ok()
    }

    /// Returns `start` and all images that it needs, directly or indirectly.
    ///
    /// # Errors
    ///
    /// Names in words the symbols that no image or several images define, and specialization constants that are
    /// only imports.
    pub(crate) fn closure(&self, start: Place) -> Result<Vec<Place>, String> {
        let mut chosen = Vec::new();
        let mut missing = BTreeMap::new();
        let mut defined = BTreeMap::new();
        self.choose(start, &mut chosen, &mut defined)?;
        let mut next = 0;
        while let Some(place) = chosen.get(next).copied() {
            next += 1;
            let code = self.code(place)?;
            check_constants(code)?;
            for symbol in code.imports() {
                if defined.contains_key(symbol) || missing.contains_key(symbol) {
                    continue;
                }
                if symbol == ASSERT_FAIL && self.facts.has(ASSERT) {
                    continue; // the driver has it
                }
                match self.exporter(place, symbol)? {
                    Some(exporter) => self.choose(exporter, &mut chosen, &mut defined)?,
                    None => {
                        missing.insert(symbol, place);
                    }
                }
            }
        }
        match missing.is_empty() {
            true => Ok(chosen),
            false => Err(self.unresolved(start, &missing)),
        }
    }

    /// Adds an image to the images of the program.
    fn choose<'c>(
        &'c self,
        place: Place,
        chosen: &mut Vec<Place>,
        defined: &mut BTreeMap<&'c str, Option<Place>>,
    ) -> Result<(), String> {
        chosen.push(place);
        let code = self.code(place)?;
        // A linker takes any of these, or the definition that is not weak.
        for symbol in code.weak_exports() {
            defined.entry(symbol).or_insert(None);
        }
        // Either may list a kernel.
        let weak: BTreeSet<&str> = code.weak_exports().into_iter().collect();
        let kernels = code.kernels().into_iter();
        let mut symbols = strong_exports(code);
        symbols.extend(kernels.filter(|kernel| !weak.contains(kernel)));
        for symbol in symbols {
            if let Some(Some(other)) = defined.insert(symbol, Some(place)) {
                return Err(format!(
                    "{} is defined by {} and by {}, and both are needed; compile it once",
                    called(symbol),
                    self.name(other),
                    self.name(place)
                ));
            }
        }
        Ok(())
    }

    /// Returns the only image that defines `symbol`, if there is any.
    ///
    /// # Errors
    ///
    /// When several images define it.
    fn exporter(&self, importer: Place, symbol: &str) -> Result<Option<Place>, String> {
        let index = self.index.get_or_init(|| self.index());
        let places = |map: &BTreeMap<String, Vec<Place>>| -> Vec<Place> {
            map.get(symbol).cloned().unwrap_or_default()
        };
        let (strong, weak) = (places(&index.exported), places(&index.weak));
        let near = |place: &Place| place.file == importer.file;
        let has_near = strong.iter().chain(&weak).any(near);
        let nearest = |places: Vec<Place>| -> Vec<Place> {
            let places = places.into_iter();
            places.filter(|place| near(place) == has_near).collect()
        };
        let mut candidates = nearest(strong);
        let is_weak = candidates.is_empty();
        if is_weak {
            candidates = nearest(weak);
        }
        // A device library comes in two forms; the form with instructions has been found to fit.
        if candidates
            .iter()
            .any(|place| self.is_of_instructions(*place))
        {
            candidates.retain(|place| self.is_of_instructions(*place));
        }
        if is_weak {
            // All weak definitions mean the same.
            return Ok(candidates.first().copied());
        }
        let Some((first, others)) = candidates.split_first() else {
            return Ok(None);
        };
        // All images of a module have the same meaning.
        let differs = |other: &&Place| {
            (other.file, other.module) != (first.file, first.module)
                && self.bytes(**other) != self.bytes(*first)
        };
        match others.iter().find(differs) {
            None => Ok(Some(*first)),
            Some(other) => Err(format!(
                "{} is exported by {} and by {}; leave one of them out",
                called(symbol),
                self.name(*first),
                self.name(*other)
            )),
        }
    }

    /// Returns whether a module is a device library that uses dedicated instructions for `bfloat16`.
    fn is_of_instructions(&self, place: Place) -> bool {
        let metadata = self
            .unit(place)
            .and_then(|unit| unit.metadata.as_ref().ok());
        metadata
            .is_some_and(|metadata| metadata.device_libraries.bfloat16 == Some(Bfloat16::Native))
    }

    fn index(&self) -> Index {
        let mut index = Index::default();
        let places = (0..self.files.len()).flat_map(|file| self.places(file));
        for place in places {
            if let Ok(code) = self.code(place) {
                for symbol in strong_exports(code) {
                    let places = index.exported.entry(symbol.to_owned()).or_default();
                    places.push(place);
                }
                for symbol in code.weak_exports() {
                    let places = index.weak.entry(symbol.to_owned()).or_default();
                    let alike = |other: &Place| {
                        other.file == place.file
                            && self.is_of_instructions(*other) == self.is_of_instructions(place)
                    };
                    // An entry for each file, instead of each module, saves memory.
                    if !places.iter().any(alike) {
                        places.push(place);
                    }
                }
            }
            let metadata = self
                .unit(place)
                .and_then(|unit| unit.metadata.as_ref().ok());
            for symbol in metadata
                .iter()
                .flat_map(|metadata| metadata.exported_symbols.names())
            {
                let places = index.claimed.entry(symbol.to_owned()).or_default();
                places.push(place);
            }
        }
        index
    }

    fn places(&self, file: usize) -> impl Iterator<Item = Place> {
        let units = self.files.get(file).into_iter().flatten().enumerate();
        units.flat_map(move |(module, unit)| {
            (0..unit.module.images.len()).map(move |image| Place {
                file,
                module,
                image,
            })
        })
    }

    /// Returns the bytes of an image.
    pub(crate) fn bytes(&self, place: Place) -> Option<&[u8]> {
        let image = self.unit(place)?.module.images.get(place.image)?;
        Some(&image.bytes)
    }

    /// Returns the name in messages for the module of an image.
    pub(crate) fn name(&self, place: Place) -> String {
        let Place { file, module, .. } = place;
        let names = self.unit(place).map(Unit::kernels).unwrap_or_default();
        match file {
            0 => format!("module {module} ({names})"),
            _ => format!("module {module} ({names}) of linked file {file}"),
        }
    }

    fn unresolved(&self, start: Place, missing: &BTreeMap<&str, Place>) -> String {
        let symbols = missing.iter().map(|(symbol, importer)| match importer {
            importer if *importer == start => called(symbol),
            importer => format!("{} (used by {})", called(symbol), self.name(*importer)),
        });
        if missing.contains_key(ASSERT_FAIL) {
            return format!(
                "it has an `assert`, and the device lacks {ASSERT}; compile it with NDEBUG defined"
            );
        }
        let mut message = format!(
            "it uses symbols that it does not hold: {}; nothing exports them in this file{}; load \
             it with the file that defines them (`Module::builder(&queue).link(..)`), or compile \
             the sources together",
            symbols.collect::<Vec<_>>().join(", "),
            match self.files.len() {
                0 | 1 => ", and no other is linked with it".to_owned(),
                2 => " or the one that is linked with it".to_owned(),
                files => format!(" or the {} that are linked with it", files - 1),
            }
        );
        let index = self.index.get_or_init(|| self.index());
        for symbol in missing.keys() {
            for place in index.claimed.get(*symbol).into_iter().flatten() {
                message.push_str(&format!("\n    {}", self.unfit(*place, symbol)));
            }
        }
        message
    }

    /// Explains why an image that should export `symbol` cannot be used.
    fn unfit(&self, place: Place, symbol: &str) -> String {
        let image = self
            .unit(place)
            .and_then(|unit| unit.module.images.get(place.image));
        let reason = self.code(place).err();
        format!(
            "{} is to be in {}, image {} ({}): {}",
            called(symbol),
            self.name(place),
            place.image,
            image.map(image::describe).unwrap_or_default(),
            reason.unwrap_or_else(|| "its code does not have it".to_owned())
        )
    }
}

impl<'a> Unit<'a> {
    fn new(module: AbstractModule<'a>) -> Self {
        // A malformed value may stand for anything: a launcher that skipped it would launch wrongly.
        let metadata = ModuleMetadata::read(&module.metadata);
        Self {
            metadata: metadata.map_err(|malformed| malformed.to_string()),
            module,
            codes: OnceCell::new(),
            described: OnceCell::new(),
        }
    }

    /// Returns code that may contain more about parameters than an image's code. It is SPIR-V, which was made
    /// from the same source and so takes the same parameters.
    pub(crate) fn described(&self) -> Option<&Code> {
        let described = self.described.get_or_init(|| {
            let mut images = self.module.images.iter();
            images.find_map(image::described)
        });
        described.as_ref()
    }

    fn codes(&self, facts: &Facts) -> &[Result<Code, String>] {
        self.codes.get_or_init(|| {
            let images = self.module.images.iter();
            let code = |image| {
                let metadata = self.metadata.as_ref().map_err(Clone::clone)?;
                requirements::check(metadata, facts)?;
                image::code(image, facts)
            };
            images.map(code).collect()
        })
    }

    /// Returns the symbols of its kernels, for messages.
    pub(crate) fn kernels(&self) -> String {
        let names: Vec<&str> = self.module.kernel_names().collect();
        match names.as_slice() {
            [] => "no kernels".to_owned(),
            names => names.join(", "),
        }
    }
}

/// Returns the symbols that no other module of a program may define.
fn strong_exports(code: &Code) -> BTreeSet<&str> {
    let weak: BTreeSet<&str> = code.weak_exports().into_iter().collect();
    let exports = code.exports().into_iter();
    exports.filter(|symbol| !weak.contains(symbol)).collect()
}

fn check_constants(code: &Code) -> Result<(), String> {
    let constants = code.imports().into_iter();
    let constants: Vec<&str> = constants
        .filter(|symbol| Import::of(symbol) == Import::SpecializationConstant)
        .collect();
    if constants.is_empty() {
        return Ok(());
    }
    Err(format!(
        "it reads specialization constants that its compiler left unlowered ({}); compile it with \
         syclbin-clang or the clang++ of a DPC++ release",
        constants.join(", ")
    ))
}

/// Formats a symbol as C++ spells it, if it can be demangled, and as it is.
fn called(symbol: &str) -> String {
    let Some(name) = mangled::parse(symbol).filter(|_| symbol.starts_with("_Z")) else {
        return symbol.to_owned();
    };
    match &name.parameters {
        Some(parameters) => format!("{}({}) [{symbol}]", name.qualified(), parameters.join(", ")),
        None => format!("{} [{symbol}]", name.qualified()),
    }
}

#[cfg(test)]
mod tests {
    use syclbin::{Image, IrType, State};

    use super::*;

    /// Builds SPIR-V that only imports a symbol.
    fn importing(symbol: &str) -> Vec<u8> {
        const DECORATE: u32 = 71;
        const LINKAGE: u32 = 41;
        const IMPORT: u32 = 1;
        let mut name = symbol.as_bytes().to_vec();
        name.resize(name.len() / 4 * 4 + 4, 0);
        let name = name
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
        let mut operands = vec![1, LINKAGE];
        operands.extend(name);
        operands.push(IMPORT);
        let length = u32::try_from(operands.len() + 1).unwrap();
        let mut words = vec![0x0723_0203, 0x0001_0400, 0, 2, 0];
        words.push(length << 16 | DECORATE);
        words.extend(operands);
        words.into_iter().flat_map(u32::to_le_bytes).collect()
    }

    fn closure(symbol: &str, extensions: &str) -> Result<usize, String> {
        let mut file = Syclbin::new(State::Executable);
        let mut module = AbstractModule::default();
        let code = importing(symbol);
        let image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", code);
        module.images.push(image);
        file.modules.push(module);
        let facts = Facts {
            takes_spirv: true,
            extensions: extensions.to_owned(),
            ..Facts::default()
        };
        let files = Files::new(vec![file], &facts);
        let place = Place {
            file: 0,
            module: 0,
            image: 0,
        };
        files.closure(place).map(|places| places.len())
    }

    #[test]
    fn the_function_of_asserts_is_the_drivers_where_the_device_has_it() {
        assert_eq!(closure(ASSERT_FAIL, "a cl_intel_devicelib_assert"), Ok(1));
        assert_eq!(
            closure(ASSERT_FAIL, "cl_khr_fp64"),
            Err(
                "it has an `assert`, and the device lacks cl_intel_devicelib_assert; compile it \
                 with NDEBUG defined"
                    .to_owned()
            )
        );
        let other = closure("__devicelib_other", "cl_intel_devicelib_assert").unwrap_err();
        assert!(
            other.contains("symbols that it does not hold: __devicelib_other"),
            "{other}"
        );
    }
}
