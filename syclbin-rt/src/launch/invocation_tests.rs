// SPDX-License-Identifier: MIT OR Apache-2.0
#![allow(unsafe_code, reason = "passing arguments is unsafe")]

use super::*;
use crate::format::Rgba;
use crate::memory::image::Sampler;
use crate::{Addressing, ErrorKind, Filtering, Image, NdRange, Partition, common};

fn invocation<'l>(kernel: &'l Kernel, args: &'l [Arg<'l>]) -> Invocation<'l> {
    Invocation {
        kernel,
        names: &["data"],
        args,
        after: &[],
        root_sync: false,
        contract: None,
    }
}

/// Rejects all arguments, like a driver that runs out of memory.
struct Rejecting;

impl<'a> Arguments<'a> for Rejecting {
    unsafe fn set(&mut self, _: usize, _: Argument<'a>) -> Result<(), Failure> {
        Err(Failure::opencl("clSetKernelArg", -5))
    }
}

#[test]
fn rejected_argument_is_named() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS6AddOne")?;
    let mut data = queue.zeroed::<i32>(1)?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    let call = invocation(&kernel, &args);
    // SAFETY: nothing is passed to a driver.
    let error = unsafe { call.give(&mut Rejecting) }.unwrap_err();
    let (code, device) = (
        "clSetKernelArg failed with CL_OUT_OF_RESOURCES (-5)",
        queue.device(),
    );
    assert_eq!(
        error.to_string(),
        format!("{code} while setting argument 0 (data) of kernel AddOne on {device}")
    );
    // The constants of a kernel follow its arguments.
    let failure = Failure::opencl("clSetKernelArg", -5);
    assert_eq!(
        call.refused(2, Argument::Null, failure).to_string(),
        format!(
            "{code} while setting argument 2 (specialization constants) of kernel AddOne on {device}"
        )
    );
    Ok(())
}

#[test]
fn work_group_memory_of_arguments_adds_up() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "work_group.object.syclbin", "block_sum")?;
    let input = queue.zeroed::<i32>(64)?;
    let mut out = queue.zeroed::<i32>(1)?;
    let args = [Arg::read(&input), Arg::write(&mut out), Arg::local(256)];
    assert_eq!(invocation(&kernel, &args).check()?, 256);
    Ok(())
}

#[test]
fn only_several_groups_need_a_cooperative_launch() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS6AddOne")?;
    let empty = kernel.max_root_groups(0, 0).unwrap_err().to_string();
    assert!(empty.contains("the work-group [0] is empty"), "{empty}");
    let max = kernel.max_root_groups(32, 0)?;
    let mut data = queue.zeroed::<i32>(64)?;
    let args = [Arg::write(&mut data), Arg::scalar(3i32)];
    let call = Invocation {
        root_sync: true,
        ..invocation(&kernel, &args)
    };
    for groups in 1..=max.min(2) {
        let mut range: AnyRange = NdRange::new(groups * 32).local(32).into();
        call.divide(&mut range)?;
        assert_eq!(range.root_sync, groups > 1);
    }
    Ok(())
}

#[test]
fn objects_of_another_context_are_foreign() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let part = match queue.device().partition(Partition::Equally(1)) {
        Err(error) if error.kind() == ErrorKind::InvalidArgument => {
            common::say_skipped(&error.to_string());
            return Ok(());
        }
        parts => parts?[0].queue()?,
    };
    let refusals = |value: Argument<'_>| {
        [&queue, &part].map(|queue| {
            // SAFETY: the value is only compared.
            unsafe { CheckOnly(queue.raw(), 0).set(0, value) }.is_err()
        })
    };
    let memory = queue.zeroed::<f32>(1)?;
    assert_eq!(
        refusals(Argument::Memory(memory.region(), true)),
        [false, true]
    );
    assert_eq!(refusals(Argument::Bytes(&[1])), [false; 2]);
    if !queue.device().facts().images {
        common::say_skipped("the rest: the device does not support images");
        return Ok(());
    }
    let image = Image::<1, Rgba<f32>>::zeroed(&queue, [1])?;
    assert_eq!(refusals(Argument::Image(&image.raw, true)), [false, true]);
    let sampler = Sampler::new(&queue, Addressing::ClampToEdge, Filtering::Nearest, false)?;
    assert_eq!(refusals(Argument::Sampler(&sampler.0)), [false, true]);
    Ok(())
}
