// SPDX-License-Identifier: MIT OR Apache-2.0
//! The headers `<syclbin/...>`, from source to result: kernels that use each feature they promise, and
//! none of `<sycl/sycl.hpp>`.
#![allow(unsafe_code)] // a launch is unsafe

use end_to_end::slim;
use syclbin_rt::half::f16;
use syclbin_rt::{Aspect, Module, NdRange, Queue};

use crate::common::{self, queue};

fn kernels() -> Option<(Queue, slim::Module)> {
    let queue = queue()?;
    let kernels = slim::Module::load(&queue).unwrap();
    Some((queue, kernels))
}

#[test]
fn work_items_know_ids_in_all_dimensions() {
    let Some((queue, kernels)) = kernels() else {
        return;
    };
    let mut out = queue.zeroed::<i32>(10).unwrap();
    // SAFETY: each work-item writes a number of its own, here and below.
    unsafe { kernels.ids1(&mut out).launch(10) }.unwrap();
    let expected: Vec<i32> = (0..10).map(|i| 3 * i).collect();
    assert_eq!(queue.download(&out).unwrap(), expected);

    let mut out = queue.zeroed::<i32>(4 * 8).unwrap();
    // SAFETY: as above.
    unsafe { kernels.ids2(&mut out).launch([4, 8]) }.unwrap();
    let places = (0..4).flat_map(|y| (0..8).map(move |x| (y, x)));
    let expected: Vec<i32> = places
        .map(|(y, x)| y * 1000 + x * 100 + y / 2 * 2 + x / 4)
        .collect();
    assert_eq!(queue.download(&out).unwrap(), expected);

    let mut out = queue.zeroed::<i32>(2 * 3 * 4).unwrap();
    // SAFETY: as above.
    unsafe { kernels.ids3(&mut out).launch([2, 3, 4]) }.unwrap();
    let places = (0..24).map(|i| (i / 12, i / 4 % 3, i % 4));
    let expected: Vec<i32> = places.map(|(z, y, x)| z * 100 + y * 10 + x).collect();
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn half_numbers_and_marrays_compute() {
    let Some((queue, kernels)) = kernels() else {
        return;
    };
    if common::lacks(&queue, Aspect::FP16) {
        return;
    }
    let numbers = [0.25f32, -8.0, 100.0];
    let x = queue.upload(&numbers.map(f16::from_f32)).unwrap();
    let mut y = queue.zeroed::<f16>(3).unwrap();
    // SAFETY: both have three numbers.
    unsafe { kernels.halves(&x, &mut y).launch(3) }.unwrap();
    let expected = numbers.map(|x| f16::from_f32(4.5 + 2.0 * x));
    assert_eq!(queue.download(&y).unwrap(), expected);
}

#[test]
fn vectors_have_operators_and_swizzles() {
    let Some((queue, kernels)) = kernels() else {
        return;
    };
    let b = queue.upload(&[[1i32, 2], [-3, 40]]).unwrap();
    let mut out = queue.zeroed::<[f32; 4]>(2).unwrap();
    let launch = kernels.vectors([1.0, 2.0, 3.0, 4.0], &b, &mut out);
    // SAFETY: both have two vectors.
    unsafe { launch.launch(2) }.unwrap();
    let expected = [[7.0, 10.0, 7.0, 2.0], [3.0, 48.0, 41.0, 2.0]];
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn functions_of_sycl_compute() {
    let Some((queue, kernels)) = kernels() else {
        return;
    };
    let mut out = queue.zeroed::<f32>(8).unwrap();
    // SAFETY: one work-item writes eight numbers.
    unsafe { kernels.maths(6.25, 3.0, 11, &mut out).launch(1) }.unwrap();
    let expected = [2.5, 40.0625, 1.0, 51.5, 3.0, 8.0, 11.0, 2.0];
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn atomics_count_what_all_work_items_add() {
    let Some((queue, kernels)) = kernels() else {
        return;
    };
    let mut count = queue.zeroed::<i32>(1).unwrap();
    let mut most = queue.zeroed::<f32>(1).unwrap();
    // SAFETY: both have the one number that all work-items change, by atomics.
    unsafe { kernels.atomics(&mut count, &mut most).launch(1000) }.unwrap();
    assert_eq!(queue.download(&count).unwrap(), [999 * 500]);
    assert_eq!(queue.download(&most).unwrap(), [499.5]);
}

#[test]
fn work_groups_share_memory_and_results() {
    let Some((queue, kernels)) = kernels() else {
        return;
    };
    let input: Vec<i32> = (0..32).map(|i| i % 7).collect();
    let device = queue.upload(&input).unwrap();
    let mut out = queue.zeroed::<i32>(32).unwrap();
    // SAFETY: both have a number for each work-item.
    let launched = unsafe { kernels.groups(&device, &mut out).launch(32) };
    if !common::has_group_functions(&launched) {
        // A saved file has no code that shows why, so it does not list the kernel.
        // SAFETY: the build script compiled the file.
        let module = unsafe { Module::load(&queue, slim::SYCLBIN) }.unwrap();
        let saved = module.to_syclbin().unwrap();
        let saved = syclbin::read::parse(&saved).unwrap();
        assert!(saved.kernel_names().any(|name| name.contains("ids3")));
        assert!(!saved.kernel_names().any(|name| name.contains("groups")));
        return;
    }
    launched.unwrap();
    let mut expected = Vec::new();
    for group in input.chunks(16) {
        let turned: Vec<i32> = group.iter().rev().copied().collect();
        let any = i32::from(turned.iter().zip(group).any(|(a, b)| a == b));
        let sum: i32 = group.iter().sum();
        let mut before = 0;
        for other in &turned {
            expected.push(sum + before * 100 + turned[0] * 10_000 + any);
            before += other;
        }
    }
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn specialization_constants_have_their_defaults_and_are_set() {
    let Some(queue) = queue() else { return };
    let builder = || slim::Module::builder(&queue);
    for (kernels, expected) in [
        (builder().load().unwrap(), 21),
        (builder().factor(-5).load().unwrap(), -35),
    ] {
        let mut out = queue.zeroed::<i32>(1).unwrap();
        // SAFETY: one work-item writes one number.
        unsafe { kernels.constants(&mut out).launch(1) }.unwrap();
        assert_eq!(queue.download(&out).unwrap(), [expected]);
    }
}

#[test]
fn a_template_is_a_kernel_by_its_property() {
    let Some((queue, kernels)) = kernels() else {
        return;
    };
    let mut x = queue.upload(&[1i32, -2, 3]).unwrap();
    // SAFETY: a work-item each number.
    unsafe { kernels.twice_int(&mut x).launch(3) }.unwrap();
    assert_eq!(queue.download(&x).unwrap(), [2, -4, 6]);
}

/// Set in a copy of this program that prints from a kernel, and whose output is read.
const PRINT: &str = "SYCLBIN_SLIM_PRINTS";

#[test]
fn a_kernel_prints() {
    let Some((queue, kernels)) = kernels() else {
        return;
    };
    if std::env::var_os(PRINT).is_some() {
        // SAFETY: it takes a number, and touches no memory.
        unsafe { kernels.prints(42).launch(NdRange::new(1)) }.unwrap();
        queue.wait().unwrap();
        return;
    }
    if queue.device().name() == "Simulated CUDA device" {
        common::say_skipped("the simulated device prints nothing");
        return;
    }
    let copy = common::child(module_path!(), "a_kernel_prints")
        .env(PRINT, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&copy.stdout);
    assert!(said.contains("slim says 42"), "{said}");
}
