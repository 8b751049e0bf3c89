// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device images without a SYCLBIN: which become modules, and what the others are.

use syclbin::offload::{self, Entry, ImageKind, OffloadKind};
use syclbin::property::set;
use syclbin::{AbstractModule, Container, Image, IrType, State, read, write};

use crate::containers::{entry, everything, put};

#[test]
fn images_without_syclbin_are_modules() {
    let bytes = test_files::bytes("extract/upstream.offload");
    assert_eq!(
        read::File::parse(bytes).unwrap().container(),
        Container::Images
    );
    let file = read::parse(bytes).unwrap();
    let kernels: Vec<_> = file.kernel_names().collect();
    assert_eq!(kernels, ["scale", "_ZTSZ3usePiE6Filled"]);
}

/// SPIR-V without instructions.
const SPIRV: &[u8] = &[
    3, 2, 0x23, 7, 0, 4, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
];
const BITCODE: &[u8] = b"BC\xc0\xde";

/// An entry without SYCLBIN.
fn image(
    offload_kind: OffloadKind,
    triple: &'static str,
    arch: &'static str,
    image: &'static [u8],
) -> Entry<'static> {
    Entry {
        image_kind: ImageKind::OBJECT,
        offload_kind,
        ..entry(
            &[("triple", triple), ("arch", arch), ("compile-opts", "")],
            image,
        )
    }
}

#[test]
fn bare_images_become_modules_with_names() {
    const PTX: &[u8] = b".version 8.0\n.target sm_80\n.extern .func gone();\n\
        .visible .func given() { ret; }\n.visible .entry k() { call gone; }";
    const ELF: &[u8] = b"\x7fELF\x02\x01";
    const HIP: OffloadKind = OffloadKind::HIP;
    let sycl = |triple, arch, bytes| image(OffloadKind::SYCL, triple, arch, bytes);
    let mut native = sycl("nvptx64-nvidia-cuda", "sm_80", ELF);
    native.strings.push(("symbols".into(), b"a\nb"[..].into()));
    let entries = [
        sycl("spirv64", "generic", SPIRV),
        sycl("", "pvc", SPIRV),
        sycl("nvptx64-nvidia-cuda", "sm_80", PTX),
        native,
        // Before 2025, the number of HIP was that of SYCL.
        image(HIP, "spirv64", "", SPIRV),
        image(HIP, "amdgcn-amd-amdhsa", "gfx90a", ELF),
        image(OffloadKind::OPENMP, "spirv64", "", SPIRV),
        sycl("spirv64", "", BITCODE),
    ];
    let bytes = offload::write(&entries).unwrap();
    let view = read::File::parse(&bytes).unwrap();
    assert_eq!(view.container(), Container::Images);
    assert_eq!(view.image_counts(), (4, 1));
    let file = view.to_model().unwrap();
    assert_eq!(file.foreign, entries[5..]);
    let arch = |arch: &'static str| entry(&[("arch", arch)], b"").strings;
    let mut images = [
        Image::ir(IrType::SpirV, "spirv64", SPIRV),
        Image::ir(IrType::SpirV, "spirv64-unknown-unknown", SPIRV),
        Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", PTX),
        Image::native("sm_80", "nvptx64-nvidia-cuda", ELF),
        Image::ir(IrType::SpirV, "spirv64", SPIRV),
    ];
    images[1].strings = arch("pvc");
    images[2].strings = arch("sm_80");
    let mut expected = images.map(|image| AbstractModule {
        images: vec![image],
        ..AbstractModule::default()
    });
    expected[2].add_kernel_name("k");
    let metadata = &mut expected[2].metadata;
    metadata.insert(set::IMPORTED_SYMBOLS, "gone", 1u32);
    metadata.insert(set::EXPORTED_SYMBOLS, "given", 1u32);
    for name in ["a", "b"] {
        expected[3].add_kernel_name(name);
    }
    assert_eq!(file.modules, expected);
    // A module imports a function, so the file is not ready to be loaded.
    assert_eq!(file.state(), Some(State::Object));
}

#[test]
fn bitcode_alone_is_refused_with_its_offset() {
    let bitcode = image(OffloadKind::SYCL, "spirv64", "", BITCODE);
    let other = image(OffloadKind::OPENMP, "spirv64", "", SPIRV);
    let bytes = offload::write(&[other, bitcode]).unwrap();
    let error = read::File::parse(&bytes).unwrap_err();
    assert_eq!(error.record(), "OffloadBinary entry 1");
    assert_eq!(error.offset(), 32 + 40);
    assert!(error.to_string().contains("LLVM bitcode"), "{error}");
}

#[test]
fn images_beside_syclbin_are_not_modules() {
    let spirv = image(OffloadKind::SYCL, "spirv64", "", SPIRV);
    // The first entry decides what the file is, unless another one is SYCLBIN.
    let bytes = offload::write(&[spirv.clone(), entry(&[], b"IBYS"), spirv.clone()]).unwrap();
    let error = read::File::parse(&bytes).unwrap_err().to_string();
    assert!(error.contains("image kind 1 is not SYCLBIN"), "{error}");
    // DPC++ before mid-2025 gave SYCLBIN the number that is now that of SPIR-V.
    let mut file = everything();
    file.foreign.push(spirv);
    let mut bytes = write::to_vec(&file, Container::OffloadBinary2).unwrap();
    put(&mut bytes, 32, ImageKind::SPIRV.0.to_le_bytes());
    let view = read::File::parse(&bytes).unwrap();
    assert_eq!(view.container(), Container::OffloadBinary2);
    assert_eq!(view.to_model().unwrap(), file);
}
