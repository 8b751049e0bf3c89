// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads version 2: sorts the entries of an OffloadBinary by the roles that their strings record.

use super::image::{Image, Metadata, Owner};
use crate::error::Error;
use crate::offload::{Binary, Entry, ImageKind, Strings};
use crate::prelude::*;
use crate::raw::slice;
use crate::raw::v2::{METADATA_SIZE, VERSION, key, role};
use crate::text::decimal;

#[derive(Clone, Debug)]
pub(super) struct Entries<'a> {
    pub(super) global: Metadata<'a>,
    pub(super) strings: Strings<'a>,
    pub(super) modules: Vec<Module<'a>>,
    pub(super) foreign: Vec<Entry<'a>>,
}

/// The module formed by the entries with the same index.
#[derive(Clone, Debug)]
pub(super) struct Module<'a> {
    pub(super) metadata: Metadata<'a>,
    pub(super) strings: Strings<'a>,
    /// The IR images, followed by the native images.
    pub(super) images: Vec<Image<'a>>,
}

impl Module<'_> {
    /// Returns the number of IR images and the number of native images.
    pub(super) fn image_counts(&self) -> (usize, usize) {
        let native = self.images.iter().filter(|image| image.native).count();
        (self.images.len() - native, native)
    }
}

/// A module whose entries are still being read.
#[derive(Default)]
struct Partial<'a> {
    metadata: Option<(Metadata<'a>, Strings<'a>)>,
    images: Vec<Image<'a>>,
}

impl<'a> Entries<'a> {
    /// Groups the entries of `binary` by role and module. Returns `None` if no entry belongs to a SYCLBIN version 2
    /// file.
    pub(super) fn sort(binary: &Binary<'a>) -> Result<Option<Self>, Error> {
        let mut global = None;
        // Indices are below the number of entries, so this vector is at most as long as the entry table.
        let mut modules: Vec<Partial<'a>> = Vec::new();
        let mut foreign = Vec::new();
        let mut known = false;
        for (index, entry) in binary.entries().enumerate() {
            let entry = entry?;
            let owner = Owner::Entry(index);
            let at = binary.entry_at(index);
            let fail = |problem: String| Error::inconsistent(owner.to_string(), at, problem);
            let role = entry.string(key::ROLE).map(String::from);
            let Some(role) = role.filter(|_| entry.image_kind == ImageKind::SYCLBIN) else {
                foreign.push(entry);
                continue;
            };
            known = true;
            let version = required(&entry, key::FORMAT_VERSION).map_err(fail)?;
            if version != VERSION {
                let remedy = "use a newer syclbin, or rewrite the file in version 2";
                return Err(fail(format!(
                    "format version `{version}` is not supported, only {VERSION} is; {remedy}"
                )));
            }
            let whole = Metadata {
                owner,
                text: borrowed(&entry),
                // `Binary::entries` has validated that this offset is inside the file.
                offset: binary.raw_entry(index)?.image_offset,
            };
            let (native, own): (_, &[&str]) = match &*role {
                role::GLOBAL_METADATA if global.is_some() => {
                    return Err(fail("it repeats the global metadata".into()));
                }
                role::GLOBAL_METADATA => {
                    global = Some((whole, unknown(entry.strings, &[])));
                    continue;
                }
                role::AM_METADATA => (None, &[key::AM_INDEX]),
                role::IR => (Some(false), &[key::AM_INDEX, key::TRIPLE, key::IR_TYPE]),
                role::NATIVE => (Some(true), &[key::AM_INDEX, key::TRIPLE, key::ARCH]),
                _ => {
                    foreign.push(entry);
                    continue;
                }
            };
            let number = module_index(&entry, binary.count).map_err(fail)?;
            if modules.len() <= number {
                modules.resize_with(number + 1, Partial::default);
            }
            let module = &mut modules[number];
            let strings = unknown(entry.strings, own);
            match native {
                Some(native) => module.images.push(image(whole, native, strings)?),
                None if module.metadata.is_some() => {
                    return Err(fail("it repeats the metadata of its module".into()));
                }
                None => module.metadata = Some((whole, strings)),
            }
        }
        if !known {
            return Ok(None);
        }
        let missing = |record: String, problem: &'static str| {
            Error::inconsistent(record, binary.entry_offset, problem)
        };
        let (global, strings) = global
            .ok_or_else(|| missing("file".into(), "no entry has the role `global_metadata`"))?;
        let modules = modules.into_iter().enumerate().map(|(index, mut module)| {
            let record = || Owner::Module(index).to_string();
            let (metadata, strings) = { module.metadata }
                .ok_or_else(|| missing(record(), "no entry contains its metadata"))?;
            module.images.sort_by_key(|image| image.native);
            Ok(Module {
                metadata,
                strings,
                images: module.images,
            })
        });
        Ok(Some(Self {
            global,
            strings,
            modules: modules.collect::<Result<_, _>>()?,
            foreign,
        }))
    }
}

/// Returns the bytes of an entry from [`Binary::entries`], which always borrows them.
pub(super) fn borrowed<'a>(entry: &Entry<'a>) -> &'a [u8] {
    match entry.image {
        Cow::Borrowed(bytes) => bytes,
        Cow::Owned(_) => &[],
    }
}

/// Returns the strings of an entry that have no meaning in SYCLBIN: those that are neither common to all entries nor in
/// `own`, which lists the keys for the entry's role.
fn unknown<'a>(mut strings: Strings<'a>, own: &[&str]) -> Strings<'a> {
    strings.retain(|(name, _)| {
        ![key::FORMAT_VERSION, key::ROLE].contains(&name.as_ref()) && !own.contains(&name.as_ref())
    });
    strings
}

fn required<'e>(entry: &'e Entry<'_>, key: &str) -> Result<&'e str, String> {
    let text = entry.string(key);
    text.ok_or_else(|| format!("the string `{key}` is missing"))
}

fn module_index(entry: &Entry<'_>, count: usize) -> Result<usize, String> {
    let text = required(entry, key::AM_INDEX)?;
    let index = decimal(text).filter(|index| *index < count);
    index.ok_or_else(|| {
        format!(
            "`{}` is `{text}`; expected a decimal number less than the entry count {count}",
            key::AM_INDEX
        )
    })
}

/// Splits an image's payload, which consists of the metadata size, the metadata and the code.
fn image<'a>(whole: Metadata<'a>, native: bool, strings: Strings<'a>) -> Result<Image<'a>, Error> {
    let (text, offset) = (whole.text, whole.offset);
    let part = |range| {
        let part = slice(text, range, "image", || whole.owner.to_string(), 0);
        part.map_err(|error| error.moved(offset))
    };
    let size = part((0, METADATA_SIZE as u64))?.first_chunk().copied();
    let size = size.map_or(0, u64::from_le_bytes);
    let metadata = part((METADATA_SIZE as u64, size))?;
    let code = METADATA_SIZE + metadata.len();
    Ok(Image {
        native,
        metadata: Metadata {
            text: metadata,
            offset: offset + METADATA_SIZE as u64,
            ..whole
        },
        bytes: &text[code..],
        offset: offset + code as u64,
        strings,
    })
}
