// SPDX-License-Identifier: MIT OR Apache-2.0
//! `<syclbin/reduce.hpp>`: sums, extremes and an operation on a struct, in one launch each.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::NdRange;

use crate::common::queue;

syclbin_rt::include_syclbin! { mod reductions = "reductions"; }

/// Empty, below one work-group, in whole and in partial work-groups, and with more numbers than work-items.
const COUNTS: [usize; 6] = [0, 1, 63, 64 * 7, 1001, 100_003];
const GROUPS: [usize; 4] = [1, 2, 7, 200];

/// Numbers from 0 to 1 in no order, of which some occur twice.
fn numbers(count: usize) -> Vec<f32> {
    let mixed = (0u32..)
        .take(count)
        .map(|i| i.wrapping_mul(2_654_435_761) >> 16);
    mixed.map(|i| i as f32 / 65536.0).collect()
}

#[test]
fn sum_of_floats_is_close_and_repeats() {
    let Some(queue) = queue() else { return };
    let kernels = reductions::Module::load(&queue).unwrap();
    let x = queue.upload(&numbers(100_003)).unwrap();
    let mut finished = queue.zeroed::<u32>(1).unwrap();
    for (groups, count) in GROUPS.iter().flat_map(|g| COUNTS.map(|count| (*g, count))) {
        let mut totals = [0.0; 2];
        for total in &mut totals {
            let mut results = queue.zeroed::<f32>(groups).unwrap();
            let launch = kernels.total(&x, count as u64, &mut results, &mut finished);
            // SAFETY: a result per work-group, and at least `count` numbers.
            unsafe { launch.launch(64 * groups) }.unwrap();
            *total = queue.download(&results).unwrap()[0];
        }
        let exact: f64 = numbers(count).into_iter().map(f64::from).sum();
        let error = (f64::from(totals[0]) - exact).abs();
        assert!(
            error <= 1e-5 * exact,
            "{count} in {groups}: {totals:?}, {exact}"
        );
        assert_eq!(totals[0].to_bits(), totals[1].to_bits());
    }
    assert_eq!(queue.download(&finished).unwrap(), [0]);
}

#[test]
fn one_kernel_reduces_twice_in_large_groups() {
    let Some(queue) = queue() else { return };
    let kernels = reductions::Module::load(&queue).unwrap();
    let input: Vec<i32> = (0..100_003)
        .map(|i| (i * 7919 % 100_003) - 50_000)
        .collect();
    let x = queue.upload(&input).unwrap();
    let mut finished = queue.zeroed::<u32>(2).unwrap();
    for count in COUNTS {
        let mut least = queue.zeroed::<i32>(5).unwrap();
        let mut most = queue.zeroed::<i32>(5).unwrap();
        let launch = kernels.extremes(&x, count as u64, &mut least, &mut most, &mut finished);
        // SAFETY: five work-groups have a result each, and there are at least `count` numbers.
        unsafe { launch.launch(NdRange::new(5 * 100).local(100)) }.unwrap();
        let numbers = input[..count].iter().copied();
        let expected = [
            numbers.clone().min().unwrap_or(i32::MAX),
            numbers.max().unwrap_or(i32::MIN),
        ];
        let found = [least, most].map(|results| queue.download(&results).unwrap()[0]);
        assert_eq!(found, expected, "{count} numbers");
    }
}

#[test]
fn own_operation_combines_structs_in_small_groups() {
    let Some(queue) = queue() else { return };
    let kernels = reductions::Module::load(&queue).unwrap();
    let input = numbers(100_003);
    let x = queue.upload(&input).unwrap();
    let mut finished = queue.zeroed::<u32>(1).unwrap();
    for (groups, count) in GROUPS.iter().flat_map(|g| COUNTS.map(|count| (*g, count))) {
        let mut results = queue.zeroed::<reductions::Best>(groups).unwrap();
        let launch = kernels.largest(&x, count as u64, &mut results, &mut finished);
        // SAFETY: a result per work-group, and at least `count` numbers.
        unsafe { launch.launch(3 * groups) }.unwrap();
        let mut expected = (f32::NEG_INFINITY, u32::MAX);
        for (index, &value) in (0..).zip(&input[..count]) {
            if value > expected.0 {
                expected = (value, index);
            }
        }
        let found = queue.download(&results).unwrap()[0];
        assert_eq!((found.value, found.index), expected, "{count} in {groups}");
    }
}
