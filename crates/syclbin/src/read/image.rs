// SPDX-License-Identifier: MIT OR Apache-2.0
//! Abstract modules and images of a file.

use core::fmt;

use super::{v1, v2};
use crate::error::Error;
use crate::offload::Strings;
use crate::prelude::*;
use crate::property::PropertySets;
use crate::raw::offload_binary;

/// An image of a [`File`](super::File).
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Image<'a> {
    /// Whether this is a native image rather than an IR image.
    pub native: bool,
    /// The metadata.
    pub metadata: Metadata<'a>,
    /// The code.
    pub bytes: &'a [u8],
    /// The offset of the code in the file.
    pub offset: u64,
    /// The strings in the image's entry that have no meaning in SYCLBIN. Version 1 stores no such strings. For
    /// [`Container::Images`](crate::Container::Images), this list contains all strings of the entry.
    pub strings: Strings<'a>,
}

/// Property sets that have not been parsed yet.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Metadata<'a> {
    /// The owner, for messages.
    #[doc(hidden)]
    pub owner: Owner,
    /// The text form.
    pub text: &'a [u8],
    /// The offset of the text in the file.
    pub offset: u64,
}

impl<'a> Metadata<'a> {
    /// Returns empty metadata, for records without metadata.
    pub(super) fn none(owner: Owner) -> Self {
        Self {
            owner,
            text: &[],
            offset: 0,
        }
    }

    /// Parses the text.
    ///
    /// # Errors
    ///
    /// Returns an error if the text is not UTF-8, or if a line violates the grammar. The error contains the offset of
    /// the fault in the file.
    pub fn parse(&self) -> Result<PropertySets<'a>, Error> {
        PropertySets::parse(self.text)
            .map_err(|error| error.within(format!("{}: metadata", self.owner), self.offset))
    }
}

/// The owner of a record, for errors.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub enum Owner {
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

/// An abstract module of a [`File`](super::File).
#[derive(Clone, Debug)]
pub struct AbstractModule<'f, 'a> {
    /// The zero-based index of the module in the file.
    pub index: usize,
    pub(super) parts: Parts<'f, 'a>,
}

#[derive(Clone, Debug)]
pub(super) enum Parts<'f, 'a> {
    V1(&'f v1::Tables<'a>, v1::Module),
    V2(&'f v2::Module<'a>),
}

static NO_STRINGS: Strings<'static> = Vec::new();

impl<'a> AbstractModule<'_, 'a> {
    /// Returns the metadata that a runtime needs to launch the kernels.
    ///
    /// # Errors
    ///
    /// Returns an error if the metadata exceeds its table.
    pub fn metadata(&self) -> Result<Metadata<'a>, Error> {
        match &self.parts {
            Parts::V1(tables, module) => tables.metadata(
                module.metadata,
                Owner::Module(self.index),
                module.at - tables.base,
            ),
            Parts::V2(module) => Ok(module.metadata),
        }
    }

    /// Returns the strings in the module's entry that have no meaning in SYCLBIN. Version 1 stores no such strings.
    #[must_use]
    pub fn strings(&self) -> &Strings<'a> {
        match &self.parts {
            Parts::V1(..) => &NO_STRINGS,
            Parts::V2(module) => &module.strings,
        }
    }

    /// Returns the number of IR images and the number of native images.
    #[must_use]
    #[doc(hidden)]
    pub fn image_counts(&self) -> (usize, usize) {
        match &self.parts {
            Parts::V1(_, module) => (module.ir.len(), module.native.len()),
            Parts::V2(module) => module.image_counts(),
        }
    }

    /// Returns the module's header, or `None` for a container other than version 1.
    #[doc(hidden)]
    pub fn header(&self) -> Option<&v1::Module> {
        match &self.parts {
            Parts::V1(_, module) => Some(module),
            Parts::V2(_) => None,
        }
    }

    /// Returns the IR images, followed by the native images.
    ///
    /// # Errors
    ///
    /// An item is an error if the image's code or metadata exceeds its table.
    pub fn images(&self) -> impl Iterator<Item = Result<Image<'a>, Error>> {
        let (ir, native) = self.image_counts();
        (0..ir + native).map(move |number| match &self.parts {
            Parts::V1(tables, module) if number < ir => {
                tables.image(false, module.ir.start + number)
            }
            Parts::V1(tables, module) => tables.image(true, module.native.start + number - ir),
            Parts::V2(module) => Ok(module.images[number].clone()),
        })
    }
}
