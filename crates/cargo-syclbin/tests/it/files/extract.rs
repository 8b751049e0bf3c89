// SPDX-License-Identifier: MIT OR Apache-2.0
//! `cargo syclbin extract`.

use std::fs;
use std::path::Path;

use serde_json::json;
use syclbin::offload::{self, Entry, ImageKind, OffloadKind};
use syclbin::{State, read};

use super::schema::check;
use super::{answer, command, complaint, run, run_with, stderr, stdout, word};

/// The names of the files in a directory, sorted.
fn names(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.collect();
    names.sort();
    names
}

#[test]
fn images_get_names_that_say_what_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("new/folder");
    let text = answer(&["extract", "extract/mixed.offload", "-o", word(&out)]);
    assert_eq!(
        names(&out),
        [
            "mixed.0.amdgcn-amd-amdhsa.gfx90a.o",
            "mixed.1.nvptx64-nvidia-cuda.sm_75.ptx",
            "mixed.2.spirv64.bc"
        ]
    );
    for name in names(&out) {
        assert!(text.contains(word(&out.join(name))), "{text}");
    }
    let ptx = fs::read_to_string(out.join("mixed.1.nvptx64-nvidia-cuda.sm_75.ptx")).unwrap();
    assert!(ptx.contains(".entry double_it"), "{ptx}");
    let out = folder.path().join("cubin");
    answer(&[
        "extract",
        "nvidia/export_side.sm_80.cubin",
        "-o",
        word(&out),
    ]);
    assert_eq!(names(&out), ["export_side.sm_80.0.cubin"]);
}

#[test]
fn images_go_to_current_directory_by_default() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(&["extract", "-"]);
    command.current_dir(folder.path());
    let path = test_files::path("extract/fat.o");
    let output = command
        .stdin(fs::File::open(path).unwrap())
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let expected = [
        "image.0.spir64-unknown-unknown.spv",
        "image.1.spir64-unknown-unknown.spv",
    ];
    assert_eq!(names(folder.path()), expected);
}

#[test]
fn image_bytes_match_the_reported_range() {
    let folder = tempfile::tempdir().unwrap();
    for name in [
        "library.a",
        "fat.o",
        "old.dll",
        "nested.offload",
        "binary.bundle",
    ] {
        let file = format!("extract/{name}");
        let out = folder.path().join(name);
        let words = ["extract", &file, "-o", word(&out), "--format", "json"];
        let report = check("extract", &answer(&words));
        let bytes = test_files::read(&file);
        let images = report["images"].as_array().unwrap();
        for image in images.iter().filter(|image| image["written"].is_string()) {
            let number = |key: &str| usize::try_from(image[key].as_u64().unwrap()).unwrap();
            let written = fs::read(image["written"].as_str().unwrap()).unwrap();
            assert_eq!(
                written,
                bytes[number("offset")..][..number("size")],
                "{name}"
            );
        }
        let written = images.iter().filter(|image| image["written"].is_string());
        assert_eq!(written.count(), names(&out).len());
        assert!(!names(&out).is_empty(), "{name}");
    }
}

#[test]
fn extract_and_inspect_report_images_alike() {
    let name = "globals.object.syclbin";
    let report = |command, words: &[&str]| {
        let words = [&[command, name, "--format", "json"], words].concat();
        check(command, &answer(&words))
    };
    let (inspected, extracted) = (report("inspect", &[]), report("extract", &["--list"]));
    let inspected = &inspected["modules"][0]["images"][0];
    let extracted = &extracted["images"][0];
    assert_eq!(extracted["target"], json!("spir64-unknown-unknown"));
    for field in ["target", "size", "offset", "sha256", "content"] {
        assert_eq!(extracted[field], inspected[field], "{field}");
    }
}

#[test]
fn host_code_of_a_bundle_is_skipped() {
    let folder = tempfile::tempdir().unwrap();
    let words = [
        "extract",
        "extract/binary.bundle",
        "-o",
        word(folder.path()),
        "--format",
        "json",
    ];
    let report = check("extract", &answer(&words));
    let images = report["images"].as_array().unwrap();
    let host = images
        .iter()
        .find(|image| image["offload_kind"] == json!("host"));
    let host = host.unwrap_or_else(|| panic!("{report:#}"));
    assert_eq!(
        (&host["skipped"], &host["written"]),
        (&json!("host code"), &json!(null))
    );
}

#[test]
fn file_is_refused_as_output_directory() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "mine").unwrap();
    let text = complaint(&["extract", "extract/fat.o", "-o", word(&file)]);
    assert!(text.ends_with("file: not a directory\n"), "{text}");
    assert_eq!(fs::read(&file).unwrap(), b"mine");
}

#[test]
fn a_listing_writes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(&["extract", "--list", "-"]);
    command.current_dir(folder.path());
    let path = test_files::path("extract/library.a");
    let output = command
        .stdin(fs::File::open(path).unwrap())
        .output()
        .unwrap();
    let text = stdout(&output);
    assert!(
        text.contains("archive member fat.o: section .llvm.offloading: entry 0"),
        "{text}"
    );
    assert!(text.contains("kernels first, second"), "{text}");
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn existing_files_are_overwritten_only_with_force() {
    let folder = tempfile::tempdir().unwrap();
    let last = folder.path().join("mixed.2.spirv64.bc");
    fs::write(&last, "mine").unwrap();
    let words = [
        "extract",
        "extract/mixed.offload",
        "-o",
        word(folder.path()),
    ];
    let text = complaint(&words);
    assert!(
        text.contains("mixed.2.spirv64.bc already exists, so nothing was written"),
        "{text}"
    );
    assert_eq!(names(folder.path()).len(), 1);
    assert_eq!(fs::read(&last).unwrap(), b"mine");
    answer(&[&words[..], &["--force"]].concat());
    assert!(fs::read(&last).unwrap().starts_with(b"BC\xc0\xde"));
    assert_eq!(names(folder.path()).len(), 3);
}

#[cfg(unix)]
#[test]
fn dangling_link_counts_as_an_existing_file() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let link = out.join("linked.0.spirv64.spv");
    fs::create_dir(&out).unwrap();
    std::os::unix::fs::symlink(folder.path().join("stolen"), &link).unwrap();
    let text = complaint(&["extract", "extract/linked.offload", "-o", word(&out)]);
    assert!(text.contains("exists"), "{text}");
    assert!(!folder.path().join("stolen").exists());
}

#[test]
fn hostile_strings_stay_inside_the_output_directory() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let hostile = [
        "../../../etc/passwd",
        "/abs",
        "..",
        "\u{1b}[2J",
        "a\nb",
        "con",
        &"x".repeat(5_000),
    ];
    let entries: Vec<_> = hostile
        .iter()
        .map(|text| Entry {
            image_kind: ImageKind::SPIRV,
            offload_kind: OffloadKind::SYCL,
            strings: vec![
                ("triple".into(), text.as_bytes().into()),
                ("arch".into(), text.as_bytes().into()),
            ],
            image: b"code".into(),
            ..Entry::default()
        })
        .collect();
    let bytes = offload::write(&entries).unwrap();
    let output = run_with(&["extract", "-", "-o", word(&out)], &bytes);
    assert_eq!(output.status.code(), Some(0), "{}", stderr(&output));
    let plain = |c: char| c == '\n' || !c.is_control();
    assert!(stdout(&output).chars().all(plain), "{:?}", stdout(&output));
    assert_eq!(names(folder.path()), ["out"]);
    let names = names(&out);
    assert_eq!(names.len(), hostile.len(), "{names:?}");
    let safe = |c: char| c.is_ascii_alphanumeric() || "._-+".contains(c);
    for name in names {
        assert!(name.starts_with("image.") && name.len() <= 200, "{name}");
        assert!(name.chars().all(safe) && !name.contains(".."), "{name}");
    }
}

#[test]
fn packaging_reports_missing_property_sets() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.syclbin");
    let text = answer(&["extract", "extract/mixed.offload", "--syclbin", word(&out)]);
    assert!(text.contains("image 2: left out: LLVM bitcode"), "{text}");
    assert!(text.contains("images 0-1: property sets "), "{text}");
    let bytes = fs::read(&out).unwrap();
    let file = read::parse(&bytes).unwrap();
    assert_eq!(
        (file.state(), file.modules.len()),
        (Some(State::Executable), 2)
    );
    assert_eq!(names(folder.path()), ["out.syclbin"], "no image without -o");
    let text = complaint(&["extract", "extract/mixed.offload", "--syclbin", word(&out)]);
    assert!(text.contains("out.syclbin already exists"), "{text}");
    let images = folder.path().join("images");
    let both = ["-o", word(&images), "--syclbin", word(&out)];
    complaint(&[&["extract", "extract/mixed.offload"], &both[..]].concat());
    assert!(!images.exists());
}

#[test]
fn notes_on_many_images_stay_short() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.syclbin");
    let entry = |image: &'static [u8]| Entry {
        image_kind: ImageKind::of(syclbin::Content::of(image)),
        image: image.into(),
        ..Entry::default()
    };
    let (ptx, bitcode) = (
        b".version 8.0\n.target sm_75\n.address_size 64\n",
        b"BC\xc0\xde",
    );
    let one = [entry(bitcode), entry(bitcode), entry(ptx)];
    let entries: Vec<_> = (0..1_200).flat_map(|_| one.clone()).collect();
    let bytes = offload::write(&entries).unwrap();
    let output = run_with(&["extract", "-", "--syclbin", word(&out)], &bytes);
    let text = stdout(&output);
    let notes = text.split_once("1200 abstract modules\n").unwrap().1;
    let (first, rest) = notes.split_once('\n').unwrap();
    let expected = "    images 0-1, 3-4, 6-7, 9-10, 12-13, 15-16, 18-19, 21-22, 24-25, 27-28 and 2,380 more: left out: LLVM";
    assert!(first.starts_with(expected), "{first}");
    let other = "    images 2, 5, 8, 11, 14, 17, 20, 23, 26, 29 and 1,190 more: ";
    assert!(rest.lines().all(|line| line.starts_with(other)), "{rest}");
}

#[test]
fn a_syclbin_file_comes_back_whole() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.syclbin");
    let name = "vector_ops.object.syclbin";
    let words = ["extract", name, "--syclbin", word(&out), "--format", "json"];
    let report = check("extract", &answer(&words));
    assert_eq!(report["syclbin"]["state"], json!("object"));
    assert_eq!(report["syclbin"]["notes"], json!([]));
    let (old, new) = (test_files::read(name), fs::read(&out).unwrap());
    assert_eq!(read::parse(&new).unwrap(), read::parse(&old).unwrap());
}

#[test]
fn unpackageable_file_writes_nothing_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.syclbin");
    let bitcode = Entry {
        image_kind: ImageKind::BITCODE,
        image: b"BC\xc0\xde".into(),
        ..Entry::default()
    };
    let bytes = offload::write(&[bitcode]).unwrap();
    let output = run_with(&["extract", "-", "--syclbin", word(&out)], &bytes);
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(
        text.contains("as SYCLBIN:\n  image 0: left out: LLVM bitcode"),
        "{text}"
    );
    assert!(!out.exists());
}

#[test]
fn empty_images_exit_with_1() {
    let empty = offload::write(&[Entry::default()]).unwrap();
    let output = run_with(&["extract", "-", "--list"], &empty);
    assert_eq!(output.status.code(), Some(1), "{}", stdout(&output));
    assert!(stderr(&output).ends_with(" contains no device code\n"));
}

#[test]
fn file_without_images_exits_with_1() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out.syclbin");
    let text = complaint(&["extract", "structs.cpp"]);
    assert!(text.starts_with("error: structs.cpp: "), "{text}");
    assert!(text.contains("no device images"), "{text}");
    // This test itself is an executable, of the host alone.
    let own = std::env::current_exe().unwrap();
    if cfg!(target_os = "linux") {
        let text = complaint(&["extract", word(&own), "--syclbin", word(&out)]);
        assert!(text.ends_with(" contains no device code\n"), "{text}");
        let output = run(&["extract", word(&own), "--list", "--format", "json"]);
        assert_eq!(output.status.code(), Some(1));
        assert_eq!(check("extract", &stdout(&output))["images"], json!([]));
    }
    assert_eq!(names(folder.path()), [""; 0]);
}

#[test]
fn thin_archive_members_lie_beside_the_archive() {
    let folder = tempfile::tempdir().unwrap();
    let archive = folder.path().join("thin.a");
    fs::copy(test_files::path("extract/thin.a"), &archive).unwrap();
    let text = complaint(&["extract", word(&archive), "--list"]);
    assert!(
        text.contains("cannot read member other.o: No such file"),
        "{text}"
    );
    // The member as it was when the archive was made.
    let library = test_files::read("extract/library.a");
    let at = library
        .windows(4)
        .rposition(|bytes| bytes == b"\x7fELF")
        .unwrap();
    fs::write(folder.path().join("other.o"), &library[at..at + 1184]).unwrap();
    let text = answer(&["extract", word(&archive), "--list"]);
    assert!(
        text.contains("from archive member other.o: section .llvm.offloading: entry 0"),
        "{text}"
    );
}

#[test]
fn large_coff_objects_are_read_whole() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("large.obj");
    let mut bytes = test_files::read("extract/fat.obj");
    bytes.resize(20_000, 0);
    // The data of the section with the images moves to the end.
    let at = bytes
        .windows(4)
        .position(|four| four == [0x10, 0xff, 0x10, 0xad])
        .unwrap();
    let size = 1736;
    bytes.copy_within(at..at + size, 20_000 - size);
    let pointer = u32::try_from(at).unwrap().to_le_bytes();
    let header = bytes.windows(4).position(|four| four == pointer).unwrap();
    bytes[header..header + 4].copy_from_slice(&(20_000 - 1736u32).to_le_bytes());
    fs::write(&path, bytes).unwrap();
    let text = answer(&["extract", word(&path), "--list"]);
    assert_eq!(
        text.matches("SPIR-V for spir64-unknown-unknown").count(),
        2,
        "{text}"
    );
}
