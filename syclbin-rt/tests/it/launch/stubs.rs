// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions that `include_syclbin!` writes, on the device.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin_rt::{ErrorKind, Queue, Result, WatchedFile, include_syclbin};

use crate::common;

include_syclbin! {
    /// The kernels of tests/files/vector_ops.cpp, as another tool compiled them.
    mod vector_ops = "../tests/files/nvidia/vector_ops.object.syclbin";
}

include_syclbin! {
    /// A kernel that calls a function of `exporting`.
    mod importing = "../tests/files/nvidia/import_side.object.syclbin";
}

include_syclbin! {
    /// The function.
    mod exporting = "../tests/files/nvidia/export_side.object.syclbin";
}

#[test]
fn module_links_with_another_embedded_file() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let builder = importing::Module::builder(&queue).link(exporting::Module::FILE);
    let kernels = builder.load()?;
    let input = queue.upload(&[3.0f32])?;
    let mut out = queue.zeroed::<f32>(1)?;
    // SAFETY: one work-item, and one element in each buffer.
    unsafe { kernels.apply(&input, &mut out).launch(1)? };
    assert_eq!(queue.download(&out)?, [10.0]);
    assert!(importing::Module::load(&queue).is_err());
    Ok(())
}

#[test]
fn saxpy_is_what_rust_computes() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = vector_ops::Module::load(&queue)?;
    let x: Vec<f32> = (0..1000u16).map(f32::from).collect();
    let y: Vec<f32> = x.iter().map(|x| 3.0 - x).collect();
    let on_device = queue.upload(&x)?;
    let mut result = queue.upload(&y)?;
    // This file has no declaration of saxpy, so `unsigned n` is taken for signed.
    let launch = kernels.saxpy(2.0, &on_device, &mut result, 1000);
    // SAFETY: both buffers hold 1000 elements.
    unsafe { launch.launch(1000)? };
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + y).collect();
    assert_eq!(queue.download(&result)?, expected);
    Ok(())
}

#[test]
fn namespaced_kernel_is_a_field_method() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    assert_counts(&queue, &vector_ops::Module::load(&queue)?)
}

fn assert_counts(queue: &Queue, kernels: &vector_ops::Module) -> Result<()> {
    let mut out = queue.zeroed::<f32>(5)?;
    // SAFETY: `iota` writes as many elements as it is told, which the buffer has.
    unsafe { kernels.fill.iota(0.5, &mut out, 5).launch(1)? };
    assert_eq!(queue.download(&out)?, [0.5, 1.5, 2.5, 3.5, 4.5]);
    Ok(())
}

#[test]
fn replaced_files_are_loaded_once_each() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("kernels.syclbin");
    let replace = |bytes: &[u8]| {
        let beside = directory.path().join("beside");
        std::fs::write(&beside, bytes).unwrap();
        std::fs::rename(beside, &path).unwrap();
    };
    replace(vector_ops::SYCLBIN);
    let mut file = WatchedFile::new(&path, |path| {
        // SAFETY: compilers made all files of this test.
        unsafe { vector_ops::Module::builder(&queue).load_file(path) }
    });
    let first = file.changed()?.expect("the first call loads");
    assert_counts(&queue, &first)?;
    assert!(file.changed()?.is_none());

    // A file that does not fit is one error, and the old kernels stay.
    replace(&test_files::read("nvidia/structs.object.syclbin"));
    let error = file.changed().unwrap_err();
    assert!(error.kind() == ErrorKind::StubMismatch, "{error}");
    assert!(
        error
            .to_string()
            .contains("kernel saxpy is missing; expected"),
        "{error}"
    );
    assert!(file.changed()?.is_none());
    assert_counts(&queue, &first)?;

    replace(vector_ops::SYCLBIN);
    let second = file.changed()?.expect("the file fits again");
    assert_counts(&queue, &second)?;
    assert!(file.changed()?.is_none());
    Ok(())
}

#[test]
fn instances_of_a_template_take_their_own_types() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = vector_ops::Module::load(&queue)?;
    let mut ints = queue.upload(&[1i32, -2, 3])?;
    let mut doubles = queue.upload(&[0.5f64, 1.5])?;
    // SAFETY: each work-item touches the element of its own index.
    unsafe {
        kernels.scale_int(&mut ints, 2).launch(3)?;
        kernels.scale_double(&mut doubles, -4.0).launch(2)?;
    }
    assert_eq!(queue.download(&ints)?, [2, -4, 6]);
    assert_eq!(queue.download(&doubles)?, [-2.0, -6.0]);
    Ok(())
}

#[test]
fn a_refused_launch_names_the_kernel() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernels = vector_ops::Module::load(&queue)?;
    let mut data = queue.upload(&[1i32])?;
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { kernels.scale_int(&mut data, 2).launch(0) };
    let message = launched.unwrap_err().to_string();
    assert!(message.contains("scale"), "{message}");
    Ok(())
}
