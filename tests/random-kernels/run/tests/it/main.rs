// SPDX-License-Identifier: MIT OR Apache-2.0
//! Calls random kernels by their stubs. `cargo xtask signatures` runs this with other seeds.

#![allow(clippy::panic, reason = "tests fail so")]

mod comparison;
mod differential;
mod signatures;
mod validity;

use random_kernels_run::Report;
use syclbin_rt::{Device, Queue};

/// A queue, or `None` without a device; with SYCLBIN_REQUIRE_DEVICE=1 that is a failure.
fn queue() -> Option<Queue> {
    match Device::best().and_then(|device| device.queue()) {
        Ok(queue) => Some(queue),
        Err(error) if std::env::var("SYCLBIN_REQUIRE_DEVICE").as_deref() == Ok("1") => {
            panic!("SYCLBIN_REQUIRE_DEVICE=1, and {error}")
        }
        Err(error) => {
            eprintln!("skipped: {error}");
            None
        }
    }
}

/// Runs kernels that access memory outside of a buffer, and fails if the guard misses one.
fn find_strays(kernels: fn(&Queue, &mut Report)) {
    assert!(
        std::env::var_os("SYCLBIN_GUARD").is_some(),
        "set SYCLBIN_GUARD"
    );
    let Some(queue) = queue() else { return };
    let mut report = Report::default();
    kernels(&queue, &mut report);
    let is_found =
        |failure: &&String| failure.contains(" byte ") && failure.contains(" of argument ");
    let found = report.failures().iter().filter(is_found).count();
    for failure in report
        .failures()
        .iter()
        .filter(|failure| !is_found(failure))
    {
        eprintln!("{failure}");
    }
    assert!(report.ran() > 0, "no kernel ran");
    assert_eq!(found, report.ran(), "found {found} of {}", report.ran());
    assert_eq!(found, report.failures().len(), "others failed; see above");
    eprintln!(
        "passed: {found} of {} kernels on {}",
        report.ran(),
        queue.device()
    );
}

/// Runs kernels. Fails if a kernel fails, or if none runs and `is_empty` is false.
fn run(kernels: fn(&Queue, &mut Report), is_empty: bool) {
    let Some(queue) = queue() else { return };
    let mut report = Report::default();
    kernels(&queue, &mut report);
    for failure in report.failures() {
        eprintln!("{failure}");
    }
    assert!(
        report.failures().is_empty(),
        "{} failed",
        report.failures().len()
    );
    assert!(is_empty || report.ran() > 0, "no kernel ran");
    eprintln!("passed: {} kernels on {}", report.ran(), queue.device());
}
