// SPDX-License-Identifier: MIT OR Apache-2.0
//! With `SYCLBIN_GUARD`, a launch fails if its kernel accesses memory outside of its buffers.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin_rt::{Arg, Device, DeviceArray, ErrorKind, Launch, NdRange, Queue, Result};

use crate::common;

const VECTOR_OPS: &str = "vector_ops.object.syclbin";
const IOTA: &str = "_ZN18__sycl_kernel_fill4iotaEfPfi";
/// Set only in the child process.
const CHILD: &str = "SYCLBIN_RT_TEST_GUARD";
/// The warning about kernels that are not checked for races.
const UNCHECKED: &str = "warning: SYCLBIN_GUARD=races skips some kernels";

/// Runs a test in a child process that guards all buffers, and returns what it writes to stderr.
#[allow(clippy::print_stdout, reason = "the output of the child")]
fn in_guarded_child(test: &str, mode: &str) -> Option<String> {
    common::queue()?;
    let mut child = common::child(module_path!(), test);
    let output = child.env(CHILD, "1").env("SYCLBIN_GUARD", mode).output();
    let output = output.expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("1 passed"), "{text}");
    Some(errors.into_owned())
}

#[test]
fn out_of_bounds_access_is_an_error() {
    if let Some(errors) = in_guarded_child("guarded_child_reports_each_access", "end") {
        assert!(!errors.contains(UNCHECKED), "{errors}");
    }
}

#[test]
fn order_dependent_results_are_an_error() {
    if let Some(errors) = in_guarded_child("racing_child_reports_each_dependence", "races") {
        assert!(!errors.contains(UNCHECKED), "{errors}");
    }
}

#[test]
fn kernels_without_race_checks_are_a_warning() {
    if let Some(errors) = in_guarded_child("racing_child_loads_native_code", "races") {
        let warnings = errors.matches(UNCHECKED).count();
        let is_unable = errors.contains("the device cannot guard buffers");
        assert_eq!(warnings, usize::from(!is_unable), "{errors}");
    }
}

#[test]
fn unknown_guard_mode_is_refused() -> Result<()> {
    if std::env::var_os(CHILD).is_some() {
        let error = Device::best()?.queue().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
        assert!(error.to_string().contains("expected `end`"), "{error}");
        return Ok(());
    }
    if common::queue().is_some() {
        let mut child = common::child(module_path!(), "unknown_guard_mode_is_refused");
        let status = child.env(CHILD, "1").env("SYCLBIN_GUARD", "yes").status();
        assert!(status.expect("this program starts").success());
    }
    Ok(())
}

/// Returns a queue, unless the device cannot guard buffers.
fn guarding_queue() -> Result<Option<Queue>> {
    match Device::best()?.queue() {
        Ok(queue) => Ok(Some(queue)),
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.to_string().contains("SYCLBIN_GUARD"), "{error}");
            common::say_skipped("the device cannot guard buffers");
            Ok(None)
        }
    }
}

#[test]
fn guarded_child_reports_each_access() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // the test above starts it in a child process
    }
    let Some(queue) = guarding_queue()? else {
        return Ok(());
    };
    let (iota, saxpy) = (
        common::kernel(&queue, VECTOR_OPS, IOTA),
        common::kernel(&queue, VECTOR_OPS, "saxpy"),
    );
    let names = &["start", "out", "count"];
    // The processor may report any byte of a vector access.
    let assert_stray = |problem: String, verb: &str, first: usize, end: &str| {
        let (start, rest) = problem.split_once(" byte ").expect(&problem);
        let tells_writes = cfg!(all(target_arch = "x86_64", target_env = "gnu"));
        let verb = if tells_writes { verb } else { "accesses" };
        assert!(start.ends_with(verb), "{problem}");
        let (byte, rest) = rest.split_once(' ').expect(&problem);
        let byte: usize = byte.parse().expect(&problem);
        assert!((first..first + 64).contains(&byte), "{problem}");
        assert!(start.contains("kernel ") && rest == end, "{problem}");
    };

    // A write beyond the end: the count is larger than the buffer.
    let mut out = queue.zeroed::<f32>(99)?;
    let args = [Arg::scalar(1.0f32), Arg::write(&mut out), Arg::scalar(100)];
    // SAFETY: the out-of-bounds access hits a guard page, not other memory.
    let launched = unsafe { Launch::new(&iota, names, args).launch(128) };
    let problem = launched.unwrap_err().to_string();
    assert_stray(
        problem,
        "writes",
        396,
        "of argument 1 (out), which is 396 bytes long",
    );
    // The kernel ran to completion, and the queue still works.
    assert_eq!(queue.download(&out)?[98], 99.0);
    let args = [Arg::scalar(2.0f32), Arg::write(&mut out), Arg::scalar(99)];
    // SAFETY: the kernel writes 99 elements.
    unsafe { Launch::new(&iota, names, args).launch(128)? };
    assert_eq!(queue.download(&out)?[98], 100.0);

    // A write beyond the end of the second of two parts, with offsets that the device can pass.
    let (head, mut tail) = out.split_at_mut(32)?;
    let args = [
        Arg::scalar(0.0f32),
        Arg::read(&head),
        Arg::write(&mut tail),
        Arg::scalar(68u32),
    ];
    // SAFETY: as for the first launch.
    let launched = unsafe { Launch::new(&saxpy, &["a", "x", "y", "n"], args).launch(128) };
    let problem = launched.unwrap_err().to_string();
    assert_stray(
        problem,
        "reads",
        268,
        "of argument 2 (y), which is 268 bytes long",
    );

    // A read beyond the end of one of two buffers.
    let x = queue.upload(&[1.0f32; 10])?;
    let mut y = queue.upload(&[1.0f32; 12])?;
    let args = [
        Arg::scalar(1.0f32),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(12u32),
    ];
    let names_of_saxpy = &["a", "x", "y", "n"];
    // SAFETY: as for the first launch.
    let launched = unsafe { Launch::new(&saxpy, names_of_saxpy, args).launch(16) };
    let problem = launched.unwrap_err().to_string();
    assert_stray(
        problem,
        "reads",
        40,
        "of argument 1 (x), which is 40 bytes long",
    );

    // An array, which the kernel receives as an address.
    if queue
        .device()
        .has_extension("cl_intel_unified_shared_memory")
    {
        let mut array = DeviceArray::<f32>::zeroed(&queue, 99)?;
        let args = [
            Arg::scalar(1.0f32),
            Arg::write(&mut array),
            Arg::scalar(100),
        ];
        // SAFETY: as above.
        let launched = unsafe { Launch::new(&iota, names, args).launch(128) };
        let problem = launched.unwrap_err().to_string();
        assert_stray(
            problem,
            "writes",
            396,
            "of argument 1 (out), which is 396 bytes long",
        );
    }
    // Prepared launches and recordings do not store the names of arguments.
    let args = [Arg::scalar(1.0f32), Arg::write(&mut out), Arg::scalar(100)];
    let prepared = Launch::new(&iota, names, args).prepare(128)?;
    // SAFETY: as above.
    let error = unsafe { prepared.launch() }.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch);
    let problem = error.to_string();
    assert!(problem.contains("launching kernel fill::iota"), "{problem}");
    assert_stray(problem, "writes", 396, "of a buffer that is 396 bytes long");
    let args = [Arg::scalar(1.0f32), Arg::write(&mut out), Arg::scalar(100)];
    let mut recorder = queue.record();
    // SAFETY: as above.
    unsafe { Launch::new(&iota, names, args).record(&mut recorder, 128)? };
    let problem = recorder.finish()?.replay().unwrap_err().to_string();
    assert!(problem.contains("replaying kernel fill::iota"), "{problem}");
    Ok(())
}

#[test]
fn racing_child_loads_native_code() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // the test above starts it in a child process
    }
    let Some(queue) = guarding_queue()? else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile(VECTOR_OPS))?;
    let native = common::load(&queue, &module.to_syclbin()?)?;
    native.kernel("saxpy")?;
    native.kernel(IOTA)?;
    Ok(())
}

#[test]
fn racing_child_reports_each_dependence() -> Result<()> {
    const N: usize = 1024;
    const COUNT: u32 = 1024;
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // the test above starts it in a child process
    }
    let Some(queue) = guarding_queue()? else {
        return Ok(());
    };
    let Ok(mut array) = DeviceArray::<f32>::zeroed(&queue, N + 1) else {
        common::say_skipped("the device has no arrays");
        return Ok(());
    };
    let saxpy = common::kernel(&queue, VECTOR_OPS, "saxpy");
    let names = &["a", "x", "y", "n"];
    let numbers: Vec<f32> = (0..=N).map(|number| number as f32).collect();
    let range = NdRange::new(N).local(16);
    let next = array.pointer().wrapping_add(1);
    // SAFETY: the array outlives the buffer.
    let rest = unsafe { queue.buffer_from_native::<f32, _>(array.slice(1..)?.native(), N, ()) }?;
    // Each work-item reads the element that the next one writes: through an address, and through memory.
    for by_address in [true, false] {
        queue.write(&mut array, &numbers)?;
        let (x, y) = match by_address {
            true => (Arg::pointer(next), Arg::pointer(array.pointer())),
            false => (Arg::read(&rest), Arg::write(&mut array)),
        };
        let args = [Arg::scalar(1.0f32), x, y, Arg::scalar(COUNT)];
        // SAFETY: the kernel stays inside the array. The race affects only its values.
        let launched = unsafe { Launch::new(&saxpy, names, args).launch(range) };
        let error = launched.expect_err("it depends on the order of work-groups");
        assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
        let verb = "writes a value that depends on work-group order to";
        assert!(error.to_string().contains(verb), "{error}");
        let is_named = error.to_string().ends_with(" of argument 2 (y)");
        assert!(by_address || is_named, "{error}");
    }

    // Each work-item uses only elements of its own, and the results are those of a single run.
    let x = queue.upload(&numbers)?;
    let mut y = queue.upload(&numbers)?;
    let count = Arg::scalar(COUNT);
    let args = [
        Arg::scalar(2.0f32),
        Arg::read(&x),
        Arg::write(&mut y),
        count,
    ];
    // SAFETY: both buffers are long enough.
    unsafe { Launch::new(&saxpy, names, args).launch(range)? };
    let tripled: Vec<f32> = numbers[..N].iter().map(|number| 3.0 * number).collect();
    assert_eq!(queue.download(&y)?[..N], tripled);
    assert_eq!(queue.download(&x)?, numbers);
    Ok(())
}
