// SPDX-License-Identifier: MIT OR Apache-2.0
//! tests/programs/reduce.cpp

use syclbin_rt::{Aspect, NdRange};

use super::compiled::Extremes;
use super::{compiled, load};

const COUNT: usize = 1000;
const GROUP: usize = 64;
const GROUPS: usize = COUNT.div_ceil(GROUP);

/// The numbers of the program's generator.
fn numbers(seed: u32) -> Vec<u32> {
    let number = |i: u32| {
        let x = i.wrapping_mul(747_796_405).wrapping_add(seed);
        let x = ((x >> ((x >> 28) + 4)) ^ x).wrapping_mul(277_803_737);
        ((x >> 22) ^ x) % 1000
    };
    (0u32..1000).map(number).collect()
}

#[test]
fn generator_and_extremes_agree_with_rust() {
    load!(queue, kernels);
    let mut buffer = queue.zeroed::<u32>(COUNT).unwrap();
    // SAFETY: here and below, the kernels stay inside of their buffers.
    unsafe { kernels.reduce.initialize(42, &mut buffer).launch(COUNT) }.unwrap();
    let expected = numbers(42);
    assert_eq!(queue.download(&buffer).unwrap(), expected);
    let start = Extremes {
        smallest: u32::MAX,
        largest: 0,
    };
    let mut found = queue.upload(&[start]).unwrap();
    // SAFETY: as above.
    unsafe { kernels.extremes(&mut found, &buffer).launch(COUNT) }.unwrap();
    let found = queue.download(&found).unwrap()[0];
    let extremes = (expected.iter().min(), expected.iter().max());
    assert_eq!((Some(&found.smallest), Some(&found.largest)), extremes);
}

#[test]
fn sums_of_groups_agree_with_rust() {
    load!(queue, kernels);
    let range = || NdRange::new(GROUPS * GROUP).local(GROUP);
    let integers = numbers(7);
    let buffer = queue.upload(&integers).unwrap();
    let mut sums = queue.zeroed::<u32>(GROUPS).unwrap();
    let launch = kernels.partial_sums_unsigned_int(GROUP, COUNT as u64, &buffer, &mut sums);
    // SAFETY: as above.
    unsafe { launch.launch(range()) }.unwrap();
    let expected: Vec<u32> = integers
        .chunks(GROUP)
        .map(|group| group.iter().sum())
        .collect();
    assert_eq!(queue.download(&sums).unwrap(), expected);

    // Small numbers, whose sums are exact in every order.
    let floats: Vec<f32> = integers.iter().map(|x| *x as f32 / 4.0).collect();
    let buffer = queue.upload(&floats).unwrap();
    let mut sums = queue.zeroed::<f32>(GROUPS).unwrap();
    let launch = kernels.partial_sums_float(GROUP, COUNT as u64, &buffer, &mut sums);
    // SAFETY: as above.
    unsafe { launch.launch(range()) }.unwrap();
    let expected: Vec<f32> = floats
        .chunks(GROUP)
        .map(|group| group.iter().sum())
        .collect();
    assert_eq!(queue.download(&sums).unwrap(), expected);
}

#[test]
fn histogram_agrees_with_rust() {
    load!(queue, kernels);
    let numbers = numbers(1);
    let buffer = queue.upload(&numbers).unwrap();
    let mut bins = queue.zeroed::<u32>(32).unwrap();
    let launch = kernels.histogram_kernel(32, COUNT as u64, &buffer, &mut bins);
    // SAFETY: as above.
    unsafe { launch.launch(NdRange::new(8 * GROUP).local(GROUP)) }.unwrap();
    let mut expected = [0u32; 32];
    numbers
        .iter()
        .for_each(|x| expected[*x as usize * 32 / 1000] += 1);
    assert_eq!(queue.download(&bins).unwrap(), expected);
}

#[test]
fn dot_product_agrees_with_rust() {
    load!(queue, kernels);
    let mut y = queue.zeroed::<f32>(COUNT).unwrap();
    // SAFETY: as above.
    unsafe { kernels.reduce.main(&mut y, COUNT as u64).launch(()) }.unwrap();
    let expected: Vec<f32> = (0u8..7)
        .cycle()
        .take(COUNT)
        .map(|i| 1.0 / f32::from(1 + i))
        .collect();
    assert_eq!(queue.download(&y).unwrap(), expected);
    if crate::common::lacks(&queue, Aspect::FP64) || crate::common::lacks(&queue, Aspect::ATOMIC64)
    {
        return;
    }
    let x: Vec<f32> = (0u16..1000).map(|i| f32::from(i % 8)).collect();
    let buffer = queue.upload(&x).unwrap();
    let mut result = queue.zeroed::<f64>(1).unwrap();
    let launch = kernels.DotProduct(&buffer, &y, &mut result, COUNT as u64);
    // SAFETY: as above.
    let launched = unsafe { launch.launch(NdRange::new(4 * GROUP).local(GROUP)) };
    if !crate::common::has_group_functions(&launched) {
        return;
    }
    launched.unwrap();
    let pairs = x.iter().zip(&expected);
    let dot: f64 = pairs.map(|(x, y)| f64::from(*x) * f64::from(*y)).sum();
    let found = queue.download(&result).unwrap()[0];
    assert!((found - dot).abs() < 1e-4 * dot, "{found} {dot}");
}
