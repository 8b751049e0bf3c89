// SPDX-License-Identifier: MIT OR Apache-2.0
//! Traces and tables of times, as programs and their users ask for them.
#![allow(unsafe_code, reason = "launching without a contract is unsafe")]

use std::process::Stdio;

use serde_json::Value;
use syclbin_rt::{Arg, Launch, Queue, QueueOptions, Result, trace};

use crate::common;

const LEN: usize = 1 << 8;
/// Enough launches that the trace asks the device for times before it ends.
const LAUNCHES: usize = 300;
const IOTA: &str = "_ZN18__sycl_kernel_fill4iotaEfPfi";
/// Set for the child.
const CHILD: &str = "SYCLBIN_RT_TEST_TRACED";

/// Uploads, launches, copies and downloads.
fn work(queue: &Queue) -> Result<()> {
    let kernel = common::kernel(queue, "vector_ops.object.syclbin", IOTA);
    let mut out = queue.upload(&[0.0f32; LEN])?;
    let mut copy = queue.zeroed::<f32>(LEN)?;
    for _ in 0..LAUNCHES {
        let count = i32::try_from(LEN).expect("it is small");
        let args = [
            Arg::scalar(0.0f32),
            Arg::write(&mut out),
            Arg::scalar(count),
        ];
        // SAFETY: it writes as many elements as there are.
        drop(unsafe { Launch::new(&kernel, &["start", "out", "count"], args).launch(LEN) }?);
    }
    drop(queue.copy(&out, &mut copy)?);
    queue.wait()?;
    assert_eq!(queue.download(&copy)?[LEN - 1], 255.0);
    Ok(())
}

/// Returns the events of a trace with `name`.
fn named<'t>(trace: &'t Value, name: &str) -> Vec<&'t Value> {
    let events = trace["traceEvents"].as_array().expect("a list of events");
    let named = events.iter().filter(|event| event["name"] == name);
    named.collect()
}

/// Checks a trace of [`work`]: each command has a time, on the track of one queue.
fn check(trace: &Value) {
    let kernels = named(trace, "fill::iota");
    assert_eq!(kernels.len(), LAUNCHES);
    let first = kernels[0];
    for kernel in &kernels {
        assert_eq!(kernel["ph"], "X", "{kernel}");
        assert_eq!(
            [&kernel["pid"], &kernel["tid"]],
            [&first["pid"], &first["tid"]]
        );
        assert!(kernel["dur"].as_f64().is_some_and(|lasts| lasts >= 0.0));
    }
    // On a busy machine, CPU drivers record the times of a few neighbors in the wrong order.
    let begun = kernels.iter().map(|kernel| kernel["ts"].as_f64());
    let begun: Vec<f64> = begun.collect::<Option<_>>().expect("numbers");
    let in_order = begun.windows(2).filter(|pair| pair[0] <= pair[1]);
    assert!(in_order.count() >= LAUNCHES - LAUNCHES / 20, "{begun:?}");
    assert!(begun[0] < begun[LAUNCHES - 1], "{begun:?}");
    // Times of the device are on the clock of the host, which uploaded first and waited last.
    let call = |name: &str| named(trace, name)[0]["ts"].as_f64().expect("a number");
    let minute = 60e6;
    let possible = call("uploading") - minute..call("waiting for a queue") + minute;
    assert!(possible.contains(&begun[0]), "{possible:?}: {begun:?}");
    let copy = named(trace, "copying a buffer");
    assert_eq!(copy.len(), 1);
    assert_eq!(copy[0]["args"]["bytes"], LEN * 4);
    assert_eq!(copy[0]["pid"], first["pid"]);
    for call in ["uploading", "zeroing", "reading", "waiting for a queue"] {
        let calls = named(trace, call);
        assert_eq!(calls.len(), 1, "{call}");
        assert_eq!(calls[0]["pid"], 0);
    }
    let tracks = named(trace, "process_name");
    let device = tracks.iter().find(|track| track["pid"] == first["pid"]);
    assert!(device.is_some_and(|device| device["args"]["name"] != "host"));
    for track in named(trace, "thread_name") {
        let kind = if track["pid"] == 0 { "thread" } else { "queue" };
        assert_eq!(track["args"]["name"], format!("{kind} {}", track["tid"]));
    }
    assert_eq!(trace["otherData"]["left_out"], 0);
}

fn read(path: &std::path::Path) -> Value {
    let text = std::fs::read_to_string(path).expect("the trace");
    serde_json::from_str(&text).expect("JSON")
}

fn can_profile(queue: &Queue) -> bool {
    let profiling = QueueOptions::new().profiling();
    let can = queue.device().queue_with(profiling).is_ok();
    if !can {
        common::say_skipped("CL_QUEUE_PROFILING_ENABLE");
    }
    can
}

#[test]
fn variables_trace_a_whole_program() {
    let Some(queue) = common::queue() else { return };
    if !can_profile(&queue) {
        return;
    }
    let directory = std::env::temp_dir();
    let name = format!("syclbin-rt-trace-of-{}", std::process::id());
    let child = common::child(module_path!(), "a_child_works")
        .env(CHILD, "1")
        .env("SYCLBIN_STATS", "1")
        .env("SYCLBIN_TRACE", directory.join(format!("{name}.%p.json")))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .expect("this program starts");
    let path = directory.join(format!("{name}.{}.json", child.id()));
    let output = child.wait_with_output().expect("its output");
    let printed = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{printed}");
    check(&read(&path));
    std::fs::remove_file(path).expect("it was there");
    let row = printed.lines().find(|line| line.contains("fill::iota"));
    let row: Vec<&str> = row.expect("a row").split_whitespace().collect();
    assert_eq!(row[1], LAUNCHES.to_string(), "{printed}");
    assert!(printed.contains("copying a buffer"), "{printed}");
}

#[cfg(unix)]
#[test]
fn full_standard_error_does_not_panic() {
    if common::queue().is_none() {
        return;
    }
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full");
    let full = full.expect("a device that is full");
    let output = common::child(module_path!(), "a_child_works")
        .env(CHILD, "panics abort")
        .env("SYCLBIN_STATS", "1")
        .env("SYCLBIN_TRACE", "/no such directory/trace.json")
        .stderr(full)
        .output();
    let output = output.expect("this program starts");
    assert!(output.status.success(), "{}", output.status);
}

/// What the tests above run in a process of its own.
#[test]
fn a_child_works() {
    let Some(task) = std::env::var_os(CHILD) else {
        return; // it is there for the other tests
    };
    let queue = common::queue().expect("the device that the other test found");
    work(&queue).expect("it works");
    if task == "panics abort" {
        // As with `panic = "abort"`. The harness of tests would take the hook away before the process exits.
        std::panic::set_hook(Box::new(|_| std::process::abort()));
        drop(queue);
        std::process::exit(0);
    }
}

#[test]
fn trace_of_a_part_has_only_that_part() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    if !can_profile(&queue) {
        return Ok(());
    }
    let directory = std::env::temp_dir();
    let path = directory.join(format!("syclbin-rt-part-of-{}.json", std::process::id()));
    let trace = trace::start(&path);
    let traced = queue.device().queue()?;
    // Other tests run in this process at the same time, on queues of their own.
    let mut out = traced.zeroed::<f32>(7777)?;
    drop(traced.fill(&mut out, 1.0)?);
    let second = queue.device().queue()?;
    let mut of_second = second.zeroed::<f32>(5555)?;
    drop(second.fill(&mut of_second, 1.0)?);
    second.wait()?;
    traced.wait()?;
    assert_eq!(traced.options(), QueueOptions::new());
    trace.finish()?;
    drop(traced.fill(&mut out, 2.0)?);
    traced.wait()?;
    let trace = read(&path);
    let fills = named(&trace, "filling a buffer");
    let ours = fills
        .iter()
        .filter(|fill| fill["args"]["bytes"] == 7777 * 4);
    let ours: Vec<_> = ours.collect();
    assert_eq!(ours.len(), 1, "{fills:?}");
    assert_eq!(ours[0]["ph"], "X");
    // Each queue has a track of its own.
    let of_second = fills
        .iter()
        .find(|fill| fill["args"]["bytes"] == 5555 * 4)
        .expect("the fill of the second queue");
    assert_eq!(of_second["pid"], ours[0]["pid"]);
    assert_ne!(of_second["tid"], ours[0]["tid"]);
    std::fs::remove_file(path).expect("it was there");
    Ok(())
}
