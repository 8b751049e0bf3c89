// SPDX-License-Identifier: MIT OR Apache-2.0
//! An abstract module of a file.

use alloc::vec::Vec;

use super::image::{Image, Metadata};
use super::{v1, v2};
use crate::error::Error;
use crate::offload::Strings;

/// An abstract module of a [`File`](super::File).
#[derive(Clone, Debug)]
pub struct AbstractModule<'f, 'a> {
    pub(super) index: usize,
    pub(super) parts: Parts<'f, 'a>,
}

#[derive(Clone, Debug)]
pub(super) enum Parts<'f, 'a> {
    V1(&'f v1::Tables<'a>, v1::Module),
    V2(&'f v2::Module<'a>),
}

pub(super) static NO_STRINGS: Strings<'static> = Vec::new();

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
    #[doc(hidden)]
    pub fn image_counts(&self) -> (usize, usize) {
        match &self.parts {
            Parts::V1(_, module) => (module.ir.len(), module.native.len()),
            Parts::V2(module) => (module.ir.len(), module.native.len()),
        }
    }

    /// Returns its header, if it has one.
    #[doc(hidden)]
    pub fn header(&self) -> Option<&v1::Module> {
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
