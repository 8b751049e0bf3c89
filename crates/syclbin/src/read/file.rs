// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens a SYCLBIN file in any container, and reads its records on demand.

use alloc::borrow::Cow;
use alloc::string::ToString;
use alloc::vec::Vec;

use super::image::{AbstractModule, Image, Metadata, Owner, Parts};
use super::{images, v1, v2};
use crate::content::Container;
use crate::error::{Error, ErrorKind};
use crate::model::{self, Syclbin};
use crate::offload::{Binary, Entry, ImageKind, Strings};
use crate::raw::{Budget, offload_binary, v1 as raw};

/// The image kind of SYCLBIN in DPC++ before mid-2025. LLVM now uses this number for SPIR-V.
const SYCLBIN_2025: ImageKind = ImageKind::SPIRV;

/// A file with a validated container. Its records are read and validated on demand.
#[derive(Clone, Debug)]
pub struct File<'a> {
    container: Container,
    layout: Layout<'a>,
    strings: Strings<'a>,
    foreign: Vec<Entry<'a>>,
}

#[derive(Clone, Debug)]
enum Layout<'a> {
    V1(v1::Tables<'a>),
    /// The layout of version 2 and of bare device images: the wrapper contains an entry for each record.
    Entries {
        global: Metadata<'a>,
        modules: Vec<v2::Module<'a>>,
    },
}

impl<'a> File<'a> {
    /// Detects the container and locates its parts.
    ///
    /// # Errors
    ///
    /// Returns an error if `bytes` is not a SYCLBIN file, if it is compressed or has an unsupported version, if a part
    /// extends beyond the end of `bytes`, or, in version 2, if the strings of the entries are incomplete or
    /// inconsistent.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.starts_with(&raw::MAGIC) {
            let tables = v1::Tables::locate(bytes, 0)?;
            return Ok(Self {
                container: Container::Bare,
                layout: Layout::V1(tables),
                strings: Vec::new(),
                foreign: Vec::new(),
            });
        }
        if !bytes.starts_with(&offload_binary::MAGIC) {
            let kind = ErrorKind::magic("a SYCLBIN file", &bytes[..bytes.len().min(4)]);
            return Err(Error::new("file", 0, kind));
        }
        let binary = Binary::parse(bytes)?;
        if binary.count == 0 {
            let kind = ErrorKind::Record("the OffloadBinary contains no entries".into());
            return Err(Error::new("OffloadBinary header", 24, kind));
        }
        let entry = binary.raw_entry(0)?;
        let image = binary.image(&entry, 0)?;
        let kind = ImageKind(entry.image_kind);
        if !image.starts_with(&raw::MAGIC)
            && let Some(entries) = v2::Entries::sort(&binary)?
        {
            return Ok(Self {
                container: Container::Version2,
                layout: Layout::Entries {
                    global: entries.global,
                    modules: entries.modules,
                },
                strings: entries.strings,
                foreign: entries.foreign,
            });
        }
        if !image.starts_with(&raw::MAGIC)
            && kind != ImageKind::SYCLBIN
            && let Some(images) = images::Images::find(bytes)?
        {
            return Ok(Self {
                container: Container::Images,
                layout: Layout::Entries {
                    global: Metadata::none(Owner::File),
                    modules: images.modules,
                },
                strings: Vec::new(),
                foreign: images.foreign,
            });
        }
        if ![ImageKind::SYCLBIN, SYCLBIN_2025].contains(&kind) {
            let record = Owner::Entry(0).to_string();
            let kind = ErrorKind::ImageKind(kind.0);
            return Err(Error::new(record, binary.entry_at(0), kind));
        }
        let tables = v1::Tables::locate(image, entry.image_offset)?;
        let container = match binary.version {
            1 => Container::OffloadBinary1,
            _ => Container::OffloadBinary2,
        };
        let mut entries = binary.entries();
        let strings = match entries.next() {
            Some(first) => first?.strings,
            None => Vec::new(),
        };
        Ok(Self {
            container,
            layout: Layout::V1(tables),
            strings,
            foreign: entries.collect::<Result<_, _>>()?,
        })
    }

    /// Returns the container of the file.
    #[must_use]
    pub fn container(&self) -> Container {
        self.container
    }

    /// Returns the properties of the file.
    ///
    /// # Errors
    ///
    /// Returns an error if the properties exceed their table.
    pub fn global(&self) -> Result<Metadata<'a>, Error> {
        match &self.layout {
            Layout::V1(tables) => tables.global(),
            Layout::Entries { global, .. } => Ok(*global),
        }
    }

    /// Returns the strings in the wrapper that have no meaning in SYCLBIN. In version 1, these strings belong
    /// to the wrapper's entry. In version 2, they belong to the entry with the global metadata.
    #[must_use]
    pub fn strings(&self) -> &Strings<'a> {
        &self.strings
    }

    /// Returns the entries in the wrapper that do not belong to SYCLBIN.
    #[must_use]
    pub fn foreign(&self) -> &[Entry<'a>] {
        &self.foreign
    }

    /// Returns the number of abstract modules.
    #[must_use]
    pub fn module_count(&self) -> usize {
        match &self.layout {
            Layout::V1(tables) => tables.modules.count,
            Layout::Entries { modules, .. } => modules.len(),
        }
    }

    /// Returns the abstract module with the zero-based `index`.
    ///
    /// # Errors
    ///
    /// Returns an error if there is no module with this index, or if its header refers to images that do not exist.
    pub fn module(&self, index: usize) -> Result<AbstractModule<'_, 'a>, Error> {
        if index >= self.module_count() {
            let kind = ErrorKind::Records {
                start: index as u64,
                count: 1,
                what: "abstract modules",
                available: self.module_count() as u64,
            };
            return Err(Error::new(Owner::Module(index).to_string(), 0, kind));
        }
        let parts = match &self.layout {
            Layout::V1(tables) => Parts::V1(tables, tables.module(index)?),
            Layout::Entries { modules, .. } => Parts::V2(&modules[index]),
        };
        Ok(AbstractModule { index, parts })
    }

    /// Returns all abstract modules, in order.
    ///
    /// # Errors
    ///
    /// Each item fails for the same reasons as [`Self::module`].
    pub fn modules(&self) -> impl Iterator<Item = Result<AbstractModule<'_, 'a>, Error>> {
        (0..self.module_count()).map(|index| self.module(index))
    }

    /// Returns the offset of the SYCLBIN header, or 0 if there is none.
    #[doc(hidden)]
    pub fn offset(&self) -> u64 {
        match &self.layout {
            Layout::V1(tables) => tables.base,
            Layout::Entries { .. } => 0,
        }
    }

    /// Returns the number of IR images and native images, regardless of which modules claim them.
    #[doc(hidden)]
    pub fn image_counts(&self) -> (usize, usize) {
        match &self.layout {
            Layout::V1(tables) => tables.image_counts(),
            Layout::Entries { modules, .. } => {
                modules.iter().fold((0, 0), |(ir, native), module| {
                    (ir + module.ir.len(), native + module.native.len())
                })
            }
        }
    }

    /// Returns each image once, regardless of which modules claim it. Yields nothing for containers other than
    /// version 1, because their images are the wrapper's entries.
    #[doc(hidden)]
    pub fn all_images(&self) -> impl Iterator<Item = Result<Image<'a>, Error>> {
        let tables = match &self.layout {
            Layout::V1(tables) => Some(tables),
            Layout::Entries { .. } => None,
        };
        tables.into_iter().flat_map(|tables| {
            let (ir, native) = tables.image_counts();
            (0..ir)
                .map(|index| (false, index))
                .chain((0..native).map(|index| (true, index)))
                .map(|(native, index)| tables.image(native, index))
        })
    }

    /// Reads the entire file, including all property sets.
    ///
    /// # Errors
    ///
    /// Returns an error if a record is malformed, or if the records together claim more than their tables contain,
    /// which would let a small file expand to a huge model. No writer produces such files. For [`Container::Images`],
    /// also returns an error if the code cannot be read.
    pub fn to_model(&self) -> Result<Syclbin<'a>, Error> {
        // How much of each table the records may claim in total.
        let (metadata, ir, native) = match &self.layout {
            Layout::V1(tables) => (
                tables.metadata.bytes.len() as u64,
                tables.ir.count as u64,
                tables.native.count as u64,
            ),
            Layout::Entries { modules, .. } if self.container == Container::Images => {
                let mut file = images::to_model(modules)?;
                file.foreign.clone_from(&self.foreign);
                return Ok(file);
            }
            // The entries have already been limited to the size of the wrapper.
            Layout::Entries { .. } => (u64::MAX, u64::MAX, u64::MAX),
        };
        let mut texts = Budget::new("metadata bytes", metadata);
        let mut ir = Budget::new("IR modules", ir);
        let mut native = Budget::new("native images", native);
        let mut parse = |metadata: Metadata<'a>| {
            let record = || metadata.owner.to_string();
            texts.spend(metadata.text.len() as u64, record, metadata.offset)?;
            metadata.parse()
        };
        let global = parse(self.global()?)?;
        let mut modules = Vec::new();
        for module in self.modules() {
            let module = module?;
            if let Some(header) = module.header() {
                let record = || Owner::Module(module.index).to_string();
                ir.spend(header.ir.len() as u64, record, header.at)?;
                native.spend(header.native.len() as u64, record, header.at)?;
            }
            let metadata = parse(module.metadata()?)?;
            let mut images = Vec::new();
            for image in module.images() {
                let image = image?;
                images.push(model::Image {
                    native: image.native,
                    metadata: parse(image.metadata)?,
                    bytes: Cow::Borrowed(image.bytes),
                    strings: image.strings,
                });
            }
            modules.push(model::AbstractModule {
                metadata,
                images,
                strings: module.strings().clone(),
            });
        }
        Ok(Syclbin {
            global,
            modules,
            strings: self.strings.clone(),
            foreign: self.foreign.clone(),
        })
    }
}
