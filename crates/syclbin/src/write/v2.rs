// SPDX-License-Identifier: MIT OR Apache-2.0
//! Writes version 2: an entry for the global metadata, and then, for each module, an entry for its metadata and one for
//! each of its images.

use super::{Error, text};
use crate::model::{Image, ImageKind, Syclbin};
use crate::offload::{self, Entry, OffloadKind, Strings};
use crate::prelude::*;
use crate::raw::v2::{VERSION, key, role};

pub(super) fn write(file: &Syclbin<'_>) -> Result<Vec<u8>, Error> {
    let global = text(&file.global, || "file".into())?;
    check_strings("file", &[], &file.strings)?;
    let mut entries = Vec::from([entry(role::GLOBAL_METADATA, &[], &file.strings, global)]);
    for (index, module) in file.modules.iter().enumerate() {
        let number = [(key::AM_INDEX, index.to_string())];
        let record = format!("abstract module {index}");
        check_strings(&record, &number, &module.strings)?;
        let metadata = text(&module.metadata, || record)?;
        entries.push(entry(role::AM_METADATA, &number, &module.strings, metadata));
        for image in &module.images {
            entries.push(image_entry(image, index)?);
        }
    }
    for (index, entry) in file.foreign.iter().enumerate() {
        check_foreign(entry, index)?;
    }
    entries.extend(file.foreign.iter().cloned());
    offload::write(&entries)
}

fn image_entry<'f>(image: &Image<'f>, module: usize) -> Result<Entry<'f>, Error> {
    let record = || format!("an image of abstract module {module}");
    let metadata = text(&image.metadata, record)?;
    // Except for the module index, these strings repeat metadata, for tools that only support OffloadBinary.
    let mut own = Vec::from([(key::AM_INDEX, module.to_string())]);
    let role = match image.kind() {
        ImageKind::Ir { ty, target } => {
            own.push((key::IR_TYPE, ty.number().to_string()));
            own.push((key::TRIPLE, target.into()));
            role::IR
        }
        ImageKind::Native { arch, target } => {
            own.push((key::TRIPLE, target.into()));
            own.push((key::ARCH, arch.into()));
            role::NATIVE
        }
    };
    check_strings(&record(), &own, &image.strings)?;
    let size = (metadata.len() as u64).to_le_bytes();
    let whole = [&size, metadata.as_bytes(), &image.bytes].concat();
    Ok(entry(role, &own, &image.strings, whole))
}

/// Checks that no string in `extra` repeats a key that SYCLBIN uses in the entry, because readers would ignore the
/// repeated string.
fn check_strings(record: &str, own: &[(&str, String)], extra: &Strings<'_>) -> Result<(), Error> {
    let own = own.iter().map(|(name, _)| *name);
    let mut own = own.chain([key::FORMAT_VERSION, key::ROLE]);
    match own.find(|own| extra.iter().any(|(name, _)| name == own)) {
        None => Ok(()),
        Some(own) => Err(Error::Reserved {
            record: record.into(),
            what: format!("the string `{own}`"),
        }),
    }
}

/// Checks that a foreign entry does not look like a SYCLBIN entry, as the entries of a nested SYCLBIN file would.
fn check_foreign(entry: &Entry<'_>, index: usize) -> Result<(), Error> {
    let role = match entry.image_kind {
        offload::ImageKind::SYCLBIN => entry.string(key::ROLE),
        _ => None,
    };
    match role {
        // An entry of this version with an unknown role is allowed, because readers preserve it.
        Some(role)
            if role::ALL.contains(&role) || entry.string(key::FORMAT_VERSION) != Some(VERSION) =>
        {
            Err(Error::Reserved {
                record: format!("foreign entry {index}"),
                what: format!("the string `{}` in an entry of kind SYCLBIN", key::ROLE),
            })
        }
        _ => Ok(()),
    }
}

fn entry<'f>(
    role: &'static str,
    own: &[(&'static str, String)],
    extra: &Strings<'f>,
    image: impl Into<Vec<u8>>,
) -> Entry<'f> {
    let known = [(key::FORMAT_VERSION, VERSION), (key::ROLE, role)];
    let known = known.map(|(key, value)| (key.into(), value.as_bytes().into()));
    let own = own.iter().map(|(key, value)| {
        let value = value.clone().into_bytes();
        (Cow::Borrowed(*key), value.into())
    });
    Entry {
        image_kind: offload::ImageKind::SYCLBIN,
        offload_kind: OffloadKind::SYCL,
        flags: 0,
        strings: known
            .into_iter()
            .chain(own)
            .chain(extra.iter().cloned())
            .collect(),
        image: image.into().into(),
    }
}
