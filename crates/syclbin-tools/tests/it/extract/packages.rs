// SPDX-License-Identifier: MIT OR Apache-2.0
//! SYCLBIN files from extracted images.

use super::*;

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
                set.map(|set| set.names().collect()).unwrap_or_default()
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
    let (file, _) = package([image.clone()]);
    let kind = ImageKind::Native {
        arch: "intel_gpu_pvc",
        target: "spir64_gen",
    };
    assert_eq!(file.modules[0].images[0].kind(), kind);

    // A property set has `=` after a name.
    let long = "x".repeat(300);
    let symbols = format!("a=b\n{long}=").into_bytes();
    image.strings.push(("symbols".into(), symbols.into()));
    let (_, notes) = package([image.clone()]);
    let text = "`a=b` cannot be stored as a name in `SYCL/kernel names`";
    assert_eq!(notes[0].text, text);
    assert!(notes[1].text.contains("x...` cannot be"), "{}", notes[1]);

    image.content = Content::Zstd;
    let (_, notes) = package([image]);
    assert!(notes[0].text.contains("it is a container"), "{}", notes[0]);
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

#[test]
fn empty_images_are_left_out() {
    let mut entry = Entry::new(b"");
    entry.strings.push(("triple", b"spir64"));
    let bytes = offload(2, 0, &[entry]);
    let (file, notes) = package(images(&bytes).unwrap());
    assert_eq!(file.modules, []);
    let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
    assert_eq!(notes, ["entry 0: left out: the image is empty"]);
}

#[test]
fn other_programming_models_are_noted() {
    let bytes = offload(2, 0, &[Entry::new(&spirv("vector_ops"))]);
    let image = images(&bytes).unwrap().remove(0);
    for (kind, expected) in [
        (OffloadKind::Sycl, None),
        (OffloadKind::None, None),
        (
            OffloadKind::Cuda,
            Some("entry 0: compiled for CUDA: its kernels expect"),
        ),
        (
            OffloadKind::OpenMp,
            Some("entry 0: compiled for OpenMP: its kernels expect"),
        ),
    ] {
        let mut image = image.clone();
        image.offload_kind = kind;
        let (_, notes) = package([image]);
        let notes: Vec<String> = notes.iter().map(ToString::to_string).collect();
        let found = notes.iter().find(|note| note.contains("compiled for"));
        assert_eq!(found.is_some(), expected.is_some(), "{notes:?}");
        assert!(
            found
                .zip(expected)
                .is_none_or(|(note, start)| note.starts_with(start))
        );
    }
}

#[test]
fn unstorable_names_are_truncated_in_notes() {
    let bytes = offload(2, 0, &[Entry::new(b"code")]);
    for (length, shown) in [(256, "=".repeat(256)), (257, "=".repeat(256) + "...")] {
        let mut image = images(&bytes).unwrap().remove(0);
        (image.triple, image.arch) = ("spir64_gen".into(), "pvc".into());
        let symbols = [b'='].repeat(length);
        image.strings.push(("symbols".into(), symbols.into()));
        let (_, notes) = package([image]);
        let expected = format!("`{shown}` cannot be stored as a name in `SYCL/kernel names`");
        assert_eq!(notes[0].text, expected);
    }
}
