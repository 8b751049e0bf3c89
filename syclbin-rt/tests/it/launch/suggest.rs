// SPDX-License-Identifier: MIT OR Apache-2.0
//! Suggested work-group sizes: each can be launched with.
#![allow(unsafe_code, reason = "launching kernels is unsafe")]
#![allow(clippy::panic, reason = "a test may")]

use syclbin::metadata::{KernelSizes, ModuleMetadata, WorkGroupSize};
use syclbin_rt::{Arg, Launch, NdRange, Result};

use crate::common;

#[test]
fn suggested_size_divides_range_and_launches() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS6AddOne");
    let alone = kernel.clone()?;
    for items in [1usize, 997, 1000, 1024] {
        let mut data = queue.upload(&vec![1i32; items])?;
        let args = [Arg::write(&mut data), Arg::scalar(3i32)];
        let launch = Launch::new(&kernel, &["data", "amount"], args);
        for [size] in [
            launch.suggested_local_size(items)?,
            alone.suggested_local_size(items)?,
        ] {
            assert!(size > 0 && items % size == 0, "{size} of {items}");
            assert!(size <= queue.device().max_work_group_size());
        }
        let local = launch.suggested_local_size(items)?;
        // SAFETY: one work-item for each element.
        unsafe { launch.launch(NdRange::new(items).local(local))? };
        assert!(queue.download(&data)?.iter().all(|value| *value == 4));
    }
    Ok(())
}

#[test]
fn suggestion_without_arguments_fits_the_hardware() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS6AddOne")?;
    let attributes = kernel.attributes()?;
    let multiple = attributes.preferred_work_group_size_multiple;
    // Larger divisors of the range are no multiples.
    let is_prime = |n: &usize| {
        (2..*n)
            .take_while(|d| d * d <= *n)
            .all(|d| !n.is_multiple_of(d))
    };
    let largest_prime = (1..=attributes.max_work_group_size).rev().find(is_prime);
    let items = multiple * largest_prime.expect("a work-group has work-items");
    let [size] = kernel.suggested_local_size(items)?;
    assert_eq!(size % multiple, 0, "{size} of {items}, {attributes:?}");
    Ok(())
}

#[test]
fn compiled_work_group_size_is_the_suggestion() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let coords = common::kernel(&queue, "work_group.object.syclbin", "coords")?;
    let local = coords.suggested_local_size([4, 8, 16])?;
    assert_eq!(local, [2, 4, 8]);
    let given = NdRange::new([4, 8, 16]).local([2, 4, 8]);
    assert_eq!(coords.suggested_local_size(given)?, local);
    let message = coords.suggested_local_size([3, 8, 16]).unwrap_err();
    assert!(message.to_string().contains("does not divide"), "{message}");
    Ok(())
}

#[test]
fn arguments_that_no_launch_takes_get_no_suggestion() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS6AddOne");
    let launch = Launch::new(&kernel, &["amount"], [Arg::scalar(3i32)]);
    let message = launch.suggested_local_size(8).unwrap_err().to_string();
    assert!(message.contains("AddOne"), "{message}");
    Ok(())
}

#[test]
fn suggestions_on_cuda_are_whole_warps() -> Result<()> {
    if !common::on_cuda() {
        common::say_skipped("not a CUDA device");
        return Ok(());
    }
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS6AddOne");
    // 1021 is a prime, and more work-items than a warp.
    let items = 32 * 1021 * 1021;
    assert_eq!(kernel.clone()?.suggested_local_size(items)?, [32]);
    let mut data = queue.zeroed::<i32>(1)?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    let launch = Launch::new(&kernel, &["data", "amount"], args);
    assert_eq!(launch.suggested_local_size(items)?, [32]);
    Ok(())
}

#[test]
fn declared_maximum_bounds_the_suggestion() -> Result<()> {
    const KERNEL: &str = "_ZTS6AddOne";
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let declared = |sizes: &KernelSizes| {
        let bytes = common::testfile("functor.object.syclbin");
        let mut file = syclbin::read::parse(&bytes).expect("a good file");
        for module in &mut file.modules {
            let metadata = ModuleMetadata::read(&module.metadata).expect("good metadata");
            let mut program = metadata.program;
            program.kernels.insert(KERNEL, sizes.clone());
            program.write(&mut module.metadata);
        }
        common::load(&queue, &common::written(&file))?.kernel(KERNEL)
    };
    let sizes = KernelSizes::default();
    for sizes in [
        KernelSizes {
            maximum: WorkGroupSize::from_sycl(&[48]),
            ..sizes.clone()
        },
        KernelSizes {
            maximum_linear: Some(48),
            ..sizes
        },
    ] {
        let kernel = declared(&sizes);
        let mut data = queue.zeroed::<i32>(210)?;
        let args = [Arg::write(&mut data), Arg::scalar(3i32)];
        let launch = Launch::new(&kernel, &["data", "amount"], args);
        let suggested = launch.suggested_local_size(210)?;
        assert!(suggested[0] <= 48, "{suggested:?}");
        if !common::on_cuda() {
            // The driver may not know the maximum, so it is not asked.
            assert_eq!(suggested, kernel.clone()?.suggested_local_size(210)?);
        }
    }
    Ok(())
}
