// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions of booleans, which are -1 where C++ selects -1, and negations, which barriers preserve.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::{Aspect, NdRange};

use crate::common::{lacks, queue, say_skipped};

syclbin_rt::include_syclbin! { mod kernels = "signs"; }

#[test]
fn booleans_keep_their_signs() {
    let Some(queue) = queue() else { return };
    let kernels = kernels::Module::load(&queue).unwrap();
    let input = queue.upload(&[-2.5f32, 0.0, 4.0]).unwrap();
    let mut signs = queue.zeroed::<f32>(3).unwrap();
    let mut ones = queue.zeroed::<f32>(12).unwrap();
    // SAFETY: three work-items, each with one element of `signs` and four of `ones`.
    unsafe { kernels.signs(&input, &mut signs, &mut ones).launch(3) }.unwrap();
    assert_eq!(queue.download(&signs).unwrap(), [-1.0, 0.0, 1.0]);
    let [negative, zero, positive] = [[1.0, 1.0, 0.0, 1.0], [0.0; 4], [0.0, 0.0, 1.0, 0.0]];
    let expected = [negative, zero, positive].concat();
    assert_eq!(queue.download(&ones).unwrap(), expected);
}

const ITEMS: usize = 512;
const GROUPS: [usize; 9] = [1, 2, 4, 8, 16, 32, 64, 128, 256];

/// Squares, so that their roots are exact.
fn squares<T: From<u16>>(count: usize) -> Vec<T> {
    let root = |number: usize| u16::try_from(number % 200).unwrap();
    (0..count)
        .map(|number| T::from(root(number).pow(2)))
        .collect()
}

#[test]
fn negations_live_across_barriers() {
    let Some(queue) = queue() else { return };
    let kernels = kernels::Module::load(&queue).unwrap();
    let numbers = squares::<f32>(ITEMS);
    let input = queue.upload(&numbers).unwrap();
    let expected = numbers.iter().flat_map(|&number| {
        let root = number.sqrt();
        [-number, -root, number * root, 1.0 - 2.0 * number]
    });
    let expected: Vec<f32> = expected.collect();
    for group in GROUPS {
        let range = NdRange::new(ITEMS).local(group);
        let mut out = queue.zeroed::<f32>(4 * ITEMS).unwrap();
        // SAFETY: each work-item has one element of `in` and four of `out`.
        unsafe { kernels.negated(&input, &mut out).launch(range) }.unwrap();
        assert_eq!(queue.download(&out).unwrap(), expected, "{group}");
    }
}

#[test]
fn negations_live_across_sums_of_groups() {
    let Some(queue) = queue() else { return };
    if queue.device().platform() != "Intel(R) OpenCL" {
        // Others do not lose negations. PoCL 6.0 ends the process on this kernel, and rusticl lacks the function.
        return say_skipped("the kernel is for Intel's CPU driver");
    }
    let kernels = kernels::Module::load(&queue).unwrap();
    let numbers = squares::<f32>(ITEMS);
    let input = queue.upload(&numbers).unwrap();
    let roots: Vec<f32> = numbers.iter().map(|number| -number.sqrt()).collect();
    for group in GROUPS {
        let range = NdRange::new(ITEMS).local(group);
        let mut out = queue.zeroed::<f32>(ITEMS).unwrap();
        let mut sums = queue.zeroed::<i32>(ITEMS).unwrap();
        let launch = kernels.negated_beside_sum(&input, &mut out, &mut sums);
        // SAFETY: each work-item has one element of each.
        unsafe { launch.launch(range) }.unwrap();
        assert_eq!(queue.download(&out).unwrap(), roots, "{group}");
    }
}

#[test]
fn negated_vectors_live_across_barriers() {
    let Some(queue) = queue() else { return };
    let kernels = kernels::Module::load(&queue).unwrap();
    let numbers = squares::<f32>(4 * ITEMS);
    let vectors: Vec<[f32; 4]> = numbers.as_chunks().0.to_vec();
    let input = queue.upload(&vectors).unwrap();
    let negated = |vector: &[f32; 4]| vector.map(|number| -number.sqrt());
    let expected: Vec<[f32; 4]> = vectors.iter().map(negated).collect();
    for group in GROUPS {
        let range = NdRange::new(ITEMS).local(group);
        let mut out = queue.zeroed::<[f32; 4]>(ITEMS).unwrap();
        // SAFETY: each work-item has one vector of each.
        unsafe { kernels.negated_float4(&input, &mut out).launch(range) }.unwrap();
        assert_eq!(queue.download(&out).unwrap(), expected, "{group}");
    }
}

#[test]
fn negated_doubles_live_across_barriers() {
    let Some(queue) = queue() else { return };
    if lacks(&queue, Aspect::FP64) {
        return;
    }
    let kernels = kernels::Module::load(&queue).unwrap();
    let numbers = squares::<f64>(ITEMS);
    let input = queue.upload(&numbers).unwrap();
    let expected: Vec<f64> = numbers.iter().map(|number| -number.sqrt()).collect();
    for group in GROUPS {
        let range = NdRange::new(ITEMS).local(group);
        let mut out = queue.zeroed::<f64>(ITEMS).unwrap();
        // SAFETY: each work-item has one element of each.
        unsafe { kernels.negated_double(&input, &mut out).launch(range) }.unwrap();
        assert_eq!(queue.download(&out).unwrap(), expected, "{group}");
    }
}
