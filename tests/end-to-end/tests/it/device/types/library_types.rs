// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of library_types.cpp, called by their stubs: types of the SYCL and C++ libraries by value, by pointer and in
//! structs.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::Aspect;
use syclbin_rt::half::bf16;

use crate::common::{self, queue};
use kernels::{Pairs, Point, Quantized, Signal, Weights, Window};

syclbin_rt::include_syclbin! {
    mod kernels = "library_types";
}

/// The file on the device, unless there is none.
macro_rules! load {
    ($queue:ident, $kernels:ident) => {
        let Some($queue) = queue() else { return };
        let $kernels = kernels::Module::load(&$queue).unwrap();
    };
}

fn brains<const N: usize>(numbers: [f32; N]) -> [bf16; N] {
    numbers.map(bf16::from_f32)
}

fn weights(row: [f32; 3], four: [f32; 4]) -> Weights {
    Weights {
        row: brains(row),
        four: brains(four),
        ..Weights::default()
    }
}

#[test]
fn arrays_of_bfloat16_are_parameters_and_members() {
    load!(queue, kernels);
    let by = weights([7.0, 0.0, 0.0], [0.0, 0.0, 9.0, 0.0]);
    let from = queue.upload(&brains([1.5, -2.5])).unwrap();
    let input = [
        weights([1.0, 2.0, 3.0], [1.0, 2.0, 3.0, 4.0]),
        weights([4.0, 5.0, 6.0], [5.0, 6.0, 7.0, 8.0]),
    ];
    let input = queue.upload(&input).unwrap();
    let mut to = queue.zeroed::<Weights>(2).unwrap();
    // SAFETY: two work-items, two elements each.
    unsafe { kernels.bfloats(by, &from, &input, &mut to).launch(2) }.unwrap();
    let expected = [
        weights([1.0, 1.5, 7.0], [1.0, 2.0, 3.0, 9.0]),
        weights([4.0, -2.5, 7.0], [5.0, 6.0, 7.0, 9.0]),
    ];
    assert_eq!(queue.download(&to).unwrap(), expected);
}

#[test]
fn vectors_of_bfloat16_are_arrays() {
    load!(queue, kernels);
    let from = [brains([1.0, 2.0]), brains([3.0, 4.0])];
    let from = queue.upload(&from).unwrap();
    let mut to = queue.zeroed::<[bf16; 2]>(2).unwrap();
    let by = brains([-1.0, -2.0, -3.0, -4.0]);
    // SAFETY: two work-items, two elements each.
    unsafe { kernels.bfloat_vectors(by, &from, &mut to).launch(2) }.unwrap();
    let expected = [brains([2.0, -1.0]), brains([4.0, -2.0])];
    assert_eq!(queue.download(&to).unwrap(), expected);
}

#[test]
fn marray_and_array_of_bfloat16_are_arrays() {
    load!(queue, kernels);
    let from = [brains([1.0, 2.0]), brains([3.0, 4.0])];
    let from = queue.upload(&from).unwrap();
    let mut to = queue.zeroed::<[bf16; 2]>(2).unwrap();
    // SAFETY: two work-items, two elements each.
    unsafe {
        kernels
            .bfloat_arrays(brains([-1.0, -2.0, -3.0]), &from, &mut to)
            .launch(2)
    }
    .unwrap();
    let expected = [brains([2.0, -1.0]), brains([4.0, -2.0])];
    assert_eq!(queue.download(&to).unwrap(), expected);
}

#[test]
fn pairs_of_eight_bit_numbers_are_arrays() {
    load!(queue, kernels);
    let from = queue
        .upload(&[[[1u8, 2], [3, 4]], [[5, 6], [7, 8]]])
        .unwrap();
    let pairs = |two, scales| Pairs { two, scales };
    let mut to = queue.upload(&[pairs([0, 0], [[9, 9]; 2]); 2]).unwrap();
    // SAFETY: two work-items, two elements each.
    unsafe {
        kernels
            .pairs([10, 11], [20, 21, 22], &from, &mut to)
            .launch(2)
    }
    .unwrap();
    let expected = [
        pairs([3, 4], [[9, 9], [11, 20]]),
        pairs([7, 8], [[9, 9], [11, 21]]),
    ];
    assert_eq!(queue.download(&to).unwrap(), expected);
}

#[test]
fn numbers_of_eight_bits_are_bytes() {
    load!(queue, kernels);
    let quantized = |code, other, scale| Quantized {
        code,
        other,
        scale,
        ..Quantized::default()
    };
    let by = quantized([0x38, 0x40], 0x3c, 0.5);
    let from = queue.upload(&[0x7eu8, 0xfe]).unwrap();
    let mut to = queue.upload(&[quantized([1, 2], 3, 4.0); 2]).unwrap();
    // SAFETY: two work-items, two elements each.
    unsafe { kernels.quantized(by, &from, &mut to).launch(2) }.unwrap();
    let expected = [0x7e, 0xfe].map(|code| quantized([code, 0x38], 0x3c, 2.0));
    assert_eq!(queue.download(&to).unwrap(), expected);
}

#[test]
fn marray_and_array_are_arrays() {
    load!(queue, kernels);
    let mut to = queue.zeroed::<Point>(2).unwrap();
    let from = [[0, 0, 0, 0, 2], [0, 0, 0, 0, -3]];
    let from = queue.upload(&from).unwrap();
    let cells = queue.upload(&[[1i16, 2, 3], [4, 5, 6]]).unwrap();
    // SAFETY: two work-items, two elements each.
    unsafe {
        let launch = kernels.marrays([1.0, 2.0, 3.0], &from, &mut to);
        launch.launch(2).unwrap();
        let launch = kernels.arrays([10.0, 20.0, 30.0], &cells, &mut to);
        launch.launch(2).unwrap();
    }
    let point = |position, cell| Point {
        position,
        cell,
        ..Point::default()
    };
    let expected = [
        point([2.0, 4.0, 16.0], [1, 2, 3]),
        point([-3.0, -6.0, 11.0], [4, 5, 6]),
    ];
    assert_eq!(queue.download(&to).unwrap(), expected);
}

#[test]
fn complex_numbers_are_arrays_in_arrays() {
    load!(queue, kernels);
    if common::lacks(&queue, Aspect::FP64) {
        return;
    }
    let signal = |gain, taps| Signal { gain, taps };
    let by = signal([1.0, 2.0], [[0.25, 0.5], [0.0, 0.0]]);
    let from = queue.upload(&[[1.0f64, 2.0], [3.0, 4.0]]).unwrap();
    let mut to = queue.zeroed::<Signal>(2).unwrap();
    // SAFETY: two work-items, two elements each.
    unsafe {
        kernels
            .complexes([10.0, 20.0], by, &from, &mut to)
            .launch(2)
    }
    .unwrap();
    let expected = [[1.25, 2.5], [3.25, 4.5]];
    let expected = expected.map(|tap| signal([11.0, 22.0], [[0.0, 0.0], tap]));
    assert_eq!(queue.download(&to).unwrap(), expected);
}

#[test]
fn ids_and_ranges_are_arrays_of_u64() {
    load!(queue, kernels);
    let window = |size, start, row| Window {
        size,
        start,
        row: [row],
    };
    let from = queue.upload(&[[1u64, 2], [1 << 40, 4]]).unwrap();
    let mut to = queue.zeroed::<Window>(2).unwrap();
    let by = window([3, 5], [0, 0], 7);
    // SAFETY: two work-items, two elements each.
    unsafe {
        kernels
            .indices([100, 200], [0, 0, 9], by, &from, &mut to)
            .launch(2)
    }
    .unwrap();
    let expected = [[101, 202], [100 + (1 << 40), 204]];
    let expected = expected.map(|start| window([6, 10], start, 16));
    assert_eq!(queue.download(&to).unwrap(), expected);
}
