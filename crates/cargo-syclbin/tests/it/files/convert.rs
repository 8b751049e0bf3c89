// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin convert`.

use std::fs;

use syclbin::offload::{Entry, ImageKind, OffloadKind};
use syclbin::{AbstractModule, Container, State, Syclbin, offload, read, write};

use super::{all, answer, complaint, run_with, stderr, word};

#[test]
fn files_survive_every_container_byte_for_byte() {
    let folder = tempfile::tempdir().unwrap();
    let (there, back) = (folder.path().join("there"), folder.path().join("back"));
    for name in all() {
        for container in Container::ALL.map(Container::name) {
            let convert = [
                "convert",
                &name,
                "-o",
                word(&there),
                "--container",
                container,
            ];
            assert_eq!(answer(&convert), "");
            let bytes = fs::read(&there).unwrap();
            let found = read::File::parse(&bytes).unwrap().container().name();
            assert_eq!(found, container);
            let original = test_files::read(&name);
            let original = read::File::parse(&original).unwrap().container().name();
            let container = ["--container", original];
            answer(
                &[
                    &["convert", word(&there), "-o", word(&back)],
                    &container[..],
                ]
                .concat(),
            );
            assert_eq!(fs::read(&back).unwrap(), test_files::read(&name), "{name}");
        }
    }
}

#[test]
fn default_container_is_offload_binary_1() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    answer(&["convert", "globals.object.syclbin", "-o", word(&out)]);
    let bytes = fs::read(out).unwrap();
    let container = read::File::parse(&bytes).unwrap().container();
    assert_eq!(container, Container::OffloadBinary1);
}

#[test]
fn state_can_be_changed_without_changing_modules() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let words = [
        "convert",
        "globals.object.syclbin",
        "-o",
        word(&out),
        "--state",
        "input",
    ];
    answer(&words);
    let bytes = fs::read(out).unwrap();
    let (changed, old) = (
        read::parse(&bytes).unwrap(),
        test_files::read("globals.object.syclbin"),
    );
    assert_eq!(changed.state(), Some(State::Input));
    assert_eq!(changed.modules, read::parse(&old).unwrap().modules);
}

#[test]
fn a_file_may_replace_itself() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.syclbin");
    fs::copy(test_files::path("globals.object.syclbin"), &path).unwrap();
    answer(&[
        "convert",
        word(&path),
        "-o",
        word(&path),
        "--container",
        "v2",
    ]);
    let bytes = fs::read(&path).unwrap();
    let container = read::File::parse(&bytes).unwrap().container();
    assert_eq!(container, Container::Version2);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn standard_output_takes_the_bytes() {
    let bytes = test_files::read("globals.object.syclbin");
    let output = run_with(
        &["convert", "-", "-o", "-", "--container", "v1-offload2"],
        &bytes,
    );
    assert_eq!(output.stdout, bytes);
}

/// A file of version 2 that has what only version 2 can hold.
fn rich() -> Vec<u8> {
    let mut module = AbstractModule::default();
    module.strings.push(("of the module".into(), b"x".into()));
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    file.strings.push(("of the file".into(), b"a\0b".into()));
    file.foreign.push(Entry {
        image_kind: ImageKind::PTX,
        strings: vec![("triple".into(), b"nvptx64-nvidia-cuda".into())],
        image: b"// ptx".into(),
        ..Entry::default()
    });
    write::to_vec(&file, Container::Version2).unwrap()
}

#[test]
fn unsupported_content_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let (rich_path, out) = (folder.path().join("rich"), folder.path().join("out"));
    fs::write(&rich_path, rich()).unwrap();
    let words = |container| {
        let (rich, out) = (word(&rich_path), word(&out));
        ["convert", rich, "-o", out, "--container", container]
    };
    for container in ["v1-offload2", "v1", "v1-bare"] {
        let text = complaint(&words(container));
        assert!(
            text.contains("of the module") && text.contains("use container v2"),
            "{text}"
        );
        assert!(!out.exists(), "{container}");
    }
    answer(&words("v2"));
    assert_eq!(fs::read(&out).unwrap(), rich());
}

#[test]
fn images_for_other_languages_are_left_out() {
    let folder = tempfile::tempdir().unwrap();
    let made = folder.path().join("made.syclbin");
    let bytes = fs::read(test_files::path("vector_ops.object.syclbin")).unwrap();
    let file = read::parse(&bytes).unwrap();
    let entry = |offload_kind, image| Entry {
        image_kind: ImageKind::NONE,
        offload_kind,
        image,
        strings: vec![("triple".into(), b"spir64".into())],
        ..Entry::default()
    };
    let spirv = entry(OffloadKind::SYCL, file.modules[0].images[0].bytes.clone());
    let images = offload::write(&[spirv, entry(OffloadKind::OPENMP, b"code".into())]).unwrap();
    let output = run_with(&["convert", "-", "-o", word(&made)], &images);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let bytes = fs::read(&made).unwrap();
    assert!(read::parse(&bytes).unwrap().foreign.is_empty());
    for container in ["v2", "v1-offload2"] {
        let words = ["convert", "-", "-o", word(&made), "--container", container];
        assert_eq!(run_with(&words, &images).status.code(), Some(0));
        let bytes = fs::read(&made).unwrap();
        assert_eq!(read::parse(&bytes).unwrap().foreign.len(), 1, "{container}");
    }
}

#[test]
fn a_failure_leaves_the_old_output_alone() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    fs::write(&out, "old").unwrap();
    let text = complaint(&["convert", "structs.cpp", "-o", word(&out)]);
    assert!(text.contains("not a SYCLBIN file"), "{text}");
    assert_eq!(fs::read(&out).unwrap(), b"old");
    let nowhere = folder.path().join("none/out");
    let text = complaint(&["convert", "globals.object.syclbin", "-o", word(&nowhere)]);
    assert!(text.starts_with("error: cannot write "), "{text}");
}
