// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: what is checked of it, and what a kernel that leaves it does to its context.
#![allow(
    unsafe_code,
    clippy::cast_possible_truncation,
    reason = "it calls functions of a C library for 64-bit systems"
)]

use std::ptr::{null, null_mut};

use cudarc::driver::sys::{CUDA_MEMCPY2D_st, CUmemorytype, CUresult as Code};
use simulated_cuda::api::{context as contexts, copy, device, fill, memory};

use crate::driver::{context, download, fails, function, launch, load, ok, synchronize, upload};

const TEXT: &str = ".version 6.3\n.target sm_70\n.address_size 64\n\
    .visible .entry put(.param .u64 at) { .reg .b64 %d<2>; ld.param.u64 %d1, [at]; st.u32 [%d1], 7; ret; }\n\
    .visible .entry stop() { trap; }\n";

#[test]
fn memory_is_known_and_freed_once() {
    context();
    let address = upload(&[1u32, 2, 3]);
    let mut buffer = [0u32; 4];
    // SAFETY: the buffer has as many bytes as are asked for, and more are refused.
    unsafe {
        fails(
            copy::cuMemcpyDtoH_v2(buffer.as_mut_ptr().cast(), address, 13),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        ok(copy::cuMemcpyDtoH_v2(
            buffer.as_mut_ptr().cast(),
            address + 4,
            8,
        ));
        assert_eq!(buffer, [2, 3, 0, 0]);
        fails(
            copy::cuMemcpyHtoD_v2(address - 1, buffer.as_ptr().cast(), 1),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        fails(
            memory::cuMemFree_v2(address + 4),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        ok(memory::cuMemFree_v2(address));
        fails(
            memory::cuMemFree_v2(address),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        fails(
            copy::cuMemcpyDtoH_v2(buffer.as_mut_ptr().cast(), address, 4),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        ok(memory::cuMemFree_v2(0));
        fails(
            memory::cuMemFreeHost(buffer.as_mut_ptr().cast()),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
    }
}

#[test]
fn device_has_exactly_its_reported_memory() {
    context();
    let (mut free, mut total, mut address) = (0, 0, 0);
    // SAFETY: all can be written to.
    unsafe {
        ok(memory::cuMemGetInfo_v2(&mut free, &mut total));
        assert!(free <= total);
        fails(
            memory::cuMemAlloc_v2(&mut address, total + 1),
            Code::CUDA_ERROR_OUT_OF_MEMORY,
        );
        fails(
            memory::cuMemAlloc_v2(&mut address, 0),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        fails(
            memory::cuMemAlloc_v2(null_mut(), 16),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
    }
}

#[test]
fn memory_that_both_can_touch_has_one_address() {
    context();
    let put = function(load(TEXT), "put");
    let (mut managed, mut host) = (0, null_mut());
    let mut is_managed = 7u8;
    // SAFETY: both have four bytes and more; what is written to can be.
    unsafe {
        ok(memory::cuMemAllocManaged(&mut managed, 64, 1));
        ok(memory::cuMemHostAlloc(&mut host, 64, 0));
        let host = host.cast::<u32>();
        let managed_place = std::ptr::with_exposed_provenance_mut::<u32>(managed as usize);
        host.write(0);
        ok(launch(put, [1; 3], [1; 3], 0, &[&managed.to_ne_bytes()]));
        ok(launch(
            put,
            [1; 3],
            [1; 3],
            0,
            &[&(host.addr() as u64).to_ne_bytes()],
        ));
        ok(synchronize());
        assert_eq!((host.read(), managed_place.read()), (7, 7));
        ok(memory::cuPointerGetAttribute(
            (&raw mut is_managed).cast(),
            8,
            managed,
        ));
        assert_eq!(is_managed, 1);
        ok(memory::cuMemFree_v2(managed));
        ok(memory::cuMemFreeHost(host.cast()));
    }
}

#[test]
fn fills_and_copies_take_rows() {
    context();
    let address = upload(&[0u8; 24]);
    // SAFETY: all is within the memory.
    unsafe {
        ok(fill::cuMemsetD8_v2(address, 1, 24));
        ok(fill::cuMemsetD2D16_v2(address + 2, 8, 0x0302, 2, 3));
        fails(
            fill::cuMemsetD32_v2(address + 2, 0, 1),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        fails(
            fill::cuMemsetD8_v2(address + 20, 0, 5),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        ok(fill::cuMemsetD32_v2(address + 20, 0x0807_0605, 1));
    }
    let row = [1u8, 1, 2, 3, 2, 3, 1, 1];
    let expected = [row, row, [1, 1, 2, 3, 5, 6, 7, 8]].concat();
    assert_eq!(download::<u8>(address, 24), expected);
    let mut square = [0u8; 6];
    let what = CUDA_MEMCPY2D_st {
        srcXInBytes: 3,
        srcY: 1,
        srcMemoryType: CUmemorytype::CU_MEMORYTYPE_DEVICE,
        srcHost: null(),
        srcDevice: address,
        srcArray: null_mut(),
        srcPitch: 8,
        dstXInBytes: 0,
        dstY: 0,
        dstMemoryType: CUmemorytype::CU_MEMORYTYPE_HOST,
        dstHost: square.as_mut_ptr().cast(),
        dstDevice: 0,
        dstArray: null_mut(),
        dstPitch: 3,
        WidthInBytes: 3,
        Height: 2,
    };
    // SAFETY: the rows are within the memory and the array.
    ok(unsafe { copy::cuMemcpy2D_v2(&what) });
    assert_eq!(square, [3, 2, 3, 3, 5, 6]);
}

#[test]
fn kernel_access_outside_memory_loses_the_context() {
    let lost = context();
    let module = load(TEXT);
    let put = function(module, "put");
    let address = upload(&[0u32; 2]);
    for wrong in [address + 8, address - 4, 0x10, u64::MAX - 3] {
        context();
        let put = function(load(TEXT), "put");
        ok(launch(put, [1; 3], [1; 3], 0, &[&wrong.to_ne_bytes()]));
        let code = synchronize();
        assert!([700, 716].contains(&code), "{code}");
    }
    // SAFETY: the context is there.
    ok(unsafe { contexts::cuCtxSetCurrent(lost) });
    ok(launch(
        put,
        [1; 3],
        [1; 3],
        0,
        &[&(address + 8).to_ne_bytes()],
    ));
    fails(synchronize(), Code::CUDA_ERROR_ILLEGAL_ADDRESS);
    // Every call says so from now on.
    let mut other = 0;
    // SAFETY: it can be written to.
    unsafe {
        fails(
            memory::cuMemAlloc_v2(&mut other, 4),
            Code::CUDA_ERROR_ILLEGAL_ADDRESS,
        );
        fails(
            memory::cuMemFree_v2(address),
            Code::CUDA_ERROR_ILLEGAL_ADDRESS,
        );
    }
    fails(
        launch(put, [1; 3], [1; 3], 0, &[&address.to_ne_bytes()]),
        Code::CUDA_ERROR_ILLEGAL_ADDRESS,
    );
    // SAFETY: the context is there, once.
    unsafe {
        ok(contexts::cuCtxDestroy_v2(lost));
        fails(
            contexts::cuCtxSetCurrent(lost),
            Code::CUDA_ERROR_INVALID_CONTEXT,
        );
    }
    context();
    assert_eq!(download::<u32>(upload(&[5u32]), 1), [5]);
}

#[test]
fn each_way_to_fail_has_its_code() {
    for (body, code) in [
        ("trap;", Code::CUDA_ERROR_LAUNCH_FAILED),
        (
            "ld.global.u32 %r1, [%d1+2];",
            Code::CUDA_ERROR_MISALIGNED_ADDRESS,
        ),
        (
            "ld.global.v2.u32 {%r1, %r2}, [%d1+4];",
            Code::CUDA_ERROR_MISALIGNED_ADDRESS,
        ),
        ("ld.shared.u32 %r1, [64];", Code::CUDA_ERROR_ILLEGAL_ADDRESS),
        ("ld.u32 %r1, [0];", Code::CUDA_ERROR_ILLEGAL_ADDRESS),
        ("call deeper, ();", Code::CUDA_ERROR_HARDWARE_STACK_ERROR),
        ("call %d1, ();", Code::CUDA_ERROR_LAUNCH_FAILED),
        ("call __assertfail, ();", Code::CUDA_ERROR_ASSERT),
        // One half waits here, the other there.
        (
            "mov.u32 %r1, %tid.x; and.b32 %r1, %r1, 1; bar.sync %r1;",
            Code::CUDA_ERROR_LAUNCH_FAILED,
        ),
    ] {
        context();
        let text = format!(
            ".version 6.3\n.target sm_70\n.address_size 64\n.extern .func __assertfail();\n\
             .func deeper() {{ call deeper, (); ret; }}\n\
             .visible .entry k(.param .u64 at) {{ .reg .b64 %d<2>; .reg .b32 %r<3>; \
             ld.param.u64 %d1, [at]; {body} ret; }}"
        );
        let address = upload(&[0u64; 2]);
        let kernel = function(load(&text), "k");
        ok(launch(
            kernel,
            [1; 3],
            [2, 1, 1],
            64,
            &[&address.to_ne_bytes()],
        ));
        assert_eq!(synchronize(), code as u32, "{body}");
    }
}

#[test]
fn new_primary_context_works_after_a_trap() {
    let mut first = null_mut();
    let mut again = null_mut();
    // SAFETY: all can be written to, and the device is there.
    unsafe {
        context();
        ok(device::cuDevicePrimaryCtxRetain(&mut first, 0));
        ok(contexts::cuCtxSetCurrent(first));
        ok(launch(function(load(TEXT), "stop"), [1; 3], [1; 3], 0, &[]));
        fails(synchronize(), Code::CUDA_ERROR_LAUNCH_FAILED);
        ok(device::cuDevicePrimaryCtxRelease_v2(0));
        fails(
            device::cuDevicePrimaryCtxRelease_v2(0),
            Code::CUDA_ERROR_INVALID_CONTEXT,
        );
        fails(synchronize(), Code::CUDA_ERROR_CONTEXT_IS_DESTROYED);
        ok(device::cuDevicePrimaryCtxRetain(&mut again, 0));
        assert_eq!(first, again);
        ok(synchronize());
        ok(device::cuDevicePrimaryCtxReset_v2(0));
    }
}

#[test]
fn without_a_context_there_is_nothing() {
    context();
    let mut address = 0;
    // SAFETY: it can be written to.
    unsafe {
        ok(contexts::cuCtxSetCurrent(null_mut()));
        fails(
            memory::cuMemAlloc_v2(&mut address, 4),
            Code::CUDA_ERROR_INVALID_CONTEXT,
        );
        fails(
            device::cuDeviceGet(&raw mut DEVICE, 1),
            Code::CUDA_ERROR_INVALID_DEVICE,
        );
    }
}

static mut DEVICE: i32 = 0;
