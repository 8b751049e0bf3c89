// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device images come out of the containers that LLVM's tools made (`tests/files/extract`), and out
//! of ones made here where no tool makes them.

use std::borrow::Cow;
use std::fmt::Write as _;

use object::write::{Object, StandardSegment};
use object::{Architecture, BinaryFormat, Endianness, SectionKind};
use syclbin::__private::spirv::Module;
use syclbin::offload;
use syclbin::property::{PropertySets, key, set};
use syclbin::{
    AbstractModule, Container, Content, Image, ImageKind, IrType, State, Syclbin, Value, read,
    write,
};
use syclbin_tools::extract::{DeviceImage, Note, OffloadKind, images, package};

/// The containers, not their sources.
fn containers() -> Vec<(String, Vec<u8>)> {
    let is_source = |name: &str| {
        [".c", ".cpp", ".ll", ".sh"]
            .iter()
            .any(|end| name.ends_with(end))
    };
    let mut files = test_files::all("extract", "");
    files.retain(|(name, _)| !is_source(name));
    assert!(files.len() >= 20, "the files are missing");
    files
}

/// The SPIR-V of one of the reference runtime's files.
fn spirv(name: &str) -> Vec<u8> {
    let bytes = test_files::read(&format!("{name}.object.syclbin"));
    let file = read::parse(&bytes).unwrap();
    file.modules[0].images[0].bytes.to_vec()
}

fn line(image: &DeviceImage<'_>) -> String {
    let mut line = format!(
        "{} | {} | {} | {} | {} | {}",
        image.origin,
        image.offload_kind,
        image.triple,
        image.arch,
        image.content,
        image.bytes.len()
    );
    for (key, value) in &image.strings {
        let value = String::from_utf8_lossy(value).replace('\n', ",");
        write!(line, " | {key}={value}").unwrap();
    }
    line
}

fn lines(bytes: &[u8]) -> Vec<String> {
    let found = images(bytes).unwrap_or_else(|error| panic!("{error}"));
    found.iter().map(line).collect()
}

const EXPORT: &str = "SYCL | spir64-unknown-unknown |  | SPIR-V | 264";
const IMPORT: &str =
    "SYCL | spir64-unknown-unknown |  | SPIR-V | 1140 | compile-opts=-cl-fast-relaxed-math";
const UPSTREAM: &str =
    "SYCL | spirv64-unknown-unknown |  | SPIR-V | 1240 | symbols=scale,_ZTSZ3usePiE6Filled";
const LINKED: &str = "SYCL | spirv64 |  | SPIR-V | 336 | symbols=first,second";

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
        (Vec::new(), "it begins with nothing"),
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

/// An entry of an OffloadBinary made here.
struct Entry<'a> {
    image_kind: u16,
    strings: Vec<(&'a str, &'a [u8])>,
    image: &'a [u8],
}

impl<'a> Entry<'a> {
    fn new(image: &'a [u8]) -> Self {
        Self {
            image_kind: 6,
            strings: Vec::new(),
            image,
        }
    }
}

/// An OffloadBinary of version 2 or 3: LLVM's tools write these from version 23 on.
fn offload(version: u32, inflated: u64, entries: &[Entry<'_>]) -> Vec<u8> {
    let header = if version == 3 { 40 } else { 32 };
    let strings: usize = entries.iter().map(|entry| entry.strings.len()).sum();
    let mut string_at = header + entries.len() * 40;
    let mut at = string_at + strings * 24;
    let (mut table, mut records, mut data) = (Vec::new(), Vec::new(), Vec::<u8>::new());
    for entry in entries {
        let first = string_at;
        for (key, value) in &entry.strings {
            records.extend([at, at + key.len() + 1, value.len()].map(|n| n as u64));
            data.extend(key.as_bytes().iter().chain(b"\0").chain(*value));
            at += key.len() + 1 + value.len();
            string_at += 24;
        }
        table.extend(entry.image_kind.to_le_bytes());
        table.extend(8u16.to_le_bytes());
        table.extend(0u32.to_le_bytes());
        for number in [first, entry.strings.len(), at, entry.image.len()] {
            table.extend((number as u64).to_le_bytes());
        }
        data.extend(entry.image);
        at += entry.image.len();
    }
    let mut out = vec![0x10, 0xff, 0x10, 0xad];
    out.extend(version.to_le_bytes());
    for number in [at, header, entries.len()] {
        out.extend((number as u64).to_le_bytes());
    }
    if version == 3 {
        out.extend(inflated.to_le_bytes());
    }
    out.extend(table);
    out.extend(records.iter().flat_map(|number| number.to_le_bytes()));
    out.extend(data);
    out
}

fn archive(members: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = b"!<arch>\n".to_vec();
    for (name, bytes) in members {
        let header = format!("{name:<16}{:<32}{:<10}`\n", 0, bytes.len());
        out.extend(header.as_bytes().iter().chain(*bytes));
        if out.len() % 2 == 1 {
            out.push(b'\n');
        }
    }
    out
}

fn object(
    format: BinaryFormat,
    architecture: Architecture,
    endian: Endianness,
    sections: &[(&str, &[u8])],
) -> Vec<u8> {
    let mut object = Object::new(format, architecture, endian);
    for (name, bytes) in sections {
        let segment = object.segment_name(StandardSegment::Data).to_vec();
        let id = object.add_section(segment, name.as_bytes().to_vec(), SectionKind::ReadOnlyData);
        object.set_section_data(id, *bytes, 8);
    }
    object.write().unwrap()
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
            notes[0].text.contains("content is not recognized"),
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
fn unlowered_constants_are_noted() {
    let note = "its specialization constants are not lowered";
    for (name, expected) in [("constants", true), ("work_group", false)] {
        let bytes = test_files::read(&format!("{name}.object.syclbin"));
        let file = read::parse(&bytes).unwrap();
        let code = file.modules[0].images[0].bytes.to_vec();
        let (_, notes) = package(images(&code).unwrap());
        let found = notes.iter().any(|found| found.text.contains(note));
        assert_eq!(found, expected, "{name}: {notes:?}");
    }
}

#[test]
fn imports_from_the_device_library_are_named() {
    let decorate = [0x0723_0203, 0x0001_0400, 0, 9, 0, 9 << 16 | 71, 1, 41].map(u32::to_le_bytes);
    let name = b"__devicelib_cosf\0\0\0\0";
    let code = [decorate.as_flattened(), name, &1u32.to_le_bytes()].concat();
    let (file, notes) = package(images(&code).unwrap());
    assert_eq!(file.state(), Some(State::Object));
    assert_eq!(
        notes.last().unwrap().to_string(),
        "it imports functions of DPC++'s device library that no image exports (__devicelib_cosf): when you load it, link \
         a file that exports them (`Module::builder(&queue).link(..)`), or compile its sources with -fsyclbin"
    );
}

#[test]
fn packaged_spirv_has_kernels_imports_and_exports() {
    let bytes = test_files::read("extract/library.a");
    let (file, notes) = package(images(&bytes).unwrap());
    assert_eq!(file.state(), Some(State::Object));
    let names: Vec<_> = file.kernel_names().collect();
    assert_eq!(names, ["__sycl_kernel_apply", "first", "second"]);
    let symbol = "_Z5shapef";
    let modules = &file.modules;
    let exported = modules[0].metadata.get(set::EXPORTED_SYMBOLS, symbol);
    let imported = modules[1].metadata.get(set::IMPORTED_SYMBOLS, symbol);
    assert_eq!(
        (exported, imported),
        (Some(&Value::U32(1)), Some(&Value::U32(1)))
    );
    for (image, expected) in [
        (0, "no kernels, so it is only useful for linking"),
        (
            2,
            "a kernel with removed arguments cannot be launched correctly",
        ),
    ] {
        let fits = |note: &&Note| note.image == image && note.packaged;
        let mut texts = notes.iter().filter(fits).map(|note| &note.text);
        assert!(
            texts.any(|text| text.contains(expected)),
            "{expected}: {notes:?}"
        );
    }
    let options = modules[1].metadata.get(set::BUILD_OPTIONS, key::COMPILE);
    assert_eq!(options, Some(&Value::from("-cl-fast-relaxed-math")));
    // No note: another image exports the symbol that image 1 imports.
    let imports = |notes: &[Note]| notes.iter().any(|note| note.text.contains("(_Z5shapef)"));
    assert!(!imports(&notes), "{notes:?}");
    let (_, notes) = package(images(&bytes).unwrap().into_iter().skip(1));
    assert!(imports(&notes), "{notes:?}");
    // It is a file that the reader takes.
    let written = write::to_vec(&file, Container::default()).unwrap();
    assert_eq!(read::parse(&written).unwrap(), file);

    // Without imports it can be loaded as it is.
    let bytes = test_files::read("extract/linked.offload");
    let (file, _) = package(images(&bytes).unwrap());
    assert_eq!(file.state(), Some(State::Executable));
}

/// The host code of the files has the structs of versions 2 and 3.
#[test]
fn registered_images_keep_their_properties() {
    for name in ["registered.so", "registered.dll"] {
        let bytes = test_files::read(&format!("extract/{name}"));
        let (file, notes) = package(images(&bytes).unwrap());
        let property = |module: usize, set: &str, key: &str| {
            let metadata: &PropertySets<'_> = &file.modules[module].metadata;
            metadata.get(set, key).cloned()
        };
        let aspects = property(0, set::DEVICE_REQUIREMENTS, key::ASPECTS);
        assert_eq!(aspects, Some(Value::from(vec![5, 0, 0, 0, 6, 0, 0, 0])));
        assert_eq!(
            property(0, set::BUILD_OPTIONS, key::COMPILE),
            Some(Value::from("-cl-opt-disable"))
        );
        let removed = property(1, set::KERNEL_PARAM_OPT, "__sycl_kernel_apply");
        let expected = Value::Bytes {
            bits: 3,
            data: vec![4],
        };
        assert_eq!(removed, Some(expected));
        assert!(
            !notes.iter().any(|note| note.text.contains("property sets")),
            "{notes:?}"
        );
        let written = write::to_vec(&file, Container::default()).unwrap();
        assert_eq!(read::parse(&written).unwrap(), file);
    }
}

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
fn exports_and_imports_match_the_reference_runtime() {
    let mut compared = 0;
    for name in [
        "export_side",
        "import_side",
        "vector_ops",
        "structs",
        "work_group",
        "globals",
    ] {
        let bytes = test_files::read(&format!("{name}.object.syclbin"));
        let file = read::parse(&bytes).unwrap();
        for module in &file.modules {
            let code = Module::parse(&module.images[0].bytes).unwrap();
            let listed = |set| -> Vec<&str> {
                let set = module.metadata.set(set);
                set.map(|set| set.keys().collect()).unwrap_or_default()
            };
            let exports: Vec<_> = code.exports().collect();
            for symbol in listed(set::EXPORTED_SYMBOLS) {
                assert!(exports.contains(&symbol), "{name}: {symbol} in {exports:?}");
                compared += 1;
            }
            let imports: Vec<_> = code.imports().collect();
            for symbol in listed(set::IMPORTED_SYMBOLS) {
                assert!(imports.contains(&symbol), "{name}: {symbol} in {imports:?}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 2, "{compared}");
}

#[test]
fn what_cannot_be_packaged_says_why() {
    let mixed = test_files::read("extract/mixed.offload");
    let (file, notes) = package(images(&mixed).unwrap());
    let kinds: Vec<_> = file.modules.iter().map(|m| m.images[0].kind()).collect();
    let native = ImageKind::Native {
        arch: "gfx90a",
        target: "amdgcn-amd-amdhsa",
    };
    let ptx = ImageKind::Ir {
        ty: IrType::Ptx,
        target: "nvptx64-nvidia-cuda",
    };
    assert_eq!(kinds, [native, ptx]);
    assert_eq!(
        file.kernel_names().collect::<Vec<_>>(),
        ["double_it", "double_it"]
    );
    let left_out: Vec<_> = notes.iter().filter(|note| !note.packaged).collect();
    let text = left_out[0].to_string();
    let expected = "entry 2: left out: LLVM bitcode, which drivers cannot load; compile it with `syclbin-clang FILE -o OUT.syclbin`";
    assert_eq!((left_out.len(), &*text), (1, expected));

    let bundle = test_files::read("extract/text.bundle");
    let (_, notes) = package(images(&bundle).unwrap());
    assert!(notes[0].to_string().contains("left out: host code"));

    let native = object(
        BinaryFormat::Elf,
        Architecture::X86_64,
        Endianness::Little,
        &[("__CLANG_OFFLOAD_BUNDLE__sycl-spir64_gen", b"device binary")],
    );
    let (file, notes) = package(images(&native).unwrap());
    assert_eq!(file.modules, []);
    assert!(
        notes[0]
            .text
            .contains("its architecture, which SYCLBIN records")
    );
    // The property sets of a linked program may record it.
    let mut image = images(&native).unwrap().remove(0);
    let sets = image.properties.get_or_insert_default();
    sets.insert(
        set::DEVICE_REQUIREMENTS,
        key::COMPILE_TARGET,
        "intel_gpu_pvc",
    );
    let (file, _) = package([image]);
    let kind = ImageKind::Native {
        arch: "intel_gpu_pvc",
        target: "spir64_gen",
    };
    assert_eq!(file.modules[0].images[0].kind(), kind);
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
        error.contains("containers are nested more than 8 deep"),
        "{error}"
    );
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

#[test]
fn cubin_names_its_own_target() {
    let bytes = test_files::bytes("nvidia/export_side.sm_90.cubin");
    let found = images(bytes).unwrap();
    assert_eq!(found.len(), 1);
    let (file, notes) = package(found);
    let image = &file.modules[0].images[0];
    let expected = ImageKind::Native {
        arch: "sm_90",
        target: "nvptx64-nvidia-cuda",
    };
    assert_eq!(image.kind(), expected);
    assert_eq!(&*image.bytes, bytes);
    assert!(notes.iter().all(|note| note.packaged), "{notes:?}");
}

#[test]
fn ptx_imports_and_exports_are_packaged() {
    let text = b".version 6.3\n.target sm_75\n.extern .func gone();\n.visible .func given() { call gone; }\n";
    let (file, _) = package(images(text).unwrap());
    assert_eq!(file.state(), Some(State::Object));
    let sets = &file.modules[0].metadata;
    assert!(sets.get(set::IMPORTED_SYMBOLS, "gone").is_some());
    assert!(sets.get(set::EXPORTED_SYMBOLS, "given").is_some());
}
