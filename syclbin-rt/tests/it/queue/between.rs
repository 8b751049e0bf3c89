// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between devices of different drivers, parts of devices, and queues of one device.

use syclbin_rt::{Device, Partition, Queue, Result, trace};

use crate::common;

/// More than a chunk, and not a multiple of one.
const LEN: usize = (9 << 18) + 5;

/// The devices of this machine, and two parts of the first that can be divided.
fn queues() -> Result<Vec<Queue>> {
    let mut devices = Device::all()?;
    let parts = devices.iter().find_map(|device| {
        let units = device.compute_units() / 2;
        (units > 0).then(|| device.partition(Partition::Counts(&[units, units])).ok())?
    });
    devices.extend(parts.into_iter().flatten());
    devices.iter().map(Device::queue).collect()
}

fn numbers(seed: u64) -> Vec<u64> {
    (0..LEN as u64)
        .map(|i| i.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ seed)
        .collect()
}

#[test]
fn every_pair_of_devices_copies() -> Result<()> {
    if common::queue().is_none() {
        return Ok(());
    }
    let queues = queues()?;
    eprintln!("{} devices and parts", queues.len());
    for (seed, first) in queues.iter().enumerate() {
        let data = numbers(seed as u64);
        let from = first.upload(&data)?;
        for second in &queues {
            let mut to = second.zeroed::<u64>(LEN + 2)?;
            first.copy_to(&from, second, &mut to.slice_mut(1..=LEN)?)?;
            let copy = second.download(&to)?;
            let pair = format!("{first:?} to {second:?}");
            assert!(copy[1..=LEN] == data, "{pair}");
            assert_eq!([copy[0], copy[LEN + 1]], [0, 0], "{pair}");
        }
    }
    Ok(())
}

#[test]
fn sixteen_threads_copy_both_ways() -> Result<()> {
    if common::queue().is_none() {
        return Ok(());
    }
    let queues = queues()?;
    std::thread::scope(|scope| {
        let copies = (0..16).map(|thread| {
            let (first, second) = (
                &queues[thread % queues.len()],
                &queues[(thread / 2) % queues.len()],
            );
            scope.spawn(move || -> Result<bool> {
                let data = numbers(thread as u64);
                let from = first.upload(&data)?;
                let mut there = second.zeroed(LEN)?;
                let mut back = first.zeroed(LEN)?;
                first.copy_to(&from, second, &mut there)?;
                second.copy_to(&there, first, &mut back)?;
                Ok(first.download(&back)? == data)
            })
        });
        for copy in copies.collect::<Vec<_>>() {
            assert!(copy.join().expect("no panic")?);
        }
        Ok(())
    })
}

#[test]
fn copy_waits_for_both_queues() -> Result<()> {
    if common::queue().is_none() {
        return Ok(());
    }
    let queues = queues()?;
    let (first, second) = (&queues[0], &queues[queues.len() - 1]);
    for round in 0..20u32 {
        let mut from = first.zeroed::<u32>(1000)?;
        let mut to = second.zeroed::<u32>(1000)?;
        drop(first.fill(&mut from, round)?);
        drop(second.fill(&mut to, 99)?);
        first.copy_to(&from, second, &mut to)?;
        assert_eq!(second.download(&to)?, [round; 1000]);
    }
    Ok(())
}

#[test]
fn lengths_and_devices_of_copies_are_checked() -> Result<()> {
    if common::queue().is_none() {
        return Ok(());
    }
    let queues = queues()?;
    let (first, second) = (&queues[0], &queues[queues.len() - 1]);
    let from = first.upload(&[1, 2, 3])?;
    let mut to = second.zeroed::<i32>(2)?;
    let error = first
        .copy_to(&from, second, &mut to)
        .unwrap_err()
        .to_string();
    assert!(error.contains('3') && error.contains('2'), "{error}");
    let empty = first.zeroed::<i32>(0)?;
    first.copy_to(&empty, second, &mut second.zeroed(0)?)?;
    if first.device() == second.device() {
        common::say_skipped("the rest: a second device");
        return Ok(());
    }
    let mut to = second.zeroed::<i32>(3)?;
    let error = second.copy_to(&from, second, &mut to).unwrap_err();
    assert!(
        error.kind() == syclbin_rt::ErrorKind::InvalidArgument
            && error.to_string().contains("the buffer is on"),
        "{error}"
    );
    Ok(())
}

/// Set for the child.
const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";

#[test]
fn two_gpus_copy_without_the_host() {
    let Some(queue) = common::queue().filter(|_| common::on_cuda()) else {
        return common::say_skipped("not a CUDA device");
    };
    let mut child = common::child(module_path!(), "a_child_copies_between_gpus");
    if queue.device().name().starts_with("Simulated") {
        child.env("SYCLBIN_SIMULATED_CUDA", "devices=2");
    }
    let output = child.env(CHILD, "1").output();
    let output = output.expect("the test program starts");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
}

#[test]
fn a_child_copies_between_gpus() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the test above
    }
    let mut gpus = Device::all()?;
    gpus.retain(Device::takes_ptx);
    let [first, second, ..] = &gpus[..] else {
        common::say_skipped("a second GPU");
        return Ok(());
    };
    let (first, second) = (first.queue()?, second.queue()?);
    let path = std::env::temp_dir().join(format!("syclbin-rt-peers-{}", std::process::id()));
    let recorded = trace::start(&path);
    let from = first.upload(&[1, 2, 3])?;
    let mut to = second.zeroed::<i32>(3)?;
    first.copy_to(&from, &second, &mut to)?;
    assert_eq!(second.download(&to)?, [1, 2, 3]);
    // There is nothing to copy.
    first.copy_to(&first.zeroed::<i32>(0)?, &second, &mut second.zeroed(0)?)?;
    recorded.finish()?;
    let text = std::fs::read_to_string(&path).expect("the trace");
    std::fs::remove_file(&path).expect("it was there");
    let copies = text.matches("\"copying between devices\"").count();
    assert_eq!(copies, 1, "{text}");
    Ok(())
}
