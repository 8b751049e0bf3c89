// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin pack`, and `extract` as its reverse.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use syclbin::offload::{self, ImageKind, OffloadKind};
use syclbin::{State, read};

use super::schema::check;
use super::{answer, complaint, run, stderr, word};

/// Two images in files of their own, as options.
fn images(folder: &Path) -> [String; 2] {
    let found = syclbin_tools::extract::images(test_files::bytes("extract/two.offload")).unwrap();
    let ptx = test_files::path("extract/../made/entries.ptx");
    let spirv = folder.join("a.spv");
    fs::write(&spirv, &found[1].bytes).unwrap();
    [
        format!(
            "--image=file={},triple=spir64-unknown-unknown,note=a,note=b",
            word(&spirv)
        ),
        format!(
            "--image=file={},triple=nvptx64-nvidia-cuda,arch=sm_75,kind=cuda",
            word(&ptx)
        ),
    ]
}

/// An object of the host without device code: the first member of an archive.
fn host(folder: &Path) -> PathBuf {
    let archive = test_files::read("extract/library.a");
    let at = archive
        .windows(4)
        .position(|bytes| bytes == b"\x7fELF")
        .unwrap();
    let size = std::str::from_utf8(&archive[at - 12..at - 2]).unwrap();
    let path = folder.join("host.o");
    fs::write(&path, &archive[at..][..size.trim().parse().unwrap()]).unwrap();
    path
}

/// What `extract` says of the images of a file, without where they lie.
fn extracted(file: &Path) -> Vec<Value> {
    let mut report = check(
        "extract",
        &answer(&["extract", word(file), "--list", "--format", "json"]),
    );
    let images = report["images"].as_array_mut().unwrap();
    for image in images.iter_mut() {
        for place in ["origin", "offset"] {
            image[place] = json!(null);
        }
    }
    images.clone()
}

#[test]
fn packed_images_are_extracted_again() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = images(folder.path());
    let host = host(folder.path());
    let plain = folder.path().join("plain.bin");
    assert_eq!(answer(&["pack", &first, &second, "-o", word(&plain)]), "");
    let bytes = fs::read(&plain).unwrap();
    let entries = offload::read(&bytes).unwrap();
    let facts: Vec<_> = entries
        .iter()
        .map(|entry| (entry.image_kind, entry.offload_kind))
        .collect();
    assert_eq!(
        facts,
        [
            (ImageKind::SPIRV, OffloadKind::SYCL),
            (ImageKind::PTX, OffloadKind::CUDA)
        ]
    );
    assert_eq!(entries[0].string("note"), Some("a,b"));
    assert_eq!(entries[1].string("arch"), Some("sm_75"));
    let expected = extracted(&plain);
    assert_eq!(expected.len(), 2);
    let into = format!("--into={}", word(&host));
    for (name, options) in [
        ("zstd.bin", vec!["--compress"]),
        ("zlib.bin", vec!["--compress=zlib"]),
        ("a.o", vec![&into[..]]),
        ("packed.o", vec![&into[..], "--compress"]),
    ] {
        let out = folder.path().join(name);
        let words = [&["pack", &first, &second, "-o", word(&out)], &options[..]].concat();
        assert_eq!(answer(&words), "");
        assert_eq!(extracted(&out), expected, "{name}");
    }
    let again = run(&["pack", &first, "-o", "-"]);
    assert_eq!(offload::read(&again.stdout).unwrap(), entries[..1]);
}

#[test]
fn bundles_are_extracted_again() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = images(folder.path());
    let without_note = first.replace(",note=a,note=b", "");
    let file = |name: &str| folder.path().join(name);
    let mut sizes = Vec::new();
    for (name, options) in [
        ("plain.bundle", vec!["--bundle"]),
        ("zstd.bundle", vec!["--bundle", "--compress"]),
        ("zlib.bundle", vec!["--bundle", "--compress=zlib"]),
    ] {
        let out = file(name);
        let words = ["pack", &without_note, &second, "-o", word(&out)];
        assert_eq!(answer(&[&words[..], &options].concat()), "");
        let bytes = fs::read(&out).unwrap();
        sizes.push(bytes.len());
        let found = syclbin_tools::extract::images(&bytes).unwrap();
        let facts: Vec<_> = found
            .iter()
            .map(|image| (&*image.triple, &*image.arch, image.offload_kind.to_string()))
            .collect();
        assert_eq!(
            facts,
            [
                ("spir64-unknown-unknown", "", "SYCL".to_owned()),
                ("nvptx64-nvidia-cuda", "sm_75", "CUDA".to_owned()),
            ]
        );
        assert_eq!(found[0].bytes, fs::read(file("a.spv")).unwrap());
    }
    assert!(sizes[1] < sizes[0] && sizes[2] < sizes[0], "{sizes:?}");
    let out = file("refused.bundle");
    let noted = stderr(&run(&["pack", &first, "--bundle", "-o", word(&out)]));
    assert!(noted.contains("cannot store the key `note`"), "{noted}");
    let kind = without_note.replace("--image=", "--image=kind=none,");
    let kind = stderr(&run(&["pack", &kind, "--bundle", "-o", word(&out)]));
    assert!(kind.contains("sycl, openmp, cuda or hip"), "{kind}");
    assert!(!out.exists());
}

#[test]
fn output_name_asks_for_syclbin() {
    let folder = tempfile::tempdir().unwrap();
    let [first, second] = images(folder.path());
    let out = folder.path().join("a.syclbin");
    let output = run(&["pack", &first, &second, "-o", word(&out)]);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    assert!(
        stderr(&output).contains("\n  image 0: it imports"),
        "{}",
        stderr(&output)
    );
    let bytes = fs::read(&out).unwrap();
    let file = read::parse(&bytes).unwrap();
    assert_eq!(file.modules.len(), 2);
    assert_eq!(file.state(), Some(State::Object));
    // The commands about SYCLBIN unpack a compressed one.
    let packed = folder.path().join("packed");
    let image = format!("--image=file={},triple=x", word(&out));
    assert_eq!(
        answer(&["pack", &image, "--compress", "-o", word(&packed)]),
        ""
    );
    let kernels = |path: &Path| {
        check(
            "inspect",
            &answer(&["inspect", word(path), "--format", "json"]),
        )["modules"]
            .clone()
    };
    let names = |modules: Value| -> Vec<Value> {
        modules
            .as_array()
            .unwrap()
            .iter()
            .map(|module| module["kernels"].clone())
            .collect()
    };
    let inner = offload::unpack(&fs::read(&packed).unwrap())
        .unwrap()
        .into_owned();
    let inner = offload::read(&inner).unwrap()[0].image.to_vec();
    assert_eq!(inner, bytes);
    assert!(!names(kernels(&out)).is_empty());
}

#[test]
fn wrong_pack_arguments_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let [first, _] = images(folder.path());
    let out = folder.path().join("out.bin");
    for (image, expected) in [
        ("triple=spir64", "`file=FILE` is missing"),
        ("file=x", "`triple=TRIPLE` is missing"),
        ("file=x,triple", "expected KEY=VALUE, found `triple`"),
        ("file=x,triple=y,kind=z", "unknown kind `z`"),
    ] {
        let output = run(&["pack", "--image", image, "-o", word(&out)]);
        assert_eq!(output.status.code(), Some(2));
        assert!(stderr(&output).contains(expected), "{}", stderr(&output));
    }
    let bitcode = "--image=file=extract/lto.o,triple=spir64";
    let syclbin = folder.path().join("out.syclbin");
    let object = format!("--into={}", word(&test_files::path("extract/fat.obj")));
    for (words, expected) in [
        (
            vec!["--image=file=absent,triple=x", "-o", word(&out)],
            "cannot read absent",
        ),
        (
            vec![&first, "-o", word(&syclbin), "--compress"],
            "--compress cannot write a SYCLBIN file",
        ),
        (
            vec![bitcode, "-o", word(&syclbin)],
            "LLVM bitcode, which drivers cannot load; compile it with `syclbin-clang FILE -o OUT.syclbin`",
        ),
        (
            vec![&first, &object, "-o", word(&out)],
            "device code can be embedded only in a 64-bit ELF object",
        ),
    ] {
        let text = complaint(&[&["pack"], &words[..]].concat());
        assert!(text.contains(expected), "{text}");
    }
    assert!(!out.exists() && !syclbin.exists());
}
