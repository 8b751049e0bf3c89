// SPDX-License-Identifier: MIT OR Apache-2.0
//! Opens a SYCLBIN file in any container, and reads its records on demand.

use super::image::{AbstractModule, Image, Metadata, Owner, Parts};
use super::{images, v1, v2};
use crate::content::Container;
use crate::error::{Error, ErrorKind};
use crate::model::{self, Syclbin};
use crate::offload::{Binary, Entry, ImageKind, Strings};
use crate::prelude::*;
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
            return Ok(Self {
                container: Container::Bare,
                layout: Layout::V1(v1::Tables::locate(bytes, 0)?),
                strings: Vec::new(),
                foreign: Vec::new(),
            });
        }
        if !bytes.starts_with(&offload_binary::MAGIC) {
            let kind = ErrorKind::magic("a SYCLBIN file", bytes);
            return Err(Error::new("file", 0, kind));
        }
        let binary = Binary::parse(bytes)?;
        if binary.count == 0 {
            let record = offload_binary::Header::RECORD;
            let problem = "the OffloadBinary contains no entries";
            return Err(Error::inconsistent(record, 24, problem));
        }
        let entry = binary.raw_entry(0)?;
        let image = binary.image(&entry, 0)?;
        let kind = ImageKind(entry.image_kind);
        let is_v1 = image.starts_with(&raw::MAGIC);
        if !is_v1 && let Some(entries) = v2::Entries::sort(&binary)? {
            return Ok(Self::of_entries(Container::Version2, entries));
        }
        if !is_v1
            && kind != ImageKind::SYCLBIN
            && let Some(entries) = images::find(bytes)?
        {
            return Ok(Self::of_entries(Container::Images, entries));
        }
        if ![ImageKind::SYCLBIN, SYCLBIN_2025].contains(&kind) {
            let record = Owner::Entry(0).to_string();
            let kind = ErrorKind::ImageKind(kind.0);
            return Err(Error::new(record, binary.entry_at(0), kind));
        }
        let base = entry.image_offset;
        let tables = v1::Tables::locate(image, base).map_err(|error| error.moved(base))?;
        let container = match binary.version {
            1 => Container::OffloadBinary1,
            _ => Container::OffloadBinary2,
        };
        let mut entries = binary.entries();
        let first = entries.next().transpose()?;
        Ok(Self {
            container,
            layout: Layout::V1(tables),
            strings: first.map_or_else(Vec::new, |first| first.strings),
            foreign: entries.collect::<Result<_, _>>()?,
        })
    }

    fn of_entries(container: Container, entries: v2::Entries<'a>) -> Self {
        Self {
            container,
            layout: Layout::Entries {
                global: entries.global,
                modules: entries.modules,
            },
            strings: entries.strings,
            foreign: entries.foreign,
        }
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

    /// Returns the number of IR images and the number of native images, regardless of which modules claim them.
    #[doc(hidden)]
    pub fn image_counts(&self) -> (usize, usize) {
        match &self.layout {
            Layout::V1(tables) => (tables.ir.count, tables.native.count),
            Layout::Entries { modules, .. } => {
                let counts = modules.iter().map(v2::Module::image_counts);
                counts.fold((0, 0), |sum, of| (sum.0 + of.0, sum.1 + of.1))
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
            let ir = (0..tables.ir.count).map(|index| tables.image(false, index));
            ir.chain((0..tables.native.count).map(|index| tables.image(true, index)))
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
                return images::to_model(modules, &self.foreign);
            }
            // `Binary::entries` has already limited the total size of the entries to the size of the wrapper.
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
