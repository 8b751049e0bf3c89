//! Version 2: an entry for the global metadata, then for each module its metadata and its images.

use alloc::borrow::Cow;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use super::offload::{Outgoing, version_2};
use super::{Error, text};
use crate::model::{Image, ImageKind, Syclbin};
use crate::offload::{self, OffloadKind, Strings};
use crate::raw::v2::{VERSION, key, role};

pub(super) fn write(file: &Syclbin<'_>) -> Result<Vec<u8>, Error> {
    let global = text(&file.global, || "file".into())?;
    let mut entries = Vec::from([entry(role::GLOBAL_METADATA, &[], &file.strings, [global])]);
    for (index, module) in file.modules.iter().enumerate() {
        let number = (key::AM_INDEX, index.to_string());
        let metadata = text(&module.metadata, || format!("abstract module {index}"))?;
        entries.push(entry(
            role::AM_METADATA,
            core::slice::from_ref(&number),
            &module.strings,
            [metadata],
        ));
        for image in &module.images {
            entries.push(image_entry(image, &number)?);
        }
    }
    entries.extend(file.foreign.iter().map(Outgoing::of));
    version_2(&entries)
}

fn image_entry<'f>(
    image: &'f Image<'_>,
    number: &(&'static str, String),
) -> Result<Outgoing<'f>, Error> {
    let record = || format!("an image of abstract module {}", number.1);
    let metadata = text(&image.metadata, record)?;
    // Copies of what the metadata says, for tools that know OffloadBinary alone.
    let mut own = Vec::from([number.clone()]);
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
    let size = (metadata.len() as u64).to_le_bytes().to_vec();
    let mut entry = entry(role, &own, &image.strings, [size, metadata.into_bytes()]);
    entry.image.push(Cow::Borrowed(&image.bytes));
    Ok(entry)
}

fn entry<'f, const N: usize>(
    role: &'static str,
    own: &[(&'static str, String)],
    extra: &'f Strings<'_>,
    image: [impl Into<Vec<u8>>; N],
) -> Outgoing<'f> {
    let known = [(key::FORMAT_VERSION, VERSION), (key::ROLE, role)];
    let known = known.map(|(key, value)| (key, Cow::Borrowed(value.as_bytes())));
    let own = own
        .iter()
        .map(|(key, value)| (*key, Cow::Owned(value.clone().into_bytes())));
    let extra = extra
        .iter()
        .map(|(key, value)| (key.as_ref(), Cow::Borrowed(value.as_ref())));
    Outgoing {
        image_kind: offload::ImageKind::SYCLBIN,
        offload_kind: OffloadKind::SYCL,
        flags: 0,
        strings: known.into_iter().chain(own).chain(extra).collect(),
        image: image.map(|part| Cow::Owned(part.into())).into(),
    }
}
