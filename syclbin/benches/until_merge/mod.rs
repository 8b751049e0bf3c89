//! Stand-ins for two functions that the library is about to have; what calls them is marked.

use std::borrow::Cow;
use std::collections::BTreeMap;

use syclbin::{ImageKind, PropertySets, Syclbin};

use crate::files::Sums;

/// Stands in for `syclbin::write::to_vec(file, Container::Version2)`: one entry of an
/// OffloadBinary of version 2 for the file, for each module and for each image.
pub(crate) fn version2(file: &Syclbin<'_>) -> Vec<u8> {
    struct Entry<'a> {
        strings: Vec<(&'static str, String)>,
        head: Vec<u8>,
        code: &'a [u8],
    }
    let entry = |role: &str, module: Option<usize>, metadata: &PropertySets| {
        let mut strings = vec![
            ("sycl_format_version", "2".to_owned()),
            ("role", role.to_owned()),
        ];
        strings.extend(module.map(|index| ("am_index", index.to_string())));
        Entry {
            strings,
            head: metadata.to_text().into_bytes(),
            code: &[],
        }
    };

    let mut entries = vec![entry("global_metadata", None, &file.global)];
    for (index, module) in file.modules.iter().enumerate() {
        entries.push(entry("am_metadata", Some(index), &module.metadata));
        for image in &module.images {
            let role = if image.native { "native" } else { "ir" };
            let mut made = entry(role, Some(index), &image.metadata);
            match image.kind() {
                ImageKind::Ir { ty, target } => made.strings.extend([
                    ("ir_type", ty.number().to_string()),
                    ("triple", target.to_owned()),
                ]),
                ImageKind::Native { arch, target } => made
                    .strings
                    .extend([("triple", target.to_owned()), ("arch", arch.to_owned())]),
            }
            let size = (made.head.len() as u64).to_le_bytes();
            made.head.splice(0..0, size);
            made.code = &image.bytes;
            entries.push(made);
        }
    }

    // Each string once; the table starts with a NUL.
    let mut table = vec![0];
    let mut places: BTreeMap<&str, usize> = BTreeMap::new();
    let texts = entries.iter().flat_map(|entry| &entry.strings);
    for text in texts.flat_map(|(key, value)| [*key, value.as_str()]) {
        places.entry(text).or_insert_with(|| {
            let place = table.len();
            table.extend_from_slice(text.as_bytes());
            table.push(0);
            place
        });
    }
    let string_count: usize = entries.iter().map(|entry| entry.strings.len()).sum();
    let strings = 32 + entries.len() * 40;
    let table_start = strings + string_count * 24;
    let images = (table_start + table.len()).next_multiple_of(8);
    let image_size = |entry: &Entry<'_>| entry.head.len() + entry.code.len();
    let size = images + entries.iter().map(image_size).sum::<usize>();
    let size = size.next_multiple_of(8);

    let mut out = Vec::with_capacity(size);
    let numbers = |out: &mut Vec<u8>, numbers: &[usize]| {
        out.extend(numbers.iter().flat_map(|n| (*n as u64).to_le_bytes()));
    };
    out.extend_from_slice(&[0x10, 0xff, 0x10, 0xad, 2, 0, 0, 0]);
    numbers(&mut out, &[size, 32, entries.len()]);
    let (mut string, mut image) = (strings, images);
    for entry in &entries {
        out.extend_from_slice(&[7, 0, 8, 0, 0, 0, 0, 0]);
        numbers(
            &mut out,
            &[string, entry.strings.len(), image, image_size(entry)],
        );
        string += entry.strings.len() * 24;
        image += image_size(entry);
    }
    for (key, value) in entries.iter().flat_map(|entry| &entry.strings) {
        let place = |text: &str| table_start + places[text];
        numbers(&mut out, &[place(key), place(value), value.len()]);
    }
    out.extend_from_slice(&table);
    out.resize(images, 0);
    for entry in &entries {
        out.extend_from_slice(&entry.head);
        out.extend_from_slice(entry.code);
    }
    out.resize(size, 0);
    out
}

/// Stands in for `syclbin::offload::Entry`.
pub(crate) struct Entry<'a> {
    pub(crate) strings: Vec<(Cow<'a, str>, Cow<'a, [u8]>)>,
    pub(crate) image: Cow<'a, [u8]>,
}

/// Stands in for `syclbin::offload::read(bytes)`: every entry, every string, every range checked.
pub(crate) fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, String> {
    let (mut all, mut rest) = (Vec::new(), bytes);
    while rest.starts_with(&[0x10, 0xff, 0x10, 0xad]) {
        let size =
            entries_of_one(rest, &mut all).ok_or("an OffloadBinary does not hold together")?;
        rest = rest.get(size.next_multiple_of(8)..).unwrap_or_default();
    }
    Ok(all)
}

/// Adds the entries of the first binary in `bytes` to `all`; its size.
fn entries_of_one<'a>(bytes: &'a [u8], all: &mut Vec<Entry<'a>>) -> Option<usize> {
    let word = |at: usize| -> Option<usize> {
        let field = bytes.get(at..at.checked_add(8)?)?;
        usize::try_from(u64::from_le_bytes(field.try_into().ok()?)).ok()
    };
    let version = *bytes.get(4)?;
    let (size, first) = (word(8)?, word(16)?);
    let bytes = bytes.get(..size)?;
    let (count, stride) = match version {
        1 => (1, 16),
        2 => (word(24)?, 24),
        _ => return None,
    };
    let table = bytes.get(first..first.checked_add(count.checked_mul(40)?)?)?;
    let text = |at: usize| {
        let rest = bytes.get(at..)?;
        rest.get(..rest.iter().position(|byte| *byte == 0)?)
    };
    all.reserve(count);
    for index in 0..table.len() / 40 {
        let at = first + index * 40;
        let (string, string_count) = (word(at + 8)?, word(at + 16)?);
        let (image, image_size) = (word(at + 24)?, word(at + 32)?);
        let records = string..string.checked_add(string_count.checked_mul(stride)?)?;
        bytes.get(records.clone())?;
        let mut strings = Vec::with_capacity(string_count);
        for record in records.step_by(stride) {
            let key = core::str::from_utf8(text(word(record)?)?).ok()?;
            let value = match version {
                1 => text(word(record + 8)?)?,
                _ => {
                    let start = word(record + 8)?;
                    bytes.get(start..start.checked_add(word(record + 16)?)?)?
                }
            };
            strings.push((Cow::Borrowed(key), Cow::Borrowed(value)));
        }
        let image = Cow::Borrowed(bytes.get(image..image.checked_add(image_size)?)?);
        all.push(Entry { strings, image });
    }
    Some(size)
}

/// What [`entries`] found, in sums that LLVM's side makes as well.
pub(crate) fn sums(entries: &[Entry<'_>]) -> Sums {
    let strings = entries.iter().flat_map(|entry| &entry.strings);
    Sums {
        entries: entries.len() as u64,
        images: entries.iter().map(|entry| entry.image.len() as u64).sum(),
        strings: strings
            .map(|(key, value)| (key.len() + value.len()) as u64)
            .sum(),
    }
}
