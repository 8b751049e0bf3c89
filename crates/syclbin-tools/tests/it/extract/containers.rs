// SPDX-License-Identifier: MIT OR Apache-2.0
//! The containers, and the images in them.

use super::*;

/// What `llvm-objdump --offloading` and `clang-offload-bundler --list` of LLVM 22 show of the same
/// files; the objdump does not find the section that `lld-link` renamed, nor go into a nested file.
#[test]
fn every_llvm_container_yields_its_images() {
    let old = "section __CLANG_OFFLOAD_BUNDLE__sycl-spir64";
    let both = |place: &str| {
        vec![
            format!("{place}entry 0 | {EXPORT}"),
            format!("{place}entry 1 | {IMPORT}"),
        ]
    };
    let linked = |place: &str| format!("{place}entry 0 | {LINKED}");
    let two = |place: &str| {
        vec![
            format!("{place}: image 0 | SYCL | spir64 |  | SPIR-V | 264"),
            format!("{place}: image 1 | SYCL | spir64 |  | SPIR-V | 1140"),
        ]
    };
    let registered = |place: &str| {
        vec![
            format!(
                "{place}: image 0 | SYCL | spir64 |  | SPIR-V | 264 | compile-opts=-cl-opt-disable"
            ),
            format!("{place}: image 1 | SYCL | spir64 |  | SPIR-V | 1140"),
        ]
    };
    let section = "section .llvm.offloading: ";
    let member = "archive member other.o: section .llvm.offloading: ";
    let compressed = |version| {
        let place = "compressed offload bundle: bundle entry";
        vec![
            format!(
                "{place} host-x86_64-unknown-linux-gnu- | host | x86_64-unknown-linux-gnu |  | unknown content | 29"
            ),
            format!(
                "{place} openmp-spirv64-unknown-unknown-{version} | OpenMP | spirv64-unknown-unknown |  | SPIR-V | 264"
            ),
        ]
    };
    let expected: [(&str, Vec<String>); 25] = [
        ("two.offload", both("")),
        ("linked.offload", vec![linked("")]),
        ("upstream.offload", vec![format!("entry 0 | {UPSTREAM}")]),
        ("fat.o", both(section)),
        ("fat.obj", both(section)),
        ("wrapped.so", both(section)),
        ("kept.dll", both("section .llvm: ")),
        (
            "windows.lib",
            both("archive member fat.obj: section .llvm.offloading: "),
        ),
        ("bsd.a", vec![linked(member)]),
        (
            "merged.o",
            [both(section), vec![format!("{section}entry 2 | {LINKED}")]].concat(),
        ),
        (
            "library.a",
            [
                both("archive member fat.o: section .llvm.offloading: "),
                vec![linked(member)],
            ]
            .concat(),
        ),
        ("old.o", two(old)),
        ("old.obj", two(old)),
        ("old_sizes.o", two(old)),
        (
            "old.dll",
            vec!["section __CLANG_ | no programming model recorded |  |  | SPIR-V | 1140".into()],
        ),
        (
            "mixed.offload",
            vec![
                "entry 0 | HIP | amdgcn-amd-amdhsa | gfx90a | ELF for AMD GPUs | 4120".into(),
                "entry 1 | CUDA | nvptx64-nvidia-cuda | sm_75 | PTX | 557".into(),
                "entry 2 | OpenMP | spirv64 |  | LLVM bitcode | 2268".into(),
            ],
        ),
        (
            "nested.offload",
            vec![format!(
                "entry 0: entry 0: SYCLBIN module 0: image 0 | {EXPORT}"
            )],
        ),
        (
            "binary.bundle",
            vec![
                "bundle entry host-x86_64-unknown-linux-gnu- | host | x86_64-unknown-linux-gnu |  \
                 | unknown content | 29"
                    .into(),
                "bundle entry openmp-spirv64-unknown-unknown-unknown- | OpenMP | \
                 spirv64-unknown-unknown |  | SPIR-V | 264"
                    .into(),
                "bundle entry hip-amdgcn-amd-amdhsa--gfx90a | HIP | amdgcn-amd-amdhsa | gfx90a | \
                 ELF for AMD GPUs | 4120"
                    .into(),
            ],
        ),
        (
            "text.bundle",
            vec![
                "bundle entry host-x86_64-unknown-linux-gnu- | host | x86_64-unknown-linux-gnu |  \
                 | unknown content | 354"
                    .into(),
                "bundle entry openmp-nvptx64-nvidia-cuda-unknown-sm_75 | OpenMP | \
                 nvptx64-nvidia-cuda | sm_75 | PTX | 557"
                    .into(),
            ],
        ),
        ("compressed.bundle", compressed("unknown-")),
        ("compressed2.bundle", compressed("unknown-")),
        ("lto.o", both("embedded object 0: ")),
        ("registered.so", registered(old)),
        ("registered.dll", registered("section __CLANG_")),
        (
            "bundle.o",
            vec![
                "section __CLANG_OFFLOAD_BUNDLE__openmp-spirv64-unknown-unknown-unknown- | OpenMP \
                 | spirv64-unknown-unknown |  | SPIR-V | 264"
                    .into(),
            ],
        ),
    ];
    for (name, expected) in &expected {
        let found = lines(&test_files::read(&format!("extract/{name}")));
        assert_eq!(found, *expected, "{name}");
    }
    // All but the thin archive.
    assert_eq!(expected.len() + 1, containers().len());
}

#[test]
fn images_are_equal_at_their_offsets() {
    let (export, import) = (spirv("export_side"), spirv("import_side"));
    let mut compared = 0;
    let (mut native, mut ptx) = (Vec::new(), Vec::new());
    for (name, bytes) in containers() {
        for image in images(&bytes).unwrap_or_default() {
            // Bytes that were compressed, or in bitcode, lie nowhere in the file.
            if let Cow::Borrowed(image_bytes) = &image.bytes {
                let at = usize::try_from(image.offset).unwrap();
                let there = &bytes[at..at + image_bytes.len()];
                assert_eq!(there, *image_bytes, "{name}: {}", image.origin);
            }
            match (image.content, image.bytes.len()) {
                (Content::SpirV, 264) => assert_eq!(export, *image.bytes, "{name}"),
                (Content::SpirV, 1140) => assert_eq!(import, *image.bytes, "{name}"),
                (Content::Elf { machine: 224 }, _) => native.push(image.bytes.to_vec()),
                (Content::Ptx, _) => ptx.push(image.bytes.to_vec()),
                _ => continue,
            }
            compared += 1;
        }
    }
    assert_eq!(compared, 38);
    assert!(native.len() == 2 && native[0] == native[1]);
    assert!(ptx.len() == 2 && ptx[0] == ptx[1]);
}

#[test]
fn extracted_images_equal_the_readers_images() {
    for (name, bytes) in test_files::reference() {
        let file = read::parse(&bytes).unwrap();
        let found = images(&bytes).unwrap();
        let expected: Vec<_> = file.modules.iter().flat_map(|m| &m.images).collect();
        let read: Vec<_> = found
            .iter()
            .map(|image| image.syclbin.as_ref().unwrap().image().unwrap())
            .collect();
        assert_eq!(read, expected, "{name}");
        // Packaged again it is the same file, but for the metadata of the whole.
        let (again, notes) = package(found);
        assert_eq!(again.modules, file.modules, "{name}");
        assert_eq!(again.state(), file.state());
        assert_eq!(notes, []);
    }
}

#[test]
fn unsupported_containers_are_refused_with_a_remedy() {
    let thin = test_files::read("extract/thin.a");
    let mut section = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
    let id = section.add_section(
        Vec::new(),
        b".llvm.offloading".to_vec(),
        SectionKind::ReadOnlyData,
    );
    section.section_mut(id).flags = object::SectionFlags::Elf {
        sh_type: object::elf::SHT_PROGBITS,
        sh_flags: object::elf::SHF_COMPRESSED,
    };
    section.set_section_data(id, &b"zlib"[..], 1);
    for (bytes, expected) in [
        (
            thin,
            "archive: a thin archive contains only the names of its members; pass the objects",
        ),
        (
            section.write().unwrap(),
            "section .llvm.offloading is compressed",
        ),
        (
            b"int main;".to_vec(),
            "file: no device images: it begins with 69 6e 74 20",
        ),
        (Vec::new(), "no device images: it is empty, so"),
        (
            offload(4, 0, &[]),
            "version 4 is not supported, only 1, 2 and 3",
        ),
    ] {
        let error = images(&bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}

#[test]
fn error_names_container_path_and_offset() {
    let mut bytes = test_files::read("extract/library.a");
    // The version of the second OffloadBinary of the first member.
    let entry = &images(&bytes).unwrap()[1];
    let before = &bytes[..usize::try_from(entry.offset).unwrap()];
    let magic = [0x10, 0xff, 0x10, 0xad];
    let at = before.windows(4).rposition(|bytes| bytes == magic).unwrap();
    bytes[at + 4] = 9;
    let error = images(&bytes).unwrap_err();
    let record = "archive member fat.o: section .llvm.offloading: OffloadBinary header";
    assert_eq!(error.record(), record);
    assert_eq!(error.offset(), at as u64 + 4);
}

#[test]
fn versions_2_and_3_keep_symbol_tables() {
    let code = spirv("export_side");
    let mut symbols = Vec::new();
    for number in [2u32, 20, 1, 22, 2] {
        symbols.extend(number.to_le_bytes());
    }
    symbols.extend(b"a\0bc\0");
    let entries = || {
        let strings = vec![
            ("triple", &b"spir64_gen-unknown-unknown"[..]),
            ("arch", b"pvc"),
            ("symbols", &symbols),
        ];
        let native = Entry {
            image_kind: 1,
            strings,
            image: b"device binary",
        };
        [Entry::new(&code), native]
    };
    for version in [2, 3] {
        // Two of them, with zeros between, as a linker may leave them.
        let one = offload(version, 0, &entries());
        let bytes = [&one[..], &[0; 8], &one].concat();
        let found = images(&bytes).unwrap();
        assert_eq!(found.len(), 4);
        assert_eq!(found[2].bytes, code);
        let native = &found[3];
        assert_eq!(
            (&*native.arch, native.image_kind),
            ("pvc", Some(offload::ImageKind::OBJECT))
        );
        assert_eq!(native.kernel_names().unwrap(), ["a", "bc"]);
        let (file, notes) = package([native.clone()]);
        assert_eq!(file.kernel_names().collect::<Vec<_>>(), ["a", "bc"]);
        let expected = ImageKind::Native {
            arch: "pvc",
            target: "spir64_gen-unknown-unknown",
        };
        assert_eq!(file.modules[0].images[0].kind(), expected);
        assert!(
            notes[0].text.contains("format is not recognized"),
            "{notes:?}"
        );
    }
}

#[test]
fn containers_are_opened_as_they_are_nested() {
    let syclbin = test_files::read("vector_ops.object.syclbin");
    let bare = &syclbin[72..];
    // The kind of SYCLBIN before mid-2025, and an archive in an archive.
    let binary = offload(2, 0, &[Entry::new(bare)]);
    let fat = object(
        BinaryFormat::Coff,
        Architecture::X86_64,
        Endianness::Little,
        &[(".llvm.offloading", &binary)],
    );
    let bytes = archive(&[("inner.a/", &archive(&[("odd", b"x"), ("fat.obj/", &fat)]))]);
    let found = images(&bytes).unwrap();
    let path = "archive member inner.a: archive member fat.obj: section .llvm.offloading: entry 0: \
                SYCLBIN module 0: image 0";
    assert_eq!(found[0].origin, path);
    assert_eq!(found[0].bytes, spirv("vector_ops"));

    // What DPC++'s older driver makes ahead of time: an object with sections, as the image of a
    // section of an object.
    let wrapped = object(
        BinaryFormat::Elf,
        Architecture::X86_64,
        Endianness::Little,
        &[("__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen", b"native")],
    );
    let outer = object(
        BinaryFormat::Elf,
        Architecture::X86_64,
        Endianness::Little,
        &[("__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen_image", &wrapped)],
    );
    let found = images(&outer).unwrap();
    assert_eq!((found.len(), &*found[0].triple), (1, "spir64_gen"));
    assert_eq!(&*found[0].bytes, b"native");
}

#[test]
fn image_sizes_use_the_objects_byte_order() {
    for (architecture, endian) in [
        (Architecture::PowerPc64, Endianness::Big),
        (Architecture::Arm, Endianness::Little),
    ] {
        let numbers = [2u64, 0, 3];
        let sizes = numbers.map(|size| match endian {
            Endianness::Big => size.to_be_bytes(),
            Endianness::Little => size.to_le_bytes(),
        });
        let sections: [(&str, &[u8]); 3] = [
            ("__CLANG_OFFLOAD_BUNDLE_SIZE__sycl-nvptx64", &sizes.concat()),
            ("__CLANG_OFFLOAD_BUNDLE__sycl-nvptx64", b"aabbb"),
            ("__CLANG_OFFLOAD_BUNDLE__host-powerpc64", b"\0"),
        ];
        let bytes = object(BinaryFormat::Elf, architecture, endian, &sections);
        let found = images(&bytes).unwrap();
        let parts: Vec<_> = found.iter().map(|image| &*image.bytes).collect();
        assert_eq!(parts, [&b"aa"[..], b"bbb"]);
    }
}

#[test]
fn object_without_device_images_is_valid() {
    let plain = object(
        BinaryFormat::Elf,
        Architecture::X86_64,
        Endianness::Little,
        &[(".llvm", b"text")],
    );
    assert_eq!(images(&plain).unwrap(), []);
    let bytes = archive(&[("plain.o/", &plain), ("readme/", b"text")]);
    assert_eq!(images(&bytes).unwrap(), []);
}

#[test]
fn image_kinds_come_from_content() {
    let entries = [
        Entry::new(b"\x50\xed\x55\xba rest"),
        Entry::new(b"__CLANG_OFFLOAD_BUNDLE__ rest"),
        Entry::new(b"CCOB rest"),
        Entry::new(b"\xde\xc0\x17\x0b rest"),
        Entry::new(b"!<arch>\n rest"),
        Entry::new(b"rest"),
    ];
    let bytes = offload(2, 0, &entries);
    let found = images(&bytes).unwrap();
    let contents: Vec<_> = found.iter().map(|image| image.content).collect();
    assert_eq!(
        contents,
        [
            Content::CudaFatbin,
            Content::ClangBundle,
            Content::CompressedBundle,
            Content::LlvmBitcode,
            Content::Archive,
            Content::Unknown,
        ]
    );
    assert!(
        found
            .iter()
            .all(|image| image.offload_kind == OffloadKind::Sycl)
    );
    // One that says it is SYCLBIN and is not is damaged.
    let mut entry = Entry::new(b"rest");
    entry.image_kind = 7;
    let error = images(&offload(2, 0, &[entry])).unwrap_err().to_string();
    assert!(
        error.contains("entry 0: SYCLBIN file header: not a SYCLBIN file"),
        "{error}"
    );
}

/// A 32-bit executable for Windows, with one section.
fn windows32(name: &[u8; 8], content: &[u8]) -> Vec<u8> {
    let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let mut out = vec![0; 64];
    out[..2].copy_from_slice(b"MZ");
    out[60] = 64;
    out.extend(b"PE\0\0\x4c\x01\x01\0");
    out.extend([0; 12]);
    out.extend([96, 0, 2, 1, 0x0b, 1]);
    out.extend([0; 94]);
    out.extend(name);
    let start = out.len() + 32;
    for field in [content.len(), 4096, content.len(), start] {
        out.extend(number(field));
    }
    out.extend([0; 16]);
    out.extend(content);
    out
}

#[test]
fn windows_files_of_32_bits_are_read() {
    let code = spirv("export_side");
    let binary = offload(2, 0, &[Entry::new(&code)]);
    for (name, place) in [
        (b".llvm\0\0\0", "section .llvm: entry 0"),
        (b".llvm.of", "section .llvm.of: entry 0"),
    ] {
        let bytes = windows32(name, &binary);
        let found = images(&bytes).unwrap();
        assert_eq!((found.len(), &*found[0].origin), (1, place));
        assert_eq!(found[0].bytes, code);
    }
    for name in [b".text\0\0\0", b".llvm.x\0"] {
        assert_eq!(images(&windows32(name, &binary)).unwrap(), []);
    }
    // A stub of an import library.
    let mut stub = [0; 20];
    stub[2..4].fill(0xff);
    assert_eq!(images(&stub).unwrap(), []);
}

#[test]
fn sections_are_found_by_type_or_name() {
    let code = spirv("export_side");
    let binary = offload(2, 0, &[Entry::new(&code)]);
    let with = |name: &[u8], sh_type: u32| {
        let mut object = Object::new(BinaryFormat::Elf, Architecture::X86_64, Endianness::Little);
        let id = object.add_section(Vec::new(), name.to_vec(), SectionKind::ReadOnlyData);
        object.section_mut(id).flags = object::SectionFlags::Elf {
            sh_type: object::elf::SectionType(sh_type),
            sh_flags: object::elf::SectionFlags(0),
        };
        object.set_section_data(id, &binary[..], 8);
        object.write().unwrap()
    };
    const OFFLOADING: u32 = 0x6fff_4c0b;
    let typed = with(b".other", OFFLOADING);
    for (mut bytes, count) in [
        (typed.clone(), 1),
        (with(b".llvm", OFFLOADING), 1),
        (with(b".llvm", 1), 0),
        (with(b".llvm.offloading.x", 1), 1),
        (with(b".other", 1), 0),
    ] {
        assert_eq!(images(&bytes).unwrap().len(), count);
        // Without names, only its type identifies the section.
        bytes[62..64].fill(0);
        let has_type = bytes.windows(4).any(|at| at == OFFLOADING.to_le_bytes());
        assert_eq!(images(&bytes).unwrap().len(), usize::from(has_type));
    }
    // Names without sections.
    let mut bytes = typed;
    bytes[40..48].fill(0);
    bytes[60..62].fill(0);
    assert_eq!(images(&bytes).unwrap(), []);
}

#[test]
fn kernel_names_come_from_code() {
    let spirv = spirv("import_side");
    let elf = object(
        BinaryFormat::Elf,
        Architecture::X86_64,
        Endianness::Little,
        &[],
    );
    let ptx = b".version 6.3\n.target sm_75\n.visible .entry axpy(\n)\n{ ret; }\n";
    for (bytes, expected) in [
        (&spirv[..], Some(&["__sycl_kernel_apply"][..])),
        (&spirv[..30], None),
        (ptx, Some(&["axpy"])),
        (b"\x50\xed\x55\xba", None),
        (&elf, None),
    ] {
        let mut image = images(ptx).unwrap().remove(0);
        image.bytes = bytes.into();
        image.content = Content::of(bytes);
        let names = image.kernel_names();
        let names: Option<Vec<_>> = names
            .as_ref()
            .map(|names| names.iter().map(|name| &**name).collect());
        assert_eq!(names.as_deref(), expected);
    }
}

#[test]
fn objects_with_many_sections_are_read() {
    // The identifier of the format that `cl /bigobj` writes.
    const FORMAT: u128 = 0xb8dc_a46a_f6fa_20af_4ba9_baee_d1ba_a1c7;
    let number = |number: usize| u32::try_from(number).unwrap().to_le_bytes();
    let code = spirv("export_side");
    let binary = offload(2, 0, &[Entry::new(&code)]);
    let mut bytes = b"\0\0\xff\xff\x02\0\x64\x86\0\0\0\0".to_vec();
    bytes.extend(FORMAT.to_le_bytes());
    bytes.extend([0; 16]);
    bytes.extend([1, 0, 0].map(number).as_flattened());
    bytes.extend(b".llvm.of");
    bytes.extend([0, 0, binary.len(), 96].map(number).as_flattened());
    bytes.extend([0; 16]);
    bytes.extend(&binary);
    let found = images(&bytes).unwrap();
    let place = "section .llvm.of: entry 0";
    assert_eq!((found.len(), &*found[0].origin), (1, place));
    assert_eq!(found[0].bytes, code);
}
