// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads version 2: sorts the entries of an OffloadBinary by the roles that their strings record.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::image::{Image, Metadata, Owner};
use crate::error::{Error, ErrorKind};
use crate::offload::{Binary, Entry, ImageKind, Strings};
use crate::raw::slice;
use crate::raw::v2::{METADATA_SIZE, VERSION, key, role};

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
    pub(super) ir: Vec<Image<'a>>,
    pub(super) native: Vec<Image<'a>>,
}

/// A module whose entries are still being read.
#[derive(Default)]
struct Partial<'a> {
    metadata: Option<(Metadata<'a>, Strings<'a>)>,
    ir: Vec<Image<'a>>,
    native: Vec<Image<'a>>,
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
            let at = binary.entry_at(index);
            let fail = |problem: String| {
                let kind = ErrorKind::Record(problem.into());
                Error::new(Owner::Entry(index).to_string(), at, kind)
            };
            let role = entry.string(key::ROLE).map(String::from);
            let Some(role) = role.filter(|_| entry.image_kind == ImageKind::SYCLBIN) else {
                foreign.push(entry);
                continue;
            };
            known = true;
            match entry.string(key::FORMAT_VERSION) {
                Some(VERSION) => {}
                Some(other) => {
                    let remedy = "use a newer syclbin, or rewrite the file in version 2";
                    return Err(fail(format!(
                        "format version `{other}` is not supported, only {VERSION} is; {remedy}"
                    )));
                }
                None => {
                    return Err(fail(format!(
                        "the string `{}` is missing",
                        key::FORMAT_VERSION
                    )));
                }
            }
            // `Binary::entries` has validated that this offset is inside the file.
            let offset = binary.raw_entry(index)?.image_offset;
            let whole = Metadata {
                owner: Owner::Entry(index),
                text: borrowed(&entry),
                offset,
            };
            match &*role {
                role::GLOBAL_METADATA if global.is_some() => {
                    return Err(fail("it repeats the global metadata".into()));
                }
                role::GLOBAL_METADATA => global = Some((whole, unknown(entry.strings, &[]))),
                role::AM_METADATA | role::IR | role::NATIVE => {
                    let number = module_index(&entry, binary.count).map_err(fail)?;
                    if modules.len() <= number {
                        modules.resize_with(number + 1, Partial::default);
                    }
                    let module = &mut modules[number];
                    match &*role {
                        role::AM_METADATA if module.metadata.is_some() => {
                            return Err(fail("it repeats the metadata of its module".into()));
                        }
                        role::AM_METADATA => {
                            let strings = unknown(entry.strings, &[key::AM_INDEX]);
                            module.metadata = Some((whole, strings));
                        }
                        role::NATIVE => {
                            let own = [key::AM_INDEX, key::TRIPLE, key::ARCH];
                            let image = image(whole, true, unknown(entry.strings, &own))?;
                            module.native.push(image);
                        }
                        _ => {
                            let own = [key::AM_INDEX, key::TRIPLE, key::IR_TYPE];
                            let image = image(whole, false, unknown(entry.strings, &own))?;
                            module.ir.push(image);
                        }
                    }
                }
                _ => foreign.push(entry),
            }
        }
        if !known {
            return Ok(None);
        }
        let missing = |record: String, problem: &'static str| {
            let kind = ErrorKind::Record(problem.into());
            Error::new(record, binary.entry_offset, kind)
        };
        let (global, strings) = global
            .ok_or_else(|| missing("file".into(), "no entry has the role `global_metadata`"))?;
        let modules = modules.into_iter().enumerate().map(|(index, module)| {
            let (metadata, strings) = module.metadata.ok_or_else(|| {
                missing(
                    format!("abstract module {index}"),
                    "no entry contains its metadata",
                )
            })?;
            Ok(Module {
                metadata,
                strings,
                ir: module.ir,
                native: module.native,
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
fn borrowed<'a>(entry: &Entry<'a>) -> &'a [u8] {
    match entry.image {
        alloc::borrow::Cow::Borrowed(bytes) => bytes,
        alloc::borrow::Cow::Owned(_) => &[],
    }
}

/// Returns the strings of an entry that are neither common to all entries nor in `own`.
fn unknown<'a>(mut strings: Strings<'a>, own: &[&str]) -> Strings<'a> {
    strings.retain(|(name, _)| {
        ![key::FORMAT_VERSION, key::ROLE].contains(&name.as_ref()) && !own.contains(&name.as_ref())
    });
    strings
}

fn module_index(entry: &Entry<'_>, count: usize) -> Result<usize, String> {
    let text = entry
        .string(key::AM_INDEX)
        .ok_or_else(|| format!("the string `{}` is missing", key::AM_INDEX))?;
    let digits = !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let index = text.parse().ok().filter(|index| digits && *index < count);
    index.ok_or_else(|| {
        format!(
            "`{}` is `{text}`; expected a decimal number less than the entry count {count}",
            key::AM_INDEX
        )
    })
}

/// Splits an image's payload, which consists of the metadata size, the metadata and the code.
fn image<'a>(whole: Metadata<'a>, native: bool, strings: Strings<'a>) -> Result<Image<'a>, Error> {
    let Metadata {
        owner,
        text,
        offset,
    } = whole;
    let record = || owner.to_string();
    let size = slice(text, (0, METADATA_SIZE as u64), "image", record, 0)
        .map_err(|error| error.moved(offset))?;
    let size = size
        .iter()
        .rev()
        .fold(0, |size, byte| size << 8 | u64::from(*byte));
    let metadata = slice(text, (METADATA_SIZE as u64, size), "image", record, 0)
        .map_err(|error| error.moved(offset))?;
    let bytes = &text[METADATA_SIZE + metadata.len()..];
    Ok(Image {
        native,
        metadata: Metadata {
            owner,
            text: metadata,
            offset: offset + METADATA_SIZE as u64,
        },
        bytes,
        offset: offset + (METADATA_SIZE + metadata.len()) as u64,
        strings,
    })
}
