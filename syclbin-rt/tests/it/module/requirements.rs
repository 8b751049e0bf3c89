// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requirements of a file that the device does not meet, or that this crate does not support.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin::Value;
use syclbin::property::{key, set};
use syclbin_rt::{Arg, ErrorKind, Launch, Result};

use crate::common;

const SCALE: &str = "_Z19__sycl_kernel_scaleIiEvPT_S0_";

/// Returns a good file whose modules have one more property.
fn file(set: &'static str, key: &str, value: impl Into<Value>) -> Vec<u8> {
    let value = value.into();
    let bytes = common::testfile("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    for module in &mut file.modules {
        module.metadata.insert(set, key.to_owned(), value.clone());
    }
    common::written(&file)
}

#[test]
fn unmet_requirement_is_named() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let accelerator = 3u32.to_le_bytes().to_vec();
    for (set, key, value, expected) in [
        (
            set::MISC_PROPERTIES,
            key::SAN_USED,
            "msan".into(),
            "it was compiled with MemorySanitizer",
        ),
        (
            set::HOST_PIPES,
            "_ZN4pipeE",
            4u32.to_le_bytes().to_vec().into(),
            "it uses host pipes, which syclbin-rt does not support: _ZN4pipeE;",
        ),
        (
            set::DEVICE_REQUIREMENTS,
            key::FIXED_TARGET,
            Value::from(accelerator),
            "it was compiled for accelerator only (-fsycl-fixed-targets)",
        ),
        (
            set::VIRTUAL_FUNCTIONS,
            key::USES_VIRTUAL_FUNCTIONS_SET,
            "_ZTS5Shape".into(),
            "virtual functions of _ZTS5Shape, but",
        ),
    ] {
        let error = common::load(&queue, &file(set, key, value)).expect_err("a requirement");
        let is_refusal = error.kind() == ErrorKind::Unavailable
            && error
                .to_string()
                .contains("nothing in this SYCLBIN file can run");
        assert!(
            is_refusal && error.to_string().contains(expected),
            "{error}"
        );
    }
    Ok(())
}

#[test]
fn recorded_build_options_reach_the_driver() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let with = |options: &'static str| {
        let file = file(set::BUILD_OPTIONS, key::COMPILE, options);
        common::load(&queue, &file)?.kernel(SCALE)
    };
    with("-cl-mad-enable -cl-fast-relaxed-math -ftarget-register-alloc-mode=pvc:-ze-x -ftarget-x")?;
    if queue.device().platform() == "Intel(R) OpenCL" {
        let error = with("-cl-no-such-option").expect_err("the driver knows its options");
        let error = error.to_string();
        assert!(error.contains("CL_INVALID_BUILD_OPTIONS"), "{error}");
    }
    Ok(())
}

#[test]
fn kernel_needs_a_sub_group_size_of_device() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let sizes = queue.device().sub_group_sizes().to_vec();
    let Some(first) = sizes.first() else {
        common::say_skipped("the device lists no sizes of sub-groups");
        return Ok(());
    };
    let key = format!("{SCALE}@{}", key::REQD_SUB_GROUP_SIZE);
    let with = |size: u32| common::load(&queue, &file(set::PROGRAM_METADATA, &key, size));
    with(u32::try_from(*first).expect("a small number"))?.kernel(SCALE)?;
    let module = with(3)?;
    module.kernel("saxpy")?;
    let error = module.kernel(SCALE).unwrap_err();
    let is_refusal =
        error.kind() == ErrorKind::Unavailable && error.to_string().contains("does not run on");
    assert!(is_refusal, "{error}");
    let expected =
        "it requires sub-groups of 3 (reqd_sub_group_size), but the device only supports sizes";
    assert!(error.to_string().contains(expected), "{error}");
    Ok(())
}

#[test]
fn build_reports_each_unfit_kernel() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    if queue.device().sub_group_sizes().is_empty() {
        common::say_skipped("the device lists no sizes of sub-groups");
        return Ok(());
    }
    let bytes = common::testfile("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(&bytes).expect("a good file");
    // The other module needs numbers of 64 bits.
    file.modules.truncate(1);
    let unfit = &mut file.modules[0];
    let kernels: Vec<String> = unfit.kernel_names().map(str::to_owned).collect();
    for kernel in &kernels {
        let key = format!("{kernel}@{}", key::REQD_SUB_GROUP_SIZE);
        let metadata = &mut unfit.metadata;
        metadata.insert(set::PROGRAM_METADATA, key, Value::from(3u32));
    }
    // The driver builds the code, because the code does not say so.
    let module = common::load(&queue, &common::written(&file))?;
    let error = module.build().unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable, "{error}");
    let expected = "it requires sub-groups of 3 (reqd_sub_group_size)";
    let reasons = error.reasons().iter();
    let reported = reasons.filter(|reason| reason.contains(expected)).count();
    assert_eq!(reported, kernels.len(), "{error}");
    Ok(())
}

#[test]
fn range_has_the_dimensions_of_the_kernel() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let key = format!("{SCALE}@{}", key::WORK_GROUP_NUM_DIM);
    let module = common::load(&queue, &file(set::PROGRAM_METADATA, &key, 1u32))?;
    let kernel = module.kernel(SCALE);
    let mut data = queue.upload(&[1i32; 4])?;
    let mut launch = |range: syclbin_rt::AnyRange| {
        let args = [Arg::write(&mut data), Arg::scalar(3i32)];
        // SAFETY: one work-item per element.
        unsafe { Launch::new(&kernel, &["data", "factor"], args).launch(range) }
    };
    launch(4.into())?;
    let error = launch([2, 2].into()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
    let text = error.to_string();
    assert!(
        text.contains("compiled for ranges of 1 dimension, not for [2, 2]"),
        "{text}"
    );
    Ok(())
}
