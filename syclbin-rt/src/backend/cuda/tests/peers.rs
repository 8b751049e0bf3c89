// SPDX-License-Identifier: MIT OR Apache-2.0
//! Copies between devices, which the simulated driver has two of if it is told so.

use super::failures::{in_simulation, is_simulation};
use super::*;

/// A queue of each device.
fn two_queues() -> crate::Result<[crate::Queue; 2]> {
    let queue = |selector| crate::Device::select(selector)?.queue();
    Ok([queue("cuda:gpu:0")?, queue("cuda:gpu:1")?])
}

#[test]
fn driver_copies_between_devices_in_simulation() {
    in_simulation(module_path!(), "a_child_copies_to_a_peer", FAILING_COPY);
}

const FAILING_COPY: &str =
    "devices=2,fail=cuCtxEnablePeerAccess:1:999,fail=cuMemcpyPeerAsync:2:999";

#[test]
fn a_child_copies_to_a_peer() -> crate::Result<()> {
    if !is_simulation(FAILING_COPY) {
        return Ok(()); // only the child process runs the test
    }
    let [first, second] = two_queues()?;
    let from = first.upload(&counted(1))?;
    let mut to = second.zeroed::<u32>(LEN)?;
    // The driver refuses to let the devices access each other's memory, and copies all the same.
    first.copy_to(&from, &second, &mut to)?;
    assert_eq!(second.download(&to)?, counted(1));
    let error = first.copy_to(&from, &second, &mut to);
    let message = error.expect_err("the driver fails").to_string();
    assert!(
        message.starts_with("cuMemcpyPeerAsync failed with CUDA_ERROR_UNKNOWN"),
        "{message}"
    );
    Ok(())
}

#[test]
fn peer_access_is_requested_in_simulation() {
    in_simulation(module_path!(), "a_child_loses_its_device", FATAL_PEER);
}

const FATAL_PEER: &str = "devices=2,fail=cuCtxEnablePeerAccess:1:719";

#[test]
fn a_child_loses_its_device() -> crate::Result<()> {
    if !is_simulation(FATAL_PEER) {
        return Ok(()); // only the child process runs the test
    }
    let [first, second] = two_queues()?;
    let from = first.upload(&counted(1))?;
    let mut to = second.zeroed::<u32>(LEN)?;
    let error = first.copy_to(&from, &second, &mut to);
    let message = error.expect_err("the driver fails").to_string();
    assert!(
        message.starts_with("cuCtxEnablePeerAccess failed with CUDA_ERROR_LAUNCH_FAILED"),
        "{message}"
    );
    Ok(())
}

#[test]
fn impossible_peer_access_is_not_requested_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_copies_without_access",
        FATAL_ACCESS,
    );
}

const FATAL_ACCESS: &str = "fail=cuCtxEnablePeerAccess:1:719";

// A device is not its own peer.
#[test]
fn a_child_copies_without_access() -> Tested {
    if !is_simulation(FATAL_ACCESS) {
        return Ok(()); // only the child process runs the test
    }
    let device = device().expect("the simulated device");
    let queue = device.shared_context()?.new_queue(QueueOptions::new())?;
    let other = device.separate_context()?.new_queue(QueueOptions::new())?;
    let bytes = [1, 2, 3, 4, 5];
    let from = region(queue.upload(&bytes)?, 1, 3);
    let to = region(other.zeroed(None, 5)?, 2, 3);
    assert!(queue.has_peer(&from, &to));
    queue.copy_to_peer(&from, &other, &to)?;
    let mut copy = [9; 5];
    other.read(&to.memory, 0, &mut copy)?;
    assert_eq!(copy, [0, 0, 2, 3, 4]);
    Ok(())
}

#[test]
fn buffers_of_devices_need_no_pool_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_has_buffers_on_two_devices",
        FAILING_POOL,
    );
}

const FAILING_POOL: &str = "devices=2,fail=cuMemAllocAsync:1:999";

// Another device cannot access the memory of a pool.
#[test]
fn a_child_has_buffers_on_two_devices() -> crate::Result<()> {
    if !is_simulation(FAILING_POOL) {
        return Ok(()); // only the child process runs the test
    }
    for queue in two_queues()? {
        let buffer = queue.upload(&counted(1))?;
        assert_eq!(queue.download(&buffer)?, counted(1));
    }
    Ok(())
}
