// SPDX-License-Identifier: MIT OR Apache-2.0
//! Files that are loaded at run time in place of the embedded one, with the same stubs.
#![allow(unsafe_code)] // loading a file and launching a kernel are unsafe

use std::path::PathBuf;

use end_to_end::vector_ops;
use syclbin_rt::{ErrorKind, Queue};

use crate::common::{queue, spirv_queue};

syclbin_rt::include_syclbin! { mod kernels = "replaced"; }
syclbin_rt::include_syclbin! { mod scale_only = "replaced"; only { scale } }

macro_rules! built {
    ($name:literal) => {
        include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/", $name, ".syclbin"))
    };
}

const CODE: &[u8] = built!("replaced_code");
const TYPES: &[u8] = built!("replaced_types");
const LACKING: &[u8] = built!("replaced_lacking");

/// A file with these bytes, in a directory that is removed with the first.
fn written(bytes: &[u8]) -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kernels.syclbin");
    std::fs::write(&path, bytes).unwrap();
    (directory, path)
}

fn load(queue: &Queue, bytes: &[u8]) -> syclbin_rt::Result<kernels::Module> {
    // SAFETY: a compiler made the files of these tests, and damage is found before the code is used.
    unsafe { kernels::Module::builder(queue).load_bytes(bytes) }
}

/// What `scale` makes of 0, 1, 2 and 3, with a factor of 10.
fn scaled(queue: &Queue, kernels: &kernels::Module) -> Vec<f32> {
    kernels
        .table()
        .unwrap()
        .write(&[100, 200, 300, 400])
        .unwrap();
    let mut data = queue.upload(&[0.0f32, 1.0, 2.0, 3.0]).unwrap();
    // SAFETY: each work-item writes a number of its own.
    unsafe { kernels.scale(&mut data, 10.0).launch(4) }.unwrap();
    queue.download(&data).unwrap()
}

#[test]
fn code_of_the_other_file_runs() {
    let Some(queue) = queue() else { return };
    let embedded = kernels::Module::load(&queue).unwrap();
    assert_eq!(scaled(&queue, &embedded), [101.0, 211.0, 321.0, 431.0]);
    let (_folder, path) = written(CODE);
    // SAFETY: a compiler made the file.
    let replaced = unsafe { kernels::Module::builder(&queue).load_file(&path) }.unwrap();
    assert_eq!(scaled(&queue, &replaced), [101.0, 191.0, 281.0, 371.0]);
    let bodies = queue
        .upload(&[kernels::Body {
            mass: 1.0,
            charge: 7,
        }])
        .unwrap();
    let mut out = queue.zeroed::<i32>(1).unwrap();
    // SAFETY: both have one element.
    unsafe { replaced.charges(&bodies, &mut out).launch(1) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [-7]);
}

#[test]
fn constants_of_the_other_file_are_set() {
    let Some(queue) = queue() else { return };
    let (_folder, path) = written(CODE);
    let builder = || kernels::Module::builder(&queue).bias(-1000);
    // SAFETY: a compiler made the file.
    let from_file = unsafe { builder().load_file(path) }.unwrap();
    // SAFETY: the same.
    let from_bytes = unsafe { builder().load_bytes(CODE) }.unwrap();
    for kernels in [from_file, from_bytes] {
        assert_eq!(scaled(&queue, &kernels), [-900.0, -810.0, -720.0, -630.0]);
    }
}

#[test]
fn saved_native_code_fits_the_stubs() {
    let Some(queue) = spirv_queue() else { return };
    // SAFETY: a compiler made the file.
    let module = unsafe { syclbin_rt::Module::load(&queue, vector_ops::SYCLBIN) }.unwrap();
    let saved = module.to_syclbin().unwrap();
    // SAFETY: a driver made the file from what a compiler made.
    let kernels = unsafe { vector_ops::Module::builder(&queue).load_bytes(&saved) }.unwrap();
    let x = queue.upload(&[1.0f32, 2.0]).unwrap();
    let mut y = queue.upload(&[0.5f32, 0.5]).unwrap();
    // SAFETY: both buffers have two elements.
    unsafe { kernels.saxpy(2.0, &x, &mut y, 2).launch(2) }.unwrap();
    assert_eq!(queue.download(&y).unwrap(), [2.5, 4.5]);
}

#[test]
fn other_types_are_named_all_at_once() {
    let Some(queue) = queue() else { return };
    let lines = "\
        \n  kernel scale: parameter 1 `factor`: expected `float`, found `double`\
        \n  kernel charges: parameter 0 `bodies`: expected \
        `struct Body { float mass; /* 0 */ int charge; /* 4 */ } /* size 8, align 4 */`, found \
        `struct Body { int charge; /* 0 */ float mass; /* 4 */ } /* size 8, align 4 */`\
        \n  specialization constant bias: expected `int`, found `float`\
        \n  device global table: expected `int[4]`, found `int[8]`";
    let error = load(&queue, TYPES).unwrap_err();
    assert_eq!(
        error.to_string(),
        format!(
            "this SYCLBIN file does not match the kernels that this program was built with (compile both from the \
             same sources):{lines}"
        )
    );
    assert_eq!(error.kind(), ErrorKind::StubMismatch);
    assert_eq!(error.reasons().len(), 4);
    let (_folder, path) = written(TYPES);
    // SAFETY: a compiler made the file.
    let error = unsafe { kernels::Module::builder(&queue).load_file(&path) }.unwrap_err();
    let expected = format!(
        "{} does not match the kernels that this program was built with (compile both from the same sources):{lines}",
        path.display()
    );
    assert_eq!(error.to_string(), expected);
}

#[test]
fn missing_kernel_is_an_error_for_stubs() {
    let Some(queue) = queue() else { return };
    assert_eq!(
        load(&queue, LACKING).unwrap_err().to_string(),
        "this SYCLBIN file does not match the kernels that this program was built with (compile both from the same \
         sources):\n  kernel charges is missing; expected `void charges(const Body *bodies, int *out)`"
    );
    // SAFETY: a compiler made the file.
    let kernels = unsafe { scale_only::Module::builder(&queue).load_bytes(LACKING) };
    assert!(kernels.is_ok(), "{kernels:?}");
}

#[test]
fn unreadable_file_error_names_the_path() {
    let Some(queue) = queue() else { return };
    let (directory, path) = written(&CODE[..CODE.len() / 2]);
    // SAFETY: no code is used before the damage is found.
    let damaged = unsafe { kernels::Module::builder(&queue).load_file(&path) }.unwrap_err();
    assert!(damaged.kind() == ErrorKind::InvalidFile);
    let start = format!("cannot read the SYCLBIN file {}: ", path.display());
    assert!(damaged.to_string().starts_with(&start), "{damaged}");
    let error = load(&queue, &CODE[..CODE.len() / 2]).unwrap_err();
    assert!(error.kind() == ErrorKind::InvalidFile, "{error}");

    let path = directory.path().join("nowhere.syclbin");
    // SAFETY: the file is missing.
    let missing = unsafe { kernels::Module::builder(&queue).load_file(&path) }.unwrap_err();
    assert!(missing.kind() == ErrorKind::Io);
    let start = format!("cannot read {}: ", path.display());
    assert!(missing.to_string().starts_with(&start), "{missing}");
}
