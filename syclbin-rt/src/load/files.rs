// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files: the loaded file and the files linked with it, with parsed property sets.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use syclbin::__private::listed;
use syclbin::metadata::{ArgumentMask, Bfloat16, Malformed, ModuleMetadata};
use syclbin::{AbstractModule, Image, Syclbin};

use crate::backend::facts::Facts;
use crate::load::code::{self, Code};
use crate::load::link::SymbolIndex;
use crate::load::requirements;

pub(crate) struct Files<'a> {
    files: Vec<File<'a>>,
    pub(crate) facts: &'a Facts,
    /// Filled when an image first imports a symbol.
    symbols: OnceLock<SymbolIndex>,
    /// The images of the loaded file that contain SPIR-V or PTX for each kernel; filled when a module with native code
    /// contains no such image.
    kernels: OnceLock<BTreeMap<String, Vec<ImageIndex>>>,
}

struct File<'a> {
    head: Syclbin<'a>,
    units: Vec<Result<Unit<'a>, Box<MalformedModule<'a>>>>,
}

/// An abstract module with valid property sets.
pub(crate) struct Unit<'a> {
    pub(crate) module: AbstractModule<'a>,
    pub(crate) metadata: ModuleMetadata,
    /// The code of each image, or the reason why the device does not accept the image; filled on demand.
    codes: OnceLock<Vec<Result<Code, String>>>,
    /// The module's SPIR-V, whether or not the device accepts it; filled on demand.
    described: OnceLock<Option<Code>>,
}

/// An abstract module with a malformed property. Its images are not used, because ignoring the property could make
/// launches incorrect.
pub(crate) struct MalformedModule<'a> {
    pub(crate) module: AbstractModule<'a>,
    pub(crate) reason: Malformed,
}

/// The position of an image of a valid module among the files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ImageIndex {
    /// 0 is the loaded file.
    pub(crate) file: usize,
    pub(crate) module: usize,
    pub(crate) image: usize,
}

impl ImageIndex {
    pub(crate) fn is_same_module(self, other: Self) -> bool {
        (self.file, self.module) == (other.file, other.module)
    }
}

impl<'a> Files<'a> {
    /// Creates the set of `files` for a device. The loaded file comes first, and must exist.
    pub(crate) fn new(files: Vec<Syclbin<'a>>, facts: &'a Facts) -> Self {
        let file = |mut head: Syclbin<'a>| {
            let modules = std::mem::take(&mut head.modules);
            let units = modules.into_iter().map(Unit::new).collect();
            File { head, units }
        };
        Self {
            files: files.into_iter().map(file).collect(),
            facts,
            symbols: OnceLock::new(),
            kernels: OnceLock::new(),
        }
    }

    /// Returns the modules of the loaded file.
    pub(crate) fn loaded(&self) -> &[Result<Unit<'a>, Box<MalformedModule<'a>>>] {
        &self.files[0].units
    }

    /// Returns the loaded file without its modules.
    pub(crate) fn head(&self) -> &Syclbin<'a> {
        &self.files[0].head
    }

    /// Returns complete copies of the files, including malformed modules.
    pub(crate) fn whole(&self) -> Vec<Syclbin<'a>> {
        let whole = |file: &File<'a>| Syclbin {
            modules: file.units.iter().map(|unit| module(unit).clone()).collect(),
            ..file.head.clone()
        };
        self.files.iter().map(whole).collect()
    }

    /// Returns the valid modules of all files.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Unit<'a>> + Clone {
        self.files.iter().flat_map(|file| &file.units).flatten()
    }

    /// Returns the number of files linked with the loaded file.
    pub(crate) fn linked(&self) -> usize {
        self.files.len().saturating_sub(1)
    }

    /// Returns an image's module.
    pub(crate) fn unit(&self, index: ImageIndex) -> &Unit<'a> {
        match &self.files[index.file].units[index.module] {
            Ok(unit) => unit,
            Err(_) => unreachable!("only images of valid modules have an index"),
        }
    }

    pub(crate) fn image(&self, index: ImageIndex) -> &Image<'a> {
        &self.unit(index).module.images[index.image]
    }

    /// Returns an image's code, or the reason why the device does not accept the image.
    pub(crate) fn code(&self, index: ImageIndex) -> Result<&Code, String> {
        let code = &self.unit(index).codes(self.facts)[index.image];
        code.as_ref().map_err(Clone::clone)
    }

    /// Returns a kernel's code from any module in the loaded file that records the same argument mask for the kernel.
    /// If native code is in a separate module, this is the SPIR-V or PTX compiled from the same source.
    pub(crate) fn code_of(&self, kernel: &str, mask: Option<&ArgumentMask>) -> Option<&Code> {
        let kernels = self.kernels.get_or_init(|| {
            let mut kernels: BTreeMap<String, Vec<ImageIndex>> = BTreeMap::new();
            for index in self.images().take_while(|index| index.file == 0) {
                for name in self.code(index).map(Code::kernels).into_iter().flatten() {
                    kernels.entry(name.to_owned()).or_default().push(index);
                }
            }
            kernels
        });
        let takes_the_same =
            |index: &&ImageIndex| self.unit(**index).metadata.argument_masks.get(kernel) == mask;
        let index = kernels.get(kernel)?.iter().find(takes_the_same)?;
        self.code(*index).ok()
    }

    /// Returns the images of the valid modules, file by file.
    pub(crate) fn images(&self) -> impl Iterator<Item = ImageIndex> {
        let units = self.files.iter().enumerate().flat_map(|(file, content)| {
            let units = content.units.iter().enumerate();
            units.filter_map(move |(module, unit)| Some((file, module, unit.as_ref().ok()?)))
        });
        units.flat_map(|(file, module, unit)| {
            (0..unit.module.images.len()).map(move |image| ImageIndex {
                file,
                module,
                image,
            })
        })
    }

    pub(crate) fn symbols(&self) -> &SymbolIndex {
        self.symbols.get_or_init(|| SymbolIndex::new(self))
    }

    /// Returns the name of an image's module, for messages.
    pub(crate) fn name(&self, index: ImageIndex) -> String {
        let ImageIndex { file, module, .. } = index;
        let names = list_of_kernels(self.unit(index).module.kernel_names());
        match file {
            0 => format!("module {module} ({names})"),
            _ => format!("module {module} ({names}) of linked file {file}"),
        }
    }

    /// Returns whether an image belongs to a device library that requires dedicated `bfloat16` instructions.
    pub(crate) fn has_bfloat16_instructions(&self, index: ImageIndex) -> bool {
        self.unit(index).metadata.device_libraries.bfloat16 == Some(Bfloat16::Native)
    }
}

pub(crate) fn module<'u, 'a>(
    unit: &'u Result<Unit<'a>, Box<MalformedModule<'a>>>,
) -> &'u AbstractModule<'a> {
    match unit {
        Ok(unit) => &unit.module,
        Err(malformed) => &malformed.module,
    }
}

impl<'a> Unit<'a> {
    fn new(module: AbstractModule<'a>) -> Result<Self, Box<MalformedModule<'a>>> {
        match ModuleMetadata::read(&module.metadata) {
            Ok(metadata) => Ok(Self {
                metadata,
                module,
                codes: OnceLock::new(),
                described: OnceLock::new(),
            }),
            Err(reason) => Err(Box::new(MalformedModule { module, reason })),
        }
    }

    /// Returns the module's SPIR-V, which may specify more about parameters than an image's own code. Both were
    /// compiled from the same source, so the parameters are the same.
    pub(crate) fn described(&self) -> Option<&Code> {
        let find = || self.module.images.iter().find_map(code::described);
        self.described.get_or_init(find).as_ref()
    }

    pub(crate) fn codes(&self, facts: &Facts) -> &[Result<Code, String>] {
        self.codes.get_or_init(|| {
            let images = self.module.images.iter();
            let code = |image| {
                requirements::check(&self.metadata, facts)?;
                code::code(image, facts)
            };
            images.map(code).collect()
        })
    }
}

/// Formats the first few kernel names, and the number of other kernels. Truncates long names, because the symbols of
/// lambdas can be hundreds of characters long.
pub(crate) fn list_of_kernels<'n>(names: impl Iterator<Item = &'n str>) -> String {
    const LENGTH: usize = 60;
    let names = names.map(|name| match name.char_indices().nth(LENGTH) {
        Some((end, _)) => format!("{}...", name.get(..end).unwrap_or(name)),
        None => name.to_owned(),
    });
    match listed(names) {
        text if text.is_empty() => "no kernels".to_owned(),
        text => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn list_of_kernels_stays_short() {
        let list = |names: &[&str]| list_of_kernels(names.iter().copied());
        assert_eq!(list(&[]), "no kernels");
        assert_eq!(list(&["a", "b", "c", "d"]), "a, b, c, d");
        assert!(list(&["a"; 13]).ends_with(", a, a and 3 more"));
        let long = "ä".repeat(61);
        assert_eq!(list(&[&long]), format!("{}...", "ä".repeat(60)));
    }

    #[test]
    fn kernels_are_described_by_code_with_their_mask() {
        const KERNEL: &str = "_ZTS6AddOne";
        let bytes = test_files::read("functor.object.syclbin");
        let mut file = syclbin::read::parse(&bytes).unwrap();
        let unit = file.modules.iter_mut();
        let mut holders = unit.filter(|module| module.kernel_names().any(|name| name == KERNEL));
        let holder = holders.next().unwrap();
        let mask = |removed: &[bool]| ArgumentMask {
            removed: removed.to_vec(),
        };
        let mut metadata = ModuleMetadata::read(&holder.metadata).unwrap();
        metadata.argument_masks.insert(KERNEL, mask(&[false, true]));
        metadata.write(&mut holder.metadata);
        let facts = Facts {
            takes_spirv: true,
            ..Facts::default()
        };
        let files = Files::new(vec![file.clone()], &facts);
        let code = files.code_of(KERNEL, Some(&mask(&[false, true]))).unwrap();
        assert!(code.kernels().contains(&KERNEL));
        assert!(files.code_of(KERNEL, Some(&mask(&[true]))).is_none());
        assert!(files.code_of(KERNEL, None).is_none());
        let linked = Files::new(vec![Syclbin::default(), file], &facts);
        assert!(
            linked
                .code_of(KERNEL, Some(&mask(&[false, true])))
                .is_none()
        );
    }
}
