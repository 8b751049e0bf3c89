// SPDX-License-Identifier: MIT OR Apache-2.0
//! Linking: what kernels import is found in other modules and files, or refused by name.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

use syclbin::property::{key, set};
use syclbin::{State, Syclbin};
use syclbin_rt::{Arg, Error, ErrorKind, Launch, Module, Queue, Result};

use crate::common;

fn importing() -> Vec<u8> {
    common::testfile("import_side.object.syclbin")
}

fn exporting() -> Vec<u8> {
    common::testfile("export_side.object.syclbin")
}

fn link(queue: &Queue, file: &[u8], with: &[&[u8]]) -> Result<Module> {
    let builder = Module::builder(queue);
    let builder = with
        .iter()
        .fold(builder, |builder, file| builder.link(file));
    // SAFETY: a compiler made the code.
    unsafe { builder.load(file) }
}

fn refusal(queue: &Queue, file: &[u8], with: &[&[u8]]) -> Error {
    link(queue, file, with).expect_err("a refusal")
}

/// `apply` of the importing file calls `shape` of the exporting one: x * x + 1.
fn assert_applies(queue: &Queue, module: &Module) -> Result<()> {
    let kernel = module.kernel("apply");
    let input = queue.upload(&[0.0f32, 1.0, -3.0])?;
    let mut out = queue.zeroed::<f32>(3)?;
    let args = [Arg::read(&input), Arg::write(&mut out)];
    // SAFETY: a work-item for each element.
    unsafe { Launch::new(&kernel, &["in", "out"], args).launch(3)? };
    assert_eq!(queue.download(&out)?, [1.0, 2.0, 10.0]);
    Ok(())
}

/// One file of the modules of several.
fn joined(files: &[&[u8]]) -> Vec<u8> {
    let mut all = Syclbin::new(State::Object);
    for bytes in files {
        all.modules
            .extend(syclbin::read::parse(bytes).expect("a good file").modules);
    }
    common::written(&all)
}

/// The exporting file, with other code that means the same: the number of the tool that made it.
fn made_otherwise() -> Vec<u8> {
    let bytes = exporting();
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    file.modules[0].images[0].bytes.to_mut()[8] ^= 1;
    common::written(&file)
}

#[test]
fn import_is_found_in_linked_file() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let other = common::testfile("vector_ops.object.syclbin");
    let exporting = exporting();
    assert_applies(&queue, &link(&queue, &importing(), &[&exporting])?)?;
    assert_applies(&queue, &link(&queue, &importing(), &[&other, &exporting])?)
}

#[test]
fn import_is_found_in_same_file() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    for files in [[importing(), exporting()], [exporting(), importing()]] {
        let file = joined(&files.each_ref().map(Vec::as_slice));
        assert_applies(&queue, &link(&queue, &file, &[])?)?;
    }
    Ok(())
}

#[test]
fn duplicate_function_is_refused_unless_equal() -> Result<()> {
    // It changes SPIR-V.
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let (first, second) = (exporting(), made_otherwise());
    assert_applies(&queue, &link(&queue, &importing(), &[&second])?)?;
    assert_applies(&queue, &link(&queue, &importing(), &[&first, &first])?)?;
    let message = refusal(&queue, &importing(), &[&first, &second]).to_string();
    assert!(
        message.contains(
            "shape(float) [_Z5shapef] is exported by both module 0 (_Z5shapef) of linked file 1 and module 0 \
             (_Z5shapef) of linked file 2; remove one of them"
        ),
        "{message}"
    );
    Ok(())
}

#[test]
fn native_device_library_needs_a_capable_device() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    // Its kind, by the number in files: 0 for arithmetic that every device has.
    let library = |file: &[u8], kind: u32| {
        let mut file = syclbin::read::parse(file).expect("a good file");
        let metadata = &mut file.modules[0].metadata;
        metadata.insert(set::DEVICELIB_METADATA, key::BFLOAT16, kind);
        common::written(&file)
    };
    let [fallback, native] = [library(&exporting(), 0), library(&made_otherwise(), 1)];
    let module = link(&queue, &importing(), &[&fallback, &native])?;
    assert_applies(&queue, &module)?;
    let file = if queue
        .device()
        .has_extension("cl_intel_bfloat16_conversions")
    {
        2
    } else {
        1
    };
    let choice = common::choices(&module)[0].to_string();
    assert!(
        choice.contains(&format!("of linked file {file}")),
        "{choice}"
    );
    Ok(())
}

#[test]
fn the_own_file_comes_before_the_linked_ones() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let file = joined(&[&importing(), &exporting()]);
    assert_applies(&queue, &link(&queue, &file, &[&made_otherwise()])?)
}

#[test]
fn missing_symbol_error_names_the_searched_files() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let other = common::testfile("vector_ops.object.syclbin");
    let error = refusal(&queue, &importing(), &[&other]);
    assert!(
        error.kind() == ErrorKind::Unavailable
            && error
                .to_string()
                .contains("nothing in this SYCLBIN file can run"),
        "{error}"
    );
    let message = error.to_string();
    assert!(
        message.contains(
            "shape(float) [_Z5shapef]; neither this file nor the linked file exports them"
        ),
        "{message}"
    );
    let message = refusal(&queue, &importing(), &[&other, &other]).to_string();
    assert!(
        message.contains("neither this file nor the 2 linked files export them"),
        "{message}"
    );
    Ok(())
}

#[test]
fn an_undefined_function_leaves_other_kernels_usable() -> Result<()> {
    // PTX cannot be divided.
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile("made/partly_undefined.syclbin"))?;
    let kernel = module.kernel("negate");
    let mut data = queue.upload(&[1, -2])?;
    let args = [Arg::write(&mut data)];
    // SAFETY: a work-item for each element.
    unsafe { Launch::new(&kernel, &["data"], args).launch(2)? };
    assert_eq!(queue.download(&data)?, [-1, 2]);
    let reason = "it uses undefined symbols: undefined(int) [_Z9undefinedi]";
    let error = module.kernel("call").expect_err("a function is missing");
    assert!(error.to_string().contains(reason), "{error}");
    let error = module.build().expect_err("one kernel cannot be built");
    assert_eq!(error.reasons().len(), 1, "{error}");
    assert!(
        error.reasons()[0].starts_with("kernel __sycl_kernel_call "),
        "{error}"
    );
    assert!(error.to_string().contains(reason), "{error}");
    let choice = module.images().next().expect("one module");
    assert_eq!(choice.image(), Some(0));
    assert!(
        choice
            .to_string()
            .starts_with("module 0 (__sycl_kernel_negate)"),
        "{choice}"
    );
    let error = module.to_syclbin().expect_err("not all of it can be saved");
    assert!(error.to_string().contains(reason), "{error}");
    Ok(())
}

#[test]
fn image_with_a_false_export_is_named() -> Result<()> {
    // It changes SPIR-V.
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let exporting = exporting();
    let claiming = common::testfile("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(&claiming).expect("a good file");
    file.modules.truncate(1);
    file.modules[0]
        .metadata
        .insert(set::EXPORTED_SYMBOLS, "_Z5shapef", 1u32);
    let message = refusal(&queue, &importing(), &[&common::written(&file)]).to_string();
    assert!(message.contains("the code does not define it"), "{message}");
    let mut file = syclbin::read::parse(&exporting).expect("a good file");
    file.modules[0].images[0].bytes.to_mut()[0] ^= 1;
    let message = refusal(&queue, &importing(), &[&common::written(&file)]).to_string();
    assert!(
        message.contains(
            "shape(float) [_Z5shapef] should be in module 0 (_Z5shapef) of linked file 1, image 0 (SPIR-V, \
             spir64-unknown-unknown): it is marked as SPIR-V, but contains something else"
        ),
        "{message}"
    );
    Ok(())
}

#[test]
fn damaged_linked_file_is_named_by_number() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let good = exporting();
    let error = refusal(&queue, &importing(), &[&good, &good[..100]]);
    assert!(
        error.kind() == ErrorKind::InvalidFile
            && error.to_string().contains("linked SYCLBIN file 2"),
        "{error}"
    );
    let message = error.to_string();
    assert!(
        message.starts_with("cannot read linked SYCLBIN file 2: "),
        "{message}"
    );
    Ok(())
}
