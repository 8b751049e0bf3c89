// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of LLVM's own SYCL compiler, which hold device images without SYCLBIN, are read as SYCLBIN is.

use std::borrow::Cow;

use syclbin::offload::{self, Entry, ImageKind, OffloadKind};
use syclbin::property::set;
use syclbin::read::{File, parse};
use syclbin::signature::{self, Element, Pointee, Scalar, Type};
use syclbin::{Container, ErrorKind, IrType, PropertySet, State, Syclbin, write};
use syclbin_tools::verify::{Severity, verify};

const UPSTREAM: &str = "extract/upstream.offload";

fn entry(image: &[u8], strings: &[(&'static str, &[u8])]) -> Entry<'static> {
    let own = |(key, value): &(&'static str, &[u8])| (Cow::Borrowed(*key), value.to_vec().into());
    Entry {
        image_kind: ImageKind::SPIRV,
        offload_kind: OffloadKind::SYCL,
        flags: 0,
        strings: strings.iter().map(own).collect(),
        image: image.to_vec().into(),
    }
}

/// The list of names that LLVM writes since April 2026.
fn table(names: &[&str]) -> Vec<u8> {
    let number = |number| u32::try_from(number).unwrap().to_le_bytes();
    let mut start: usize = 4 + 8 * names.len();
    let mut bytes = number(names.len()).to_vec();
    for name in names {
        bytes.extend(number(start));
        bytes.extend(number(name.len()));
        start += name.len() + 1;
    }
    for name in names {
        bytes.extend(name.as_bytes());
        bytes.push(0);
    }
    bytes
}

fn spirv(name: &str) -> Vec<u8> {
    let bytes = test_files::read(name);
    parse(&bytes).unwrap().modules[0].images[0].bytes.to_vec()
}

fn names<'f>(file: &'f Syclbin<'_>, module: usize, set: &str) -> Vec<&'f str> {
    let set = file.modules[module].metadata.set(set);
    set.into_iter().flat_map(PropertySet::names).collect()
}

#[test]
fn upstream_files_are_read_as_syclbin() {
    let bytes = test_files::read(UPSTREAM);
    assert_eq!(File::parse(&bytes).unwrap().container(), Container::Images);
    let file = parse(&bytes).unwrap();
    assert_eq!(file.state(), Some(State::Executable));
    let kernels: Vec<_> = file.kernel_names().collect();
    assert_eq!(kernels, ["scale", "_ZTSZ3usePiE6Filled"]);
    let [image] = &file.modules[0].images[..] else {
        unreachable!("one image")
    };
    let (ty, target) = (IrType::SpirV, "spirv64-unknown-unknown");
    assert_eq!(image.kind(), syclbin::ImageKind::Ir { ty, target });
    assert!(image.spirv().is_some() && image.strings.is_empty());
}

#[test]
fn signatures_of_upstream_kernels_come_from_spirv() {
    let bytes = test_files::read(UPSTREAM);
    let found = signature::kernels(&parse(&bytes).unwrap()).unwrap();
    let scale = &found.kernels[0];
    let parameters = scale.parameters.as_ref().unwrap();
    let [data, factor] = &parameters[..] else {
        unreachable!("two parameters")
    };
    let element = Pointee::Element(Element::Scalar(Scalar::F32));
    assert!(matches!(&data.ty, Type::Pointer { pointee, .. } if *pointee == element));
    assert_eq!(factor.ty, Type::Value(Element::Scalar(Scalar::F32)));
}

#[test]
fn upstream_files_become_syclbin_in_every_container() {
    let bytes = test_files::read(UPSTREAM);
    let file = parse(&bytes).unwrap();
    for container in Container::ALL {
        let written = write::to_vec(&file, container).unwrap();
        assert_eq!(parse(&written).unwrap(), file);
        let errors = verify(&written).into_iter();
        let errors: Vec<_> = errors.filter(|f| f.severity == Severity::Error).collect();
        assert!(errors.is_empty(), "{errors:?}");
    }
    let error = write::to_vec(&file, Container::Images)
        .unwrap_err()
        .to_string();
    let expected = "container `images` is read-only; use another container, such as `v1`";
    assert_eq!(error, expected);
}

#[test]
fn one_offload_binary_may_hold_several_images() {
    let (export, import) = (
        spirv("export_side.object.syclbin"),
        spirv("import_side.object.syclbin"),
    );
    let triple = ("triple", &b"spirv64-unknown-unknown"[..]);
    let listed = table(&["__sycl_kernel_apply"]);
    let entries = [
        entry(&export, &[triple, ("arch", b""), ("symbols", b"")]),
        entry(
            &import,
            &[triple, ("symbols", &listed), ("link-opts", b"-x")],
        ),
        Entry {
            offload_kind: OffloadKind::OPENMP,
            ..entry(&export, &[])
        },
    ];
    // One file of version 2, and files of version 1 behind one another, as LLVM 22 writes them.
    for bytes in [
        offload::write(&entries).unwrap(),
        offload::write_each(&entries[..1])
            .and_then(|first| Ok([first, offload::write(&entries[1..])?].concat()))
            .unwrap(),
    ] {
        let file = parse(&bytes).unwrap();
        assert_eq!(file.state(), Some(State::Object));
        assert_eq!(file.modules.len(), 2);
        assert_eq!(names(&file, 0, set::EXPORTED_SYMBOLS), ["_Z5shapef"]);
        assert_eq!(names(&file, 1, set::IMPORTED_SYMBOLS), ["_Z5shapef"]);
        assert_eq!(names(&file, 1, set::KERNEL_NAMES), ["__sycl_kernel_apply"]);
        let left = [(Cow::Borrowed("link-opts"), Cow::Borrowed(&b"-x"[..]))];
        assert_eq!(file.modules[1].images[0].strings, left);
        assert_eq!(file.foreign, entries[2..]);
        let read = File::parse(&bytes).unwrap();
        for (module, image) in read.modules().zip([&export, &import]) {
            let found = module.unwrap().images().next().unwrap().unwrap();
            let at = usize::try_from(found.offset).unwrap();
            assert_eq!(&bytes[at..at + image.len()], image);
        }
        let written = write::to_vec(&file, Container::Version2).unwrap();
        assert_eq!(parse(&written).unwrap(), file);
    }
}

#[test]
fn native_upstream_images_take_kernels_from_symbols() {
    let mut elf = b"\x7fELF\x02\x01".to_vec();
    elf.resize(64, 0);
    for list in [table(&["one", "two"]), b"one\ntwo".to_vec()] {
        let strings = [
            ("triple", &b"spirv64-unknown-unknown"[..]),
            ("arch", b"bmg_g21"),
            ("symbols", &list),
        ];
        let bytes = offload::write(&[Entry {
            image_kind: ImageKind::OBJECT,
            ..entry(&elf, &strings)
        }])
        .unwrap();
        let file = parse(&bytes).unwrap();
        assert_eq!(file.kernel_names().collect::<Vec<_>>(), ["one", "two"]);
        let (arch, target) = ("bmg_g21", "spirv64-unknown-unknown");
        let kind = file.modules[0].images[0].kind();
        assert_eq!(kind, syclbin::ImageKind::Native { arch, target });
    }
}

#[test]
fn symbols_that_no_property_set_holds_are_refused() {
    let elf = b"\x7fELF\x02\x01\x01".to_vec();
    for (name, problem) in [("", "empty"), ("a\nb", "line feed"), ("a=b", "`=`")] {
        let list = table(&["one", name]);
        let bytes = offload::write(&[Entry {
            image_kind: ImageKind::OBJECT,
            ..entry(&elf, &[("symbols", &list)])
        }]);
        let error = parse(&bytes.unwrap()).unwrap_err().to_string();
        assert!(
            error.contains(&format!("{name:?}")) && error.contains(problem),
            "{error}"
        );
    }
}

#[test]
fn bitcode_for_sycl_is_refused_with_remedy() {
    let bytes = offload::write(&[Entry {
        image_kind: ImageKind::BITCODE,
        ..entry(b"BC\xc0\xde", &[])
    }])
    .unwrap();
    let error = parse(&bytes).unwrap_err();
    assert!(matches!(error.kind(), ErrorKind::Unsupported(_)), "{error}");
    assert!(error.to_string().contains("clang-sycl-linker"), "{error}");
}

#[test]
fn images_of_other_models_are_no_sycl_file() {
    let code = spirv("export_side.object.syclbin");
    for kind in [OffloadKind::OPENMP, OffloadKind::HIP] {
        let bytes = offload::write(&[Entry {
            offload_kind: kind,
            image_kind: ImageKind::OBJECT,
            ..entry(&code, &[("triple", b"amdgcn-amd-amdhsa")])
        }]);
        let error = parse(&bytes.unwrap()).unwrap_err().to_string();
        assert!(error.contains("image kind 1 is not SYCLBIN"), "{error}");
    }
}

#[test]
fn damaged_spirv_of_upstream_names_entry_and_offset() {
    let good = test_files::read(UPSTREAM);
    let file = File::parse(&good).unwrap();
    let image = file.module(0).unwrap().images().next().unwrap().unwrap();
    let at = usize::try_from(image.offset).unwrap() + 20;
    let mut bytes = good.clone();
    bytes[at + 2..at + 4].copy_from_slice(&[0xff, 0xff]);
    let error = parse(&bytes).unwrap_err();
    assert_eq!(error.record(), "OffloadBinary entry 0");
    let found = verify(&bytes).into_iter();
    assert!(found.clone().any(|f| f.severity == Severity::Error));
}

#[test]
fn verify_finds_no_error_in_upstream_files() {
    for name in [UPSTREAM, "extract/linked.offload", "extract/two.offload"] {
        let findings = verify(&test_files::read(name));
        let bad = findings.iter().find(|f| f.severity == Severity::Error);
        assert_eq!(bad, None, "{name}");
        assert!(
            findings
                .iter()
                .any(|f| f.reason.contains("bare device images")),
            "{findings:?}"
        );
    }
}
