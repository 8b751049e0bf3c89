// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that a compiler made, run as programs run them. `kernels/PROVENANCE.md` says of what.
#![allow(unsafe_code, reason = "it calls functions of a C library")]

use simulated_cuda::api;

use crate::driver::{context, download, function, launch, load, ok, synchronize, upload};

fn counted(count: usize) -> Vec<f32> {
    (0..count).map(|i| i as f32).collect()
}

#[test]
fn saxpy_adds() {
    context();
    let saxpy = function(
        load(include_str!("kernels/saxpy.ptx")),
        "__sycl_kernel_saxpy",
    );
    let x = counted(1000);
    let y: Vec<f32> = x.iter().map(|x| 0.5 * x).collect();
    let (on_x, on_y) = (upload(&x), upload(&y));
    let arguments = [
        &2f32.to_ne_bytes()[..],
        &on_x.to_ne_bytes(),
        &on_y.to_ne_bytes(),
        &1000u32.to_ne_bytes(),
    ];
    ok(launch(saxpy, [4, 1, 1], [256, 1, 1], 0, &arguments));
    ok(synchronize());
    for (i, found) in download::<f32>(on_y, 1000).into_iter().enumerate() {
        assert_eq!(found, 2.0f32.mul_add(x[i], y[i]), "{i}");
    }
}

#[test]
fn block_sum_uses_barriers_and_shared_memory() {
    context();
    let sum = function(
        load(include_str!("kernels/block_sum.ptx")),
        "__sycl_kernel_block_sum",
    );
    let input: Vec<i32> = (0..256).collect();
    let (on_input, output) = (upload(&input), upload(&[0i32; 4]));
    let arguments = [
        &on_input.to_ne_bytes()[..],
        &output.to_ne_bytes(),
        &0u32.to_ne_bytes(),
    ];
    ok(launch(sum, [4, 1, 1], [64, 1, 1], 256, &arguments));
    let expected: Vec<i32> = input.chunks(64).map(|chunk| chunk.iter().sum()).collect();
    assert_eq!(download::<i32>(output, 4), expected);
}

#[test]
fn positions_have_three_dimensions_and_an_offset() {
    context();
    let module = load(include_str!("kernels/coords.ptx"));
    let output = upload(&[0i32; 512]);
    let place = |x: usize, y: usize, z: usize| (z * 16 + y) * 8 + x;
    // SYCL's last dimension is the fastest, and so x.
    let coords = function(module, "__sycl_kernel_coords");
    ok(launch(
        coords,
        [1, 2, 2],
        [8, 4, 2],
        0,
        &[&output.to_ne_bytes()],
    ));
    let found = download::<i32>(output, 256);
    assert_eq!(found[(3 * 8 + 7) * 8 + 5], 30705);
    let offset: Vec<u8> = [1u32, 2, 3]
        .into_iter()
        .flat_map(u32::to_ne_bytes)
        .collect();
    let shifted = function(module, "__sycl_kernel_coords_with_offset");
    let arguments = [&output.to_ne_bytes()[..], &offset];
    ok(launch(shifted, [1, 4, 2], [8, 4, 2], 0, &arguments));
    let found = download::<i32>(output, 512);
    assert_eq!(found[place(5, 7, 3)], 60906);
}

#[test]
fn structs_are_passed_by_value_and_through_memory() {
    context();
    let kinetic = function(
        load(include_str!("kernels/kinetic.ptx")),
        "__sycl_kernel_kinetic",
    );
    // float mass; int id; double position[3]; float4 velocity
    let particle = |mass: f32, velocity: [f32; 4]| {
        let mut bytes = [0u8; 48];
        bytes[..4].copy_from_slice(&mass.to_ne_bytes());
        for (place, part) in bytes[32..].chunks_exact_mut(4).zip(velocity) {
            place.copy_from_slice(&part.to_ne_bytes());
        }
        bytes
    };
    let particles = [particle(2.0, [1.0, 2.0, 3.0, 4.0]), particle(4.0, [0.5; 4])];
    let (input, output) = (upload(&particles), upload(&[0f32; 2]));
    let arguments = [
        &particle(10.0, [0.0; 4])[..],
        &input.to_ne_bytes(),
        &output.to_ne_bytes(),
        &2u64.to_ne_bytes(),
    ];
    ok(launch(kinetic, [1, 1, 1], [32, 1, 1], 0, &arguments));
    assert_eq!(download::<f32>(output, 2), [40.0, 12.0]);

    let widen = function(
        load(include_str!("kernels/widen.ptx")),
        "__sycl_kernel_widen",
    );
    let halves: Vec<u16> = [0.5f32, -2.0, 65504.0]
        .map(|x| half::f16::from_f32(x).to_bits())
        .into();
    let input = upload(&halves);
    let output = upload(&[0f32; 3]);
    let mut span = output.to_ne_bytes().to_vec();
    span.extend([3, 0, 0, 0, 0, 0, 0, 0]);
    ok(launch(
        widen,
        [1, 1, 1],
        [8, 1, 1],
        0,
        &[&span, &input.to_ne_bytes(), &[0; 4]],
    ));
    assert_eq!(download::<f32>(output, 3), [0.5, -2.0, 65504.0]);
}

#[test]
fn atomic_additions_of_all_threads_are_counted() {
    context();
    let histogram = function(
        load(include_str!("kernels/histogram.ptx")),
        "__sycl_kernel_histogram",
    );
    let bytes: Vec<u8> = (0..10_000u32).map(|i| (i * i % 251) as u8).collect();
    let mut expected = vec![0u32; 256];
    for byte in &bytes {
        expected[usize::from(*byte)] += 1;
    }
    let (input, bins) = (upload(&bytes), upload(&[0u32; 256]));
    let arguments = [
        &input.to_ne_bytes()[..],
        &10_000u64.to_ne_bytes(),
        &bins.to_ne_bytes(),
        &0u32.to_ne_bytes(),
    ];
    ok(launch(histogram, [4, 1, 1], [256, 1, 1], 1024, &arguments));
    assert_eq!(download::<u32>(bins, 256), expected);
}

#[test]
fn a_matrix_is_multiplied_in_strips() {
    context();
    let matmul = function(
        load(include_str!("kernels/matmul.ptx")),
        "__sycl_kernel_matmul",
    );
    let sizes = [70u32, 50, 33];
    let [m, n, k] = sizes.map(|size| size as usize);
    let a: Vec<f32> = (0..m * k).map(|i| (i % 7) as f32 - 3.0).collect();
    let b: Vec<f32> = (0..k * n).map(|i| (i % 5) as f32 - 2.0).collect();
    let (on_a, on_b, on_c) = (upload(&a), upload(&b), upload(&vec![0f32; m * n]));
    let sizes = sizes.map(u32::to_ne_bytes);
    let strip = 64 * 64 * 4u32;
    let arguments = [
        &on_a.to_ne_bytes()[..],
        &on_b.to_ne_bytes(),
        &on_c.to_ne_bytes(),
        &sizes[0],
        &sizes[1],
        &sizes[2],
        &0u32.to_ne_bytes(),
        &strip.to_ne_bytes(),
    ];
    ok(launch(
        matmul,
        [1, 2, 1],
        [16, 16, 1],
        2 * strip,
        &arguments,
    ));
    let found = download::<f32>(on_c, m * n);
    for row in 0..m {
        for column in 0..n {
            let expected: f32 = (0..k).map(|i| a[row * k + i] * b[i * n + column]).sum();
            assert_eq!(found[row * n + column], expected, "{row} {column}");
        }
    }
}

#[test]
fn module_variables_have_addresses_and_hold_addresses() {
    context();
    let module = load(include_str!("kernels/globals.ptx"));
    let global = |name: &std::ffi::CStr| {
        let (mut address, mut size) = (0, 0);
        // SAFETY: the name ends with a zero, and both can be written to.
        ok(unsafe {
            api::module::cuModuleGetGlobal_v2(&mut address, &mut size, module, name.as_ptr())
        });
        (address, size)
    };
    let (table, table_bytes) = global(c"table");
    let (bias, bias_bytes) = global(c"bias");
    assert_eq!((table_bytes, bias_bytes), (24, 4));
    // A variable that is not of the image begins with a pointer to its value.
    let pointer = table + 8;
    // SAFETY: each has as many bytes as are copied.
    unsafe {
        ok(api::copy::cuMemcpyHtoD_v2(
            table,
            (&raw const pointer).cast(),
            8,
        ));
        ok(api::copy::cuMemcpyHtoD_v2(
            bias,
            (&raw const BIAS).cast(),
            4,
        ));
    }
    ok(launch(
        function(module, "__sycl_kernel_store"),
        [1; 3],
        [1; 3],
        0,
        &[&10u32.to_ne_bytes()],
    ));
    assert_eq!(download::<u32>(pointer, 4), [0, 10, 20, 30]);
    let (keys, output) = (upload(&[3u32, 2, 1, 4]), upload(&[0f32; 4]));
    let arguments = [&keys.to_ne_bytes()[..], &output.to_ne_bytes()];
    ok(launch(
        function(module, "__sycl_kernel_lookup"),
        [1; 3],
        [4, 1, 1],
        0,
        &arguments,
    ));
    assert_eq!(download::<f32>(output, 4), [30.5, 20.5, 10.5, 0.5]);
}

static BIAS: f32 = 0.5;
