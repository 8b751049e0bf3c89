// SPDX-License-Identifier: MIT OR Apache-2.0
//! Containers: each way of wrapping a file, what survives it, and what hostile records do.

use std::borrow::Cow;

use syclbin::offload::{self, Entry, ImageKind, OffloadKind};
use syclbin::{
    AbstractModule, Container, Content, Image, IrType, PropertySets, State, Syclbin, Value, read,
    write,
};

/// A file with everything that one can have: two modules, IR and native images, unknown things.
pub(crate) fn everything() -> Syclbin<'static> {
    let mut file = Syclbin::new(State::Object);
    for index in 0..2u8 {
        let mut module = AbstractModule::default();
        module.add_kernel_name(format!("__sycl_kernel_k{index}"));
        let text = String::from("some text");
        module
            .metadata
            .insert("a set of tomorrow", "key", Value::Other { ty: 9, text });
        let spirv = vec![3, 2, 0x23, 7, index];
        module
            .images
            .push(Image::ir(IrType::SpirV, "spir64-unknown-unknown", spirv));
        module
            .images
            .push(Image::ir(IrType::Other(77), "quantum", vec![index; 3]));
        module.images.push(Image::native(
            "sm_90",
            "nvptx64-nvidia-cuda",
            vec![index; 9],
        ));
        file.modules.push(module);
    }
    file.modules.push(AbstractModule::default());
    file
}

pub(crate) fn entry(
    strings: &[(&'static str, &'static str)],
    image: &'static [u8],
) -> Entry<'static> {
    Entry {
        image_kind: ImageKind::SYCLBIN,
        offload_kind: OffloadKind::SYCL,
        flags: 0,
        strings: strings
            .iter()
            .map(|(key, value)| (Cow::Borrowed(*key), Cow::Borrowed(value.as_bytes())))
            .collect(),
        image: Cow::Borrowed(image),
    }
}

const GLOBAL: &[(&str, &str)] = &[("sycl_format_version", "2"), ("role", "global_metadata")];
const AM_0: &[(&str, &str)] = &[
    ("sycl_format_version", "2"),
    ("role", "am_metadata"),
    ("am_index", "0"),
];

#[test]
fn everything_survives_every_container_in_aligned_places() {
    let file = everything();
    for container in Container::ALL {
        let bytes = write::to_vec(&file, container).unwrap();
        assert_eq!(read::parse(&bytes).unwrap(), file, "{}", container.name());
        let view = read::File::parse(&bytes).unwrap();
        assert_eq!(view.container(), container);
        assert_eq!(view.module_count(), 3);
        assert_eq!(view.image_counts(), (4, 2));
        let error = view.module(3).unwrap_err().to_string();
        assert!(
            error.contains("abstract modules 3..4 are out of range: there are 3"),
            "{error}"
        );
        for module in view.modules() {
            for image in module.unwrap().images() {
                let image = image.unwrap();
                let start = usize::try_from(image.offset).unwrap();
                assert_eq!(&bytes[start..start + image.bytes.len()], image.bytes);
                let (text, start) = (image.metadata.text, image.metadata.offset);
                let start = usize::try_from(start).unwrap();
                assert_eq!(&bytes[start..start + text.len()], text);
            }
        }
        if container != Container::Bare {
            assert_eq!(bytes.len() % 8, 0);
            assert_eq!(bytes[72..].len() % 8, 0);
        }
    }
}

#[test]
fn images_and_names_borrow_the_input() {
    let bytes = write::to_vec(&everything(), Container::Version2).unwrap();
    let range = bytes.as_ptr_range();
    let file = read::parse(&bytes).unwrap();
    for image in file.modules.iter().flat_map(|module| &module.images) {
        let Cow::Borrowed(code) = image.bytes else {
            panic!("a copy")
        };
        assert!(range.contains(&code.as_ptr()));
    }
    let name = file.kernel_names().next().unwrap();
    assert!(range.contains(&name.as_ptr()));
}

#[test]
fn unknown_strings_and_entries_survive_version_2() {
    let mut file = everything();
    let odd = |key: &'static str| (Cow::Borrowed(key), Cow::Borrowed(&b"a\0b"[..]));
    file.strings.push(odd("of the file"));
    file.modules[1].strings.push(odd("of a module"));
    file.modules[1].images[2].strings.push(odd("of an image"));
    let mut tomorrow = entry(
        &[("sycl_format_version", "2"), ("role", "host_pipes")],
        b"?",
    );
    file.foreign.push(tomorrow.clone());
    tomorrow.image_kind = ImageKind(99);
    tomorrow.flags = 4;
    file.foreign.push(tomorrow);
    let bytes = write::to_vec(&file, Container::Version2).unwrap();
    assert_eq!(read::parse(&bytes).unwrap(), file);
    assert_eq!(file.clone().into_owned(), file);

    // No other container can hold all of that, and each says what it cannot.
    for (container, expected) in [
        (Container::Bare, "abstract module 1: the string `of"),
        (
            Container::OffloadBinary1,
            "abstract module 1: the string `of",
        ),
    ] {
        let error = write::to_vec(&file, container).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
        assert!(error.contains("container v1"), "{error}");
    }
    file.modules.truncate(1);
    let error = write::to_vec(&file, Container::Bare).unwrap_err();
    assert!(error.to_string().contains("`of the file`"), "{error}");
    let error = write::to_vec(&file, Container::OffloadBinary1).unwrap_err();
    assert!(error.to_string().contains("a non-SYCLBIN entry"), "{error}");
    file.foreign.clear();
    let error = write::to_vec(&file, Container::OffloadBinary1).unwrap_err();
    assert!(error.to_string().contains("contains a NUL"), "{error}");
}

#[test]
fn version_1_keeps_strings_and_other_entries() {
    let mut file = everything();
    file.strings
        .push(("producer".into(), b"a compiler"[..].into()));
    let bytes = write::to_vec(&file, Container::OffloadBinary1).unwrap();
    assert_eq!(read::parse(&bytes).unwrap(), file);
    file.foreign.push(Entry {
        image_kind: ImageKind::PTX,
        ..entry(&[("triple", "nvptx64")], b".version 6.3")
    });
    let bytes = write::to_vec(&file, Container::OffloadBinary2).unwrap();
    assert_eq!(read::parse(&bytes).unwrap(), file);
    // Another entry alone is kept, too.
    file.strings.clear();
    let bytes = write::to_vec(&file, Container::OffloadBinary2).unwrap();
    assert_eq!(read::parse(&bytes).unwrap(), file);
}

#[test]
fn modules_know_their_index() {
    let bytes = write::to_vec(&everything(), Container::default()).unwrap();
    let file = read::File::parse(&bytes).unwrap();
    let indices = file.modules().map(|module| module.unwrap().index);
    assert!(indices.eq(0..file.module_count()));
    assert!(file.module_count() > 1);
}

#[test]
fn unwritable_property_is_named_with_its_record() {
    let mut file = everything();
    let metadata = &mut file.modules[1].images[0].metadata;
    metadata.insert("set", "a=b", 1u32);
    for container in Container::ALL {
        let error = write::to_vec(&file, container).unwrap_err().to_string();
        assert_eq!(
            error,
            "an image of abstract module 1: set `set`, key `a=b`: the key contains `=`"
        );
    }
}

#[test]
fn version_2_entries_may_have_any_order() {
    let file = everything();
    let bytes = write::to_vec(&file, Container::Version2).unwrap();
    let mut entries = offload::read(&bytes).unwrap();
    // Native images before IR, metadata after images, the last module first.
    entries.reverse();
    let reversed = offload::write(&entries).unwrap();
    let mut read = read::parse(&reversed).unwrap();
    for module in &mut read.modules {
        let natives = module.images.iter().filter(|image| image.native).count();
        let irs = module.images.len() - natives;
        module.images[..irs].reverse();
        module.images[irs..].reverse();
    }
    assert_eq!(read, file);
}

#[test]
fn broken_rules_of_version_2_are_named() {
    let image: &[(&str, &str)] = &[
        ("sycl_format_version", "2"),
        ("role", "ir"),
        ("am_index", "0"),
    ];
    let index = |index: &'static str| {
        [
            ("sycl_format_version", "2"),
            ("role", "am_metadata"),
            ("am_index", index),
        ]
    };
    let cases: &[(Vec<Entry<'_>>, &str)] = &[
        (vec![entry(AM_0, b"")], "no entry has the role"),
        (
            vec![entry(GLOBAL, b""), entry(GLOBAL, b"")],
            "OffloadBinary entry 1: it repeats the global metadata",
        ),
        (
            vec![entry(GLOBAL, b""), entry(AM_0, b""), entry(AM_0, b"")],
            "entry 2: it repeats the metadata of its module",
        ),
        (
            vec![entry(GLOBAL, b""), entry(&index("1"), b"")],
            "abstract module 0: no entry contains its metadata",
        ),
        (
            vec![entry(GLOBAL, b""), entry(&index("+0"), b"")],
            "`am_index` is `+0`; expected a decimal number less than the entry count 2",
        ),
        (
            vec![entry(GLOBAL, b""), entry(&index("2"), b"")],
            "`am_index` is `2`",
        ),
        (
            vec![
                entry(GLOBAL, b""),
                entry(&index("99999999999999999999"), b""),
            ],
            "`am_index` is",
        ),
        (
            vec![entry(GLOBAL, b""), entry(&AM_0[..2], b"")],
            "the string `am_index` is missing",
        ),
        (
            vec![entry(&GLOBAL[1..], b"")],
            "the string `sycl_format_version` is missing",
        ),
        (
            vec![entry(
                &[("sycl_format_version", "3"), ("role", "global_metadata")],
                b"",
            )],
            "format version `3` is not supported, only 2 is",
        ),
        (
            vec![
                entry(GLOBAL, b""),
                entry(AM_0, b""),
                entry(image, b"1234567"),
            ],
            "entry 2: range 0x0+0x8 exceeds the image of 0x7 bytes",
        ),
        (
            vec![
                entry(GLOBAL, b""),
                entry(AM_0, b""),
                entry(image, b"\xff\xff\xff\xff\xff\xff\xff\xff[a]"),
            ],
            "range 0x8+0xffffffffffffffff exceeds the image of 0xb bytes",
        ),
        (vec![], "the OffloadBinary contains no entries"),
        (
            vec![Entry {
                image_kind: ImageKind::BITCODE,
                ..entry(&[("triple", "spir64")], b"BC")
            }],
            "image kind 2 is not SYCLBIN",
        ),
    ];
    for (entries, expected) in cases {
        let bytes = offload::write(entries).unwrap();
        let error = read::parse(&bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{expected}: {error}");
    }
}

#[test]
fn consecutive_offload_binaries_are_read_with_padding() {
    let one = offload::write(&[entry(&[("a", "1")], b"x"), entry(&[], b"")]).unwrap();
    let two = write::to_vec(&everything(), Container::OffloadBinary1).unwrap();
    let mut bytes = one.clone();
    bytes.extend_from_slice(&[0; 24]);
    bytes.extend_from_slice(&two);
    bytes.extend_from_slice(&[0; 5]);
    let entries = offload::read(&bytes).unwrap();
    let images: Vec<_> = entries.iter().map(|entry| entry.image.len()).collect();
    assert_eq!(images[..2], [1, 0]);
    assert_eq!(entries[0].string("a"), Some("1"));
    assert!(entries[2].image.starts_with(b"IBYS"));

    bytes.extend_from_slice(b"junk");
    let error = offload::read(&bytes).unwrap_err();
    assert!(
        error
            .to_string()
            .contains("not an OffloadBinary: it begins with 6a 75 6e 6b"),
        "{error}"
    );
    assert!(error.offset() >= (one.len() + 24 + two.len()) as u64);
}

#[test]
fn version_3_is_read_unless_it_is_compressed() {
    let version_2 = offload::write(&[entry(&[("k", "v")], b"image")]).unwrap();
    // The header grows by 8 bytes, so all offsets do.
    let mut bytes = version_2.clone();
    bytes.splice(32..32, [0; 8]);
    bytes[4] = 3;
    let grow = |bytes: &mut [u8], at: usize| {
        let number = u64::from_le_bytes(bytes[at..at + 8].try_into().unwrap()) + 8;
        bytes[at..at + 8].copy_from_slice(&number.to_le_bytes());
    };
    for at in [8, 16, 40 + 8, 40 + 24, 80, 88] {
        grow(&mut bytes, at);
    }
    let entries = offload::read(&bytes).unwrap();
    assert_eq!(entries, offload::read(&version_2).unwrap());
    bytes[32] = 1;
    let error = offload::read(&bytes).unwrap_err();
    assert!(error.to_string().contains("it is compressed"), "{error}");
    bytes[4] = 4;
    let error = offload::read(&bytes).unwrap_err();
    assert!(error.to_string().contains("version 4 is not"), "{error}");
}

/// Writes a little-endian number.
pub(crate) fn put<const N: usize>(bytes: &mut [u8], at: usize, number: [u8; N]) {
    bytes[at..at + N].copy_from_slice(&number);
}

#[test]
fn sizes_beyond_the_file_are_errors() {
    let mut bare = vec![0; 56];
    bare[..8].copy_from_slice(b"IBYS\x01\0\0\0");
    for (at, expected) in [
        (8, "SYCLBIN file header: range 0x38+0x1fffffffe0 exceeds"),
        (12, "SYCLBIN file header: range 0x38+0x1fffffffe0 exceeds"),
        (16, "SYCLBIN file header: range 0x38+0x1fffffffe0 exceeds"),
        (
            24,
            "range 0x38+0xffffffff exceeds the file of 0x38 bytes (at offset 0x18)",
        ),
        (
            32,
            "range 0x38+0xffffffff exceeds the file of 0x38 bytes (at offset 0x20)",
        ),
        (40, "exceeds the metadata table"),
        (48, "exceeds the metadata table"),
    ] {
        let mut bytes = bare.clone();
        put(&mut bytes, at, u32::MAX.to_le_bytes());
        let error = read::parse(&bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{at}: {error}");
        // The same with 64 bits, where a sum overflows.
        if at >= 24 {
            put(&mut bytes, at, u64::MAX.to_le_bytes());
            assert!(read::parse(&bytes).is_err());
        }
    }
    let mut wrapped = vec![0; 40];
    wrapped[..8].copy_from_slice(b"\x10\xff\x10\xad\x02\0\0\0");
    put(&mut wrapped, 8, 40u64.to_le_bytes());
    put(&mut wrapped, 16, 32u64.to_le_bytes());
    put(&mut wrapped, 24, u64::from(u32::MAX).to_le_bytes());
    let error = read::parse(&wrapped).unwrap_err().to_string();
    assert!(error.contains("range 0x20+0x27ffffffd8 exceeds"), "{error}");
}

#[test]
fn a_million_empty_records_are_read() {
    // Empty modules cost 32 bytes each, in every container but version 2 as good as nothing else.
    let count = 1_000_000;
    let mut bytes = vec![0; 56 + 32 * count];
    bytes[..8].copy_from_slice(b"IBYS\x01\0\0\0");
    put(&mut bytes, 8, u32::try_from(count).unwrap().to_le_bytes());
    let file = read::parse(&bytes).unwrap();
    assert_eq!(file.modules.len(), count);
    assert!(file.modules.iter().all(|module| module.images.is_empty()));
}

#[test]
fn modules_that_share_images_are_refused() {
    let mut file = Syclbin::new(State::Executable);
    let mut module = AbstractModule::default();
    for _ in 0..4 {
        module.images.push(Image::ir(IrType::SpirV, "", vec![]));
    }
    file.modules.push(module);
    file.modules.push(AbstractModule::default());
    let mut bytes = write::to_vec(&file, Container::Bare).unwrap();
    // How many, and from which on.
    put(&mut bytes, 56 + 32 + 16, 4u32.to_le_bytes());
    put(&mut bytes, 56 + 32 + 20, 0u32.to_le_bytes());
    let error = read::parse(&bytes).unwrap_err().to_string();
    assert!(
        error.contains(
            "abstract module 1: the records claim too many IR modules: 8 in total, but only 4 are available"
        ),
        "{error}"
    );
}

#[test]
fn entries_that_share_strings_are_refused() {
    let strings: Vec<(Cow<'_, str>, Cow<'_, [u8]>)> = (0..2000)
        .map(|index| (format!("key {index}").into(), Cow::Borrowed(&b"v"[..])))
        .collect();
    let full = Entry {
        strings,
        ..entry(&[], b"")
    };
    let empty = entry(&[], b"");
    let mut entries = vec![full];
    entries.resize(2000, empty);
    let mut bytes = offload::write(&entries).unwrap();
    let table = bytes[32 + 8..32 + 24].to_vec();
    for index in 1..2000 {
        let at = 32 + 40 * index + 8;
        bytes[at..at + 16].copy_from_slice(&table);
    }
    let error = offload::read(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("the records claim too many string entries"),
        "{error}"
    );
}

#[test]
fn a_text_that_many_strings_share_is_refused() {
    // Each of 4,000 strings is the same text: 400 MB from a file of 0.2 MB, for one of 100 kB.
    for size in [100_000, 4_000] {
        let value: &'static [u8] = vec![b'x'; size].leak();
        let mut strings = vec![(Cow::Borrowed("k"), Cow::Borrowed(&b"short"[..])); 4000];
        strings[0].1 = Cow::Borrowed(value);
        let mut bytes = offload::write(&[Entry {
            strings,
            ..entry(&[], b"")
        }])
        .unwrap();
        // The writer shares short texts only: all others are led to the first.
        let first = 32 + 40;
        let value = bytes[first + 8..first + 24].to_vec();
        for at in (1..4000).map(|index| first + 24 * index) {
            bytes[at + 8..at + 24].copy_from_slice(&value);
        }
        assert!(bytes.len() < 300_000);
        let error = offload::read(&bytes).unwrap_err().to_string();
        assert!(
            error.contains("the records claim too many string bytes"),
            "{error}"
        );
    }
}

#[test]
fn property_sets_are_equal_however_they_were_made() {
    let mut made = PropertySets::default();
    made.insert("s", "k", 1u32);
    assert_eq!(made, PropertySets::parse(b"[s]\nk=1|1\n").unwrap());
    assert_ne!(made, PropertySets::parse(b"[s]\nk=1|2\n").unwrap());
}

#[test]
fn equal_long_strings_are_read_back() {
    let options = "-O3 ".repeat(1000);
    let options = || (Cow::Borrowed("compile-opts"), options.as_bytes().into());
    let entries: Vec<Entry<'_>> = (0..1000)
        .map(|_| Entry {
            strings: vec![options()],
            ..entry(&[], b"code")
        })
        .collect();
    let bytes = offload::write(&entries).unwrap();
    assert!(offload::read(&bytes).unwrap() == entries);
}

#[test]
fn version_2_refuses_reserved_string_keys() {
    let mut file = everything();
    file.strings = entry(&[("am_index", "7"), ("triple", "t")], b"").strings;
    file.modules[0].strings = entry(&[("arch", "a")], b"").strings;
    file.modules[0].images[0].strings = entry(&[("arch", "a")], b"").strings;
    file.foreign = vec![
        entry(
            &[("role", "of tomorrow"), ("sycl_format_version", "2")],
            b"",
        ),
        Entry {
            image_kind: ImageKind::OBJECT,
            ..entry(&[("role", "ir")], b"")
        },
    ];
    let bytes = write::to_vec(&file, Container::Version2).unwrap();
    assert_eq!(read::parse(&bytes).unwrap(), file);

    let refused = |change: &dyn Fn(&mut Syclbin<'_>), expected: &str| {
        let mut file = file.clone();
        change(&mut file);
        let error = write::to_vec(&file, Container::Version2).unwrap_err();
        assert!(error.to_string().starts_with(expected), "{error}");
    };
    let string = |key| entry(&[(key, "x")], b"").strings;
    refused(
        &|file| file.strings = string("role"),
        "file: the string `role`",
    );
    for key in ["sycl_format_version", "am_index"] {
        let expected = format!("abstract module 1: the string `{key}`");
        refused(&|file| file.modules[1].strings = string(key), &expected);
    }
    for (image, key) in [(0, "ir_type"), (0, "triple"), (2, "arch")] {
        let expected = format!("an image of abstract module 1: the string `{key}`");
        refused(
            &|file| file.modules[1].images[image].strings = string(key),
            &expected,
        );
    }
    for strings in [GLOBAL, AM_0, &[("role", "of tomorrow")]] {
        refused(
            &|file| file.foreign[0] = entry(strings, b""),
            "foreign entry 0: the string `role`",
        );
    }
}

#[test]
fn empty_image_lies_inside_file_without_padding() {
    let mut file = Syclbin::new(State::Executable);
    let mut module = AbstractModule::default();
    let image = Image::ir(IrType::SpirV, "spir64", vec![]);
    module.images.push(image);
    file.modules.push(module);
    let mut bytes = write::to_vec(&file, Container::Bare).unwrap();
    let metadata = u64::from_le_bytes(bytes[24..32].try_into().unwrap());
    let end = 56 + 2 * 32 + usize::try_from(metadata).unwrap();
    assert!(end < bytes.len(), "there is padding");
    bytes.truncate(end);
    let view = read::File::parse(&bytes).unwrap();
    let module = view.module(0).unwrap();
    let image = module.images().next().unwrap().unwrap();
    assert_eq!(image.offset, end as u64);
}

#[test]
fn shared_native_images_and_metadata_are_refused() {
    let mut file = Syclbin::new(State::Executable);
    for _ in 0..4 {
        let mut module = AbstractModule::default();
        module.images.push(Image::native("sm_90", "", vec![]));
        file.modules.push(module);
    }
    let good = write::to_vec(&file, Container::Bare).unwrap();
    // All modules claim all images, which a header has in its last 8 bytes: how many, which first.
    let mut bytes = good.clone();
    for module in 0..4 {
        put(&mut bytes, 56 + 32 * module + 24, [4, 0, 0, 0, 0, 0, 0, 0]);
    }
    let error = read::parse(&bytes).unwrap_err().to_string();
    assert!(error.contains("claim too many native images"), "{error}");
    // All of them claim the whole table of metadata.
    let mut bytes = good;
    let size: [u8; 8] = bytes[24..32].try_into().unwrap();
    for module in 0..4 {
        put(&mut bytes, 56 + 32 * module, [0; 8]);
        put(&mut bytes, 56 + 32 * module + 8, size);
    }
    let error = read::parse(&bytes).unwrap_err().to_string();
    assert!(error.contains("claim too many metadata bytes"), "{error}");
}

#[test]
fn image_range_beyond_the_table_is_refused() {
    let mut file = everything();
    file.modules.truncate(1);
    let good = write::to_vec(&file, Container::Bare).unwrap();
    for (at, expected) in [
        (20, "IR modules 1..3 are out of range: there are 2"),
        (28, "native images 1..2 are out of range: there are 1"),
    ] {
        let mut bytes = good.clone();
        put(&mut bytes, 56 + at, 1u32.to_le_bytes());
        let error = read::parse(&bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn image_kinds_follow_the_content() {
    let elf = |machine| Content::Elf { machine };
    for (content, kind) in [
        (elf(190), ImageKind::CUBIN),
        (elf(62), ImageKind::OBJECT),
        (Content::LlvmBitcode, ImageKind::BITCODE),
        (Content::CudaFatbin, ImageKind::FATBINARY),
        (Content::Ptx, ImageKind::PTX),
        (Content::SpirV, ImageKind::SPIRV),
        (Content::Syclbin, ImageKind::SYCLBIN),
        (Content::Archive, ImageKind::NONE),
    ] {
        assert_eq!(ImageKind::of(content), kind, "{content:?}");
    }
}

#[test]
fn entries_that_start_in_the_header_are_refused() {
    let mut bytes = offload::write(&[entry(&[], b"image")]).unwrap();
    put(&mut bytes, 16, 24u64.to_le_bytes());
    let error = offload::read(&bytes).unwrap_err().to_string();
    let expected = "OffloadBinary header: the entries start at 0x18, inside the header";
    assert!(error.starts_with(expected), "{error}");
    let mut bytes = write::to_vec(&everything(), Container::OffloadBinary1).unwrap();
    put(&mut bytes, 24, 48u64.to_le_bytes());
    let error = offload::read(&bytes).unwrap_err().to_string();
    let expected = "OffloadBinary header: the entry size is 48; expected 40 (at offset 0x18)";
    assert_eq!(error, expected);
}

#[test]
fn wrapped_error_has_the_offset_in_file() {
    let file = everything();
    let good = write::to_vec(&file, Container::OffloadBinary1).unwrap();
    let header = 72; // of SYCLBIN, behind those of the wrapper
    let images = header + 56 + 32 * file.modules.len();
    for (patched, record, expected) in [
        (header + 24, "SYCLBIN file header", header + 24),
        (header + 56, "abstract module 0", header + 56),
        (images, "IR module 0", images),
        (images + 16, "IR module 0", images),
    ] {
        let mut bytes = good.clone();
        put(&mut bytes, patched, u64::MAX.to_le_bytes());
        let error = read::parse(&bytes).unwrap_err();
        let expected = (record, expected as u64);
        assert_eq!((error.record(), error.offset()), expected, "{error}");
    }
    let mut bytes = good;
    let line = bytes.windows(6).position(|text| text == b"state=");
    let line = line.unwrap();
    bytes[line + 5] = b'?';
    assert_eq!(read::parse(&bytes).unwrap_err().offset(), line as u64);
}
