// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asserts in kernels: what passes computes, and what fails ends the process, so that a child has to.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin::verify::{Severity, verify};

use crate::common::{self, spirv_queue};

syclbin_rt::include_syclbin! { mod asserting = "asserting"; }

/// Set in the child that fails.
const CHILD: &str = "SYCLBIN_ASSERT_FAILS";
const TEST: &str = "failing_assert_names_place_and_ends_process";

#[test]
fn an_assert_that_holds_is_not_noticed() {
    let Some(queue) = spirv_queue() else { return };
    let kernels = match asserting::Module::load(&queue) {
        Ok(kernels) => kernels,
        Err(error) => return assert!(says_so(&queue, &error), "{error}"),
    };
    let mut data = queue.upload(&[2, 4, -6, 0]).unwrap();
    // SAFETY: a work-item for each element.
    unsafe { kernels.halve(&mut data).launch(4) }.unwrap();
    assert_eq!(queue.download(&data).unwrap(), [1, 2, -3, 0]);
}

/// Whether it is the refusal of a device that has no asserts.
fn says_so(queue: &syclbin_rt::Queue, error: &syclbin_rt::Error) -> bool {
    let text = error.to_string();
    let has = queue.device().has_extension("cl_intel_devicelib_assert");
    !has && text.contains("it has an `assert`, and the device lacks cl_intel_devicelib_assert")
}

#[test]
fn failing_assert_names_place_and_ends_process() {
    let Some(queue) = spirv_queue() else { return };
    if !queue.device().has_extension("cl_intel_devicelib_assert") {
        common::say_skipped(&format!("{} has no asserts", queue.device()));
        return;
    }
    if std::env::var_os(CHILD).is_some() {
        let kernels = asserting::Module::load(&queue).unwrap();
        let mut data = queue.upload(&[2, 4, 5, 0]).unwrap();
        // SAFETY: a work-item for each element.
        unsafe { kernels.halve(&mut data).launch(4) }.unwrap();
        queue.wait().unwrap();
        return;
    }
    let child = common::child(module_path!(), TEST)
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert!(!child.status.success(), "{said}");
    let source = include_str!("../../kernels/asserting.cpp");
    let is_assert = |line: &str| line.contains("assert(");
    let line = 1 + source.lines().position(is_assert).unwrap();
    for part in [
        &*format!("asserting.cpp:{line}: "),
        "global id: [2,0,0]",
        "`data[i] % 2 == 0` failed",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_file_with_an_assert_is_noted() {
    let findings = verify(asserting::SYCLBIN);
    let found = findings
        .iter()
        .map(|finding| (finding.severity, finding.to_string()));
    let found: Vec<_> = found.collect();
    let noted = |(severity, text): &(Severity, String)| {
        *severity == Severity::Note && text.contains("an `assert` that fails ends the process")
    };
    assert!(found.iter().any(noted), "{found:?}");
    assert!(
        found
            .iter()
            .all(|(severity, _)| *severity == Severity::Note),
        "{found:?}"
    );
}
