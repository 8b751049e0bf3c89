// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native code of the CPU device, beside that which the reference runtime saved.
#![allow(clippy::unwrap_used)] // a test may
#![allow(unsafe_code, reason = "handing code to a driver is unsafe")]

use syclbin_rt::__private::native_cpu;
use syclbin_rt::{Device, DeviceKind, Result};

use crate::common;

fn build_native(device: &Device, spirv: &[u8], options: &str) -> Result<Vec<u8>> {
    // SAFETY: the modules are of compilers, and what is none is refused.
    unsafe { syclbin_rt::__private::build_native(device, spirv, options) }
}

#[test]
fn native_code_has_the_reference_runtimes_form() {
    if common::opencl_queue().is_none() {
        return;
    }
    let device = match native_cpu() {
        Ok(device) => device,
        Err(error) => return common::say_skipped(&error.to_string()),
    };
    let object = test_files::read("vector_ops.object.syclbin");
    let executable = test_files::read("vector_ops.executable.syclbin");
    let object = syclbin::read::parse(&object).unwrap();
    let executable = syclbin::read::parse(&executable).unwrap();
    let theirs = &executable.modules[0].images[0];
    assert!(theirs.native);
    for module in &object.modules {
        let spirv = &module.images[0].bytes;
        let ours = build_native(&device, spirv, "").unwrap();
        // An ELF file of the same class, order of bytes, kind and machine.
        assert_eq!(ours[..20], theirs.bytes[..20]);
        let plain = build_native(&device, spirv, "-cl-opt-disable").unwrap();
        assert_ne!(ours, plain, "options have no effect");
    }
}

#[test]
fn failed_native_build_has_a_reason() {
    if common::opencl_queue().is_none() {
        return;
    }
    let device = match native_cpu() {
        Ok(device) => device,
        Err(error) => return common::say_skipped(&error.to_string()),
    };
    let said = |spirv: &[u8], options: &str| {
        let error = build_native(&device, spirv, options).unwrap_err();
        error.to_string()
    };
    assert!(said(b"text", "").contains("contains something else"));
    let imports = test_files::read("import_side.object.syclbin");
    let imports = syclbin::read::parse(&imports).unwrap();
    let said_of_imports = said(&imports.modules[0].images[0].bytes, "");
    assert!(said_of_imports.contains("_Z5shapef"), "{said_of_imports}");
    let exports = test_files::read("vector_ops.object.syclbin");
    let exports = syclbin::read::parse(&exports).unwrap();
    let spirv = &exports.modules[0].images[0].bytes;
    let unknown = said(spirv, "-no-such-option");
    assert!(unknown.contains("CL_INVALID_BUILD_OPTIONS"), "{unknown}");
    assert!(said(spirv, "a\0b").contains("CL_INVALID_BUILD_OPTIONS"));
}

#[test]
fn intels_cpu_device_makes_native_code() {
    let Some(queue) = common::opencl_queue() else {
        return;
    };
    let device = queue.device();
    if device.kind() != DeviceKind::Cpu || !device.platform().starts_with("Intel") {
        return common::say_skipped("the device is not Intel's CPU device");
    }
    let found = native_cpu().unwrap();
    assert_eq!(found.kind(), DeviceKind::Cpu);
    assert!(found.platform().starts_with("Intel"), "{found}");
}
