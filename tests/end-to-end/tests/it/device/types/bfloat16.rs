// SPDX-License-Identifier: MIT OR Apache-2.0
//! Conversions of `bfloat16`, compared with those of the crate `half`.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::half::bf16;

use crate::common::{queue, spirv_queue};

syclbin_rt::include_syclbin! {
    mod kernels = "bfloat16";
}

syclbin_rt::include_syclbin! {
    mod native = "bfloat16_native";
}

const ROWS: usize = 5;
const LENGTH: u32 = 33;

/// Returns numbers with short fractions, so that sums of their products are exact in any order.
fn numbers(count: usize, step: usize) -> Vec<bf16> {
    let number = |i: usize| bf16::from_f32(((i * step) % 31) as f32 / 8.0 - 1.5);
    (0..count).map(number).collect()
}

/// Compares the dot products of a file's kernel with those of the crate.
macro_rules! assert_dot_products {
    ($queue:ident, $kernels:ident) => {
        let (a, b, expected) = dot_products();
        let (a, b) = ($queue.upload(&a).unwrap(), $queue.upload(&b).unwrap());
        let mut out = $queue.zeroed::<bf16>(ROWS).unwrap();
        // SAFETY: a work-item for each row, each of as many elements as `b` has.
        unsafe { $kernels.dot(&a, &b, &mut out, LENGTH).launch(ROWS) }.unwrap();
        assert_eq!($queue.download(&out).unwrap(), expected);
    };
}

fn dot_products() -> (Vec<bf16>, Vec<bf16>, Vec<bf16>) {
    let (a, b) = (
        numbers(ROWS * LENGTH as usize, 7),
        numbers(LENGTH as usize, 3),
    );
    let expected: Vec<bf16> = a
        .chunks(LENGTH as usize)
        .map(|row| {
            let products = row.iter().zip(&b).map(|(a, b)| a.to_f32() * b.to_f32());
            bf16::from_f32(products.sum())
        })
        .collect();
    (a, b, expected)
}

#[test]
fn dot_product_is_rounded_like_half() {
    let Some(queue) = queue() else { return };
    let kernels = kernels::Module::load(&queue).unwrap();
    assert_dot_products!(queue, kernels);
}

#[test]
fn native_code_converts_without_the_library() {
    let file = syclbin::read::parse(native::SYCLBIN).unwrap();
    let has_native =
        |module: &syclbin::AbstractModule<'_>| module.images.iter().any(|image| image.native);
    assert!(file.modules.iter().all(has_native));
    let Some(queue) = spirv_queue() else { return };
    let kernels = native::Module::load(&queue).unwrap();
    assert_dot_products!(queue, kernels);
}

#[test]
fn ties_infinities_and_overflow_round_like_half() {
    let Some(queue) = queue() else { return };
    let kernels = kernels::Module::load(&queue).unwrap();
    let bits = [
        0x3f80_8000, // a tie above an even number
        0x3f81_8000, // a tie above an odd one
        0x3f80_8001,
        0x3f80_7fff,
        0xbf81_8000,
        0x7f7f_ffff, // rounds to infinity
        0xff80_0000,
        0x8000_0000,
    ];
    let numbers = bits.map(f32::from_bits);
    let input = queue.upload(&numbers).unwrap();
    let mut narrow = queue.zeroed::<bf16>(numbers.len()).unwrap();
    let mut wide = queue.zeroed::<f32>(numbers.len()).unwrap();
    let launch = kernels.round_trip(&input, &mut narrow, &mut wide);
    // SAFETY: a work-item for each element of all three.
    unsafe { launch.launch(numbers.len()) }.unwrap();
    let expected = numbers.map(bf16::from_f32);
    let bits = |numbers: &[bf16]| numbers.iter().map(|n| n.to_bits()).collect::<Vec<_>>();
    assert_eq!(bits(&queue.download(&narrow).unwrap()), bits(&expected));
    let expected = expected.map(bf16::to_f32);
    assert_eq!(queue.download(&wide).unwrap(), expected);
    let nan = queue.upload(&[f32::NAN]).unwrap();
    // SAFETY: one element.
    unsafe { kernels.round_trip(&nan, &mut narrow, &mut wide).launch(1) }.unwrap();
    assert!(queue.download(&narrow).unwrap()[0].is_nan());
    assert!(queue.download(&wide).unwrap()[0].is_nan());
}

#[test]
fn operators_round_each_result() {
    let Some(queue) = queue() else { return };
    let kernels = kernels::Module::load(&queue).unwrap();
    let data = numbers(31, 5);
    let factor = bf16::from_f32(1.171_875);
    let round = |value: f32| bf16::from_f32(value).to_f32();
    let scaled = |n: &bf16| bf16::from_f32(round(n.to_f32() * factor.to_f32()) + 1.0);
    let expected: Vec<bf16> = data.iter().map(scaled).collect();
    let mut on_device = queue.upload(&data).unwrap();
    // SAFETY: a work-item for each element.
    unsafe { kernels.scaled(&mut on_device, factor).launch(data.len()) }.unwrap();
    assert_eq!(queue.download(&on_device).unwrap(), expected);
}
