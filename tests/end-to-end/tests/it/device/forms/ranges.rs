// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of every way to launch in SYCL, over ranges that no work-group size divides.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::{Aspect, NdRange};

use crate::common::{self, queue};

syclbin_rt::include_syclbin! { mod ranges = "ranges"; }

/// The file on the device, and that many numbers there, unless there is none.
macro_rules! load {
    ($queue:ident, $kernels:ident, $to:ident, $count:expr) => {
        let Some($queue) = queue() else { return };
        let $kernels = ranges::Module::load(&$queue).unwrap();
        let ones: Vec<i32> = std::iter::repeat_n(1, $count).collect();
        let mut $to = $queue.upload(&ones).unwrap();
    };
}

#[test]
fn range_of_any_size_is_launched_whole() {
    for count in [1, 7, 1021, 4099] {
        load!(queue, kernels, to, count + 3);
        // SAFETY: here and below, `to` has an element for each work-item.
        unsafe { kernels.one(&mut to).launch(count) }.unwrap();
        let mut expected: Vec<i32> = (1..).take(count).collect();
        expected.extend([1; 3]);
        assert_eq!(queue.download(&to).unwrap(), expected);
        // SAFETY: as above.
        unsafe { kernels.Named(&mut to).launch(count) }.unwrap();
        expected[..count].fill(i32::try_from(count).unwrap());
        assert_eq!(queue.download(&to).unwrap(), expected);
    }
}

#[test]
fn ranges_of_more_dimensions_are_launched_whole() {
    load!(queue, kernels, to, 7 * 13);
    // SAFETY: as above.
    unsafe { kernels.two(&mut to).launch([7, 13]) }.unwrap();
    let expected = (0..7).flat_map(|i| (0..13).map(move |j| i * 1000 + j));
    assert!(queue.download(&to).unwrap().into_iter().eq(expected));
    load!(queue, kernels, to, 3 * 5 * 7);
    // SAFETY: as above.
    unsafe { kernels.three(&mut to).launch([3, 5, 7]) }.unwrap();
    let pairs = (0..3).flat_map(|i| (0..5).map(move |j| i * 100 + j));
    let expected = pairs.flat_map(|pair| (0..7).map(move |k| pair * 100 + k));
    assert!(queue.download(&to).unwrap().into_iter().eq(expected));
}

#[test]
fn single_task_is_one_work_item() {
    load!(queue, kernels, to, 2);
    // SAFETY: as above.
    unsafe { kernels.task(&mut to).launch(()) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [9, 1]);
}

#[test]
fn groups_have_the_size_of_the_launch() {
    load!(queue, kernels, to, 4 * 8);
    // SAFETY: as above.
    unsafe {
        kernels
            .grouped(&mut to)
            .launch(NdRange::new([4, 8]).local([2, 4]))
    }
    .unwrap();
    let expected =
        (0..4).flat_map(|i| (0..8).map(move |j| i / 2 * 100 + j / 4 * 10 + i % 2 * 4 + j % 4));
    assert!(queue.download(&to).unwrap().into_iter().eq(expected));
    load!(queue, kernels, to, 16);
    // SAFETY: as above.
    let launched = unsafe { kernels.summed(&mut to).launch(NdRange::new(16).local(8)) };
    if common::has_group_functions(&launched) {
        launched.unwrap();
        let sums = queue.download(&to).unwrap();
        assert_eq!((sums[0], sums[8], sums[1]), (8, 8, 1));
    }
    assert_eq!(ranges::Module::REQUIRED_LOCAL_SIZE, [4]);
    // SAFETY: as above.
    unsafe { kernels.required(&mut to).launch(16) }.unwrap();
    assert_eq!(queue.download(&to).unwrap(), [4; 16]);
}

#[test]
fn hierarchical_kernel_takes_groups() {
    load!(queue, kernels, to, 12);
    // rusticl 26.2, which lacks this, ends the process in such a kernel.
    if !queue.device().has(Aspect::USM_DEVICE_ALLOCATIONS) {
        common::say_skipped(
            "the device has no unified shared memory, and may not run hierarchical kernels",
        );
        return;
    }
    // SAFETY: as above.
    unsafe {
        kernels
            .hierarchical(&mut to)
            .launch(NdRange::new(12).local(4))
    }
    .unwrap();
    let expected = [0, 1, 2, 3, 100, 101, 102, 103, 200, 201, 202, 203];
    assert_eq!(queue.download(&to).unwrap(), expected);
}
