// SPDX-License-Identifier: MIT OR Apache-2.0
//! Encodes a [`Syclbin`] as bytes, in any of the containers in [`Container::ALL`]. The output is deterministic.

mod v2;

use crate::content::Container;
use crate::model::{Image, Syclbin};
use crate::offload::{Entry, ImageKind, OffloadKind, binary};
use crate::prelude::*;
use crate::property::Inexpressible;
use crate::raw::v1;

/// Writes `file` in the given container.
///
/// [`read::parse`](crate::read::parse) reads back an equal file, provided that IR images precede native images in
/// each module.
///
/// # Errors
///
/// Returns an error if the container cannot hold the contents of `file`.
///
/// ```
/// use syclbin::{Container, State, Syclbin, read, write};
///
/// let file = Syclbin::new(State::Object);
/// for container in Container::ALL {
///     let bytes = write::to_vec(&file, container)?;
///     assert_eq!(read::File::parse(&bytes)?.container(), container);
/// }
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn to_vec(file: &Syclbin<'_>, container: Container) -> Result<Vec<u8>, Error> {
    if container == Container::Version2 {
        return v2::write(file);
    }
    let refuse = |record: String, what: String| {
        Err(Error::Container {
            record,
            what,
            container,
        })
    };
    if container == Container::Images {
        return Err(Error::ReadOnly(container));
    }
    for (index, module) in file.modules.iter().enumerate() {
        let images = module.images.iter().map(|image| &image.strings);
        if let Some((key, _)) = images.chain([&module.strings]).flatten().next() {
            let record = format!("abstract module {index}");
            return refuse(record, format!("the string `{key}`"));
        }
    }
    if container == Container::Bare
        && let Some((key, _)) = file.strings.first()
    {
        return refuse("file".into(), format!("the string `{key}`"));
    }
    if container != Container::OffloadBinary2 && !file.foreign.is_empty() {
        return refuse("file".into(), "a non-SYCLBIN entry".into());
    }

    let mut image = version_1(file)?;
    let version = match container {
        Container::Bare => return Ok(image),
        Container::OffloadBinary1 => 1,
        _ => {
            // Pads like the reference runtime, although the runtime also loads files without this padding.
            image.resize(image.len().next_multiple_of(8), 0);
            2
        }
    };
    let entry = Entry {
        image_kind: ImageKind::SYCLBIN,
        offload_kind: OffloadKind::SYCL,
        flags: 0,
        strings: file.strings.clone(),
        image: image.into(),
    };
    let mut entries = Vec::from([entry]);
    entries.extend(file.foreign.iter().cloned());
    binary::write(version, &entries)
}

/// Writes version 1, which consists of headers, a metadata table and a binary table.
fn version_1(file: &Syclbin<'_>) -> Result<Vec<u8>, Error> {
    let modules = || file.modules.iter().enumerate();
    let images =
        modules().flat_map(|(index, module)| module.images.iter().map(move |image| (index, image)));
    let mut images: Vec<(usize, &Image<'_>)> = images.collect();
    images.sort_by_key(|(_, image)| image.native);
    let ir = images.partition_point(|(_, image)| !image.native);

    // The order of the metadata matches the reference writers: global, modules, IR, native.
    let mut metadata = String::new();
    let mut add = |text: String| {
        let offset = metadata.len() as u64;
        metadata.push_str(&text);
        (offset, text.len() as u64)
    };
    let global = add(text(&file.global, || "file".into())?);
    let mut module_metadata = Vec::new();
    for (index, module) in modules() {
        let record = || format!("abstract module {index}");
        module_metadata.push(add(text(&module.metadata, record)?));
    }
    let mut binary_size = 0;
    let mut image_headers = Vec::new();
    for (index, image) in &images {
        let record = || format!("an image of abstract module {index}");
        let (metadata_offset, metadata_size) = add(text(&image.metadata, record)?);
        image_headers.push(v1::ImageHeader {
            metadata_offset,
            metadata_size,
            raw_offset: binary_size,
            raw_size: image.bytes.len() as u64,
        });
        binary_size += image.bytes.len() as u64;
    }

    let mut out = Vec::new();
    v1::FileHeader {
        magic: u32::from_le_bytes(v1::MAGIC),
        version: v1::VERSION,
        padding: 0,
        abstract_module_count: count(file.modules.len(), "abstract modules")?,
        ir_module_count: count(ir, "IR modules")?,
        native_device_code_image_count: count(images.len() - ir, "native images")?,
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
        // The totals above fit into 32 bits, so the indices do not overflow.
        ir_index += ir;
        native_index += native;
    }
    for header in &image_headers {
        header.write(&mut out);
    }
    out.extend_from_slice(metadata.as_bytes());
    out.resize(out.len().next_multiple_of(8), 0);
    for (_, image) in images {
        out.extend_from_slice(&image.bytes);
    }
    Ok(out)
}

fn count(number: usize, what: &'static str) -> Result<u32, Error> {
    u32::try_from(number).map_err(|_| Error::Count(number, what))
}

/// Returns the text form of `sets`. `record` names the owner of the sets in errors.
fn text(
    sets: &crate::property::PropertySets<'_>,
    record: impl FnOnce() -> String,
) -> Result<String, Error> {
    sets.to_text().map_err(|source| Error::Property {
        record: record(),
        source,
    })
}

/// An error for content that the container cannot hold.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A property that the text form cannot represent.
    #[error("{record}: {source}")]
    Property {
        /// The owner of the property, such as `abstract module 0`.
        record: String,
        /// The property and the reason.
        source: Inexpressible,
    },
    /// Content that only other containers can hold, such as strings and foreign entries.
    #[error(
        "{record}: {what} cannot be stored in container {}; remove it, or use container {}",
        container.name(),
        Container::Version2.name()
    )]
    Container {
        /// The record that contains the content, such as `abstract module 0`.
        record: String,
        /// A description of the content.
        what: String,
        /// The container that cannot hold the content.
        container: Container,
    },
    /// A container that this crate can only read.
    #[error(
        "container `{}` is read-only; use another container, such as `{}`",
        .0.name(),
        Container::default().name()
    )]
    ReadOnly(Container),
    /// Strings that readers of version 2 would confuse with SYCLBIN's own strings.
    #[error(
        "{record}: {what} has a special meaning in container v2; remove it, or use another container"
    )]
    Reserved {
        /// The record that contains the strings.
        record: String,
        /// A description of the strings.
        what: String,
    },
    /// A NUL inside a NUL-terminated string: a key, or a value in a version 1 OffloadBinary.
    #[error("the string `{0}` contains a NUL, which would truncate it")]
    Nul(String),
    /// More records than a 32-bit field can count. Contains the number and the kind of records.
    #[error("{0} {1} exceed the format's limit of 4294967295; use container v2")]
    Count(usize, &'static str),
}
