// SPDX-License-Identifier: MIT OR Apache-2.0
//! Nothing on the way of a launch to the driver takes memory of Rust's.
//!
//! In a binary of its own: the allocator counts for the whole process.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

#[allow(dead_code, reason = "each program uses its part of this")]
mod common;

use peak_alloc::PeakAlloc;
use syclbin_rt::__private::{Broken, LaunchView};
use syclbin_rt::{
    AccessorRange, Arg, DeviceArray, Launch, LocalMemory, NdRange, Queue, Result, SafeLaunch,
};

syclbin_rt::include_syclbin! {
    /// A kernel for each number of arguments.
    mod arguments = "benches/kernels/arguments.syclbin";
}

#[global_allocator]
static MEMORY: PeakAlloc = PeakAlloc;

/// The most bytes that `work` had at once.
fn peak<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = MEMORY.current_usage();
    MEMORY.reset_peak_usage();
    let result = work();
    (MEMORY.peak_usage().saturating_sub(before), result)
}

fn contract(given: &LaunchView<'_>) -> Result<(), Broken> {
    let bits = given.number::<u32>(3, 0);
    let needed = given.accessor(1, 4).size(0) + bits - bits;
    if given.holds(given.memory(2, 4).len() >= needed) {
        return Ok(());
    }
    Err(given.broken("out.len() >= in.size(0) + k - k", Some(2), &[]))
}

// One test: others in this process would count as well.
#[test]
fn fully_checked_launch_does_not_allocate() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "functor.object.syclbin", "_ZTS5Triad");
    let input = queue.upload(&[1.0f32; 128])?;
    let mut out = queue.zeroed::<f32>(128)?;
    let names = &["tile", "in", "out", "k"];
    let range = NdRange::new(64).local(32);
    for _ in 0..3 {
        let args = [
            Arg::local_accessor::<f32>(32),
            Arg::read_accessor(&input, 128),
            Arg::write_accessor(&mut out, AccessorRange::new(128).part(0, 128)),
            Arg::scalar(1.0f32),
        ];
        // SAFETY: 64 work-items stay inside both buffers, and the tile has room for a work-group.
        let launch = || unsafe { Launch::new(&kernel, names, args).launch(range) };
        let (taken, launched) = peak(launch);
        launched?;
        assert_eq!(taken, 0, "a launch");

        let args = [
            Arg::local_accessor::<f32>(32),
            Arg::read_accessor(&input, 128),
            Arg::write_accessor(&mut out, 128),
            Arg::scalar(1.0f32),
        ];
        let launch = Launch::new(&kernel, names, args);
        // SAFETY: as above.
        let launch = unsafe { SafeLaunch::with_contract(launch, contract) };
        let (taken, launched) = peak(|| launch.launch(range));
        launched?;
        assert_eq!(taken, 0, "a launch with a contract");
    }
    let event = queue.barrier(&[])?;
    let eight = [&event; 8];
    let args = [
        Arg::local_accessor::<f32>(32),
        Arg::read_accessor(&input, 128),
        Arg::write_accessor(&mut out, 128),
        Arg::scalar(1.0f32),
    ];
    // SAFETY: as above.
    let launch = || unsafe {
        Launch::new(&kernel, names, args)
            .after(&eight)
            .launch(range)
    };
    let (taken, launched) = peak(launch);
    launched?;
    assert_eq!(taken, 0, "a launch that waits for eight events");
    let (taken, barrier) = peak(|| queue.barrier(&eight));
    barrier?;
    assert_eq!(taken, 0, "a barrier");
    let kernel = common::kernel(&queue, "work_group.object.syclbin", "block_sum");
    let input = queue.upload(&[1i32; 64])?;
    let mut out = queue.zeroed::<i32>(1)?;
    let (taken, launched) = peak(|| {
        let scratch = LocalMemory::<i32>::of(64).into();
        let args = [Arg::read(&input), Arg::write(&mut out), scratch];
        // SAFETY: a number for each of the 64 work-items, and a sum.
        unsafe { Launch::new(&kernel, &["in", "out", "scratch"], args).launch(64) }
    });
    launched?;
    assert_eq!(taken, 0, "a launch whose work-group is the kernel's");
    if common::on_cuda() {
        common::say_skipped("stubs, slices and what is prepared: their kernels are SPIR-V");
    } else {
        stubs(&queue)?;
        slices(&queue)?;
        prepared(&queue)?;
        replayed(&queue)?;
    }
    // The way to measure sees an allocation.
    let (taken, message) = peak(|| format!("{:?}", queue.download(&out)));
    assert_eq!(message, "Ok([64])");
    assert!(taken >= 8, "{taken}");
    Ok(())
}

/// Stubs of 0 to 10 arguments, as users call them. The first launch of each builds its kernel.
fn stubs(queue: &Queue) -> Result<()> {
    let kernels = arguments::Module::load(queue)?;
    let mut out = queue.zeroed::<i32>(1)?;
    let [a, b, c] = [queue.zeroed::<i32>(1)?, queue.zeroed(1)?, queue.zeroed(1)?];
    let (a, b, c) = (&a, &b, &c);
    macro_rules! takes_nothing {
        ($($count:literal: $kernel:ident($($argument:expr),*);)*) => {
            $(
                // SAFETY: each kernel uses one element of each buffer.
                unsafe { kernels.$kernel($($argument),*).launch(1)? };
                // SAFETY: as above.
                let launch = || unsafe { kernels.$kernel($($argument),*).launch(1).map(drop) };
                let (taken, launched) = peak(launch);
                launched?;
                assert_eq!(taken, 0, "a stub of {} arguments", $count);
            )*
        };
    }
    takes_nothing! {
        0: take_0();
        1: take_1(&mut out);
        2: take_2(&mut out, 1);
        3: take_3(&mut out, a, 1);
        4: take_4(&mut out, a, 1, 2.0);
        5: take_5(&mut out, a, b, 1, 2.0);
        6: take_6(&mut out, a, b, 1, 2.0, 3);
        7: take_7(&mut out, a, b, 1, 2.0, 3, 4.0);
        8: take_8(&mut out, a, b, c, 1, 2.0, 3, 4.0);
        9: take_9(&mut out, a, b, c, 1, 2.0, 3, 4.0, 5);
        10: take_10(&mut out, a, b, c, 1, 2.0, 3, 4.0, 5, 6.0);
    }
    assert_eq!(queue.download(&out)?, [21]);
    Ok(())
}

/// Parts of memory. The driver has an object for a part of a buffer, and a kernel keeps the list that
/// those are in from the first launch with one on.
fn slices(queue: &Queue) -> Result<()> {
    let kernels = arguments::Module::load(queue)?;
    let mut out = queue.zeroed::<i32>(4)?;
    let a = queue.upload(&[5, 6, 7])?;
    for first in [true, false, false] {
        let (taken, launched) = peak(|| {
            let (a, mut out) = (a.slice(..2)?, out.slice_mut(..1)?);
            // SAFETY: the kernel uses one element of each.
            unsafe { kernels.take_3(&mut out, &a, 1).launch(1) }
        });
        launched?;
        assert!(
            first || taken == 0,
            "a launch with slices of buffers: {taken} bytes"
        );
    }
    let (Ok(mut out), Ok(a)) = (
        DeviceArray::<i32>::zeroed(queue, 4),
        DeviceArray::upload(queue, &[5, 6, 7]),
    ) else {
        common::say_skipped("slices of arrays: the device has none");
        return Ok(());
    };
    for _ in 0..2 {
        let (taken, launched) = peak(|| {
            let (a, mut out) = (a.slice(1..)?, out.slice_mut(2..)?);
            // SAFETY: the kernel uses one element of each.
            unsafe { kernels.take_3(&mut out, &a, 1).launch(1) }
        });
        launched?;
        assert_eq!(taken, 0, "a launch with slices of arrays");
    }
    Ok(())
}

fn prepared(queue: &Queue) -> Result<()> {
    let kernels = arguments::Module::load(queue)?;
    let mut out = queue.zeroed::<i32>(1)?;
    let prepared = kernels.take_2(&mut out, 1).prepare(1)?;
    let event = queue.barrier(&[])?;
    for _ in 0..2 {
        // SAFETY: the kernel uses one element.
        let (taken, launched) = peak(|| unsafe { prepared.launch() });
        launched?;
        assert_eq!(taken, 0, "a prepared launch");
        let after = [&event; 8];
        // SAFETY: as above.
        let (taken, launched) = peak(|| unsafe { prepared.launch_after(&after) });
        launched?;
        assert_eq!(taken, 0, "a prepared launch that waits for eight events");
    }
    Ok(())
}

/// Launches, copies and fills.
fn replayed(queue: &Queue) -> Result<()> {
    let kernels = arguments::Module::load(queue)?;
    let mut out = queue.zeroed::<i32>(1)?;
    let mut copy = queue.zeroed::<i32>(1)?;
    let event = queue.barrier(&[])?;
    let mut recorder = queue.record();
    for _ in 0..3 {
        // SAFETY: the kernel uses one element.
        unsafe { kernels.take_2(&mut out, 1).record(&mut recorder, 1)? };
    }
    recorder.copy(&out, &mut copy)?;
    recorder.fill(&mut out, 0)?;
    let recording = recorder.finish()?;
    for _ in 0..2 {
        let (taken, replayed) = peak(|| recording.replay());
        replayed?;
        assert_eq!(taken, 0, "a replay");
        let after = [&event; 8];
        let (taken, replayed) = peak(|| recording.replay_after(&after));
        replayed?;
        assert_eq!(taken, 0, "a replay that waits for eight events");
    }
    Ok(())
}
