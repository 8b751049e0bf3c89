// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files: the file that is loaded, and the files that it is linked with.

use std::collections::BTreeMap;
use std::sync::OnceLock;

use syclbin::metadata::ArgumentMask;
use syclbin::{AbstractModule, Image, Syclbin};

use crate::device::facts::Facts;
use crate::load::device_code::Code;
use crate::load::link::symbol_index::SymbolIndex;
use crate::load::unit::{MalformedModule, Unit};

/// The loaded file, and the files that it is linked with.
pub(crate) struct Files<'a> {
    files: Vec<File<'a>>,
    facts: &'a Facts,
    /// Filled when the first image imports anything.
    symbols: OnceLock<SymbolIndex>,
    /// The images of the loaded file that have a kernel; filled when native code has no SPIR-V beside it.
    kernels: OnceLock<BTreeMap<String, Vec<ImageIndex>>>,
}

struct File<'a> {
    /// The file without its modules.
    head: Syclbin<'a>,
    units: Vec<Result<Unit<'a>, Box<MalformedModule<'a>>>>,
}

/// The position of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ImageIndex {
    /// 0 is the loaded file.
    pub(crate) file: usize,
    /// The abstract module.
    pub(crate) module: usize,
    pub(crate) image: usize,
}

impl<'a> Files<'a> {
    /// Creates the set of `files` for a device. The loaded file comes first.
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

    /// Returns the facts about the device.
    pub(crate) fn facts(&self) -> &'a Facts {
        self.facts
    }

    /// Returns the modules of the loaded file.
    pub(crate) fn loaded(&self) -> &[Result<Unit<'a>, Box<MalformedModule<'a>>>] {
        self.files.first().map_or(&[], |file| &file.units)
    }

    /// Returns the loaded file without its modules.
    pub(crate) fn head(&self) -> Option<&Syclbin<'a>> {
        Some(&self.files.first()?.head)
    }

    /// Returns the files as they were read.
    pub(crate) fn whole(&self) -> Vec<Syclbin<'a>> {
        let module = |unit: &Result<Unit<'a>, Box<MalformedModule<'a>>>| -> AbstractModule<'a> {
            match unit {
                Ok(unit) => unit.module.clone(),
                Err(malformed) => malformed.module.clone(),
            }
        };
        let whole = |file: &File<'a>| Syclbin {
            modules: file.units.iter().map(module).collect(),
            ..file.head.clone()
        };
        self.files.iter().map(whole).collect()
    }

    /// Returns the valid modules of all files.
    pub(crate) fn units(&self) -> impl Iterator<Item = &Unit<'a>> + Clone {
        self.files.iter().flat_map(|file| &file.units).flatten()
    }

    /// Returns the number of files that the loaded file is linked with.
    pub(crate) fn linked(&self) -> usize {
        self.files.len().saturating_sub(1)
    }

    /// Returns the module of an image, if the module is valid.
    pub(crate) fn unit(&self, index: ImageIndex) -> Option<&Unit<'a>> {
        let file = self.files.get(index.file)?;
        file.units.get(index.module)?.as_ref().ok()
    }

    /// Returns the image at `index`.
    pub(crate) fn image(&self, index: ImageIndex) -> Option<&Image<'a>> {
        self.unit(index)?.module.images.get(index.image)
    }

    /// Returns the bytes of an image.
    pub(crate) fn bytes(&self, index: ImageIndex) -> Option<&[u8]> {
        Some(&self.image(index)?.bytes)
    }

    /// Returns the code of an image, or the reason why the device does not take it.
    pub(crate) fn code(&self, index: ImageIndex) -> Result<&Code, String> {
        let code = self
            .unit(index)
            .and_then(|unit| unit.codes(self.facts).get(index.image));
        match code {
            Some(code) => code.as_ref().map_err(Clone::clone),
            None => Err("there is no such image".to_owned()),
        }
    }

    /// Returns the SPIR-V of a kernel in the loaded file, with the arguments that `mask` leaves. Native code of
    /// the kernel in a separate module was made from the same source.
    pub(crate) fn code_of(&self, kernel: &str, mask: Option<&ArgumentMask>) -> Option<&Code> {
        let kernels = self.kernels.get_or_init(|| {
            let mut kernels: BTreeMap<String, Vec<ImageIndex>> = BTreeMap::new();
            for index in self.images().take_while(|index| index.file == 0) {
                let names = self.code(index).map(Code::kernels);
                for name in names.into_iter().flatten() {
                    kernels.entry(name.to_owned()).or_default().push(index);
                }
            }
            kernels
        });
        let takes_the_same = |index: &&ImageIndex| {
            self.unit(**index)
                .is_some_and(|unit| unit.metadata.argument_masks.get(kernel) == mask)
        };
        let index = kernels.get(kernel)?.iter().find(takes_the_same)?;
        self.code(*index).ok()
    }

    /// Returns the images of the valid modules, file by file.
    pub(crate) fn images(&self) -> impl Iterator<Item = ImageIndex> {
        let files = self.files.iter().enumerate();
        let units = files.flat_map(|(file, content)| {
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

    /// Returns which images define a symbol.
    pub(crate) fn symbols(&self) -> &SymbolIndex {
        self.symbols.get_or_init(|| SymbolIndex::new(self))
    }

    /// Returns the name in messages for the module of an image.
    pub(crate) fn name(&self, index: ImageIndex) -> String {
        let ImageIndex { file, module, .. } = index;
        let names = self.unit(index).map(Unit::kernels).unwrap_or_default();
        match file {
            0 => format!("module {module} ({names})"),
            _ => format!("module {module} ({names}) of linked file {file}"),
        }
    }
}
