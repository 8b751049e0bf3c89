// SPDX-License-Identifier: MIT OR Apache-2.0
//! Each fault produces exactly one finding, at the right offset.

use syclbin::offload::{Entry, ImageKind};
use syclbin::property::set;
use syclbin::{AbstractModule, Container, Image, IrType, State, Syclbin, read, write};
use syclbin_tools::verify::{Finding, Severity, verify};

fn texts(bytes: &[u8]) -> Vec<String> {
    verify(bytes).iter().map(ToString::to_string).collect()
}

/// The finding that contains a text.
fn finding(bytes: &[u8], text: &str) -> Finding {
    let mut found = verify(bytes).into_iter();
    let finding = found.find(|finding| finding.reason.contains(text));
    finding.unwrap_or_else(|| panic!("{text}: {:#?}", texts(bytes)))
}

const UNCHECKED: &str = "note: file: because of the errors, images, kernels and metadata were not checked for \
    consistency (at offset 0x0)";

#[test]
fn findings_of_the_wrapper_name_fields() {
    let bytes = test_files::read("vector_ops.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let good = write::to_vec(&file, Container::OffloadBinary1).unwrap();
    let mut bytes = good.clone();
    bytes[34] = 4;
    assert_eq!(finding(&bytes, "offload kind 4 is not 8").offset, 34);
    let mut bytes = good.clone();
    bytes[32] = 6;
    assert_eq!(finding(&bytes, "image kind 6").offset, 32);
    let mut bytes = good.clone();
    bytes.splice(72..72, [0]);
    bytes.extend_from_slice(&[0; 7]);
    let size = bytes.len() as u64;
    bytes[8..16].copy_from_slice(&size.to_le_bytes());
    bytes[56] += 1;
    assert_eq!(finding(&bytes, "not at a multiple of 8").offset, 56);
    assert_eq!(
        texts(&bytes)
            .iter()
            .filter(|text| *text == UNCHECKED)
            .count(),
        1
    );
    let mut bytes = good;
    let size = bytes.len() as u64;
    bytes.push(0);
    assert_eq!(finding(&bytes, "1 trailing byte, which").offset, size);
}

#[test]
fn code_of_another_type_is_one_error() {
    let spirv = &[
        3u8, 2, 0x23, 7, 0, 4, 1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0,
    ][..];
    let ptx = &b".version 6.3\n.target sm_75\n"[..];
    for (image, expected) in [
        (
            Image::ir(IrType::Ptx, "nvptx64-nvidia-cuda", spirv),
            "error: IR module 0: its type is PTX, but it contains SPIR-V",
        ),
        (
            Image::ir(IrType::SpirV, "spir64", ptx),
            "error: IR module 0: its type is SPIR-V, but it contains PTX",
        ),
    ] {
        let mut file = Syclbin::new(State::Executable);
        let mut module = AbstractModule::default();
        module.images.push(image);
        file.modules.push(module);
        let found = texts(&write::to_vec(&file, Container::default()).unwrap());
        let errors = found.iter().filter(|text| text.starts_with("error"));
        let errors: Vec<_> = errors.collect();
        assert!(
            errors.len() == 1 && errors[0].starts_with(expected),
            "{found:?}"
        );
    }
}

#[test]
fn removed_arguments_are_allowed() {
    let bytes = test_files::read("vector_ops.object.syclbin");
    for (name, expected) in [
        ("__sycl_kernel_saxpy", false),
        ("rtc_5$__sycl_kernel_saxpy", false),
        ("ghost", true),
    ] {
        let mut file = read::parse(&bytes).unwrap();
        let sets = &mut file.modules[0].metadata;
        sets.insert(set::KERNEL_PARAM_OPT, name, vec![0u8]);
        let found = texts(&write::to_vec(&file, Container::default()).unwrap());
        let expected: &[&str] = if expected {
            &["set `SYCL/kernel param opt` lists `ghost`, which is not a kernel"]
        } else {
            &[]
        };
        assert_eq!(found.len(), expected.len(), "{found:?}");
        assert!(
            found
                .iter()
                .zip(expected)
                .all(|(text, part)| text.contains(part))
        );
    }
}

#[test]
fn empty_records_overlap_nothing() {
    let bytes = test_files::read("work_group.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let mut bytes = write::to_vec(&file, Container::Bare).unwrap();
    // The metadata of the first image is empty, and inside the global metadata.
    let image = 56 + 32 * file.modules.len();
    bytes[image..image + 16].fill(0);
    bytes[image] = 1;
    let found = verify(&bytes);
    let errors = found.iter().filter(|f| f.severity == Severity::Error);
    assert_eq!(errors.count(), 0, "{found:#?}");
    assert_eq!(finding(&bytes, "it has no type").record, "IR module 0");
}

#[test]
fn last_line_of_metadata_counts() {
    let text = b"[SYCLBIN/global metadata]\nstate=1|2\n\r\n\nstate=1|1\n";
    for (text, expected) in [
        (&text[..], true),
        (&text[..text.len() - 1], true),
        (&text[..text.len() - 11], false),
    ] {
        let mut bytes = vec![0; 56];
        bytes[..8].copy_from_slice(b"IBYS\x01\0\0\0");
        bytes[24] = u8::try_from(text.len()).unwrap();
        bytes[48] = bytes[24];
        bytes.extend_from_slice(text);
        let found = texts(&bytes);
        let twice = found
            .iter()
            .any(|text| text.contains("a set or a key occurs twice"));
        assert_eq!(twice, expected, "{found:?}");
    }
}

#[test]
fn severities_are_words_that_can_be_padded() {
    let all = [Severity::Note, Severity::Warning, Severity::Error];
    let words = all.map(|severity| format!("{severity:>8}"));
    assert_eq!(words, ["    note", " warning", "   error"]);
}

#[test]
fn other_entries_of_wrapper_are_ignored() {
    let mut file = Syclbin::new(State::Object);
    file.foreign.push(Entry {
        image_kind: ImageKind::SPIRV,
        ..Entry::default()
    });
    let expected = "it is not part of the SYCLBIN file, so readers ignore it";
    for (container, at) in [(Container::OffloadBinary2, 72), (Container::Version2, 72)] {
        let bytes = write::to_vec(&file, container).unwrap();
        let found = verify(&bytes).into_iter();
        let found = found.filter(|finding| finding.record == "OffloadBinary entry 1");
        let found: Vec<_> = found.map(|one| (one.offset, one.reason)).collect();
        assert_eq!(found, [(at, expected.to_owned())], "{container:?}");
    }
}
