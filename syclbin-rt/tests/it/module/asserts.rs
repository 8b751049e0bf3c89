// SPDX-License-Identifier: MIT OR Apache-2.0
//! Asserts in kernels: one that fails is an error at the next wait, once, and the kernel goes on.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use std::future::IntoFuture as _;

use syclbin_rt::{
    AnyRange, Arg, Buffer, Error, Event, Launch, Module, Queue, QueueOptions, Result,
};

use crate::common;
use crate::queue::events::futures::block_on;

pub(crate) fn module(queue: &Queue) -> Result<Module> {
    common::load(queue, &common::testfile("made/asserts.syclbin"))
}

/// Launches `kernel` with a work-item for each of `data`.
pub(crate) fn launch(module: &Module, kernel: &str, data: &mut Buffer<i32>) -> Result<Event> {
    let range: AnyRange = match kernel {
        "_ZTSZ4mainE9Framework" => [2, data.len() / 2].into(),
        _ => data.len().into(),
    };
    let kernel = module.kernel(kernel);
    // SAFETY: a work-item for each element.
    unsafe { Launch::new(&kernel, &["data"], [Arg::write(data)]).launch(range) }
}

/// Returns the condition, the file, the line, the function and the work-item of a failed assert.
fn failed(error: &Error) -> (&str, &str, u32, &str, [u64; 3]) {
    match error.failed_assert() {
        Some(failed) => {
            let text = (&*failed.condition, &*failed.file);
            (
                text.0,
                text.1,
                failed.line,
                &failed.function,
                failed.work_item,
            )
        }
        None => ("another error", "", 0, "", [0; 3]),
    }
}

#[test]
fn asserts_that_hold_are_not_noticed() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = module(&queue)?;
    let mut data = queue.upload(&[2, 4, -6, 0])?;
    launch(&module, "halve", &mut data)?.wait()?;
    queue.wait()?;
    assert_eq!(queue.download(&data)?, [1, 2, -3, 0]);
    Ok(())
}

#[test]
fn every_wait_reports_a_failed_assert_once() -> Result<()> {
    type Wait = fn(&Queue, &Event, &Buffer<i32>) -> Result<()>;
    const WAITS: [Wait; 8] = [
        |queue, _, _| queue.wait(),
        |_, event, _| event.wait(),
        |_, event, _| block_on(event.into_future()),
        |queue, _, data| queue.download(data).map(drop),
        |queue, _, data| queue.download_later(data)?.wait().map(drop),
        |queue, _, data| block_on(queue.download_later(data)?.into_future()).map(drop),
        |queue, _, data| queue.map(data).map(drop),
        |queue, _, _| {
            let module = common::load(queue, &common::testfile("globals.object.syclbin"))?;
            module.global::<[i32; 4]>("table")?.read().map(drop)
        },
    ];
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = module(&queue)?;
    for wait in WAITS {
        let mut data = queue.upload(&[2, 4, 5, 8])?;
        let event = launch(&module, "halve", &mut data)?;
        let error = wait(&queue, &event, &data).expect_err("5 is odd");
        let (condition, file, line, function, work_item) = failed(&error);
        assert_eq!((condition, file), ("data[i] % 2 == 0", "asserting.cpp"));
        assert_eq!((line, function), (9, "void halve(int *)"));
        assert_eq!(work_item, [2, 0, 0]);
        let text = error.to_string();
        let start = "asserting.cpp:9: assert `data[i] % 2 == 0` failed in `void halve(int *)`, work-item [2, 0, 0] ";
        assert!(text.starts_with(start), "{text}");
        wait(&queue, &event, &data)?;
        assert_eq!(queue.download(&data)?, [1, 2, 2, 4]);
    }
    Ok(())
}

/// Nothing hangs: the work-item reaches the barrier of its group.
#[test]
fn frameworks_call_the_function_of_asserts_themselves() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = module(&queue)?;
    let mut data = queue.upload(&[1, 2, 3, 4, 5, 6, 100, 8])?;
    launch(&module, "_ZTSZ4mainE9Framework", &mut data)?;
    let error = queue.wait().expect_err("100 is too large");
    let (condition, file, line, function, work_item) = failed(&error);
    assert_eq!((condition, file), ("value < T(100)", "framework.h"));
    assert_eq!((line, function, work_item), (77, "checked", [2, 1, 0]));
    assert_eq!(queue.download(&data)?, [2, 3, 4, 5, 6, 7, 101, 9]);
    Ok(())
}

#[test]
fn asserts_of_several_modules_are_reported_in_turn() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let module = module(&queue)?;
    let mut data = queue.upload(&[1, -1])?;
    launch(&module, "positive", &mut data)?;
    launch(&module, "plain", &mut data)?;
    launch(&module, "halve", &mut queue.upload(&[7])?)?;
    let errors = [(); 2].map(|()| queue.wait().expect_err("two have failed"));
    let conditions = errors.each_ref().map(|error| failed(error).0);
    assert_eq!(
        conditions,
        ["value > 0 && \"positive\"", "data[i] % 2 == 0"]
    );
    queue.wait()
}

#[test]
fn a_failed_assert_outlives_its_module() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let mut data = queue.upload(&[3])?;
    launch(&module(&queue)?, "halve", &mut data)?;
    assert_eq!(failed(&queue.wait().expect_err("3 is odd")).2, 9);
    queue.wait()
}

#[test]
fn queues_report_their_own_asserts() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let other = queue.device().queue_with(QueueOptions::new())?;
    let (module, of_other) = (module(&queue)?, module(&other)?);
    launch(&of_other, "halve", &mut other.upload(&[3])?)?;
    launch(&module, "halve", &mut queue.upload(&[2])?)?;
    queue.wait()?;
    assert_eq!(failed(&other.wait().expect_err("3 is odd")).2, 9);
    Ok(())
}

#[test]
fn saved_modules_report_asserts() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let saved = module(&queue)?.to_syclbin()?;
    let module = common::load(&queue, &saved)?;
    let mut data = queue.upload(&[2, 3])?;
    launch(&module, "halve", &mut data)?;
    assert_eq!(failed(&queue.wait().expect_err("3 is odd")).4, [1, 0, 0]);
    Ok(())
}

#[test]
fn the_record_is_no_variable_of_the_module() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let error = module(&queue)?.global::<[u8; 1056]>("_ZN7syclbin13failed_assertE");
    let error = error.expect_err("it is hidden");
    let text = error.to_string();
    assert!(
        text.contains("no device global ") && text.ends_with("available device globals: none"),
        "{text}"
    );
    Ok(())
}

/// Linked when it is loaded, and ahead of time: then the linked module has one record.
#[test]
fn asserts_of_linked_sources_are_reported() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    for name in [
        "made/asserts_unlinked.syclbin",
        "made/asserts_linked.syclbin",
    ] {
        let module = common::load(&queue, &common::testfile(name))?;
        for (value, condition, line) in [(0, "data[i] > 0", 8), (100, "x < 100", 5)] {
            let mut data = queue.upload(&[1, value])?;
            launch(&module, "use", &mut data)?;
            let error = queue.wait().expect_err("one is out of range");
            let found = failed(&error);
            assert_eq!((found.0, found.2, found.4), (condition, line, [1, 0, 0]));
            assert_eq!(queue.download(&data)?, [2, 2 * value]);
        }
    }
    Ok(())
}

#[test]
fn replayed_kernels_report_asserts() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let kernel = module(&queue)?.kernel("halve");
    let mut data = queue.upload(&[4, 6])?;
    let mut recorder = queue.record();
    // SAFETY: a work-item for each element.
    unsafe {
        let args = [Arg::write(&mut data)];
        Launch::new(&kernel, &["data"], args).record(&mut recorder, 2)?;
    }
    let recording = recorder.finish()?;
    recording.replay()?;
    queue.wait()?;
    for _ in 0..2 {
        // The halves are 2 and 3, then 1 and 1.
        let event = recording.replay()?;
        assert_eq!(failed(&event.wait().expect_err("one is odd")).2, 9);
        queue.wait()?;
    }
    Ok(())
}
