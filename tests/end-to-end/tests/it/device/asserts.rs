// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asserts in kernels: what passes computes, and what fails is an error at the next wait. A native assert ends the
//! process, so that a child has to.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::{Aspect, Error, NdRange, Queue};
use syclbin_tools::verify::{Severity, verify};

use crate::common::{self, queue, spirv_queue};

syclbin_rt::include_syclbin! { mod asserting = "asserting"; }
syclbin_rt::include_syclbin! { mod asserting_native = "asserting_native"; }

/// Returns the line of the assert in `asserting.cpp`.
fn line() -> usize {
    let source = include_str!("../../kernels/asserting.cpp");
    1 + source
        .lines()
        .position(|line| line.contains("assert("))
        .unwrap()
}

#[test]
fn failed_assert_is_an_error_with_its_place() {
    let Some(queue) = queue() else { return };
    let kernels = asserting::Module::load(&queue).unwrap();
    let mut data = queue.upload(&[2, 4, -6, 0]).unwrap();
    // SAFETY: a work-item for each element.
    unsafe { kernels.halve(&mut data).launch(4) }.unwrap();
    queue.wait().unwrap();
    assert_eq!(queue.download(&data).unwrap(), [1, 2, -3, 0]);
    // SAFETY: as above.
    unsafe { kernels.halve(&mut data).launch(2) }.unwrap();
    let text = queue.wait().unwrap_err().to_string();
    let place = format!(
        "asserting.cpp:{}: assert `data[i] % 2 == 0` failed in `void halve(int *)`, work-item [0, 0, 0]",
        line()
    );
    assert!(text.contains(&place), "{text}");
}

#[test]
fn several_sources_of_a_build_have_asserts() {
    let Some(queue) = queue() else { return };
    let kernels = asserting::Module::load(&queue).unwrap();
    let mut data = queue.upload(&[1, 2, 3, 4, 5, 6, 100, 8]).unwrap();
    // SAFETY: a work-item for each element.
    unsafe {
        kernels
            .Framework(&mut data)
            .launch(NdRange::new([2, 4]).local([1, 4]))
    }
    .unwrap();
    let text = queue.wait().unwrap_err().to_string();
    let place = "framework.h:77: assert `value < T(100)` failed in `checked`, work-item [2, 1, 0]";
    assert!(text.starts_with(place), "{text}");
    // SAFETY: as above.
    unsafe { kernels.plain(&mut data).launch(8) }.unwrap();
    assert_eq!(queue.download(&data).unwrap()[6], 102);
    let negative = queue.upload(&[1, -1]).unwrap();
    // SAFETY: as above.
    unsafe { kernels.positive(&negative).launch(2) }.unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(
        text.contains("assert `value > 0 && \"positive\"` failed"),
        "{text}"
    );
}

#[test]
fn asserts_in_two_images_are_reported() {
    let Some(queue) = queue() else { return };
    let kernels = asserting::Module::load(&queue).unwrap();
    let mut x = queue.upload(&[99.0f32, 100.0]).unwrap();
    // SAFETY: a work-item for each element.
    unsafe { kernels.OfFloats(&mut x).launch(2) }.unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("assert `x[i] < 100` failed"), "{text}");
    if common::lacks(&queue, Aspect::FP64) {
        return;
    }
    let mut y = queue.upload(&[199.0f64, 200.0]).unwrap();
    // SAFETY: as above.
    unsafe { kernels.OfDoubles(&mut y).launch(2) }.unwrap();
    let text = queue.wait().unwrap_err().to_string();
    assert!(text.contains("assert `y[i] < 200` failed"), "{text}");
}

/// Set in the child that fails.
const CHILD: &str = "SYCLBIN_ASSERT_FAILS";
const TEST: &str = "failing_native_assert_names_place_and_ends_process";

/// Whether it is the refusal of a device that has no asserts.
fn says_so(queue: &Queue, error: &Error) -> bool {
    let text = error.to_string();
    let has = queue.device().has_extension("cl_intel_devicelib_assert");
    !has && text.contains("the device lacks cl_intel_devicelib_assert")
}

#[test]
fn failing_native_assert_names_place_and_ends_process() {
    let Some(queue) = spirv_queue() else { return };
    let kernels = match asserting_native::Module::load(&queue) {
        Ok(kernels) => kernels,
        Err(error) => return assert!(says_so(&queue, &error), "{error}"),
    };
    if std::env::var_os(CHILD).is_some() {
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
    for part in [
        &*format!("asserting.cpp:{}: ", line()),
        "global id: [2,0,0]",
        "`data[i] % 2 == 0` failed",
    ] {
        assert!(said.contains(part), "{part}: {said}");
    }
}

#[test]
fn a_file_with_a_native_assert_is_noted() {
    let findings = verify(asserting_native::SYCLBIN);
    let found = findings
        .iter()
        .map(|finding| (finding.severity, finding.to_string()));
    let found: Vec<_> = found.collect();
    let noted = |(severity, text): &(Severity, String)| {
        *severity == Severity::Note && text.contains("a failed `assert` terminates the process")
    };
    assert!(found.iter().any(noted), "{found:?}");
    assert!(
        found
            .iter()
            .all(|(severity, _)| *severity == Severity::Note),
        "{found:?}"
    );
    let findings = verify(asserting::SYCLBIN);
    let texts: Vec<_> = findings.iter().map(ToString::to_string).collect();
    assert!(
        !texts.iter().any(|text| text.contains("assert")),
        "{texts:?}"
    );
}
