//! What the runtime does when the driver fails: at each call, for want of memory, and for good.
//!
//! Children do it, as the library is chosen for a whole process. They end with an error where a
//! failure goes unnoticed or does not name the call, where something does not work afterwards, and
//! where an object is left; and here where they die or hang.

use std::sync::Mutex;

use crate::child;
use crate::sources;

/// Functions that the runtime names and the steps of `exercise` never call, and why.
const UNCALLED: [(&str, &str); 4] = [
    (
        "clCreateSubDevices",
        "`exercise divide` does, as parts are kept as long as the process runs",
    ),
    ("clReleaseDevice", "as above"),
    (
        "clCreateUserEvent",
        "tests of the runtime alone make such events",
    ),
    ("clSetUserEventStatus", "as above"),
];

/// Functions that are failed in one child. More would take longer to find the one that kills it,
/// fewer would start the driver more often.
const IN_ONE_CHILD: usize = 6;

#[test]
fn each_entry_point_may_fail_once_and_all_works_afterwards() {
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
fn a_search_for_devices_survives_each_failure_and_names_it() {
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
fn a_device_that_vanishes_is_an_error_wherever_it_does() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["vanish"], "");
}

#[test]
fn a_division_of_a_device_that_fails_is_told_and_leaves_no_part() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["divide"], "");
}

#[test]
fn without_memory_on_the_device_the_queue_still_works() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["memory"], "");
}

#[test]
fn memory_that_may_be_in_use_is_not_freed() {
    let Some(driver) = child::driver() else {
        return;
    };
    child::run(&driver, &["drop"], "");
}
