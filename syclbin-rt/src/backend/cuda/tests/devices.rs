// SPDX-License-Identifier: MIT OR Apache-2.0
//! What devices are said to be able to do.

use super::failures::{CHILD, SIMULATION, in_simulation, is_simulation};
use super::*;

#[test]
fn two_gpus_have_no_pools_in_simulation() {
    in_simulation(module_path!(), "a_child_has_two_gpus", TWO_GPUS);
}

const TWO_GPUS: &str = "devices=2";

// By default, a GPU cannot access the memory pool of another.
#[test]
fn a_child_has_two_gpus() -> Tested {
    if !is_simulation(TWO_GPUS) {
        return Ok(()); // only the child process runs the test
    }
    let devices = Library::cuda().expect("the simulation").devices()?;
    assert_eq!(devices.len(), 2);
    for device in devices {
        let queue = device.shared_context()?.new_queue(QueueOptions::new())?;
        assert!(!queue.cuda()?.stream.context.device.has_pool);
    }
    Ok(())
}

/// Returns the aspects of a device whose driver does not know one attribute: the one that it is asked for in this call.
/// Returns nothing if the device is unusable without the attribute.
fn aspects_without(call: u32) -> Vec<String> {
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let name = "backend::cuda::tests::devices::a_child_prints_its_aspects";
    child.args([name, "--exact", "--nocapture"]).env(CHILD, "1");
    child.env(SIMULATION, format!("fail=cuDeviceGetAttribute:{call}:1"));
    let output = child.output().unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}");
    let aspects = said.lines().filter_map(|line| line.strip_prefix("aspect "));
    aspects.map(ToOwned::to_owned).collect()
}

#[test]
fn a_child_prints_its_aspects() -> Tested {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // only the child process runs the test
    }
    let Ok(devices) = Library::cuda().map_or(Ok(Vec::new()), Library::devices) else {
        return Ok(());
    };
    for aspect in devices.iter().flat_map(|device| &device.facts().aspects) {
        eprintln!("aspect {aspect}");
    }
    Ok(())
}

#[test]
fn shared_pointers_need_two_attributes_each() {
    if std::env::var_os(SIMULATION).is_some() {
        return; // this is a child process
    }
    let Some(device) = device() else {
        return;
    };
    if !device.facts().name.starts_with("Simulated") {
        return say_skipped("only the simulated driver hides attributes");
    }
    let has = |aspects: &[String], aspect: Aspect| aspects.contains(&aspect.to_string());
    let known: Vec<_> = (1..=20).map(aspects_without).collect();
    let known: Vec<_> = { known.iter() }
        .filter(|aspects| has(aspects, Aspect::USM_DEVICE_ALLOCATIONS))
        .collect();
    for aspect in [Aspect::USM_SHARED_ALLOCATIONS, Aspect::USM_HOST_ALLOCATIONS] {
        let lacking = known.iter().filter(|aspects| !has(aspects, aspect));
        assert_eq!(lacking.count(), 2, "{aspect}: {known:?}");
    }
    // No simulated device reaches ordinary memory of the host.
    let system = Aspect::USM_SYSTEM_ALLOCATIONS;
    assert!(!known.iter().any(|aspects| has(aspects, system)));
}
