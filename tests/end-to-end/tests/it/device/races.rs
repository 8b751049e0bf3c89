// SPDX-License-Identifier: MIT OR Apache-2.0
//! With `SYCLBIN_GUARD=races`, launches report results that depend on the order of work-groups, and only those.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::{DeviceArray, DeviceKind, Event, NdRange, Queue, Result};

use crate::common;

syclbin_rt::include_syclbin! { mod races = "races"; }

/// Set only in the child process.
const CHILD: &str = "SYCLBIN_TEST_RACES";
const N: usize = 1024;
const ITEMS: u32 = 1024;

#[test]
fn order_of_work_groups_is_checked() {
    let Some(queue) = common::queue() else { return };
    let device = queue.device();
    if device.kind() != DeviceKind::Cpu || !device.platform().starts_with("Intel") {
        return common::say_skipped("the device cannot guard buffers");
    }
    for child in ["races_are_reported", "correct_kernels_are_silent"] {
        let mut child = common::child(module_path!(), child);
        let output = child.env(CHILD, "1").env("SYCLBIN_GUARD", "races").output();
        let output = output.unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        let errors = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{text}{errors}");
        assert!(text.contains("1 passed"), "{text}");
        assert!(!errors.contains("does not check"), "{errors}");
    }
}

fn child() -> Option<(Queue, races::Module)> {
    std::env::var_os(CHILD)?;
    let queue = common::queue()?;
    let kernels = races::Module::load(&queue).unwrap();
    Some((queue, kernels))
}

fn assert_reported(launched: Result<Event>, argument: &str) {
    let problem = launched.unwrap_err().to_string();
    let start = ": writes a value that depends on work-group order to element ";
    assert!(
        problem.contains(start) && problem.ends_with(argument),
        "{problem}"
    );
}

#[test]
fn races_are_reported() {
    let Some((queue, kernels)) = child() else {
        return;
    };
    let numbers: Vec<i32> = (0..1024).collect();
    for _ in 0..5 {
        let mut x = queue.upload(&numbers).unwrap();
        // SAFETY: the kernel stays inside its buffers. The race affects only their values.
        let launched = unsafe { kernels.shift(&mut x, ITEMS).launch(N) };
        assert_reported(launched, " of argument 0 (x)");
        // The results are those of one run.
        let x = queue.download(&x).unwrap();
        assert!(x[..N - 1].iter().zip(&numbers).all(|(x, old)| x > old));

        let bins: Vec<i32> = numbers.iter().map(|i| i % 7).collect();
        let (bins, mut last) = (queue.upload(&bins).unwrap(), queue.zeroed(7).unwrap());
        // SAFETY: as above.
        let launched = unsafe { kernels.last_wins(&bins, &mut last).launch(N) };
        assert_reported(launched, " of argument 1 (bins)");
    }
}

#[test]
fn correct_kernels_are_silent() -> Result<()> {
    let Some((queue, kernels)) = child() else {
        return Ok(());
    };
    let numbers: Vec<i32> = (0..1024).collect();
    let bins: Vec<i32> = numbers.iter().map(|i| i % 7).collect();
    let (bins, mut counts) = (queue.upload(&bins)?, queue.zeroed::<u32>(7)?);
    let mut x = queue.upload(&numbers)?;
    let mut out = queue.zeroed::<u32>(N)?;
    // SAFETY: all kernels stay inside their buffers.
    unsafe {
        kernels.tally(&bins, &mut counts).launch(N)?;
        kernels.turn(&mut x).launch(N)?;
        kernels.ids1(&mut out).launch(N)?;
        kernels
            .ids1(&mut out)
            .launch(NdRange::new(N).local(32).offset(5))?;
        kernels.ids1(&mut out).launch(1009)?;
        kernels
            .ids2(&mut out)
            .launch(NdRange::new([16, 64]).local([2, 8]))?;
        kernels
            .ids2(&mut out)
            .launch(NdRange::new([16, 64]).local([2, 8]).offset([3, 4]))?;
        kernels
            .ids3(&mut out)
            .launch(NdRange::new([4, 8, 32]).local([2, 1, 4]))?;
        kernels
            .ids3(&mut out)
            .launch(NdRange::new([4, 8, 32]).local([2, 1, 4]).offset([1, 2, 3]))?;
        kernels.ids3(&mut out).launch([7, 11, 13])?;
    }
    let mut values = DeviceArray::upload(&queue, &numbers)?;
    let mut others = DeviceArray::upload(&queue, &numbers)?;
    let column = |values: &mut DeviceArray<i32>, scale| races::Column {
        values: values.pointer(),
        scale,
    };
    let other = queue.upload(&[column(&mut others, 5)])?;
    // SAFETY: all pointers refer to as many elements as the range has.
    unsafe { kernels.scale(column(&mut values, 3), &other).launch(N)? };
    assert_eq!(queue.download(&values)?[..2], [0, 3]);
    assert_eq!(queue.download(&others)?[..2], [0, 5]);
    assert_eq!(queue.download(&counts)?[..2], [147, 147]);
    assert_eq!(queue.download(&x)?[..2], [15, 14]);
    assert!(queue.download(&out)?.iter().all(|ids| *ids != 0));
    Ok(())
}
