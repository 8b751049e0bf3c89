//! [`Syclbin`] to bytes: the same input always gives the same output.

use alloc::vec::Vec;

use crate::model::{Image, Syclbin};
use crate::raw::{offload_binary, v1};

/// Writes version 1, wrapped in an OffloadBinary of version 1: the one form that every reference
/// runtime of 2026 loads.
///
/// # Panics
///
/// When there are 2^32 modules or images, which no memory holds.
#[must_use]
pub fn offload_binary(file: &Syclbin<'_>) -> Vec<u8> {
    let image = bare(file);
    let header_size = offload_binary::HEADER_SIZE as u64;
    // No strings: the empty table starts where the image does.
    let image_offset = (header_size + offload_binary::Entry::SIZE as u64).next_multiple_of(8);
    let size = (image_offset + image.len() as u64).next_multiple_of(8);
    let mut out = Vec::with_capacity(image.len() + 80);
    offload_binary::Header {
        version: 1,
        size,
        entry_offset: header_size,
        entry_size_or_count: offload_binary::Entry::SIZE as u64,
    }
    .write(&mut out);
    offload_binary::Entry {
        image_kind: offload_binary::IMAGE_KIND_SYCLBIN,
        offload_kind: offload_binary::OFFLOAD_KIND_SYCL,
        flags: 0,
        string_offset: image_offset,
        string_count: 0,
        image_offset,
        image_size: image.len() as u64,
    }
    .write(&mut out);
    pad(&mut out);
    out.extend_from_slice(&image);
    pad(&mut out);
    out
}

/// Writes version 1 without a wrapper. The reference runtime does not load this form; LLVM's
/// `syclbin-dump` reads it.
///
/// # Panics
///
/// When there are 2^32 modules or images, which no memory holds.
#[must_use]
#[expect(
    clippy::expect_used,
    reason = "a count beyond 32 bits needs more headers than memory holds"
)]
pub fn bare(file: &Syclbin<'_>) -> Vec<u8> {
    let count = |number: usize| u32::try_from(number).expect("fewer than 2^32 records");
    let images = |native| {
        let all = file.modules.iter().flat_map(|module| &module.images);
        all.filter(move |image: &&Image<'_>| image.native == native)
    };

    // Metadata in the order of the reference writers: global, modules, IR, native.
    let mut metadata = Table::default();
    let global = metadata.add(file.global.to_text().as_bytes());
    let module_metadata: Vec<_> = file
        .modules
        .iter()
        .map(|module| metadata.add(module.metadata.to_text().as_bytes()))
        .collect();
    let mut binary = Table::default();
    let mut image_headers = Vec::new();
    for image in images(false).chain(images(true)) {
        let (metadata_offset, metadata_size) = metadata.add(image.metadata.to_text().as_bytes());
        let (raw_offset, raw_size) = binary.add(&image.bytes);
        image_headers.push(v1::ImageHeader {
            metadata_offset,
            metadata_size,
            raw_offset,
            raw_size,
        });
    }

    let mut out = Vec::new();
    v1::FileHeader {
        abstract_module_count: count(file.modules.len()),
        ir_module_count: count(images(false).count()),
        native_device_code_image_count: count(images(true).count()),
        metadata_byte_table_size: metadata.bytes.len() as u64,
        binary_byte_table_size: binary.bytes.len() as u64,
        global_metadata_offset: global.0,
        global_metadata_size: global.1,
    }
    .write(&mut out);
    let (mut ir_index, mut native_index) = (0, 0);
    for (module, (metadata_offset, metadata_size)) in file.modules.iter().zip(module_metadata) {
        let native = count(module.images.iter().filter(|image| image.native).count());
        let ir = count(module.images.len()) - native;
        v1::AbstractModuleHeader {
            metadata_offset,
            metadata_size,
            ir_module_count: ir,
            ir_module_index: ir_index,
            native_device_code_image_count: native,
            native_device_code_image_index: native_index,
        }
        .write(&mut out);
        ir_index += ir;
        native_index += native;
    }
    for header in &image_headers {
        header.write(&mut out);
    }
    out.extend_from_slice(&metadata.bytes);
    pad(&mut out);
    out.extend_from_slice(&binary.bytes);
    out
}

/// A byte table under construction.
#[derive(Default)]
struct Table {
    bytes: Vec<u8>,
}

impl Table {
    /// Appends `bytes` and says where they lie: offset and size.
    fn add(&mut self, bytes: &[u8]) -> (u64, u64) {
        let offset = self.bytes.len() as u64;
        self.bytes.extend_from_slice(bytes);
        (offset, bytes.len() as u64)
    }
}

fn pad(out: &mut Vec<u8>) {
    out.resize(out.len().next_multiple_of(8), 0);
}
