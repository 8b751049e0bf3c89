// SPDX-License-Identifier: MIT OR Apache-2.0
//! A launch with a contract runs where the contract holds, and nowhere else.
#![allow(unsafe_code, reason = "a launch is made safe")]

use std::fmt::Display;

use syclbin_rt::__private::{Broken, LaunchView};
use syclbin_rt::{
    AnyRange, Arg, Buffer, ErrorKind, Event, Kernel, Launch, NdRange, Range, Result, SafeLaunch,
};

use crate::common;

const VECTOR_OPS: &str = "vector_ops.object.syclbin";
const WORK_GROUP: &str = "work_group.object.syclbin";

/// What the macro writes for `safe fn saxpy where x.len() >= n, y.len() >= n;`.
fn saxpy<'a>(
    kernel: &'a Result<Kernel>,
    a: f32,
    x: &'a Buffer<f32>,
    y: &'a mut Buffer<f32>,
    n: u32,
) -> SafeLaunch<'a, 4> {
    fn contract(given: &LaunchView<'_>) -> Result<(), Broken> {
        let (x, y) = (given.memory(1, 4), given.memory(2, 4));
        let n = given.number::<u32>(3, 0);
        if !given.holds(x.len() >= n) {
            let values: [(_, &dyn Display); 2] = [("x.len()", &x.len()), ("n", &n)];
            return Err(given.broken("x.len() >= n", Some(1), &values));
        }
        if !given.holds(y.len() >= n) {
            let values: [(_, &dyn Display); 2] = [("y.len()", &y.len()), ("n", &n)];
            return Err(given.broken("y.len() >= n", Some(2), &values));
        }
        Ok(())
    }
    let args = [Arg::scalar(a), Arg::read(x), Arg::write(y), Arg::scalar(n)];
    let launch = Launch::new(kernel, &["a", "x", "y", "n"], args);
    // SAFETY: the kernel checks its index against `n`, in any range, and reads no index from memory.
    unsafe { SafeLaunch::with_contract(launch, contract) }
}

#[test]
fn a_launch_whose_contract_holds_runs() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = queue.upload(&[1.0f32, 2.0, 3.0])?;
    let mut y = queue.upload(&[10.0f32, 20.0, 30.0, 40.0])?;
    // More work-items than elements are the kernel's business.
    let event: Event = saxpy(&kernel, 2.0, &x, &mut y, 3).launch(64)?;
    event.wait()?;
    assert_eq!(queue.download(&y)?, [12.0, 24.0, 36.0, 40.0]);
    saxpy(&kernel, 1.0, &x, &mut y, 0).launch(NdRange::new(64).local(16))?;
    assert_eq!(queue.download(&y)?, [12.0, 24.0, 36.0, 40.0]);
    Ok(())
}

#[test]
fn broken_contract_names_argument_and_both_values() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = queue.upload(&[1.0f32; 10])?;
    let mut y = queue.upload(&[1.0f32; 16])?;
    let error = saxpy(&kernel, 1.0, &x, &mut y, 16).launch(16).unwrap_err();
    assert_eq!(
        error.to_string(),
        "kernel saxpy: argument 1 (x) breaks the contract `x.len() >= n`: x.len() is 10, n is 16"
    );
    assert_eq!(error.kind(), ErrorKind::Launch);

    let mut short = queue.upload(&[1.0f32; 9])?;
    let error = saxpy(&kernel, 1.0, &x, &mut short, 10).launch(16);
    assert_eq!(
        error.unwrap_err().to_string(),
        "kernel saxpy: argument 2 (y) breaks the contract `y.len() >= n`: y.len() is 9, n is 10"
    );
    // Nothing ran, and the kernel is as good as before.
    assert_eq!(queue.download(&y)?, [1.0; 16]);
    saxpy(&kernel, 1.0, &x, &mut y, 10).launch(10)?;
    assert_eq!(queue.download(&y)?[9..11], [2.0, 1.0]);
    Ok(())
}

#[test]
fn a_contract_about_the_range_blames_the_launch() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    fn contract(given: &LaunchView<'_>) -> Result<(), Broken> {
        let items = given.range().items();
        if given.holds(items / 0 == 0) {
            return Ok(());
        }
        Err(given.broken("range.items() / 0 == 0", None, &[("range.items()", &items)]))
    }
    let kernel = common::kernel(&queue, VECTOR_OPS, "_Z19__sycl_kernel_scaleIiEvPT_S0_");
    let mut data = queue.upload(&[1i32; 8])?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    let launch = Launch::new(&kernel, &["data", "factor"], args);
    // SAFETY: this contract never holds.
    let launched = unsafe { SafeLaunch::with_contract(launch, contract) }.launch(8);
    let message = launched.unwrap_err().to_string();
    assert!(
        message.ends_with(
            ": the launch breaks the contract `range.items() / 0 == 0`: range.items() is 8; \
             the condition overflows or divides by zero"
        ),
        "{message}"
    );
    assert_eq!(queue.download(&data)?, [1; 8]);
    Ok(())
}

#[test]
fn a_contract_sees_only_what_was_checked() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = queue.upload(&[1.0f32])?;
    let mut y = queue.upload(&[1.0f32])?;
    // None of these contracts would hold.
    let mut refused = |range: AnyRange| {
        let launched = saxpy(&kernel, 1.0, &x, &mut y, 2).launch(range);
        launched.unwrap_err().to_string()
    };
    assert!(refused(0.into()).contains("is empty"));
    assert!(refused(NdRange::new(64).local(48).into()).contains("does not divide"));
    assert!(refused((1usize << 31).into()).contains("work-items"));
    assert!(refused(1.into()).contains("contract"));
    let missing = common::kernel(&queue, VECTOR_OPS, "sxapy");
    let message = saxpy(&missing, 1.0, &x, &mut y, 2).launch(1).unwrap_err();
    assert!(
        message.kind() == ErrorKind::NotFound && message.to_string().contains("no kernel"),
        "{message}"
    );
    Ok(())
}

/// `d0 * 10000 + d1 * 100 + d2` for each work-item, in work-groups of 2 x 4 x 8.
fn coords<'a>(kernel: &'a Result<Kernel>, out: &'a mut Buffer<i32>) -> SafeLaunch<'a, 1, Range<3>> {
    fn contract(given: &LaunchView<'_>) -> Result<(), Broken> {
        let (items, out) = (given.range().items(), given.memory(0, 4).len());
        if given.holds(items <= out) {
            return Ok(());
        }
        let values: [(_, &dyn Display); 2] = [("range.items()", &items), ("out.len()", &out)];
        Err(given.broken("range.items() <= out.len()", Some(0), &values))
    }
    let launch = Launch::new(kernel, &["out"], [Arg::write(out)]);
    // SAFETY: the kernel writes one element for each work-item.
    unsafe { SafeLaunch::with_contract(launch.with_range(), contract) }
}

#[test]
fn fixed_work_group_takes_a_global_range() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, WORK_GROUP, "coords");
    let mut out = queue.zeroed::<i32>(128)?;
    coords(&kernel, &mut out).launch([2, 4, 16])?;
    let result = queue.download(&out)?;
    assert_eq!(result[..3], [0, 1, 2]);
    assert_eq!(result[127], 10315);
    // The range itself works as well, and more than there is room for does not.
    coords(&kernel, &mut out).launch(Range::from([2, 4, 8]))?;
    let message = coords(&kernel, &mut out).launch([2, 8, 16]).unwrap_err();
    assert_eq!(
        message.to_string(),
        "kernel coords: argument 0 (out) breaks the contract `range.items() <= out.len()`: \
         range.items() is 256, out.len() is 128"
    );
    let message = coords(&kernel, &mut out).launch([1, 4, 8]).unwrap_err();
    assert!(message.to_string().contains("does not divide"), "{message}");
    Ok(())
}

#[test]
fn one_dimension_may_be_given_as_a_number() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, WORK_GROUP, "block_sum");
    let input = queue.upload(&[1i32; 128])?;
    let mut out = queue.zeroed::<i32>(2)?;
    let args = [Arg::read(&input), Arg::write(&mut out), Arg::local(256)];
    let launch = Launch::new(&kernel, &["in", "out", "scratch"], args);
    let launch: Launch<'_, 3, Range<1>> = launch.with_range();
    // SAFETY: a number for each work-item and a sum for each group of 64.
    unsafe { launch.launch(input.len())? };
    assert_eq!(queue.download(&out)?, [64, 64]);
    let args = [Arg::read(&input), Arg::write(&mut out), Arg::local(256)];
    let launch = Launch::new(&kernel, &["in", "out", "scratch"], args);
    // SAFETY: as above.
    unsafe { launch.with_range::<Range<1>>().launch(64)? };
    Ok(())
}

#[test]
fn a_launch_with_a_contract_takes_no_offset() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let x = queue.upload(&[1.0f32; 8])?;
    let mut y = queue.zeroed::<f32>(8)?;
    let range = NdRange::new(4).offset(4);
    let refused = saxpy(&kernel, 1.0, &x, &mut y, 8)
        .launch(range)
        .unwrap_err();
    assert!(
        refused
            .to_string()
            .starts_with("kernel saxpy: its contract assumes ids that start at 0"),
        "{refused}"
    );
    assert_eq!(queue.download(&y)?, [0.0; 8]);
    Ok(())
}
