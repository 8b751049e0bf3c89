// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules: what is loaded and what is refused, linking, and what kernels are like.
#![allow(unsafe_code, reason = "it calls functions of a C library")]

use std::ffi::{CStr, CString, c_void};
use std::ptr::{null_mut, without_provenance_mut};

use cudarc::driver::sys::{CUfunction, CUmodule, CUresult as Code};
use simulated_cuda::api::{function as functions, link, module};

use crate::driver::{self, context, download, fails, function, launch, load, ok, upload};

const HEAD: &str = ".version 6.3\n.target sm_70\n.address_size 64\n";

/// The code of a load, and what the log of errors says.
fn refused(image: &[u8]) -> (u32, String) {
    let mut new: CUmodule = null_mut();
    let mut log = vec![0u8; 400];
    let mut options = [5u32, 6];
    let mut values = [
        log.as_mut_ptr().cast::<c_void>(),
        without_provenance_mut(log.len()),
    ];
    // SAFETY: the log has as much room as is said, and the images end with zeros.
    let code = unsafe {
        module::cuModuleLoadDataEx(
            &mut new,
            image.as_ptr().cast(),
            2,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
        )
    };
    let text = CStr::from_bytes_until_nul(&log).expect("the log ends with a zero");
    assert_eq!(values[1].addr(), text.count_bytes());
    (code, text.to_string_lossy().into_owned())
}

#[test]
fn unknown_code_is_refused_with_its_line() {
    context();
    for (text, code, words) in [
        (".version 99.0\n.target sm_70\0", 222, "99.0"),
        (".version 6.3\n.target sm_100\0", 218, "sm_100"),
        (
            ".version 6.3\n.target sm_70\n.entry k() {\nfrobnicate.b32 1;\n}\0",
            218,
            "line 4",
        ),
        (
            ".version 6.3\n.target sm_70\n.entry k() {\nadd.u32 %r1, 1, 2;\n}\0",
            218,
            "%r1",
        ),
        (
            ".version 6.3\n.target sm_70\n.entry k() {\nbra nowhere;\n}\0",
            218,
            "nowhere",
        ),
        (
            ".version 6.3\n.target sm_70\n.extern .func f();\n.entry k() { call f, (); }\0",
            218,
            "extern: f",
        ),
        (
            ".version 6.3\n.target sm_70\n.entry k(.param .b8 p[4097]) { ret; }\0",
            218,
            "4096",
        ),
        (
            ".version 6.3\n.target sm_70\n.shared .b8 s[50000];\n.entry k() { .reg .b64 %d; mov.u64 %d, s; }\0",
            218,
            "shared",
        ),
        ("nothing at all\0", 200, ""),
    ] {
        let (found, log) = refused(text.as_bytes());
        assert_eq!(found, code, "{text}: {log}");
        assert!(log.contains(words), "{text}: {log}");
    }
}

#[test]
fn native_binary_is_recognized_but_not_run() {
    context();
    let mut binary = b"\x7fELF\x02\x01\x01A\x08".to_vec();
    binary.resize(64, 0);
    // It ends with its headers, and has none.
    binary[0x20] = 64;
    binary[18] = 190;
    for (sm, words) in [(90u8, "runs no binaries"), (80, "sm_80"), (100, "sm_100")] {
        binary[0x31] = sm;
        let (code, log) = refused(&binary);
        assert_eq!(code, Code::CUDA_ERROR_NO_BINARY_FOR_GPU as u32);
        assert!(log.contains(words), "{log}");
    }
    binary[18] = 62;
    assert_eq!(refused(&binary).0, Code::CUDA_ERROR_INVALID_IMAGE as u32);
}

#[test]
fn texts_are_linked_by_their_names() {
    context();
    let texts = [
        include_str!("kernels/import_side.ptx"),
        include_str!("kernels/export_side.ptx"),
    ];
    assert!(
        refused(
            CString::new(texts[0])
                .expect("no zeros")
                .as_bytes_with_nul()
        )
        .1
        .contains("_Z5shapef")
    );
    let (mut state, mut image, mut size, mut linked) = (null_mut(), null_mut(), 0, null_mut());
    // SAFETY: all can be written to, and the texts are as long as is said.
    unsafe {
        ok(link::cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state));
        for (number, text) in texts.iter().enumerate() {
            if number == 1 {
                fails(
                    link::cuLinkComplete(state, &mut image, &mut size),
                    Code::CUDA_ERROR_INVALID_PTX,
                );
            }
            let data = text.as_ptr().cast_mut().cast();
            ok(link::cuLinkAddData_v2(
                state,
                1,
                data,
                text.len(),
                c"text".as_ptr(),
                0,
                null_mut(),
                null_mut(),
            ));
        }
        ok(link::cuLinkComplete(state, &mut image, &mut size));
        ok(module::cuModuleLoadData(&mut linked, image));
        ok(link::cuLinkDestroy(state));
        fails(link::cuLinkDestroy(state), Code::CUDA_ERROR_INVALID_HANDLE);
    }
    let (input, output) = (upload(&[1f32, 2.0, 3.0]), upload(&[0f32; 3]));
    let arguments = [&input.to_ne_bytes()[..], &output.to_ne_bytes()];
    ok(launch(
        function(linked, "__sycl_kernel_apply"),
        [1; 3],
        [3, 1, 1],
        0,
        &arguments,
    ));
    assert_eq!(download::<f32>(output, 3), [2.0, 5.0, 10.0]);
}

#[test]
fn the_better_known_of_two_definitions_is_taken() {
    context();
    let weak = format!(
        "{HEAD}.weak .global .u32 v = 1;\n.weak .func f() {{ trap; }}\n.visible .entry k() {{ call f, (); ret; }}"
    );
    let strong = format!("{HEAD}.visible .global .u32 v = 2;\n.visible .func f() {{ ret; }}");
    let (mut state, mut image, mut linked) = (null_mut(), null_mut(), null_mut());
    // SAFETY: all can be written to, and the texts are as long as is said.
    unsafe {
        ok(link::cuLinkCreate_v2(0, null_mut(), null_mut(), &mut state));
        let add = |text: &str| {
            let data = text.as_ptr().cast_mut().cast();
            ok(link::cuLinkAddData_v2(
                state,
                1,
                data,
                text.len(),
                c"text".as_ptr(),
                0,
                null_mut(),
                null_mut(),
            ));
        };
        add(&weak);
        add(&strong);
        ok(link::cuLinkComplete(state, &mut image, null_mut()));
        ok(module::cuModuleLoadData(&mut linked, image));
        add(&strong);
        fails(
            link::cuLinkComplete(state, &mut image, null_mut()),
            Code::CUDA_ERROR_INVALID_PTX,
        );
    }
    ok(launch(function(linked, "k"), [1; 3], [1; 3], 0, &[]));
    ok(driver::synchronize());
}

#[test]
fn kernels_are_found_and_describe_themselves() {
    context();
    let text = format!(
        "{HEAD}.shared .align 8 .b8 fixed[1000];\n\
         .visible .entry one(.param .u32 a, .param .align 16 .b8 b[20], .param .u64 c) .maxntid 128, 1, 1\n\
         {{ .reg .b64 %d; mov.u64 %d, fixed; ret; }}\n\
         .visible .entry two() .reqntid 32, 2 {{ ret; }}\n.func three() {{ ret; }}"
    );
    let loaded = load(&text);
    let (mut none, mut offset, mut size) = (null_mut(), 0, 0);
    let (one, two) = (function(loaded, "one"), function(loaded, "two"));
    // SAFETY: all handles are there, and all can be written to.
    unsafe {
        let mut places = Vec::new();
        while functions::cuFuncGetParamInfo(one, places.len(), &mut offset, &mut size) == 0 {
            places.push((offset, size));
        }
        assert_eq!(places, [(0, 4), (16, 20), (40, 8)]);
        fails(
            module::cuModuleGetFunction(&mut none, loaded, c"three".as_ptr()),
            Code::CUDA_ERROR_NOT_FOUND,
        );
    }
    let attribute = |function: CUfunction, number| {
        let mut value = 0;
        // SAFETY: it can be written to.
        ok(unsafe { functions::cuFuncGetAttribute(&mut value, number, function) });
        value
    };
    assert_eq!(
        (attribute(one, 0), attribute(one, 1), attribute(two, 0)),
        (128, 1000, 64)
    );
    fails(
        launch(two, [1; 3], [64, 1, 1], 0, &[]),
        Code::CUDA_ERROR_INVALID_VALUE,
    );
    ok(launch(two, [1; 3], [32, 2, 1], 0, &[]));
    let arguments = [&[0u8; 4][..], &[0; 20], &[0; 8]];
    fails(
        launch(one, [1; 3], [129, 1, 1], 0, &arguments),
        Code::CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES,
    );
    ok(launch(one, [1; 3], [128, 1, 1], 0, &arguments));
}

#[test]
fn launches_have_the_limits_of_a_device() {
    context();
    let kernel = function(load(&format!("{HEAD}.visible .entry k() {{ ret; }}")), "k");
    for (grid, block, shared) in [
        ([1, 1, 1], [1025, 1, 1], 0),
        ([1, 1, 1], [32, 33, 1], 0),
        ([1, 1, 1], [1, 1, 65], 0),
        ([1, 1, 1], [0, 1, 1], 0),
        ([1, 0x1_0000, 1], [1, 1, 1], 0),
        ([1, 1, 1], [1, 1, 1], (48 << 10) + 1),
    ] {
        let code = launch(kernel, grid, block, shared, &[]);
        assert_eq!(code, 1, "{grid:?} {block:?} {shared}");
    }
    let most = 8;
    // SAFETY: the kernel is there.
    unsafe {
        fails(
            functions::cuFuncSetAttribute(kernel, most, (227 << 10) + 1),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        ok(functions::cuFuncSetAttribute(kernel, most, 227 << 10));
    }
    ok(launch(kernel, [1; 3], [1; 3], 227 << 10, &[]));
    let (mut blocks, mut threads) = (0, 0);
    // SAFETY: both can be written to.
    unsafe {
        ok(functions::cuOccupancyMaxPotentialBlockSize(
            &mut blocks,
            &mut threads,
            kernel,
            None,
            0,
            0,
        ));
        assert_eq!(blocks * threads, 2048);
        ok(functions::cuOccupancyMaxActiveBlocksPerMultiprocessor(
            &mut blocks,
            kernel,
            256,
            100 << 10,
        ));
        assert_eq!(blocks, 2);
    }
}
