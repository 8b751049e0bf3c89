// SPDX-License-Identifier: MIT OR Apache-2.0
//! `doctor FILE`, with the driver of the device that a program would get.

use std::io::Write as _;
use std::process::Output;

use serde_json::{Value, json};

use super::{command, complaint, run, run_with, schema, stderr, stdout};

fn requires_device() -> bool {
    std::env::var_os("SYCLBIN_REQUIRE_DEVICE").is_some_and(|value| value == "1")
}

/// The report of a run; `None` without a device.
fn report(output: &Output) -> Option<Value> {
    assert_eq!(stderr(output), "");
    let report = schema::check("doctor", &stdout(output));
    let code = i32::from(report["passed"] == json!(false));
    assert_eq!(output.status.code(), Some(code));
    if report["device"].is_null() && !requires_device() {
        let _ = writeln!(std::io::stderr(), "skipped: {}", report["problem"]); // not kept back
        return None;
    }
    Some(report)
}

fn count(report: &Value, key: &str) -> u64 {
    report[key].as_u64().unwrap()
}

#[test]
fn driver_reports_each_kernel() {
    let name = "vector_ops.object.syclbin";
    let Some(report) = report(&run(&["doctor", name, "--format", "json"])) else {
        return;
    };
    assert_eq!(report["problem"], Value::Null);
    if count(&report, "usable_kernels") == 3 {
        // scale<double> is in a module of its own.
        let _ = writeln!(std::io::stderr(), "skipped a part: fp64"); // not kept back
        return;
    }
    assert_eq!(report["passed"], json!(true));
    assert_eq!(count(&report, "usable_kernels"), 4);
    let kernel = &report["modules"][0]["kernels"][0];
    assert_eq!(kernel["name"], json!("saxpy"));
    let images = report["modules"][0]["images"].as_array().unwrap();
    let chosen: Vec<_> = images
        .iter()
        .filter(|image| image["chosen"] == json!(true))
        .collect();
    assert_eq!(chosen.len(), 1, "{images:?}");
    let verdict = chosen[0]["verdict"].as_str().unwrap();
    assert!(verdict.starts_with("chosen: "), "{verdict}");
    assert!(count(&kernel["answers"], "max_work_group_size") >= 1);
    assert!(count(&kernel["answers"], "preferred_work_group_size_multiple") >= 1);
    let text = stdout(&run(&["doctor", name]));
    assert!(text.contains("kernel      work-group  multiple"), "{text}");
    assert!(
        text.ends_with(": good, 4 of 4 kernels can be used\n"),
        "{text}"
    );
}

#[test]
fn doctor_reports_cache_trial_and_device() {
    let cache = tempfile::tempdir().unwrap();
    let doctor = |variable: &str, value: &std::path::Path| {
        let output = command(&["doctor"]).env(variable, value).output();
        stdout(&output.unwrap())
    };
    let text = doctor("SYCLBIN_CACHE", "off".as_ref());
    assert!(text.contains("\n     cache        none\n"), "{text}");
    let unknown = doctor("SYCLBIN_DEVICE", "no such device".as_ref());
    assert!(unknown.contains("no such device"), "{unknown}");
    assert!(!unknown.contains(" (chosen: "), "{unknown}");
    let pip = doctor("SYCLBIN_PIP", "no-such-pip".as_ref());
    assert!(pip.contains("`SYCLBIN_PIP=no-such-pip`: "), "{pip}");
    let text = doctor("SYCLBIN_CACHE", cache.path());
    let expected = format!("     cache        {}/kernels (", cache.path().display());
    assert!(text.contains(&expected), "{text}");
    if !text.ends_with("\nkernels can be compiled and run here\n") {
        assert!(!requires_device(), "{text}");
        let _ = writeln!(std::io::stderr(), "skipped a part: {text}"); // not kept back
        return;
    }
    let lines: Vec<&str> = text.lines().collect();
    let of = |start: &str| lines.iter().filter(|line| line.starts_with(start)).count();
    assert_eq!(of("  ok trial        compiled a kernel in "), 1, "{text}");
    let ran = "  ok trial        ran a kernel that was compiled here on ";
    assert_eq!(of(ran), 1, "{text}");
    let mut chosen = lines.iter().filter(|line| line.contains(" (chosen: "));
    let device = chosen.next().unwrap().strip_prefix("  ok device       ");
    let (_, device) = device.unwrap().split_once(": ").unwrap();
    let (name, _) = device.split_once(" (").unwrap();
    assert!(text.contains(&format!("{ran}{name} (")), "{text}");
    assert_eq!(chosen.next(), None, "{text}");
}

/// Returns a file whose first module was changed at its first instruction with `opcode`: `change` gets its words.
fn with_changed(opcode: u32, change: impl FnOnce(&mut [u8])) -> Vec<u8> {
    let bytes = test_files::read("vector_ops.object.syclbin");
    let mut file = syclbin::read::parse(&bytes).unwrap();
    let code = file.modules[0].images[0].bytes.to_mut();
    let mut at = 20;
    loop {
        let value = u32::from_le_bytes(code[at..at + 4].try_into().unwrap());
        if value & 0xffff == opcode {
            change(&mut code[at..]);
            break;
        }
        at += (value >> 16) as usize * 4;
    }
    syclbin::write::to_vec(&file, syclbin::Container::default()).unwrap()
}

/// Returns a file whose first module has an instruction that does not exist. Intel's CPU driver (2026.2) ends the
/// process on it.
fn with_unknown_instruction() -> Vec<u8> {
    const ADD: u32 = 129;
    const UNKNOWN: u16 = 4999;
    with_changed(ADD, |words| {
        words[..2].copy_from_slice(&UNKNOWN.to_le_bytes());
    })
}

#[test]
fn other_kernels_of_a_rejected_module_are_usable() {
    const EXTENDED: u32 = 12;
    // `saxpy` calls an OpenCL extended instruction; 60000 is not a valid instruction number.
    let file = with_changed(EXTENDED, |words| {
        words[16..20].copy_from_slice(&60_000u32.to_le_bytes());
    });
    let Some(report) = report(&run_with(&["doctor", "-", "--format", "json"], &file)) else {
        return;
    };
    assert_eq!(report["passed"], json!(false));
    let kernels = report["modules"][0]["kernels"].as_array().unwrap();
    let (refused, usable): (Vec<_>, Vec<_>) = kernels
        .iter()
        .partition(|kernel| kernel["reason"].is_string());
    assert_eq!((refused.len(), usable.len()), (1, 2), "{report}");
    assert_eq!(refused[0]["name"], json!("saxpy"));
}

#[test]
fn crashing_driver_is_an_ordinary_error() {
    let output = run_with(
        &["doctor", "-", "--format", "json"],
        &with_unknown_instruction(),
    );
    let Some(report) = report(&output) else {
        return;
    };
    assert_eq!(report["passed"], json!(false));
    assert_ne!(report["modules"][0]["outcome"], json!("usable"));
    assert!(report["modules"][0]["reason"].is_string());
    assert_eq!(
        report["modules"][1]["index"],
        json!(1),
        "the trial goes on behind the crash"
    );
}

#[test]
fn unresolved_import_is_refused_with_reason() {
    let name = "import_side.object.syclbin";
    let Some(report) = report(&run(&["doctor", name, "--format", "json"])) else {
        return;
    };
    assert_eq!(report["passed"], json!(false));
    assert_eq!(count(&report, "kernels"), 1);
    let reason = report["modules"][0]["reason"].as_str().unwrap();
    assert!(reason.starts_with("module 0 "), "{reason}");
}

#[test]
fn unknown_device_is_named() {
    let name = "vector_ops.object.syclbin";
    let output = run(&["doctor", name, "--device", "no such device"]);
    assert_eq!(output.status.code(), Some(1));
    let text = stdout(&output);
    assert!(text.contains("no such device"), "{text}");
}

#[test]
fn damaged_file_reaches_no_driver() {
    let output = run_with(&["doctor", "-"], b"SYBI");
    assert_eq!(output.status.code(), Some(1));
    let text = stderr(&output);
    assert!(text.contains("not a SYCLBIN file"), "{text}");
    assert!(complaint(&["doctor", "no-such-file"]).contains("no-such-file"));
}
