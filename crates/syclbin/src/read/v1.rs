// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads version 1, which consists of headers and two byte tables. Opening a file only checks the tables' extents.

use core::ops::Range;

use super::image::{Image, Metadata, Owner};
use crate::error::{Error, ErrorKind};
use crate::prelude::*;
use crate::raw::{slice, v1};

/// A file with a valid header, and the positions of all its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tables<'a> {
    bytes: &'a [u8],
    /// The offset of `bytes` in the file.
    pub(super) base: u64,
    pub(super) modules: Headers,
    pub(super) ir: Headers,
    pub(super) native: Headers,
    global: (u64, u64),
    pub(super) metadata: Table<'a>,
    binary: Table<'a>,
}

/// An array of headers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Headers {
    start: usize,
    pub(super) count: usize,
}

/// A byte table, and its offset in the SYCLBIN file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Table<'a> {
    start: u64,
    pub(super) bytes: &'a [u8],
}

/// An abstract module header whose image ranges have been validated.
#[derive(Clone, Debug)]
pub struct Module {
    pub at: u64,
    pub(super) metadata: (u64, u64),
    pub ir: Range<usize>,
    pub native: Range<usize>,
}

impl<'a> Tables<'a> {
    /// Locates the parts of the file `bytes`, which starts at offset `base` of a larger file. Offsets in errors are
    /// relative to `bytes`.
    #[inline]
    pub(super) fn locate(bytes: &'a [u8], base: u64) -> Result<Self, Error> {
        let header = v1::FileHeader::parse(bytes)?;
        let record = || "SYCLBIN file header".into();
        // The sum of three 32-bit counts, times 32 bytes each, does not overflow 64 bits.
        let headers = u64::from(header.abstract_module_count)
            + u64::from(header.ir_module_count)
            + u64::from(header.native_device_code_image_count);
        let headers = (v1::FileHeader::SIZE as u64, headers * 32);
        slice(bytes, headers, "file", record, 8)?;
        let modules = Headers {
            start: v1::FileHeader::SIZE,
            count: header.abstract_module_count as usize,
        };
        let ir = modules.next(header.ir_module_count);
        let native = ir.next(header.native_device_code_image_count);
        let table = |start, size, at| {
            let bytes = slice(bytes, (start, size), "file", record, at)?;
            Ok::<_, Error>(Table { start, bytes })
        };
        let metadata = table(native.end() as u64, header.metadata_byte_table_size, 24)?;
        let start = (metadata.start + header.metadata_byte_table_size).next_multiple_of(8);
        let binary = match header.binary_byte_table_size {
            // The padding before an empty table may be missing.
            0 => Table {
                start: start.min(bytes.len() as u64),
                bytes: &[],
            },
            size => table(start, size, 32)?,
        };
        Ok(Self {
            bytes,
            base,
            modules,
            ir,
            native,
            global: (header.global_metadata_offset, header.global_metadata_size),
            metadata,
            binary,
        })
    }

    pub(super) fn global(&self) -> Result<Metadata<'a>, Error> {
        self.metadata(self.global, Owner::File, 40)
    }

    pub(super) fn module(&self, index: usize) -> Result<Module, Error> {
        let at = self.modules.start + index * v1::AbstractModuleHeader::SIZE;
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
            ir: self.ir.range(ir, "IR modules", owner, at)?,
            native: self.native.range(native, "native images", owner, at)?,
        })
    }

    pub(super) fn image(&self, native: bool, index: usize) -> Result<Image<'a>, Error> {
        let (headers, owner) = if native {
            (self.native, Owner::Native(index))
        } else {
            (self.ir, Owner::Ir(index))
        };
        let at = headers.start + index * v1::ImageHeader::SIZE;
        let raw = v1::ImageHeader::read(self.bytes, at).map_err(|error| error.moved(self.base))?;
        let at = at as u64;
        let range = (raw.raw_offset, raw.raw_size);
        let (bytes, offset) = self.part(&self.binary, range, "binary table", owner, at)?;
        Ok(Image {
            native,
            metadata: self.metadata((raw.metadata_offset, raw.metadata_size), owner, at)?,
            bytes,
            offset,
            strings: Vec::new(),
        })
    }

    pub(super) fn metadata(
        &self,
        range: (u64, u64),
        owner: Owner,
        at: u64,
    ) -> Result<Metadata<'a>, Error> {
        let (text, offset) = self.part(&self.metadata, range, "metadata table", owner, at)?;
        Ok(Metadata {
            owner,
            text,
            offset,
        })
    }

    /// Returns a part of a table, and its offset in the file.
    fn part(
        &self,
        table: &Table<'a>,
        range: (u64, u64),
        what: &'static str,
        owner: Owner,
        at: u64,
    ) -> Result<(&'a [u8], u64), Error> {
        let part = slice(table.bytes, range, what, || owner.to_string(), at);
        let part = part.map_err(|error| error.moved(self.base))?;
        Ok((part, self.base + table.start + range.0))
    }
}

impl Headers {
    fn end(self) -> usize {
        // Every header in an array is 32 bytes long. `locate` has checked that the arrays are inside the file, so the
        // sum does not overflow.
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
