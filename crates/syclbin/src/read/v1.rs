// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads version 1, which consists of headers and two byte tables. Opening a file only checks the tables' extents.

use alloc::string::ToString;
use alloc::vec::Vec;
use core::ops::Range;

use super::image::{Image, Metadata, Owner};
use crate::error::{Error, ErrorKind};
use crate::raw::{slice, v1};

/// A file with a valid header, which determines the positions of all parts. To open files as fast as possible,
/// the header is not stored, but parsed again when needed.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<'a> {
    bytes: &'a [u8],
    /// The offset of `bytes` in the file.
    pub(super) base: u64,
}

#[derive(Clone, Copy, Debug)]
struct Headers {
    start: usize,
    count: usize,
}

/// An abstract module header whose ranges have been validated.
#[derive(Clone, Debug)]
pub struct Module {
    pub at: u64,
    metadata: (u64, u64),
    pub ir: Range<usize>,
    pub native: Range<usize>,
}

impl<'a> Tables<'a> {
    /// Locates the parts of the file `bytes`, which starts at offset `base` of a larger file.
    #[inline]
    pub(super) fn locate(bytes: &'a [u8], base: u64) -> Result<Self, Error> {
        match Self::locate_here(bytes, base) {
            Err(error) => Err(error.moved(base)),
            found => found,
        }
    }

    #[inline]
    fn locate_here(bytes: &'a [u8], base: u64) -> Result<Self, Error> {
        let header = v1::FileHeader::parse(bytes)?;
        let record = || "SYCLBIN file header".into();
        // The sum of three 32-bit counts, times 32 bytes each, does not overflow 64 bits.
        let headers = u64::from(header.abstract_module_count)
            + u64::from(header.ir_module_count)
            + u64::from(header.native_device_code_image_count);
        let headers = (v1::FileHeader::SIZE as u64, headers * 32);
        slice(bytes, headers, "file", record, 8)?;
        let metadata_start = headers.0 + headers.1;
        let metadata = (metadata_start, header.metadata_byte_table_size);
        let metadata = slice(bytes, metadata, "file", record, 24)?;
        let binary_start = (metadata_start + metadata.len() as u64).next_multiple_of(8);
        let binary_size = header.binary_byte_table_size;
        // The padding before an empty table may be missing.
        if binary_size != 0 {
            slice(bytes, (binary_start, binary_size), "file", record, 32)?;
        }
        Ok(Self { bytes, base })
    }

    /// Parses the header again.
    pub(super) fn header(&self) -> v1::FileHeader {
        v1::FileHeader::parse(self.bytes).unwrap_or_default()
    }

    fn modules(&self) -> Headers {
        Headers {
            start: v1::FileHeader::SIZE,
            count: self.header().abstract_module_count as usize,
        }
    }

    fn ir(&self) -> Headers {
        self.modules().next(self.header().ir_module_count)
    }

    fn native(&self) -> Headers {
        self.ir().next(self.header().native_device_code_image_count)
    }

    fn metadata_start(&self) -> u64 {
        self.native().end() as u64
    }

    fn binary_start(&self) -> u64 {
        (self.metadata_start() + self.header().metadata_byte_table_size).next_multiple_of(8)
    }

    /// Returns the bytes of a table, whose range has been validated.
    fn table(&self, start: u64, size: u64) -> &'a [u8] {
        let range = || {
            let start = usize::try_from(start).ok()?;
            self.bytes.get(start..)?.get(..usize::try_from(size).ok()?)
        };
        range().unwrap_or_default()
    }

    fn metadata_table(&self) -> &'a [u8] {
        self.table(
            self.metadata_start(),
            self.header().metadata_byte_table_size,
        )
    }

    fn binary_table(&self) -> &'a [u8] {
        self.table(self.binary_start(), self.header().binary_byte_table_size)
    }

    pub(super) fn module_count(&self) -> usize {
        self.modules().count
    }

    pub(super) fn image_counts(&self) -> (usize, usize) {
        (self.ir().count, self.native().count)
    }

    pub(super) fn global(&self) -> Result<Metadata<'a>, Error> {
        let header = self.header();
        let range = (header.global_metadata_offset, header.global_metadata_size);
        self.metadata(range, Owner::File, 40)
    }

    pub(super) fn module(&self, index: usize) -> Result<Module, Error> {
        let at = self.modules().start + index * v1::AbstractModuleHeader::SIZE;
        let raw = v1::AbstractModuleHeader::read(self.bytes, at)
            .map_err(|error| error.moved(self.base))?;
        let at = self.base + at as u64;
        let owner = Owner::Module(index);
        let ir = (raw.ir_module_index, raw.ir_module_count);
        let native = (
            raw.native_device_code_image_index,
            raw.native_device_code_image_count,
        );
        Ok(Module {
            at,
            metadata: (raw.metadata_offset, raw.metadata_size),
            ir: self.ir().range(ir, "IR modules", owner, at)?,
            native: self.native().range(native, "native images", owner, at)?,
        })
    }

    pub(super) fn module_metadata(
        &self,
        index: usize,
        module: &Module,
    ) -> Result<Metadata<'a>, Error> {
        let at = module.at - self.base;
        self.metadata(module.metadata, Owner::Module(index), at)
    }

    pub(super) fn image(&self, native: bool, index: usize) -> Result<Image<'a>, Error> {
        let (headers, owner) = if native {
            (self.native(), Owner::Native(index))
        } else {
            (self.ir(), Owner::Ir(index))
        };
        let at = headers.start + index * v1::ImageHeader::SIZE;
        let raw = v1::ImageHeader::read(self.bytes, at).map_err(|error| error.moved(self.base))?;
        let at = at as u64;
        let range = (raw.raw_offset, raw.raw_size);
        let bytes = slice(
            self.binary_table(),
            range,
            "binary table",
            || owner.to_string(),
            at,
        )
        .map_err(|error| error.moved(self.base))?;
        Ok(Image {
            native,
            metadata: self.metadata((raw.metadata_offset, raw.metadata_size), owner, at)?,
            bytes,
            // The padding before an empty table may be missing.
            offset: self.base + (self.binary_start() + raw.raw_offset).min(self.bytes.len() as u64),
            strings: Vec::new(),
        })
    }

    fn metadata(&self, range: (u64, u64), owner: Owner, at: u64) -> Result<Metadata<'a>, Error> {
        let record = || owner.to_string();
        let text = slice(self.metadata_table(), range, "metadata table", record, at)
            .map_err(|error| error.moved(self.base))?;
        Ok(Metadata {
            owner,
            text,
            offset: self.base + self.metadata_start() + range.0,
        })
    }
}

impl Headers {
    fn end(self) -> usize {
        // Every header in an array has 32 bytes. `locate` has checked that the arrays are inside the file.
        self.start + self.count * v1::ImageHeader::SIZE
    }

    /// Returns the array of `count` headers that follows this array.
    fn next(self, count: u32) -> Self {
        Self {
            start: self.end(),
            count: count as usize,
        }
    }

    /// Returns the part of the array that a module claims.
    fn range(
        self,
        (first, count): (u32, u32),
        what: &'static str,
        owner: Owner,
        at: u64,
    ) -> Result<Range<usize>, Error> {
        if u64::from(first) + u64::from(count) <= self.count as u64 {
            return Ok(first as usize..first as usize + count as usize);
        }
        let kind = ErrorKind::Records {
            start: first.into(),
            count: count.into(),
            what,
            available: self.count as u64,
        };
        Err(Error::new(owner.to_string(), at, kind))
    }
}
