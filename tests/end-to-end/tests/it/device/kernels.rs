// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that this crate's build script compiled, on the device.
#![allow(unsafe_code)] // a launch is unsafe

use end_to_end::{functor, numbers, vector_ops, work_group};
use syclbin_rt::half::f16;
use syclbin_rt::{Aspect, LocalMemory, NdRange};

use crate::common::{self, queue};

#[test]
fn saxpy_over_a_million_elements_matches_rust() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let x: Vec<f32> = (0..1_000_000).map(|i| (i % 1000) as f32).collect();
    let y: Vec<f32> = (0..x.len()).map(|i| (i % 77) as f32).collect();
    let on_device = queue.upload(&x).unwrap();
    let mut result = queue.upload(&y).unwrap();
    // The C++ parameter is `unsigned n`, which only debug information tells.
    let n: u32 = x.len().try_into().unwrap();
    let launch = kernels.saxpy(2.0, &on_device, &mut result, n);
    // SAFETY: both buffers hold `n` elements.
    unsafe { launch.launch(x.len()) }.unwrap();
    let expected: Vec<f32> = x.iter().zip(&y).map(|(x, y)| 2.0 * x + y).collect();
    assert!(queue.download(&result).unwrap() == expected);
}

#[test]
fn a_kernel_in_a_namespace_runs() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<f32>(100).unwrap();
    // SAFETY: `iota` writes 100 elements.
    unsafe { kernels.fill.iota(3.5, &mut out, 100).launch(()) }.unwrap();
    let expected: Vec<f32> = (0..100u8).map(|i| 3.5 + f32::from(i)).collect();
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn template_instances_have_their_own_types() {
    let Some(queue) = queue() else { return };
    let kernels = vector_ops::Module::load(&queue).unwrap();
    let mut ints = queue.upload(&[1i32, -2, 3]).unwrap();
    let mut doubles = queue.upload(&[0.5f64, 1.5]).unwrap();
    // SAFETY: each work-item touches the element of its own index.
    unsafe {
        kernels.scale_int(&mut ints, -3).launch(3).unwrap();
        kernels.scale_double(&mut doubles, 4.0).launch(2).unwrap();
    }
    assert_eq!(queue.download(&ints).unwrap(), [-3, 6, -9]);
    assert_eq!(queue.download(&doubles).unwrap(), [2.0, 6.0]);
}

#[test]
fn embedded_file_is_aligned_with_recorded_descriptions() {
    assert_eq!(vector_ops::SYCLBIN.as_ptr().align_offset(8), 0);
    let text = String::from_utf8_lossy(vector_ops::SYCLBIN);
    assert!(text.contains("[SYCLBIN-RS/kernels]"));
}

#[test]
fn fixed_local_memory_is_not_a_parameter() {
    let Some(queue) = queue() else { return };
    let kernels = work_group::Module::load(&queue).unwrap();
    let ones: Vec<i32> = (0..256).collect();
    let input = queue.upload(&ones).unwrap();
    let mut sums = queue.zeroed::<i32>(4).unwrap();
    // SAFETY: 256 work-items in groups of 64, which the kernel requires, read one element each.
    unsafe { kernels.block_sum(&input, &mut sums).launch(256) }.unwrap();
    let expected: Vec<i32> = ones.chunks(64).map(|block| block.iter().sum()).collect();
    assert_eq!(queue.download(&sums).unwrap(), expected);
}

#[test]
fn functors_take_accessors_and_skip_removed_arguments() {
    let Some(queue) = queue() else { return };
    let kernels = functor::Module::load(&queue).unwrap();
    let mut data = queue.upload(&[1i32, 2, 3, 4]).unwrap();
    // SAFETY: one work-item for each element.
    unsafe { kernels.AddOne(&mut data, 3).launch(4) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [4, 5, 6, 7]);

    let input: Vec<f32> = (0..64u8).map(f32::from).collect();
    let on_device = queue.upload(&input).unwrap();
    let mut output = queue.zeroed::<f32>(64).unwrap();
    let launch = kernels.Triad(32, &on_device, &mut output, 2.0);
    // SAFETY: groups of 32, as the tile has elements; the buffers have one for each work-item.
    unsafe { launch.launch(NdRange::new(64).local(32)) }.unwrap();
    let expected: Vec<f32> = input
        .chunks(32)
        .flat_map(|tile| tile.iter().rev().map(|x| 2.0 * x))
        .collect();
    assert_eq!(queue.download(&output).unwrap(), expected);
}

#[test]
fn numbers_of_every_kind_arrive() {
    let Some(queue) = queue() else { return };
    if common::lacks(&queue, Aspect::FP16) {
        return;
    }
    let kernels = numbers::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<f32>(1).unwrap();
    let half = f16::from_f32(10.5);
    let launch = kernels.numbers(
        true, -2, 3, -4, 5, -6, 7, -8, 9, 0.5, half, 100, 200, &mut out,
    );
    // SAFETY: the kernel writes one element.
    unsafe { launch.launch(1) }.unwrap();
    let expected = 1.0 - 2.0 + 3.0 - 4.0 + 5.0 - 6.0 + 7.0 - 8.0 + 9.0 + 0.5 + 10.5 + 300.0;
    assert_eq!(queue.download(&out).unwrap(), [expected]);
}

#[test]
fn enumerations_arrive() {
    let Some(queue) = queue() else { return };
    let kernels = numbers::Module::load(&queue).unwrap();
    let mut mode = queue.upload(&[7u8]).unwrap();
    // SAFETY: the kernel writes one element.
    unsafe { kernels.modes(0, -1, &mut mode).launch(1) }.unwrap();
    assert_eq!(queue.download(&mode).unwrap(), [0]);
}

#[test]
fn half_buffers_arrive() {
    let Some(queue) = queue() else { return };
    if common::lacks(&queue, Aspect::FP16) {
        return;
    }
    let kernels = numbers::Module::load(&queue).unwrap();
    let input = [0.25, -3.0, 1024.0].map(f16::from_f32);
    let on_device = queue.upload(&input).unwrap();
    let mut output = queue.zeroed::<f16>(3).unwrap();
    // SAFETY: three work-items, three elements.
    unsafe { kernels.double_halves(&on_device, &mut output).launch(3) }.unwrap();
    let expected = [0.5, -6.0, 2048.0].map(f16::from_f32);
    assert_eq!(queue.download(&output).unwrap(), expected);
}

#[test]
fn vector_and_void_buffers_arrive() {
    let Some(queue) = queue() else { return };
    let kernels = numbers::Module::load(&queue).unwrap();
    let from = queue.upload(&[41i32]).unwrap();
    let mut to = queue.zeroed::<i32>(1).unwrap();
    // SAFETY: the kernel reads and writes one `int`.
    unsafe { kernels.raw(&from, &mut to).launch(1) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [42]);

    // A vector of three elements is as large as one of four.
    let mut points = queue.upload(&[[1.0f32, 2.0, 3.0, 0.0]]).unwrap();
    // SAFETY: there is one point.
    unsafe {
        kernels
            .mixed([10.0, 20.0, 30.0, 2.0], &mut points)
            .launch(1)
    }
    .unwrap();
    assert_eq!(queue.download(&points).unwrap()[0][..3], [12.0, 24.0, 36.0]);
}

#[test]
fn launch_sized_local_memory_is_an_argument() {
    let Some(queue) = queue() else { return };
    let kernels = numbers::Module::load(&queue).unwrap();
    let mut out = queue.zeroed::<i32>(8).unwrap();
    let launch = kernels.shared(LocalMemory::of(4), &mut out);
    // SAFETY: groups of 4, as the memory has elements; `out` has one for each work-item.
    unsafe { launch.launch(NdRange::new(8).local(4)) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [3, 2, 1, 0, 7, 6, 5, 4]);
}
