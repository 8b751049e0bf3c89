// SPDX-License-Identifier: MIT OR Apache-2.0
//! A program that does all that the runtime can, over the library that fails on request.
//!
//! It is started by `tests/`, which choose the library by the environment:
//!
//! - `exercise calls`: how often each function is called when nothing fails;
//! - `exercise fail FUNCTION...`: fails calls of each in all ways, one at a time, in one process;
//! - `exercise vanish [PLACE...]`: the device is gone from one call on, for calls all over the
//!   program, or the ones that are told;
//! - `exercise memory`: the device is out of memory;
//! - `exercise drop`: nothing waits for the queue when memory with an address goes;
//! - `exercise divide`: a device is divided, and each call of that fails once;
//! - `exercise lazily`: modules are built when they are first used, and arguments set when they change, which the calls show;
//! - `exercise oversized`: sizes that some drivers take without an error are refused before a call;
//! - `exercise short`: a part of `fail`, `vanish` and `memory`, for drivers that are slow to compile;
//! - `exercise devices`: looks for devices, where the environment says what fails.
//!
//! It ends with 0 when all was as promised.
#![allow(unsafe_code, reason = "loading code and launching kernels are unsafe")]

mod absorbed;
#[path = "../../../../../syclbin-rt/tests/common/answer.rs"]
mod answer;
mod lazily;
mod ledger;
mod oversized;
mod steps;
mod without_memory;

use std::process::ExitCode;

use faults::{Control, Report};
use syclbin_rt::{Device, DeviceArray, Partition};

use ledger::{Expected, Ledger};

const GONE: i32 = -2; // CL_DEVICE_NOT_AVAILABLE
const NULL: i32 = -30; // CL_INVALID_VALUE, which stands for null

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let library = std::env::var_os("OPENCL_DYLIB_PATH").unwrap_or_default();
    let control = match Control::load(&library) {
        Ok(control) => control,
        Err(error) => return ended(vec![format!("OPENCL_DYLIB_PATH: {error}")]),
    };
    ended(match words[..] {
        ["calls"] => calls(&control),
        ["fail", ref functions @ ..] => fail(&control, functions),
        ["vanish", ref places @ ..] => vanish(&control, places),
        ["memory"] => memory(&control),
        ["drop"] => kept(&control),
        ["divide"] => divide(&control),
        ["lazily"] => match device() {
            Ok(device) => lazily::all(&control, &device),
            Err(wrong) => wrong,
        },
        ["oversized"] => oversized::all(&control),
        ["short"] => short(&control),
        ["devices"] => devices(&control),
        _ => {
            vec![
                "usage: exercise calls | fail FUNCTION... | vanish [PLACE...] | memory | drop | divide | lazily | oversized | short | devices"
                    .to_owned(),
            ]
        }
    })
}

fn ended(wrong: Vec<String>) -> ExitCode {
    for line in &wrong {
        eprintln!("wrong: {line}");
    }
    if wrong.is_empty() {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Prints one line for the process that started this.
fn say(line: &str) {
    use std::io::Write as _;
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The device of the library.
fn device() -> Result<Device, Vec<String>> {
    let library = std::env::var("OPENCL_DYLIB_PATH").unwrap_or_default();
    let devices = Device::all().map_err(|error| vec![error.to_string()])?;
    let found = devices
        .into_iter()
        .find(|device| device.library() == library);
    found.ok_or_else(|| vec!["the library has no device".to_owned()])
}

/// All steps, where `plan` fails; and how often each function was called.
///
/// Nothing is in the cache of programs where that matters: compiling takes most of the time.
fn pass(
    control: &Control,
    device: &Device,
    plan: Option<&str>,
    expected: Expected,
) -> (Report, Vec<String>) {
    let compiles = match expected {
        Expected::Nothing | Expected::Onward { .. } => true,
        Expected::Once { call, .. } => call.contains("Program"),
    };
    if let Some(cache) = std::env::var_os("SYCLBIN_CACHE").filter(|_| compiles) {
        let _ = std::fs::remove_dir_all(cache);
    }
    let ledger = Ledger::new(control, expected);
    match plan {
        Some(plan) => control.arm(plan).expect("a plan"),
        None => control.disarm(),
    }
    steps::all(&ledger, device);
    let (report, wrong) = ledger.close();
    control.disarm();
    let plan = plan.unwrap_or("nothing fails");
    let wrong = wrong.into_iter().map(|wrong| format!("{plan}: {wrong}"));
    (report, wrong.collect())
}

fn clean(control: &Control, device: &Device) -> (Report, Vec<String>) {
    pass(control, device, None, Expected::Nothing)
}

fn calls(control: &Control) -> Vec<String> {
    let device = match device() {
        Ok(device) => device,
        Err(wrong) => return wrong,
    };
    let found = control.report();
    let (report, wrong) = clean(control, &device);
    for (name, count) in &found.calls {
        say(&format!("found {name} {count}"));
    }
    for (name, count) in &report.calls {
        say(&format!("calls {name} {count}"));
    }
    wrong
}

fn fail(control: &Control, functions: &[&str]) -> Vec<String> {
    let device = match device() {
        Ok(device) => device,
        Err(wrong) => return wrong,
    };
    let (report, mut wrong) = clean(control, &device);
    for function in functions {
        match faults::names().find(|name| name == function) {
            Some(function) => {
                let last = report.calls.get(function).copied().unwrap_or_default();
                wrong.extend(fail_calls(control, &device, function, last));
            }
            None => wrong.push(format!("{function} is no function of the library")),
        }
    }
    wrong.extend(clean(control, &device).1);
    wrong
}

/// Fails the first, the second and the last call of `function`, in each way there is.
fn fail_calls(
    control: &Control,
    device: &Device,
    function: &'static str,
    last: u64,
) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut calls = vec![1, 2, last];
    calls.retain(|nth| (1..=last).contains(nth));
    calls.dedup();
    let ways: &[(&str, i32)] = if function.starts_with("clEnqueue") {
        &[("-6", -6), ("null", NULL), ("later -5", -5)]
    } else if faults::gives_handle(function) {
        &[("-6", -6), ("null", NULL)]
    } else {
        &[("-6", -6)]
    };
    for (way, code) in ways {
        let calls: Vec<u64> = match (function, *way) {
            // A kernel may fail anywhere, and others wait for it.
            ("clEnqueueNDRangeKernel", "later -5") => (1..=last).collect(),
            (_, "-6") => calls.clone(),
            // The second one is seldom of another kind than the first.
            _ => calls.iter().copied().filter(|nth| *nth != 2).collect(),
        };
        for mut nth in calls {
            let expected = Expected::Once {
                call: function,
                code: *code,
            };
            let mut failed = 0;
            for _ in 0..5 {
                let plan = format!("{function} {nth} {way}");
                say(&plan);
                let (report, found) = pass(control, device, Some(&plan), expected);
                wrong.extend(found);
                failed = report.failed;
                if failed > 0 {
                    break;
                }
                // A command may end before it is polled, so a pass may make fewer calls.
                let count = report.calls.get(function).copied().unwrap_or_default();
                nth = count.clamp(1, nth);
            }
            if failed == 0 {
                wrong.push(format!("{function} {nth} {way}: there was no such call"));
            }
        }
    }
    wrong
}

/// Fails the calls of every launch and copy, and some others.
fn short(control: &Control) -> Vec<String> {
    if std::env::var_os(faults::DRIVER_VARIABLE).is_none() {
        eprintln!("skipped: {} names no driver", faults::DRIVER_VARIABLE);
        return Vec::new();
    }
    let mut wrong = memory(control);
    wrong.extend(vanish(control, &["20", "60", "120"]));
    wrong.extend(fail(control, &SHORT));
    wrong
}

const SHORT: [&str; 6] = [
    "clCreateBuffer",
    "clCreateKernel",
    "clEnqueueNDRangeKernel",
    "clEnqueueReadBuffer",
    "clSetKernelArg",
    "clWaitForEvents",
];

/// In how many places of the program the device vanishes.
const PLACES: u64 = 20;

fn vanish(control: &Control, places: &[&str]) -> Vec<String> {
    let device = match device() {
        Ok(device) => device,
        Err(wrong) => return wrong,
    };
    let (report, mut wrong) = clean(control, &device);
    let mut places: Vec<u64> = places
        .iter()
        .filter_map(|place| place.parse().ok())
        .collect();
    if places.is_empty() {
        places = (0..PLACES)
            .map(|place| 1 + report.all * place / PLACES)
            .collect();
    }
    for place in places {
        let plan = format!("* {place}+ {GONE}");
        say(&plan);
        let expected = Expected::Onward { code: GONE };
        wrong.extend(pass(control, &device, Some(&plan), expected).1);
    }
    wrong.extend(clean(control, &device).1);
    wrong
}

fn memory(control: &Control) -> Vec<String> {
    let device = match device() {
        Ok(device) => device,
        Err(wrong) => return wrong,
    };
    let ledger = Ledger::new(control, Expected::Nothing);
    control.disarm();
    without_memory::all(&ledger, control, &device);
    let (_, mut wrong) = ledger.close();
    wrong.extend(clean(control, &device).1);
    wrong
}

/// Memory that kernels find by its address is not freed where nothing could wait for them.
fn kept(control: &Control) -> Vec<String> {
    let made = device().and_then(|device| {
        let made = device.queue().and_then(|queue| {
            let array = DeviceArray::<u8>::zeroed(&queue, 1000)?;
            Ok((queue, array))
        });
        made.map_err(|error| vec![error.to_string()])
    });
    // The queue lives on: a kernel in it may use the memory.
    let (_queue, array) = match made {
        Ok(made) => made,
        Err(wrong) => return wrong,
    };
    control.arm("clFinish 1+ -6").expect("a plan");
    drop(array);
    let report = control.report();
    match (report.failed, report.live.get("UsmAllocation")) {
        (1.., Some(1)) => Vec::new(),
        other => vec![format!("failed and live: {other:?}")],
    }
}

/// A device is divided, once a process: its parts are kept. Each call that fails before is told, and
/// leaves no part behind.
fn divide(control: &Control) -> Vec<String> {
    let device = match device() {
        Ok(device) => device,
        Err(wrong) => return wrong,
    };
    if device.compute_units() < 2 {
        say("the device has one compute unit and cannot be divided");
        return Vec::new();
    }
    let parts = || device.partition(Partition::Equally(1));
    let mut wrong = Vec::new();
    // The facts of the last part are asked for when there are others.
    for plan in [
        "clCreateSubDevices 1 -6",
        "clCreateSubDevices 2 -6",
        "clCreateSubDevices 2 null",
        "clGetDeviceInfo 1+ -6",
    ] {
        control.arm(plan).expect("a plan");
        let divided = parts();
        let report = control.report();
        control.disarm();
        let call = plan.split(' ').next().unwrap_or_default();
        match divided {
            Err(error) if error.to_string().contains(call) => {}
            other => wrong.push(format!("{plan}: {other:?}")),
        }
        let left = report.live.get("Device").copied().unwrap_or_default();
        if report.failed == 0 || left > 0 {
            wrong.push(format!(
                "{plan}: failed {}, {left} parts left",
                report.failed
            ));
        }
    }
    let used = parts().and_then(|parts| {
        let queue = parts[0].queue()?;
        queue.download(&queue.upload(&[1u8, 2])?)
    });
    if !matches!(used.as_deref(), Ok([1, 2])) {
        wrong.push(format!("a part afterwards: {used:?}"));
    }
    wrong
}

/// The environment has a call fail before there is any device.
fn devices(control: &Control) -> Vec<String> {
    let library = std::env::var("OPENCL_DYLIB_PATH").unwrap_or_default();
    let mut wrong = Vec::new();
    let found = Device::all();
    let report = control.report();
    if report.failed == 0 {
        wrong.push("there was no such call".to_owned());
    }
    let plan = std::env::var(faults::FAULT_VARIABLE).unwrap_or_default();
    let call = plan.split(' ').next().unwrap_or_default();
    match found {
        Ok(devices) if devices.iter().any(|device| device.library() == library) => {
            if absorbed::reason(call, "look for devices").is_none() {
                wrong.push(format!("a failed {call} went unnoticed"));
            }
        }
        Ok(_) => say("other devices were found"),
        Err(error) => {
            let message = error.to_string();
            let named = message.contains(&format!("{call} failed with CL_OUT_OF_HOST_MEMORY"));
            if !named {
                wrong.push(format!("the error does not name {call}: {message}"));
            }
        }
    }
    control.disarm();
    if let Err(still) = device() {
        wrong.extend(still);
    }
    wrong
}
