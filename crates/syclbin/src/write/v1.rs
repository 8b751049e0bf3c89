// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes version 1, which consists of headers, a metadata table and a binary table.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use super::{Error, count, text};
use crate::model::{Image, Syclbin};
use crate::raw::v1;

/// Returns the parts of a file: everything before the binary table, and then the code of each image.
pub(super) fn parts<'f>(file: &'f Syclbin<'_>) -> Result<Vec<Cow<'f, [u8]>>, Error> {
    let images = |native| {
        let all = file.modules.iter().enumerate();
        all.flat_map(|(index, module)| module.images.iter().map(move |image| (index, image)))
            .filter(move |(_, image): &(usize, &Image<'_>)| image.native == native)
    };

    // Metadata is in the same order as in the reference writers' output: global, modules, IR, native.
    let mut metadata = String::new();
    let mut add = |text: String| {
        let offset = metadata.len() as u64;
        metadata.push_str(&text);
        (offset, text.len() as u64)
    };
    let global = add(text(&file.global, || "file".into())?);
    let module_metadata = file
        .modules
        .iter()
        .enumerate()
        .map(|(index, module)| {
            let record = || format!("abstract module {index}");
            Ok(add(text(&module.metadata, record)?))
        })
        .collect::<Result<Vec<_>, Error>>()?;
    let mut binary_size = 0;
    let mut image_headers = Vec::new();
    let mut code = Vec::new();
    for (index, image) in images(false).chain(images(true)) {
        let record = || format!("an image of abstract module {index}");
        let (metadata_offset, metadata_size) = add(text(&image.metadata, record)?);
        image_headers.push(v1::ImageHeader {
            metadata_offset,
            metadata_size,
            raw_offset: binary_size,
            raw_size: image.bytes.len() as u64,
        });
        binary_size += image.bytes.len() as u64;
        code.push(Cow::Borrowed(image.bytes.as_ref()));
    }

    let mut out = Vec::new();
    v1::FileHeader {
        magic: u32::from_le_bytes(v1::MAGIC),
        version: v1::VERSION,
        padding: 0,
        abstract_module_count: count(file.modules.len(), "abstract modules")?,
        ir_module_count: count(images(false).count(), "IR modules")?,
        native_device_code_image_count: count(images(true).count(), "native images")?,
        metadata_byte_table_size: metadata.len() as u64,
        binary_byte_table_size: binary_size,
        global_metadata_offset: global.0,
        global_metadata_size: global.1,
    }
    .write(&mut out);
    let (mut ir_index, mut native_index) = (0, 0);
    for (module, (metadata_offset, metadata_size)) in file.modules.iter().zip(module_metadata) {
        let native = module.images.iter().filter(|image| image.native).count();
        let ir = count(module.images.len() - native, "IR modules")?;
        let native = count(native, "native images")?;
        v1::AbstractModuleHeader {
            metadata_offset,
            metadata_size,
            ir_module_count: ir,
            ir_module_index: ir_index,
            native_device_code_image_count: native,
            native_device_code_image_index: native_index,
        }
        .write(&mut out);
        // The totals were counted above, so this does not overflow.
        ir_index += ir;
        native_index += native;
    }
    for header in &image_headers {
        header.write(&mut out);
    }
    out.extend_from_slice(metadata.as_bytes());
    out.resize(out.len().next_multiple_of(8), 0);
    let mut parts = Vec::from([Cow::Owned(out)]);
    parts.append(&mut code);
    Ok(parts)
}
