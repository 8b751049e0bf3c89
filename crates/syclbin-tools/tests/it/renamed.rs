// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that are renamed: a file verifies as before, and has the same signatures under other names.

use std::collections::BTreeMap;

use syclbin::__private::mangled::with_source;
use syclbin::__private::spirv::words::{self, DECORATION_LINKAGE_ATTRIBUTES, literal, op, put};
use syclbin::signature::{self, KernelSignature};
use syclbin::{Container, Image, Syclbin, read, write};
use syclbin_tools::__private::rename_kernels;
use syclbin_tools::verify::verify;

/// The name of each class in a file with a source behind it.
fn names(file: &Syclbin<'_>) -> BTreeMap<String, String> {
    let classes = file
        .kernel_names()
        .filter(|symbol| symbol.starts_with("_ZTS"));
    classes
        .map(|symbol| (symbol.to_owned(), with_source(symbol, "other")))
        .collect()
}

fn renamed(bytes: &[u8]) -> (Syclbin<'_>, BTreeMap<String, String>) {
    let mut file = read::parse(bytes).unwrap();
    let names = names(&file);
    for module in &mut file.modules {
        rename_kernels(module, &names).unwrap();
    }
    (file, names)
}

/// The signatures by symbol, without what only depends on the symbol.
fn signatures(file: &Syclbin<'_>) -> Vec<KernelSignature> {
    let found = signature::kernels(file).unwrap().kernels;
    let without_names = found.into_iter().map(|mut kernel| {
        kernel.name = None;
        kernel
    });
    without_names.collect()
}

#[test]
fn renamed_kernels_keep_their_signatures() {
    let mut count = 0;
    for (name, bytes) in test_files::all("", ".syclbin")
        .into_iter()
        .chain(test_files::all("nvidia", ".syclbin"))
    {
        let file = read::parse(&bytes).unwrap();
        let has_native = |file: &Syclbin<'_>| {
            let mut images = file.modules.iter().flat_map(|module| &module.images);
            images.any(|image| image.native)
        };
        if has_native(&file) || names(&file).is_empty() {
            continue;
        }
        let (renamed, names) = renamed(&bytes);
        let mut expected = signatures(&file);
        for kernel in &mut expected {
            if let Some(name) = names.get(&kernel.symbol) {
                kernel.symbol.clone_from(name);
            }
        }
        assert_eq!(signatures(&renamed), expected, "{name}");
        let findings = |file: &Syclbin<'_>| {
            let written = write::to_vec(file, Container::default()).unwrap();
            verify(&written).len()
        };
        assert_eq!(findings(&renamed), findings(&file), "{name}");
        count += names.len();
    }
    assert!(count >= 3, "{count} kernels");
}

#[test]
fn native_code_keeps_its_names() {
    let bytes = test_files::read("functor.object.syclbin");
    let mut file = read::parse(&bytes).unwrap();
    let names = names(&file);
    let module = &mut file.modules[0];
    module
        .images
        .push(Image::native("sm_80", "nvptx64-nvidia-cuda", vec![1]));
    let before = module.clone();
    assert_eq!(rename_kernels(module, &names), None);
    assert_eq!(*module, before);
}

#[test]
fn names_in_ptx_are_whole_words() {
    let text = ".visible .entry _ZTS1K(.param .u64 _ZTS1K_param_0) { ld.param.u64 %rd1, [_ZTS1K_param_0+8]; }\n\
        .entry _ZTS1K_with_offset(.param .u64 _ZTS1K_with_offset_param_0) { call _ZTS1K0; } // _ZTS1Kernel\n\
        .entry _ZTS1K_param_grid() { } // _ZTS1K_shared_mem _ZTS1K_param_\n\
        .entry _ZTS1K_param_1() { } .entry _ZTS1K_shared(.param .u64 _ZTS1K_shared_param_0) { }";
    let mut file = Syclbin::new(syclbin::State::Executable);
    let mut module = syclbin::AbstractModule::default();
    module.images.push(Image::ir(
        syclbin::IrType::Ptx,
        "nvptx64-nvidia-cuda",
        text.as_bytes(),
    ));
    module.add_kernel_name("_ZTS1K");
    // Kernels whose names begin with the other's: one keeps its name, one gets another.
    module.add_kernel_name("_ZTS1K_param_1");
    module.add_kernel_name("_ZTS1K_shared");
    module
        .metadata
        .insert("SYCL/program metadata", "_ZTS1K@reqd_sub_group_size", 32u32);
    file.modules.push(module);
    let names = [("_ZTS1K", "_ZTS1K$b"), ("_ZTS1K_shared", "other")];
    let names = BTreeMap::from(names.map(|(old, new)| (old.to_owned(), new.to_owned())));
    let module = &mut file.modules[0];
    rename_kernels(module, &names).unwrap();
    let expected = ".visible .entry _ZTS1K$b(.param .u64 _ZTS1K$b_param_0) { ld.param.u64 %rd1, [_ZTS1K$b_param_0+8]; }\n\
        .entry _ZTS1K$b_with_offset(.param .u64 _ZTS1K$b_with_offset_param_0) { call _ZTS1K0; } // _ZTS1Kernel\n\
        .entry _ZTS1K_param_grid() { } // _ZTS1K$b_shared_mem _ZTS1K_param_\n\
        .entry _ZTS1K_param_1() { } .entry other(.param .u64 other_param_0) { }";
    assert_eq!(&*module.images[0].bytes, expected.as_bytes());
    assert_eq!(
        module.kernel_names().collect::<Vec<_>>(),
        ["_ZTS1K$b", "_ZTS1K_param_1", "other"]
    );
    let sizes = module.metadata.set("SYCL/program metadata").unwrap();
    assert_eq!(
        sizes.names().collect::<Vec<_>>(),
        ["_ZTS1K$b@reqd_sub_group_size"]
    );
}

#[test]
fn kernels_are_renamed_wherever_spirv_has_them() {
    let code = |name: &str| {
        let mut words = vec![0x0723_0203, 0x0001_0400, 0, 9, 0];
        let linkage = DECORATION_LINKAGE_ATTRIBUTES;
        for (opcode, before, text, after) in [
            (op::ENTRY_POINT, &[6, 1][..], name, &[3][..]),
            (op::NAME, &[1], name, &[]),
            (op::NAME, &[2], "Kernel", &[]),
            (op::MEMBER_NAME, &[2, 0], "K", &[]),
            (op::DECORATE, &[1, linkage], name, &[0]),
            (op::DECORATE, &[1, 5635], "K", &[]),
        ] {
            put(&mut words, opcode, &[before, &literal(text), after]);
        }
        words::bytes(words)
    };
    let mut module = syclbin::AbstractModule::default();
    let image = Image::ir(syclbin::IrType::SpirV, "spir64", code("K"));
    module.images.push(image);
    let names = BTreeMap::from([("K".to_owned(), "renamed".to_owned())]);
    rename_kernels(&mut module, &names).unwrap();
    assert_eq!(module.images[0].bytes, code("renamed"));
}

#[test]
fn names_too_long_for_spirv_change_nothing() {
    let mut words = vec![0x0723_0203, 0x0001_0400, 0, 9, 0];
    put(&mut words, op::NAME, &[&[1], &literal("K")]);
    let mut module = syclbin::AbstractModule::default();
    let code = words::bytes(words);
    let image = Image::ir(syclbin::IrType::SpirV, "spir64", code);
    module.images.push(image);
    // With its first word and the id, the instruction has 65,535 words.
    let longest = 65_533 * 4 - 1;
    for (length, expected) in [(longest, Some(())), (longest + 1, None)] {
        let mut renamed = module.clone();
        let names = BTreeMap::from([("K".to_owned(), "x".repeat(length))]);
        assert_eq!(rename_kernels(&mut renamed, &names), expected);
        assert_eq!(renamed == module, expected.is_none());
    }
}
