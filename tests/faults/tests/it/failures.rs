// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the runtime does when the driver fails: at each call, for want of memory, and for good.
//!
//! Children do it, as the library is chosen for a whole process. They end with an error where a
//! failure goes unnoticed or does not name the call, where something does not work afterwards, and
//! where an object is left. A test here fails where they die or hang.

use std::sync::Mutex;

use crate::child;
use crate::sources;

/// Functions that the runtime names and the steps of `exercise` never call, and why.
const UNCALLED: [(&str, &str); 6] = [
    (
        "clCreateSubDevices",
        "`exercise divide` does, as parts are kept as long as the process runs",
    ),
    ("clReleaseDevice", "as above"),
    (
        "clRetainContext",
        "tests of the runtime take over the context of another library",
    ),
    (
        "clCreateUserEvent",
        "tests of the runtime alone make such events",
    ),
    ("clSetUserEventStatus", "as above"),
    (
        "clCreateCommandQueueWithProperties",
        "Intel's CPU driver has no queue priorities",
    ),
];

/// Functions that are failed in one child. More would take longer to find the one that kills it,
/// fewer would start the driver more often.
const IN_ONE_CHILD: usize = 6;

#[test]
fn everything_works_after_each_single_failure() {
    let Some(driver) = child::driver() else {
        return;
    };
    let (found, calls) = child::calls(&driver);
    for name in sources::named_by_the_runtime() {
        assert!(
            found
                .iter()
                .chain(&calls)
                .any(|(called, _)| *called == name)
                || UNCALLED.iter().any(|(uncalled, _)| *uncalled == name),
            "no step of `exercise` calls {name}"
        );
    }
    let names: Vec<&str> = calls.iter().map(|(name, _)| name.as_str()).collect();
    let chunks = Mutex::new(names.chunks(IN_ONE_CHILD));
    let workers = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..workers.min(4) {
            scope.spawn(|| {
                loop {
                    let chunk = chunks.lock().expect("the list").next();
                    let Some(chunk) = chunk else {
                        return;
                    };
                    let arguments = [&["fail"], chunk].concat();
                    child::run(&driver, &arguments, "");
                }
            });
        }
    });
}

#[test]
fn device_search_survives_and_names_each_failure() {
    let Some(driver) = child::driver() else {
        return;
    };
    let (found, _) = child::calls(&driver);
    assert!(found.iter().any(|(name, _)| name == "clGetDeviceInfo"));
    for (name, count) in found {
        for nth in std::collections::BTreeSet::from([1, 2.min(count), count]) {
            child::run(&driver, &["devices"], &format!("{name} {nth} -6"));
        }
    }
}

#[test]
fn vanished_device_is_an_error_everywhere() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["vanish"], "");
}

#[test]
fn failed_partition_is_reported_without_leaked_parts() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["divide"], "");
}

#[test]
fn queue_works_after_device_memory_runs_out() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["memory"], "");
}

#[test]
fn memory_possibly_in_use_is_not_freed() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["drop"], "");
}

#[test]
fn modules_are_built_once_at_their_first_use() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["lazily"], "");
}

#[test]
fn oversized_sizes_never_reach_the_driver() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["oversized"], "");
}
