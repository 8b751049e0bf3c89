// SPDX-License-Identifier: MIT OR Apache-2.0
//! Containers that are damaged, or that claim more than they contain.

use super::*;

#[test]
fn damaged_structs_lose_properties_only() {
    let whole = test_files::read("extract/registered.so");
    let count = images(&whole).unwrap().len();
    let mut lost = 0;
    for at in 0..whole.len() {
        let mut bytes = whole.clone();
        bytes[at] ^= 0xff;
        // Damage to headers of the object is an error, with its place.
        let Ok(found) = images(&bytes) else { continue };
        lost += usize::from(found.iter().any(|image| image.properties.is_none()));
        assert!(found.len() <= count + 1, "{at}");
    }
    assert!(lost > 50, "{lost}");
}

#[test]
fn records_that_share_bytes_are_refused() {
    // Every second entry claims the same image.
    let image = vec![b'x'; 4096];
    let mut entries: Vec<Entry<'_>> = Vec::new();
    entries.resize_with(64, || Entry::new(b""));
    entries.push(Entry::new(&image));
    let mut bytes = offload(2, 0, &entries);
    let last = bytes[32 + 64 * 40 + 24..32 + 65 * 40].to_vec();
    for index in 0..64 {
        bytes[32 + index * 40 + 24..32 + (index + 1) * 40].copy_from_slice(&last);
    }
    let error = images(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("the records claim too many image bytes"),
        "{error}"
    );

    // So do entries of a bundle.
    let id = b"sycl-spir64";
    let mut bytes = b"__CLANG_OFFLOAD_BUNDLE__".to_vec();
    bytes.extend(100u64.to_le_bytes());
    for _ in 0..100 {
        for number in [3600u64, 400, id.len() as u64] {
            bytes.extend(number.to_le_bytes());
        }
        bytes.extend(id);
    }
    bytes.resize(4000, b'x');
    let error = images(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("the records claim too many bundled bytes"),
        "{error}"
    );

    // And sections: both headers are made to point to the same bytes.
    let code = spirv("import_side");
    let zeros = vec![0; 1140];
    let wrapped = offload::write(&[]).unwrap();
    let wrapped = [&wrapped[..], &zeros].concat();
    for (name, content) in [
        ("__CLANG_OFFLOAD_BUNDLE__sycl-spir64", &code),
        ("__CLANG_OFFLOAD_BUNDLE_SIZE__sycl-spir64", &zeros),
        (".llvm.offloading", &wrapped),
    ] {
        let sections = vec![(name, &content[..]); 20];
        let mut bytes = object(
            BinaryFormat::Coff,
            Architecture::X86_64,
            Endianness::Little,
            &sections,
        );
        // A COFF section header has 40 bytes, the first at 20, the place of its data at 20.
        let place = bytes[20 + 20..20 + 24].to_vec();
        for index in 0..20 {
            let at = 20 + index * 40;
            bytes[at + 16..at + 20].copy_from_slice(&4000u32.to_le_bytes());
            bytes[at + 20..at + 24].copy_from_slice(&place);
        }
        let error = images(&bytes).unwrap_err().to_string();
        assert!(
            error.contains("the records claim too many container bytes"),
            "{name}: {error}"
        );
    }

    // And images of SYCLBIN, whose headers all name the whole binary table.
    let mut file = Syclbin::new(State::Object);
    let image = |size| Image::ir(IrType::SpirV, "spir64", vec![7; size]);
    let mut module = AbstractModule::default();
    module.images.extend([image(4096), image(0), image(0)]);
    file.modules.push(module);
    let mut bytes = write::to_vec(&file, Container::Bare).unwrap();
    let first = 56 + 32 + 16;
    for index in 1..3 {
        bytes.copy_within(first..first + 16, first + 32 * index);
    }
    let error = images(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("the records claim too many container bytes"),
        "{error}"
    );
}

#[test]
fn shared_string_bytes_have_a_limit() {
    // Writers store equal strings once; a thousand long ones are more than any compiler makes.
    let long = vec![b'a'; 4096];
    let shared = |count: usize| {
        let mut entries = vec![Entry::new(b"x")];
        entries.resize_with(count, || Entry::new(b""));
        for entry in &mut entries {
            entry.strings.push(("", b""));
        }
        entries[0].strings = vec![("triple", &long)];
        let mut bytes = offload(2, 0, &entries);
        let (first, records) = (32 + count * 40, 24);
        for index in 1..count {
            bytes.copy_within(first..first + records, first + index * records);
        }
        bytes
    };
    let found = images(&shared(4)).map(|found| found.len());
    assert_eq!(found.unwrap(), 4);
    let error = images(&shared(1000)).unwrap_err().to_string();
    assert!(
        error.contains("the records claim too many string bytes"),
        "{error}"
    );
}

#[test]
fn nesting_without_end_is_refused() {
    let mut bytes = spirv("export_side");
    for _ in 0..7 {
        bytes = offload(2, 0, &[Entry::new(&bytes)]);
    }
    assert_eq!(images(&bytes).unwrap().len(), 1);
    // Deep enough to run out of stack where each is a call.
    let members = (0..30_000).map(|depth| {
        let size = bytes.len() + 68 * depth;
        format!("!<arch>\n{:<16}{:<32}{size:<10}`\n", "a/", 0)
    });
    let members: Vec<String> = members.collect();
    let members = members.into_iter().rev().collect::<String>();
    bytes.splice(..0, members.into_bytes());
    let error = images(&bytes).unwrap_err().to_string();
    assert!(
        error.contains("containers are nested more than 8 levels deep"),
        "{error}"
    );
}
