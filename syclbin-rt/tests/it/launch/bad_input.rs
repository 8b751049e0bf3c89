// SPDX-License-Identifier: MIT OR Apache-2.0
//! Bad input: each mistake is an error, and the queue works on as if it had not been made.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]
#![allow(
    clippy::panic,
    reason = "another error than the one expected fails the test"
)]

use syclbin_rt::{
    AnyRange, Arg, DeviceArray, Error, Event, Kernel, Launch, NdRange, Queue, Result,
};

use crate::common;

const VECTOR_OPS: &str = "vector_ops.object.syclbin";
const WORK_GROUP: &str = "work_group.object.syclbin";

/// Launches `scale` over three numbers.
fn scale(queue: &Queue, kernel: &Result<Kernel>, range: impl Into<AnyRange>) -> Result<Vec<i32>> {
    let mut data = queue.upload(&[1i32, 2, 3])?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    // SAFETY: ranges that are not refused have a work-item for each element.
    let event: Event = unsafe { Launch::new(kernel, &["data", "factor"], args).launch(range)? };
    event.wait()?;
    queue.download(&data)
}

/// What was wrong with a launch.
fn problem(error: &Error) -> String {
    assert_eq!(error.kind(), syclbin_rt::ErrorKind::Launch, "{error}");
    error.to_string()
}

#[test]
fn invalid_range_leaves_the_queue_usable() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "_Z19__sycl_kernel_scaleIiEvPT_S0_");
    let refused = |range: AnyRange| scale(&queue, &kernel, range).expect_err("a bad range");
    let empty = [" is empty;"; 2];
    let indivisible = [" does not divide the range "; 2];
    let too_many = ["the maximum that the kernel was compiled for"; 2];
    let too_large = [" allows at most ", ", the maximum of "];
    for (range, texts) in [
        (NdRange::new(0).into(), empty),
        (NdRange::new([3, 0]).into(), empty),
        (NdRange::new([0, 0, 0]).into(), empty),
        (NdRange::new(0).local(1).into(), empty),
        (NdRange::new(3).local(2).into(), indivisible),
        (NdRange::new([2, 3]).local([2, 2]).into(), indivisible),
        (NdRange::new(usize::MAX).into(), too_many),
        (NdRange::new([usize::MAX, usize::MAX]).into(), too_many),
        (NdRange::new(1 << 20).local(1 << 20).into(), too_large),
    ] {
        let error = refused(range);
        let problem = problem(&error);
        assert!(texts.iter().any(|text| problem.contains(text)), "{error}");
        assert_eq!(scale(&queue, &kernel, 3)?, [3, 6, 9], "after {error}");
    }
    // A work-group of none divides nothing.
    let error = refused(NdRange::new(3).local(0).into());
    assert!(error.to_string().starts_with("kernel "), "{error}");
    assert_eq!(scale(&queue, &kernel, 3)?, [3, 6, 9]);
    Ok(())
}

#[test]
fn excessive_local_memory_leaves_the_queue_usable() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, WORK_GROUP, "block_sum");
    let input = queue.upload(&[1i32; 128])?;
    let sum = |bytes: usize| -> Result<Vec<i32>> {
        let mut out = queue.zeroed::<i32>(2)?;
        let args = [Arg::read(&input), Arg::write(&mut out), Arg::local(bytes)];
        let names = &["in", "out", "scratch"];
        // SAFETY: groups of 64 add 128 numbers; less memory than they need is never given.
        unsafe { Launch::new(&kernel, names, args).launch(128)? };
        queue.download(&out)
    };
    let max = usize::try_from(queue.device().local_memory_bytes()).expect("a device's memory");
    for bytes in [max + 1, usize::MAX] {
        let error = sum(bytes).expect_err("too much");
        let text = problem(&error);
        let fits = text.contains(&format!("requests {bytes} bytes"))
            && text.ends_with(&format!(" has only {max}"));
        assert!(fits, "{error}");
        assert_eq!(sum(256)?, [64, 64]);
    }
    Ok(())
}

#[test]
fn excessive_allocation_leaves_the_queue_usable() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "_Z19__sycl_kernel_scaleIiEvPT_S0_");
    for bytes in [1usize << 60, 1 << 50, (isize::MAX as usize) - 4096] {
        let message = queue.zeroed::<u8>(bytes).unwrap_err().to_string();
        assert!(
            common::says_allocation_failed(&message) && message.contains(&format!("{bytes} bytes")),
            "{message}"
        );
        assert_eq!(scale(&queue, &kernel, 3)?, [3, 6, 9]);
        let array = DeviceArray::<u8>::zeroed(&queue, bytes);
        assert!(array.is_err());
        assert_eq!(scale(&queue, &kernel, 3)?, [3, 6, 9]);
    }
    Ok(())
}
