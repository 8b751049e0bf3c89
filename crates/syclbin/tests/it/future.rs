// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files of made-up future versions: what this crate does not know survives a round trip, or is refused with the
//! version and a remedy. The section "Which versions work" of `book/src/files.md` names these tests.

use std::borrow::Cow;

use syclbin::offload::{self, Entry, ImageKind, OffloadKind};
use syclbin::property::{key, set};
use syclbin::read::parse;
use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin, Value, write};

fn file() -> Syclbin<'static> {
    let mut file = Syclbin::new(State::Executable);
    let mut module = AbstractModule::default();
    module.add_kernel_name("__sycl_kernel_k");
    let spirv = vec![3, 2, 0x23, 7];
    let image = Image::ir(IrType::SpirV, "spir64-unknown-unknown", spirv);
    module.images.push(image);
    file.modules.push(module);
    file
}

/// Writes and reads `file` in all containers.
fn must_survive(file: &Syclbin<'_>) {
    for container in Container::ALL {
        let bytes = write::to_vec(file, container).unwrap();
        assert_eq!(&parse(&bytes).unwrap(), file, "{container:?}");
    }
}

fn must_be_refused(bytes: &[u8], version: &str) {
    let error = parse(bytes).unwrap_err().to_string();
    assert!(error.contains(version), "{error}");
    assert!(error.contains("use a newer syclbin"), "{error}");
}

#[test]
fn syclbin_version_3_is_refused_with_remedy() {
    for (container, at) in [(Container::Bare, 4), (Container::OffloadBinary1, 76)] {
        let mut bytes = write::to_vec(&file(), container).unwrap();
        assert_eq!(bytes[at..at + 4], [1, 0, 0, 0]);
        bytes[at] = 3;
        must_be_refused(&bytes, "version 3 is not supported, only 0 and 1");
    }
    let entry = Entry {
        image_kind: ImageKind::SYCLBIN,
        offload_kind: OffloadKind::SYCL,
        strings: [("sycl_format_version", "3"), ("role", "global_metadata")]
            .map(|(key, value)| (Cow::Borrowed(key), Cow::Borrowed(value.as_bytes())))
            .into(),
        ..Entry::default()
    };
    must_be_refused(&offload::write(&[entry]).unwrap(), "format version `3`");
}

#[test]
fn later_offload_binary_versions_are_refused_with_remedy() {
    for version in [4, 9] {
        let mut bytes = write::to_vec(&file(), Container::OffloadBinary2).unwrap();
        bytes[4] = version;
        must_be_refused(&bytes, &format!("version {version} is not supported"));
        let error = offload::read(&bytes).unwrap_err().to_string();
        assert!(error.contains("only 1, 2 and 3"), "{error}");
    }
}

#[test]
fn future_sets_keys_and_types_survive() {
    let mut file = file();
    let text = String::from("of type 9");
    let other = Value::Other { ty: 9, text };
    file.global.insert("SYCLBIN/of tomorrow", "key", 1u32);
    file.global.insert(set::GLOBAL, "future", other.clone());
    let module = &mut file.modules[0];
    let metadata = &mut module.metadata;
    metadata.insert("SYCL/of tomorrow", "key", other.clone());
    metadata.insert("SYCLBIN-RS/of tomorrow", "key", other.clone());
    metadata.insert(set::MISC_PROPERTIES, "ofTomorrow", other.clone());
    metadata.insert(set::DEVICE_REQUIREMENTS, "of_tomorrow", 2u32);
    module.images[0]
        .metadata
        .insert(set::IR_MODULE, "of tomorrow", other);
    must_survive(&file);
}

#[test]
fn future_states_and_ir_types_survive() {
    let mut file = file();
    file.global.insert(set::GLOBAL, key::STATE, 7u32);
    let image = Image::ir(IrType::Other(77), "quantum", vec![1, 2, 3]);
    file.modules[0].images.push(image);
    assert_eq!(file.state(), Some(State::Other(7)));
    must_survive(&file);
}

#[test]
fn future_image_kinds_survive_beside_syclbin() {
    let mut file = file();
    file.foreign.push(Entry {
        image_kind: ImageKind(99),
        offload_kind: OffloadKind(512),
        flags: 0x80,
        strings: vec![("of tomorrow".into(), b"\0\xff".into())],
        image: b"new".into(),
    });
    for container in [Container::OffloadBinary2, Container::Version2] {
        let bytes = write::to_vec(&file, container).unwrap();
        assert_eq!(parse(&bytes).unwrap(), file, "{container:?}");
    }
    let bytes = offload::write(&file.foreign).unwrap();
    assert_eq!(offload::read(&bytes).unwrap(), file.foreign);
    let error = parse(&bytes).unwrap_err().to_string();
    assert!(error.contains("image kind 99 is not SYCLBIN"), "{error}");
    assert!(error.contains("cargo syclbin extract"), "{error}");
}

/// DPC++ before 2025 compiled for FPGAs. The code is carried and passed on as any other.
#[test]
fn fpga_images_survive() {
    let mut file = file();
    let target = "spir64_fpga-unknown-unknown";
    let image = Image::native("pac_a10", target, b"\x7fELF aocx".to_vec());
    file.modules[0].images.push(image);
    must_survive(&file);
}
