// SPDX-License-Identifier: MIT OR Apache-2.0
//! With `SYCLBIN_GUARD`, a launch fails if its kernel accesses memory outside of its buffers.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin_rt::{Arg, Device, DeviceArray, ErrorKind, Launch, Result};

use crate::common;

const VECTOR_OPS: &str = "vector_ops.object.syclbin";
const IOTA: &str = "_ZN18__sycl_kernel_fill4iotaEfPfi";
/// Set only in the child process.
const CHILD: &str = "SYCLBIN_RT_TEST_GUARD";

#[test]
fn out_of_bounds_access_is_an_error() {
    if common::queue().is_none() {
        return;
    }
    let mut child = common::child(module_path!(), "guarded_child_reports_each_access");
    let output = child.env(CHILD, "1").env("SYCLBIN_GUARD", "end").output();
    let output = output.expect("this program starts");
    let text = String::from_utf8_lossy(&output.stdout);
    print!("{text}");
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{text}{errors}");
    assert!(text.contains("1 passed"), "{text}");
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

#[test]
fn guarded_child_reports_each_access() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // the test above starts it in a child process
    }
    let queue = match Device::best()?.queue() {
        Ok(queue) => queue,
        Err(error) => {
            assert_eq!(error.kind(), ErrorKind::Unsupported, "{error}");
            assert!(error.to_string().contains("SYCLBIN_GUARD"), "{error}");
            common::say_skipped("the device cannot guard buffers");
            return Ok(());
        }
    };
    let (iota, saxpy) = (
        common::kernel(&queue, VECTOR_OPS, IOTA),
        common::kernel(&queue, VECTOR_OPS, "saxpy"),
    );
    let names = &["start", "out", "count"];
    // The processor may report any byte of a vector access.
    let assert_stray = |problem: String, first: usize, end: &str| {
        let (start, rest) = problem.split_once(" byte ").expect(&problem);
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
    assert_stray(problem, 396, "of argument 1 (out), which is 396 bytes long");
    // The kernel ran to completion, and the queue still works.
    assert_eq!(queue.download(&out)?[98], 99.0);
    let args = [Arg::scalar(2.0f32), Arg::write(&mut out), Arg::scalar(99)];
    // SAFETY: the kernel writes 99 elements.
    unsafe { Launch::new(&iota, names, args).launch(128)? };
    assert_eq!(queue.download(&out)?[98], 100.0);

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
    assert_stray(problem, 40, "of argument 1 (x), which is 40 bytes long");

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
        assert_stray(problem, 396, "of argument 1 (out), which is 396 bytes long");
    }
    // Prepared launches and recordings do not store the names of arguments.
    let args = [Arg::scalar(1.0f32), Arg::write(&mut out), Arg::scalar(100)];
    let prepared = Launch::new(&iota, names, args).prepare(128)?;
    // SAFETY: as above.
    let error = unsafe { prepared.launch() }.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Launch);
    let problem = error.to_string();
    assert!(problem.contains("launching kernel fill::iota"), "{problem}");
    assert_stray(problem, 396, "of a buffer that is 396 bytes long");
    let args = [Arg::scalar(1.0f32), Arg::write(&mut out), Arg::scalar(100)];
    let mut recorder = queue.record();
    // SAFETY: as above.
    unsafe { Launch::new(&iota, names, args).record(&mut recorder, 128)? };
    let problem = recorder.finish()?.replay().unwrap_err().to_string();
    assert!(problem.contains("replaying kernel fill::iota"), "{problem}");
    Ok(())
}
