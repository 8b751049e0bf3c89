// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches whose work-groups wait for each other.
#![allow(unsafe_code, reason = "launching kernels is unsafe")]
#![allow(clippy::panic, reason = "a test may")]

use syclbin_rt::{Arg, Buffer, ErrorKind, Kernel, Launch, NdRange, Queue, Result};

use crate::common;

/// Set in the child process of a test.
const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";
const SIZE: usize = 64;

fn kernel(queue: &Queue) -> Result<Kernel> {
    common::kernel(queue, "made/root_group.syclbin", "mirrored")
}

struct Numbers {
    squares: Buffer<i32>,
    sums: Buffer<i32>,
}

impl Numbers {
    fn new(queue: &Queue, groups: usize) -> Result<Self> {
        Ok(Self {
            squares: queue.zeroed(groups * SIZE)?,
            sums: queue.zeroed(groups * SIZE)?,
        })
    }

    fn launch<'a>(&'a mut self, kernel: &'a Kernel) -> Launch<'a, 2> {
        kernel.launch([Arg::write(&mut self.squares), Arg::write(&mut self.sums)])
    }

    /// Checks what a launch computed, and clears it.
    fn check(&mut self, queue: &Queue) -> Result<()> {
        let squares = queue.download(&self.squares)?;
        let sums = queue.download(&self.sums)?;
        let ids = 0..sums.len();
        let expected = ids.clone().zip(ids.rev()).map(|(i, j)| i * i + j * j);
        assert!(sums.iter().map(|sum| *sum as usize).eq(expected));
        queue.write(&mut self.squares, &vec![0; squares.len()])?;
        queue.write(&mut self.sums, &vec![0; sums.len()])
    }
}

fn range(groups: usize) -> NdRange<1> {
    NdRange::new(groups * SIZE).local(SIZE)
}

#[test]
fn work_groups_wait_for_each_other() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = kernel(&queue)?;
    if crate::intel_gpus::is_intel_gpu(queue.device()) {
        let mut numbers = Numbers::new(&queue, 1)?;
        // SAFETY: both buffers have an element for each work-item.
        let refused = unsafe { numbers.launch(&kernel).root_sync().launch(range(1)) };
        let message = refused.unwrap_err().to_string();
        assert!(message.contains("CL_INVALID_KERNEL"), "{message}");
        common::say_skipped("the rest: Intel's GPU driver needs another call for such kernels");
        return Ok(());
    }
    let max = kernel.max_root_groups(SIZE, 0)?;
    assert_eq!(max > 1, common::on_cuda(), "{max}");
    // The last number is a grid that fills the device.
    for groups in [1, 2.min(max), 7.min(max), max] {
        let mut numbers = Numbers::new(&queue, groups)?;
        // SAFETY: here and below, both buffers have an element for each work-item.
        unsafe { numbers.launch(&kernel).root_sync().launch(range(groups))? };
        numbers.check(&queue)?;

        let prepared = { numbers.launch(&kernel).root_sync() }.prepare(range(groups))?;
        for _ in 0..2 {
            // SAFETY: as above.
            unsafe { prepared.launch()? };
        }
        drop(prepared);
        numbers.check(&queue)?;

        let mut recorder = queue.record();
        let launch = numbers.launch(&kernel).root_sync();
        // SAFETY: as above.
        unsafe { launch.record(&mut recorder, range(groups))? };
        let recording = recorder.finish()?;
        recording.replay()?;
        recording.replay()?.wait()?;
        drop(recording);
        numbers.check(&queue)?;
    }
    if common::on_cuda() {
        let mut numbers = Numbers::new(&queue, 2)?;
        // The work-group size may be left to the runtime.
        // SAFETY: as above.
        unsafe { numbers.launch(&kernel).root_sync().launch(2 * SIZE)? };
        numbers.check(&queue)?;
    }
    Ok(())
}

#[test]
fn too_many_waiting_groups_are_refused() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = kernel(&queue)?;
    let groups = kernel.max_root_groups(SIZE, 0)? + 1;
    let mut numbers = Numbers::new(&queue, groups)?;
    let expected = format!(
        "kernel mirrored: `root_sync` requires that all {groups} work-groups of [64] run at the same time, but {} can \
         run at most {} of them; launch at most {1}, and let each work-item process several elements (only CUDA \
         devices can run more than 1)",
        queue.device(),
        groups - 1
    );
    let mut recorder = queue.record();
    // SAFETY: nothing is launched.
    let answers = unsafe {
        [
            { numbers.launch(&kernel).root_sync() }
                .launch(range(groups))
                .map(drop),
            { numbers.launch(&kernel).root_sync() }
                .prepare(range(groups))
                .map(drop),
            { numbers.launch(&kernel).root_sync() }.record(&mut recorder, range(groups)),
        ]
    };
    for answer in answers {
        let error = answer.unwrap_err();
        assert_eq!(
            (error.kind(), error.to_string()),
            (ErrorKind::Launch, expected.clone())
        );
    }
    let mut prepared = { numbers.launch(&kernel).root_sync() }.prepare(range(1))?;
    let mut others = Numbers::new(&queue, groups)?;
    let changed = prepared.change(others.launch(&kernel).root_sync(), range(groups));
    assert_eq!(changed.unwrap_err().to_string(), expected);
    Ok(())
}

#[test]
fn number_of_waiting_groups_depends_on_their_size() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = kernel(&queue)?;
    let largest = queue.device().max_work_group_size();
    let message = kernel
        .max_root_groups(largest + 1, 0)
        .unwrap_err()
        .to_string();
    assert!(message.contains("allows at most"), "{message}");
    if !common::on_cuda() {
        common::say_skipped(
            "the rest: this device cannot run several work-groups at the same time",
        );
        return Ok(());
    }
    let small = kernel.max_root_groups(32, 0)?;
    let large = kernel.max_root_groups(1024, 0)?;
    assert!(small > large && large > 0, "{small} {large}");
    // More than a kernel may use without opting in.
    let memory = kernel.max_root_groups(32, 60 << 10)?;
    assert!(small > memory && memory > 0, "{small} {memory}");
    Ok(())
}

#[test]
fn barrier_without_root_sync_ends_the_kernel() {
    if !common::on_cuda() {
        return common::say_skipped("not a CUDA device");
    }
    let mut child = common::child(module_path!(), "a_child_uses_barrier_without_root_sync");
    let output = child
        .env(CHILD, "1")
        .output()
        .expect("the test program starts");
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn a_child_uses_barrier_without_root_sync() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // runs only in the child process of the test above
    }
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = kernel(&queue)?;
    let mut numbers = Numbers::new(&queue, 2)?;
    // SAFETY: as above, except that the barrier is to fail.
    let event = unsafe { numbers.launch(&kernel).launch(range(2))? };
    let message = event.wait().unwrap_err().to_string();
    assert!(
        message.starts_with("cuLaunchKernel failed with CUDA_ERROR_")
            && message.contains("while running kernel mirrored")
            && message.ends_with("restart the program"),
        "{message}"
    );
    Ok(())
}
