// SPDX-License-Identifier: MIT OR Apache-2.0
use super::pinned::{HEAD_SHA256, check};
use super::*;
use crate::Failure;

#[test]
fn another_library_is_refused_before_it_is_loaded() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libsycl-jit.so");
    std::fs::write(&path, "something else").unwrap();
    let refused = compile(&path, "k.cpp", Vec::new(), Vec::new(), None, false);
    let Err(Failure::Own(text)) = refused else {
        panic!("it was called");
    };
    assert!(
        text.contains("is not the compiler library of DPC++"),
        "{text}"
    );
    assert!(text.contains("toolchain install --force"), "{text}");
}

#[test]
fn file_with_another_hash_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("libsycl-jit.so");
    std::fs::write(&path, "abc").unwrap();
    let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
    assert_eq!(check(&path, 3, abc), Ok(()));
    for (size, hash, difference) in [
        (3, HEAD_SHA256, "its first bytes differ"),
        (4, abc, "it is 3 bytes long instead of 4"),
    ] {
        let Err(Failure::Own(text)) = check(&path, size, hash) else {
            panic!("it was accepted");
        };
        assert!(text.contains(difference), "{text}");
    }
}

#[test]
fn include_directory_beside_library_is_used() {
    let root = tempfile::tempdir().unwrap();
    let library = root.path().join("lib/libsycl-jit.so");
    assert!(header_arguments(&library).is_empty());
    let include = root.path().join("include");
    std::fs::create_dir(&include).unwrap();
    let expected = ["-isystem", include.to_str().unwrap()];
    assert_eq!(header_arguments(&library), expected);
}
