//! Every file in `testfiles/`, written by the reference runtime, is read and understood.
#![allow(clippy::panic, clippy::unwrap_used)] // a test may

use std::path::{Path, PathBuf};

use syclbin::signature::{Access, Scalar, Type, kernels};
use syclbin::{Container, State, read, write};

fn testfiles() -> Vec<(PathBuf, Vec<u8>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../testfiles");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ext| ext == "syclbin"))
        .map(|path| (path.clone(), std::fs::read(path).unwrap()))
        .collect();
    files.sort();
    assert!(files.len() >= 14, "the files are missing");
    files
}

fn testfile(name: &str) -> Vec<u8> {
    let file = testfiles()
        .into_iter()
        .find(|(path, _)| path.file_name().unwrap() == name);
    file.unwrap_or_else(|| panic!("no {name}")).1
}

#[test]
fn every_file_is_read_with_the_state_its_name_says() {
    for (path, bytes) in testfiles() {
        let file = read::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let state = stem.rsplit('.').next().and_then(State::from_name).unwrap();
        assert_eq!(file.state(), Some(state), "{}", path.display());
        assert!(!file.modules.is_empty());
        let native = state == State::Executable;
        for image in file.modules.iter().flat_map(|module| &module.images) {
            assert_eq!(image.native, native, "{}", path.display());
            let magic: &[u8] = if native { b"\x7fELF" } else { &[3, 2, 0x23, 7] };
            assert!(image.bytes.starts_with(magic), "{}", path.display());
        }
    }
}

#[test]
fn every_file_survives_every_container() {
    for (path, bytes) in testfiles() {
        let file = read::parse(&bytes).unwrap();
        for container in Container::ALL {
            let written = write::to_vec(&file, container).unwrap();
            assert_eq!(read::File::parse(&written).unwrap().container(), container);
            assert_eq!(read::parse(&written).unwrap(), file, "{}", path.display());
            assert_eq!(written, write::to_vec(&file, container).unwrap());
        }
    }
}

#[test]
fn files_of_the_reference_writer_come_out_byte_for_byte() {
    for (path, bytes) in testfiles() {
        let container = read::File::parse(&bytes).unwrap().container();
        assert_eq!(container, Container::OffloadBinary2);
        let written = write::to_vec(&read::parse(&bytes).unwrap(), container).unwrap();
        assert!(written == bytes, "{}", path.display());
    }
}

#[test]
fn signatures_come_from_symbols_and_code_where_nothing_is_recorded() {
    let bytes = testfile("vector_ops.object.syclbin");
    let file = read::parse(&bytes).unwrap();
    let found = kernels(&file).unwrap();
    let texts: Vec<_> = found
        .iter()
        .map(|kernel| match &kernel.declaration {
            Some(declaration) => declaration.to_string(),
            None => kernel.name.as_ref().unwrap().qualified(),
        })
        .collect();
    assert_eq!(
        texts,
        [
            "saxpy",
            "void fill::iota(float, float *, int)",
            "void scale<int>(int *, int)",
            "void scale<double>(double *, double)",
        ]
    );
    let saxpy = found.iter().find(|k| k.symbol == "__sycl_kernel_saxpy");
    let parameters = saxpy.unwrap().parameters.as_ref().unwrap();
    let types: Vec<_> = parameters.iter().map(|p| (p.ty, p.sign_known)).collect();
    let pointer = |access| Type::Pointer {
        pointee: Scalar::F32,
        access,
    };
    assert_eq!(
        types,
        [
            (Type::Scalar(Scalar::F32), true),
            (pointer(Access::Read), true),
            (pointer(Access::ReadWrite), true),
            // `unsigned n`: the code alone does not tell.
            (Type::Scalar(Scalar::I32), false),
        ]
    );
}

#[test]
fn kernels_that_are_not_supported_yet_say_why() {
    for (name, symbol, reason) in [
        ("structs.object.syclbin", "__sycl_kernel_kinetic", "struct"),
        (
            "work_group.object.syclbin",
            "__sycl_kernel_block_sum",
            "work-group memory",
        ),
        ("functor.object.syclbin", "_ZTS5Triad", "removed"),
        ("export_side.object.syclbin", "_Z5shapef", "no kernel"),
    ] {
        let bytes = testfile(name);
        let file = read::parse(&bytes).unwrap();
        let found = kernels(&file).unwrap();
        let kernel = found.iter().find(|k| k.symbol == symbol);
        let error = kernel.unwrap().parameters.as_ref().unwrap_err().to_string();
        assert!(error.contains(reason), "{symbol}: {error}");
    }
}

#[test]
fn something_else_is_named_as_such() {
    let cases: [(&[u8], &str); 4] = [
        (b"", "file: not a SYCLBIN file: it begins with nothing"),
        (b"\x7fELF\x02\x01", "it begins with 7f 45 4c 46"),
        (
            b"\x10\xff\x10\xad",
            "OffloadBinary header: range 0x0+0x20 exceeds the file of 0x4 bytes",
        ),
        (b"IBYS\x02\0\0\0", "SYCLBIN file header: range"),
    ];
    for (bytes, expected) in cases {
        let error = read::parse(bytes).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
}
