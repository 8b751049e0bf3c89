//! Parses files. No input causes a panic, an allocation of more than a small multiple of the input, or more
//! than linear time.
//!
//! [`parse`] reads a whole file into a [`Syclbin`]. [`File`] is the view beneath it, which reads only what it
//! is asked for. In version 1, opening a file takes the same time for one image as for a thousand. In version
//! 2 the time grows with the number of records, not of bytes.
//!
//! In version 1 the modules of a hostile file can all claim the same images. Code that walks a [`File`]
//! through all modules reads those images again for each module; [`parse`] returns an error.
//!
//! ```
//! # use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin, write};
//! # let mut module = AbstractModule::default();
//! # module.images.push(Image::ir(IrType::SpirV, "spir64-unknown-unknown", vec![3, 2, 35, 7]));
//! # let mut file = Syclbin::new(State::Executable);
//! # file.modules.push(module);
//! # let bytes = write::to_vec(&file, Container::default())?;
//! let file = syclbin::read::File::parse(&bytes)?;
//! for module in file.modules() {
//!     for image in module?.images() {
//!         let image = image?;
//!         println!("{} bytes at {:#x}", image.bytes().len(), image.offset());
//!     }
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod v1;
mod v2;

use alloc::borrow::Cow;
use alloc::boxed::Box;
use alloc::format;
use alloc::string::ToString;
use alloc::vec::Vec;
use core::fmt;

use crate::container::Container;
use crate::error::{Error, ErrorKind};
use crate::model::{self, Syclbin};
use crate::offload::{Binary, Entry, ImageKind, Strings};
use crate::property::PropertySets;
use crate::raw::{Budget, offload_binary, v1 as raw};

/// Before mid-2025, DPC++ had the number for SYCLBIN that LLVM now has for SPIR-V.
const SYCLBIN_2025: ImageKind = ImageKind::SPIRV;

/// Reads a SYCLBIN file in any [`Container`]. Bytes after the end of the wrapper are ignored, as
/// the reference runtime does.
///
/// # Errors
///
/// When the bytes are something else or do not hold together; the error names record and offset.
pub fn parse(bytes: &[u8]) -> Result<Syclbin<'_>, Error> {
    File::parse(bytes)?.to_model()
}

/// A file whose frame has been checked. Its records are read and checked on request.
#[derive(Clone, Debug)]
pub struct File<'a> {
    container: Container,
    layout: Layout<'a>,
    // Few wrappers have any, and the others should open fast.
    more: Option<Box<More<'a>>>,
}

/// Content of a wrapper besides SYCLBIN.
#[derive(Clone, Debug)]
struct More<'a> {
    strings: Strings<'a>,
    foreign: Vec<Entry<'a>>,
}

#[derive(Clone, Debug)]
enum Layout<'a> {
    V1(v1::Tables<'a>),
    V2(Box<v2::Entries<'a>>),
}

impl<'a> File<'a> {
    /// Detects the container and locates its parts.
    ///
    /// # Errors
    ///
    /// When the bytes are not a SYCLBIN file, or a part lies outside of them. In version 2, also when the
    /// strings of an entry do not say what it is.
    pub fn parse(bytes: &'a [u8]) -> Result<Self, Error> {
        if bytes.starts_with(&raw::MAGIC) {
            let tables = v1::Tables::locate(bytes, 0)?;
            return Ok(Self::new(Container::Bare, Layout::V1(tables)));
        }
        if !bytes.starts_with(&offload_binary::MAGIC) {
            let kind = ErrorKind::magic("a SYCLBIN file", &bytes[..bytes.len().min(4)]);
            return Err(Error::new("file", 0, kind));
        }
        let binary = Binary::parse(bytes)?;
        if binary.count == 0 {
            let kind = ErrorKind::Record("it has no entries".into());
            return Err(Error::new("OffloadBinary header", 24, kind));
        }
        let entry = binary.raw_entry(0)?;
        let image = binary.image(&entry, 0)?;
        let kind = ImageKind(entry.image_kind);
        if !image.starts_with(&raw::MAGIC)
            && let Some(mut entries) = v2::Entries::sort(&binary)?
        {
            let more = More {
                strings: core::mem::take(&mut entries.strings),
                foreign: core::mem::take(&mut entries.foreign),
            };
            return Ok(Self {
                container: Container::Version2,
                more: Some(Box::new(more)),
                layout: Layout::V2(Box::new(entries)),
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
        let mut file = Self::new(container, Layout::V1(tables));
        if entry.string_count > 0 || binary.count > 1 {
            file.more = Some(Box::new(More::read(&binary)?));
        }
        Ok(file)
    }

    fn new(container: Container, layout: Layout<'a>) -> Self {
        Self {
            container,
            layout,
            more: None,
        }
    }

    /// Returns the container that wraps the file.
    #[must_use]
    pub fn container(&self) -> Container {
        self.container
    }

    /// Returns the properties of the whole file.
    ///
    /// # Errors
    ///
    /// When they lie outside of their table.
    pub fn global(&self) -> Result<Metadata<'a>, Error> {
        match &self.layout {
            Layout::V1(tables) => tables.global(),
            Layout::V2(entries) => Ok(entries.global),
        }
    }

    /// Returns the strings of the wrapper that SYCLBIN gives no meaning to. In version 1 these belong to the
    /// wrapper's entry, in version 2 to the entry of the global metadata.
    #[must_use]
    pub fn strings(&self) -> &Strings<'a> {
        self.more.as_ref().map_or(&NO_STRINGS, |more| &more.strings)
    }

    /// Returns the entries of the wrapper that do not belong to SYCLBIN.
    #[must_use]
    pub fn foreign(&self) -> &[Entry<'a>] {
        self.more.as_ref().map_or(&[], |more| &more.foreign)
    }

    /// Returns the number of abstract modules.
    #[must_use]
    pub fn module_count(&self) -> usize {
        match &self.layout {
            Layout::V1(tables) => tables.module_count(),
            Layout::V2(entries) => entries.modules.len(),
        }
    }

    /// Returns the abstract module `index`.
    ///
    /// # Errors
    ///
    /// When the file has no module of this index, or its header claims what is not there.
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
            Layout::V2(entries) => Parts::V2(&entries.modules[index]),
        };
        Ok(AbstractModule { index, parts })
    }

    /// Returns all abstract modules, in order.
    ///
    /// # Errors
    ///
    /// Each item fails as [`Self::module`] does.
    pub fn modules(&self) -> impl Iterator<Item = Result<AbstractModule<'_, 'a>, Error>> {
        (0..self.module_count()).map(|index| self.module(index))
    }

    /// Returns where the SYCLBIN header starts, or 0 in version 2, which has no header.
    pub(crate) fn offset(&self) -> u64 {
        match &self.layout {
            Layout::V1(tables) => tables.base,
            Layout::V2(_) => 0,
        }
    }

    /// Returns how many IR images and how many native images there are, whichever modules claim them.
    pub(crate) fn image_counts(&self) -> (usize, usize) {
        match &self.layout {
            Layout::V1(tables) => tables.image_counts(),
            Layout::V2(entries) => entries.modules.iter().fold((0, 0), |(ir, native), module| {
                (ir + module.ir.len(), native + module.native.len())
            }),
        }
    }

    /// Returns each image once, whichever modules claim it. Empty in version 2, where the wrapper's entries
    /// are the images.
    pub(crate) fn all_images(&self) -> impl Iterator<Item = Result<Image<'a>, Error>> {
        let tables = match &self.layout {
            Layout::V1(tables) => Some(tables),
            Layout::V2(_) => None,
        };
        tables.into_iter().flat_map(|tables| {
            let (ir, native) = tables.image_counts();
            (0..ir)
                .map(|index| (false, index))
                .chain((0..native).map(|index| (true, index)))
                .map(|(native, index)| tables.image(native, index))
        })
    }

    /// Reads everything, with all property sets.
    ///
    /// # Errors
    ///
    /// When a record does not hold together, or several records claim the same bytes. No writer shares bytes,
    /// and a small file must not expand to a huge one.
    pub fn to_model(&self) -> Result<Syclbin<'a>, Error> {
        let mut budget = Limits::new(&self.layout);
        let global = budget.metadata(self.global()?)?;
        let mut modules = Vec::new();
        for module in self.modules() {
            let module = module?;
            budget.images(&module)?;
            let metadata = budget.metadata(module.metadata()?)?;
            let mut images = Vec::new();
            for image in module.images() {
                let image = image?;
                images.push(model::Image {
                    native: image.native,
                    metadata: budget.metadata(image.metadata)?,
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
            strings: self.strings().clone(),
            foreign: self.foreign().to_vec(),
        })
    }
}

impl<'a> More<'a> {
    /// The strings of the first entry, and the other entries.
    fn read(binary: &Binary<'a>) -> Result<Self, Error> {
        let mut entries = binary.entries();
        let strings = match entries.next() {
            Some(first) => first?.strings,
            None => Vec::new(),
        };
        Ok(Self {
            strings,
            foreign: entries.collect::<Result<_, _>>()?,
        })
    }
}

/// An abstract module of a [`File`].
#[derive(Clone, Debug)]
pub struct AbstractModule<'f, 'a> {
    index: usize,
    parts: Parts<'f, 'a>,
}

#[derive(Clone, Debug)]
enum Parts<'f, 'a> {
    V1(&'f v1::Tables<'a>, v1::Module),
    V2(&'f v2::Module<'a>),
}

static NO_STRINGS: Strings<'static> = Vec::new();

impl<'a> AbstractModule<'_, 'a> {
    /// Returns its index in the file.
    #[must_use]
    pub fn index(&self) -> usize {
        self.index
    }

    /// Returns what a launcher must know of the kernels.
    ///
    /// # Errors
    ///
    /// When it lies outside of its table.
    pub fn metadata(&self) -> Result<Metadata<'a>, Error> {
        match &self.parts {
            Parts::V1(tables, module) => tables.module_metadata(self.index, module),
            Parts::V2(module) => Ok(module.metadata),
        }
    }

    /// Returns the strings of its entry that SYCLBIN gives no meaning to; version 1 has none.
    #[must_use]
    pub fn strings(&self) -> &Strings<'a> {
        match &self.parts {
            Parts::V1(..) => &NO_STRINGS,
            Parts::V2(module) => &module.strings,
        }
    }

    /// Returns how many IR images and how many native images it has.
    #[must_use]
    pub fn image_counts(&self) -> (usize, usize) {
        match &self.parts {
            Parts::V1(_, module) => (module.ir.len(), module.native.len()),
            Parts::V2(module) => (module.ir.len(), module.native.len()),
        }
    }

    /// Returns its header, if it has one.
    pub(crate) fn header(&self) -> Option<&v1::Module> {
        match &self.parts {
            Parts::V1(_, module) => Some(module),
            Parts::V2(_) => None,
        }
    }

    /// Returns its IR images, then its native images.
    ///
    /// # Errors
    ///
    /// For an image whose code or metadata lies outside of its table.
    pub fn images(&self) -> impl Iterator<Item = Result<Image<'a>, Error>> {
        let (ir, native) = self.image_counts();
        (0..ir + native).map(move |number| match &self.parts {
            Parts::V1(tables, module) if number < ir => {
                tables.image(false, module.ir.start + number)
            }
            Parts::V1(tables, module) => tables.image(true, module.native.start + number - ir),
            Parts::V2(module) if number < ir => Ok(module.ir[number].clone()),
            Parts::V2(module) => Ok(module.native[number - ir].clone()),
        })
    }
}

/// An image of a [`File`].
#[derive(Clone, Debug)]
pub struct Image<'a> {
    native: bool,
    metadata: Metadata<'a>,
    bytes: &'a [u8],
    offset: u64,
    strings: Strings<'a>,
}

impl<'a> Image<'a> {
    /// Returns whether it is a native image; otherwise it is an IR module.
    #[must_use]
    pub fn is_native(&self) -> bool {
        self.native
    }

    /// Returns the metadata that the file has for it.
    #[must_use]
    pub fn metadata(&self) -> Metadata<'a> {
        self.metadata
    }

    /// Returns the code.
    #[must_use]
    pub fn bytes(&self) -> &'a [u8] {
        self.bytes
    }

    /// Returns the owner of the image, for messages.
    pub(crate) fn owner(&self) -> Owner {
        self.metadata.owner
    }

    /// Returns where the code starts in the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the strings of its entry that SYCLBIN gives no meaning to; version 1 has none.
    #[must_use]
    pub fn strings(&self) -> &Strings<'a> {
        &self.strings
    }
}

/// Property sets that have not been read yet.
#[derive(Clone, Copy, Debug)]
pub struct Metadata<'a> {
    owner: Owner,
    text: &'a [u8],
    offset: u64,
}

impl<'a> Metadata<'a> {
    /// Returns the text form.
    #[must_use]
    pub fn text(&self) -> &'a [u8] {
        self.text
    }

    /// Returns where the text starts in the file.
    #[must_use]
    pub fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the text.
    ///
    /// # Errors
    ///
    /// When a line does not follow the grammar. The error has the offset of the line in the file.
    pub fn parse(&self) -> Result<PropertySets<'a>, Error> {
        PropertySets::parse(self.text)
            .map_err(|error| error.within(format!("{}: metadata", self.owner), self.offset))
    }
}

/// The owner of a record, for errors.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Owner {
    File,
    Module(usize),
    Ir(usize),
    Native(usize),
    Entry(usize),
}

impl fmt::Display for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File => write!(f, "SYCLBIN file header"),
            Self::Module(index) => write!(f, "abstract module {index}"),
            Self::Ir(index) => write!(f, "IR module {index}"),
            Self::Native(index) => write!(f, "native image {index}"),
            Self::Entry(index) => write!(f, "{} {index}", offload_binary::Entry::RECORD),
        }
    }
}

/// Limits for the total that the records of a file may claim.
struct Limits {
    metadata: Budget,
    ir: Budget,
    native: Budget,
}

impl Limits {
    fn new(layout: &Layout<'_>) -> Self {
        // In version 2 each entry is one record and belongs to one module.
        let header = match layout {
            Layout::V1(tables) => tables.header(),
            Layout::V2(entries) => raw::FileHeader {
                metadata_byte_table_size: entries.size,
                ir_module_count: u32::MAX,
                native_device_code_image_count: u32::MAX,
                ..raw::FileHeader::default()
            },
        };
        Self {
            metadata: Budget::new("metadata bytes", header.metadata_byte_table_size),
            ir: Budget::new("IR modules", header.ir_module_count.into()),
            native: Budget::new(
                "native images",
                header.native_device_code_image_count.into(),
            ),
        }
    }

    fn metadata<'a>(&mut self, metadata: Metadata<'a>) -> Result<PropertySets<'a>, Error> {
        let Metadata {
            owner,
            text,
            offset,
        } = metadata;
        let record = || owner.to_string();
        self.metadata.spend(text.len() as u64, record, offset)?;
        metadata.parse()
    }

    fn images(&mut self, module: &AbstractModule<'_, '_>) -> Result<(), Error> {
        let (ir, native) = module.image_counts();
        let Parts::V1(_, header) = &module.parts else {
            return Ok(());
        };
        let record = || Owner::Module(module.index).to_string();
        self.ir.spend(ir as u64, record, header.at)?;
        self.native.spend(native as u64, record, header.at)
    }
}
