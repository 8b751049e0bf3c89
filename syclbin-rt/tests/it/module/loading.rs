// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading files: which load, and what is said of those that do not.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin::property::set;
use syclbin::{Image, ImageKind, IrType, Value};
use syclbin_rt::{Arg, Error, ErrorKind, Launch, Queue, Result};

use crate::common;

const VECTOR_OPS: &str = "vector_ops.object.syclbin";

fn refusal(queue: &Queue, bytes: &[u8]) -> Error {
    common::load(queue, bytes).expect_err("nothing in it fits")
}

/// The queue still works: a kernel runs on it.
fn assert_usable(queue: &Queue) -> Result<()> {
    let kernel = common::kernel(queue, VECTOR_OPS, "_Z19__sycl_kernel_scaleIiEvPT_S0_");
    let mut data = queue.upload(&[1i32, 2, 3])?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    // SAFETY: one work-item per element.
    unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(3)? };
    assert_eq!(queue.download(&data)?, [3, 6, 9]);
    Ok(())
}

#[test]
fn kernels_are_found_by_symbol_and_by_name() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile(VECTOR_OPS))?;
    let mut names: Vec<&str> = module.kernel_names().collect();
    names.sort_unstable();
    assert_eq!(
        names,
        [
            "_Z19__sycl_kernel_scaleIdEvPT_S0_",
            "_Z19__sycl_kernel_scaleIiEvPT_S0_",
            "_ZN18__sycl_kernel_fill4iotaEfPfi",
            "__sycl_kernel_saxpy",
        ]
    );
    assert_eq!(module.kernel("saxpy")?.symbol(), "__sycl_kernel_saxpy");
    assert_eq!(
        module.kernel("__sycl_kernel_saxpy")?.symbol(),
        "__sycl_kernel_saxpy"
    );
    let error = module.kernel("saxpi").unwrap_err();
    assert!(
        error.kind() == ErrorKind::NotFound && error.to_string().contains("no kernel"),
        "{error}"
    );
    assert!(error.to_string().contains("__sycl_kernel_saxpy"), "{error}");
    Ok(())
}

#[test]
fn a_functor_kernel_takes_its_members() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS6AddOne");
    let mut data = queue.upload(&[1i32; 16])?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    // SAFETY: one work-item per element.
    unsafe { Launch::new(&kernel, &["data", "amount"], args).launch(16)? };
    assert_eq!(queue.download(&data)?, [4; 16]);
    Ok(())
}

#[test]
fn removed_argument_is_not_passed_on() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let symbol = "_Z19__sycl_kernel_scaleIiEvPT_S0_";
    let bytes = common::testfile(VECTOR_OPS);
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    // The kernel has two arguments; this says that numbers 0, 2 and 4 of five were removed.
    let mask = Value::Bytes {
        bits: 5,
        data: vec![0b10101],
    };
    for module in &mut file.modules {
        module
            .metadata
            .insert(set::KERNEL_PARAM_OPT, symbol, mask.clone());
    }
    let module = common::load(&queue, &common::written(&file))?;
    let kernel = module.kernel(symbol);
    let unused = queue.zeroed::<u8>(1)?;
    let mut data = queue.upload(&[1i32, -2])?;
    let names = &["unused", "data", "also", "factor", "tail"];
    let args = [
        Arg::read(&unused),
        Arg::write(&mut data),
        Arg::bool(true),
        Arg::scalar(3i32),
        Arg::scalar(0u64),
    ];
    // SAFETY: one work-item per element.
    unsafe { Launch::new(&kernel, names, args).launch(2)? };
    assert_eq!(queue.download(&data)?, [3, -6]);

    // Messages count as the caller does.
    let args = [
        Arg::read(&unused),
        Arg::write(&mut data),
        Arg::bool(true),
        Arg::scalar(3.0f64),
        Arg::scalar(0u64),
    ];
    // SAFETY: the size of an argument is refused, so nothing runs.
    let launched = unsafe { Launch::new(&kernel, names, args).launch(2) };
    let message = launched.unwrap_err().to_string();
    assert!(
        message.contains("argument 3 (factor) is 8 bytes long"),
        "{message}"
    );
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(2) };
    let message = launched.unwrap_err().to_string();
    assert!(
        message.contains("expected 5 arguments, found 2"),
        "{message}"
    );
    Ok(())
}

#[test]
fn every_truncation_of_a_file_is_an_error() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile(VECTOR_OPS);
    for len in [0, 3, 31, 100, 500, bytes.len() / 2, bytes.len() - 8] {
        let error = refusal(&queue, &bytes[..len]);
        assert!(error.kind() == ErrorKind::InvalidFile, "{len}: {error}");
    }
    assert_usable(&queue)
}

#[test]
fn unresolved_imports_never_reach_the_driver() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    // The CPU driver would end this process.
    let error = refusal(&queue, &common::testfile("import_side.object.syclbin"));
    assert!(
        error.kind() == ErrorKind::Unavailable
            && error
                .to_string()
                .contains("nothing in this SYCLBIN file can run"),
        "{error}"
    );
    let message = error.to_string();
    assert!(
        message.contains("undefined symbols: shape(float) [_Z5shapef];"),
        "{message}"
    );
    assert_usable(&queue)
}

#[test]
fn unlowered_specialization_constants_are_named_as_such() -> Result<()> {
    // The file for CUDA has them lowered.
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let error = refusal(&queue, &common::testfile("constants.object.syclbin"));
    let message = error.to_string();
    assert!(
        message.contains("reads specialization constants"),
        "{message}"
    );
    assert!(message.contains("2020SpecConstantValue"), "{message}");
    assert_usable(&queue)
}

/// A file with the module of `VECTOR_OPS` and one that does not fit any OpenCL device.
fn mixed() -> Vec<u8> {
    let good = common::testfile(VECTOR_OPS);
    let bad = common::testfile("import_side.object.syclbin");
    let mut file = syclbin::read::parse(&good).expect("a good file");
    let other = syclbin::read::parse(&bad).expect("a good file");
    file.modules.extend(other.modules);
    common::written(&file)
}

#[test]
fn unsuitable_module_leaves_the_others_usable() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &mixed())?;
    let numbers: Vec<usize> = module.images().map(|choice| choice.module()).collect();
    assert!(numbers.len() > 1 && numbers.iter().copied().eq(0..numbers.len()));
    assert!(module.kernel("saxpy").is_ok());
    module.build_kernels(["saxpy"])?;
    let error = module.build_kernels(["saxpy", "apply"]).unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unavailable && error.reasons().len() == 1,
        "{error}"
    );
    let apply = module.kernel("apply");
    let input = queue.upload(&[1.0f32])?;
    let mut out = queue.upload(&[0.0f32])?;
    let args = [Arg::read(&input), Arg::write(&mut out)];
    // SAFETY: no kernel runs.
    let launched = unsafe { Launch::new(&apply, &["in", "out"], args).launch(1) };
    let error = launched.unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unavailable && error.to_string().contains("does not run on"),
        "{error}"
    );
    assert!(error.to_string().contains("_Z5shapef"), "{error}");
    assert_usable(&queue)
}

#[test]
fn failed_build_comes_with_the_drivers_log() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile(VECTOR_OPS);
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    file.modules.truncate(1);
    let images = &mut file.modules[0].images;
    let failed = if common::on_cuda() {
        let image = images.iter_mut().find(|image| {
            matches!(
                image.kind(),
                ImageKind::Ir {
                    ty: IrType::Ptx,
                    ..
                }
            )
        });
        let text = image.expect("PTX").bytes.to_mut();
        let at = text.windows(4).position(|four| four == b"fma.");
        text[at.expect("a multiplication")..][..4].copy_from_slice(b"fmu.");
        "cuModuleLoadDataEx failed with CUDA_ERROR_INVALID_PTX (218)"
    } else {
        // Its first instruction declares a capability: 60000 is none.
        let bytes = images[0].bytes.to_mut();
        assert_eq!(bytes[20..24], [0x11, 0, 2, 0], "OpCapability of two words");
        bytes[24..28].copy_from_slice(&60_000u32.to_le_bytes());
        "clBuildProgram failed with CL_BUILD_PROGRAM_FAILURE (-11)"
    };
    let module = common::load(&queue, &common::written(&file))?;
    let error = match module.build() {
        Ok(_) => {
            common::say_skipped("the driver builds code with unknown capabilities");
            return Ok(());
        }
        Err(error) => error,
    };
    let message = error.to_string();
    assert!(message.contains(failed), "{message}");
    assert!(message.contains("the driver's log:\n    "), "{message}");
    if queue.device().platform() == "Intel(R) OpenCL" {
        assert!(message.contains("capability 60000"), "{message}");
    }
    let error = module.to_syclbin().unwrap_err();
    assert!(
        error.kind() == ErrorKind::Unavailable && error.to_string().contains(failed),
        "{error}"
    );
    assert_usable(&queue)
}

#[test]
fn a_rejected_kernel_leaves_the_others_usable() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    if common::on_cuda() {
        common::say_skipped("CUDA drivers build whole modules");
        return Ok(());
    }
    let bytes = common::testfile(VECTOR_OPS);
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    file.modules.truncate(1);
    let code = file.modules[0].images[0].bytes.to_mut();
    // `saxpy` calls an OpenCL extended instruction; 60000 is not a valid instruction number.
    let call = code.chunks_exact(4).position(|word| word == [12, 0, 8, 0]);
    code[4 * call.expect("OpExtInst of eight words") + 16..][..4]
        .copy_from_slice(&60_000u32.to_le_bytes());
    let module = common::load(&queue, &common::written(&file))?;
    let Err(error) = module.build() else {
        common::say_skipped("the driver builds unknown instructions");
        return Ok(());
    };
    assert!(error.to_string().contains("saxpy"), "{error}");
    module.kernel("saxpy").expect_err("the driver rejected it");
    module.kernel("_Z19__sycl_kernel_scaleIiEvPT_S0_")?;
    let choice = module.images().next();
    assert_eq!(choice.and_then(|choice| choice.image()), Some(0));
    assert_usable(&queue)
}

/// `clang-sycl-linker` of LLVM 22 made the file. It has no SYCLBIN, so the code says everything.
#[test]
fn images_of_upstream_llvm_run() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let bytes = common::testfile("extract/upstream.offload");
    let loaded = common::load(&queue, &bytes);
    if !queue.device().takes_spirv() {
        let message = loaded.unwrap_err().to_string();
        assert!(message.contains("SPIR-V"), "{message}");
        common::say_skipped("the file has SPIR-V only, which this device does not take");
        return Ok(());
    }
    let module = loaded?;
    let names: Vec<&str> = module.kernel_names().collect();
    assert_eq!(names, ["scale", "_ZTSZ3usePiE6Filled"]);
    let kernel = module.kernel("scale");
    let mut data = queue.upload(&[1f32, 2.0, 3.0])?;
    let args = [Arg::write(&mut data), Arg::scalar(2.5f32)];
    // SAFETY: one work-item per element.
    unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(3)? };
    assert_eq!(queue.download(&data)?, [2.5, 5.0, 7.5]);
    Ok(())
}

/// Such as that of Intel's PISA, which compilers may file beside SPIR-V.
#[test]
fn unknown_ir_kinds_are_skipped_or_named() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let bytes = common::testfile("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut file.modules {
        let unknown = Image::ir(
            IrType::Other(7),
            "pisa64-unknown-unknown",
            b"code".as_slice(),
        );
        module.images.insert(0, unknown);
    }
    let module = common::load(&queue, &common::written(&file))?;
    module.kernel("saxpy")?;
    let choices = common::choices(&module);
    let choices: String = choices.iter().map(ToString::to_string).collect();
    assert!(choices.contains("unknown language 7"), "{choices}");

    for module in &mut file.modules {
        module.images.truncate(1);
    }
    let error = common::load(&queue, &common::written(&file)).expect_err("no other code");
    let expected = "OpenCL devices do not support unknown language 7";
    assert!(error.to_string().contains(expected), "{error}");
    Ok(())
}
