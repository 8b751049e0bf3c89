// SPDX-License-Identifier: MIT OR Apache-2.0
//! The library as a program finds it: by the name of the driver. Each test has a child for that.
#![allow(unsafe_code, reason = "it calls functions of a C library")]

use std::ffi::CStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use cudarc::driver::sys;
use sha2::{Digest, Sha256};
use tempfile::TempDir;

/// Runs a test of this file that is otherwise ignored, on the simulation.
fn child(test: &str, settings: &str, binaries: &Path) {
    let program = std::env::current_exe().expect("the path of this test");
    let output = Command::new(env!("CARGO_BIN_EXE_with-simulated-cuda"))
        .arg(program)
        .args(["--ignored", "--exact", &format!("program::{test}")])
        .env(simulated_cuda::VARIABLE, settings)
        .env(simulated_cuda::BINARIES_VARIABLE, binaries)
        .output()
        .expect("the program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn program_finds_the_configured_devices() {
    let folder = TempDir::new().expect("a folder");
    child(
        "child_with_two_devices",
        "devices=2,sm=75,driver=11040,memory=64M",
        folder.path(),
    );
    child("child_without_devices", "devices=0", folder.path());
}

#[test]
fn calls_fail_that_are_told_to() {
    let folder = TempDir::new().expect("a folder");
    child(
        "child_whose_calls_fail",
        "fail=cuMemAlloc_v2:2,fail=cuDeviceGetCount:1:3",
        folder.path(),
    );
}

#[test]
fn a_text_runs_in_place_of_a_binary() {
    let folder = TempDir::new().expect("a folder");
    let hash = Sha256::digest(binary());
    let name: String = hash.iter().map(|byte| format!("{byte:02x}")).collect();
    fs::write(
        folder.path().join(format!("{name}.ptx")),
        include_str!("kernels/saxpy.ptx"),
    )
    .expect("it is written");
    child("child_with_a_binary", "", folder.path());
}

#[test]
fn a_command_that_cannot_be_run_is_named() {
    let output = Command::new(env!("CARGO_BIN_EXE_with-simulated-cuda"))
        .arg("/nowhere/at-all")
        .output()
        .expect("the program starts");
    assert_eq!(output.status.code(), Some(127));
    assert!(String::from_utf8_lossy(&output.stderr).contains("/nowhere/at-all"));
}

fn ok(code: sys::CUresult) {
    assert_eq!(code, sys::CUresult::CUDA_SUCCESS);
}

fn context() {
    let mut context = std::ptr::null_mut();
    // SAFETY: it can be written to.
    unsafe {
        ok(sys::cuInit(0));
        ok(sys::cuDevicePrimaryCtxRetain(&mut context, 0));
        ok(sys::cuCtxSetCurrent(context));
    }
}

/// What has the headers of a binary for `sm_90`.
fn binary() -> [u8; 64] {
    let mut binary = [0; 64];
    binary[..9].copy_from_slice(b"\x7fELF\x02\x01\x01A\x08");
    binary[18] = 190;
    binary[0x20] = 64;
    binary[0x31] = 90;
    binary
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn child_with_two_devices() {
    let (mut count, mut version, mut major, mut minor, mut bytes) = (0, 0, 0, 0, 0);
    let mut name = [0; 64];
    use sys::CUdevice_attribute as Attribute;
    // SAFETY: all can be written to.
    unsafe {
        assert_eq!(
            sys::cuDeviceGetCount(&mut count),
            sys::CUresult::CUDA_ERROR_NOT_INITIALIZED
        );
        ok(sys::cuInit(0));
        ok(sys::cuDeviceGetCount(&mut count));
        ok(sys::cuDriverGetVersion(&mut version));
        ok(sys::cuDeviceGetAttribute(
            &mut major,
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR,
            1,
        ));
        ok(sys::cuDeviceGetAttribute(
            &mut minor,
            Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR,
            1,
        ));
        ok(sys::cuDeviceTotalMem_v2(&mut bytes, 1));
        ok(sys::cuDeviceGetName(name.as_mut_ptr(), 64, 1));
        assert_eq!(CStr::from_ptr(name.as_ptr()), c"Simulated CUDA device");
        assert_eq!(
            sys::cuDeviceGet(&mut count, 2),
            sys::CUresult::CUDA_ERROR_INVALID_DEVICE
        );
    }
    assert_eq!(
        (count, version, major, minor, bytes),
        (2, 11040, 7, 5, 64 << 20)
    );
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn child_without_devices() {
    // SAFETY: it takes a number.
    let code = unsafe { sys::cuInit(0) };
    assert_eq!(code, sys::CUresult::CUDA_ERROR_NO_DEVICE);
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn child_whose_calls_fail() {
    context();
    let (mut address, mut count) = (0, 0);
    // SAFETY: both can be written to.
    unsafe {
        ok(sys::cuMemAlloc_v2(&mut address, 4));
        assert_eq!(
            sys::cuMemAlloc_v2(&mut address, 4),
            sys::CUresult::CUDA_ERROR_UNKNOWN
        );
        ok(sys::cuMemAlloc_v2(&mut address, 4));
        assert_eq!(
            sys::cuDeviceGetCount(&mut count),
            sys::CUresult::CUDA_ERROR_NOT_INITIALIZED
        );
        ok(sys::cuDeviceGetCount(&mut count));
    }
}

#[test]
#[ignore = "another test runs it in a process of its own"]
fn child_with_a_binary() {
    context();
    let (mut module, mut function) = (std::ptr::null_mut(), std::ptr::null_mut());
    // SAFETY: both can be written to, and the binary has its headers.
    unsafe {
        ok(sys::cuModuleLoadData(&mut module, binary().as_ptr().cast()));
        ok(sys::cuModuleGetFunction(
            &mut function,
            module,
            c"__sycl_kernel_saxpy".as_ptr(),
        ));
    }
}
