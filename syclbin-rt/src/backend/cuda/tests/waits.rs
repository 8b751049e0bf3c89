// SPDX-License-Identifier: MIT OR Apache-2.0
//! Waiting for commands, by a thread or a task.

use std::time::Instant;

use super::failures::{in_simulation, is_simulation};
use super::*;

#[test]
fn polling_task_is_woken_at_the_end() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let out = Numbers::new(&bench.queue)?;
    for _ in 0..20 {
        let event = bench.iota(&bench.queue, &out, 1, WaitList::NOTHING)?;
        let (send, woken) = mpsc::channel();
        let waker = Waker::from(Arc::new(Bell(send)));
        let mut end = None;
        while event.poll(&bench.queue, &mut end, &waker)? == Poll::Pending {
            assert!(woken.recv().is_ok(), "the waker is gone");
        }
        assert!(event.is_complete()?);
    }
    Ok(())
}

#[test]
fn first_command_ends_while_others_are_polled() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let (first, second) = (Flag::new(queue)?, Flag::new(queue)?);
    // With lazy loading, creating a kernel may wait for running kernels.
    let _loaded = bench.kernel("iota", &[8, 4])?;
    let held = first.hold(&bench, queue)?;
    assert!(!held.is_complete()?);
    let behind = second.hold(&bench, queue)?;
    // More than there are marks on a stream.
    for _ in 0..20 {
        let event = bench.iota(queue, &out, 1, WaitList::NOTHING)?;
        assert!(!event.is_complete()?);
    }
    first.set();
    let long_after = Instant::now() + Duration::from_secs(20);
    while !held.is_complete()? {
        assert!(Instant::now() < long_after, "it has ended unnoticed");
    }
    assert!(!behind.is_complete()?);
    second.set();
    queue.finish()
}

#[test]
fn waiting_ends_at_the_queried_command() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let (first, second) = (Flag::new(queue)?, Flag::new(queue)?);
    let held = first.hold(&bench, queue)?;
    // The query records where the wait ends.
    assert!(!held.is_complete()?);
    let behind = second.hold(&bench, queue)?;
    let seen = std::thread::scope(|scope| {
        let (ended, waiting) = mpsc::channel::<()>();
        // If the wait includes the second kernel, the test fails instead of hanging.
        let second = &second;
        scope.spawn(move || {
            let _ = waiting.recv_timeout(Duration::from_secs(20));
            second.set();
        });
        first.set();
        held.wait()?;
        let seen = behind.is_complete();
        drop(ended);
        seen
    })?;
    assert!(!seen, "it waited for a later command");
    queue.finish()
}

#[test]
fn running_command_has_a_native_event() -> Tested {
    use cudarc::driver::sys::{CUresult, cuEventQuery};
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let flag = Flag::new(&bench.queue)?;
    let held = flag.hold(&bench, &bench.queue)?;
    let native = held.native()?.expect("the kernel is running");
    let EventHandle::Cuda(event) = native.handle() else {
        panic!("{native:?}");
    };
    // SAFETY: the event is alive.
    let status = || unsafe { cuEventQuery(event.cast()) };
    assert_eq!(status(), CUresult::CUDA_ERROR_NOT_READY);
    flag.set();
    held.wait()?;
    bench.queue.finish()?;
    assert_eq!(status(), CUresult::CUDA_SUCCESS);
    assert!(held.native()?.is_none());
    Ok(())
}

#[test]
fn driver_events_are_reused_without_times() -> Tested {
    let Some(device) = device() else {
        return Ok(());
    };
    // Other tests use the events of the shared context.
    let context: Arc<CudaContext> = downcast(device.separate_context()?)?;
    // SAFETY: the stream lives as long as the context.
    let record = || unsafe { Mark::record(&context, context.allocating.0, false) };
    let (first, second) = (record()?, record()?);
    let handle = first.handle.0;
    assert_ne!(second.handle.0, handle);
    drop(first);
    let reused = record()?;
    assert_eq!(reused.handle.0, handle);
    // Recording the time would slow commands down.
    for mark in [&reused, &second] {
        mark.sleep()?;
        let time = mark.since(mark).map_err(name);
        assert_eq!(time, Err("CUDA_ERROR_INVALID_HANDLE"));
    }
    Ok(())
}

#[test]
fn long_wait_sleeps_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_waits_without_polling",
        FAILING_QUERY,
    );
}

/// Far more queries than a short wait makes, and fewer than a long wait makes if it only polls.
const FAILING_QUERY: &str = "fail=cuEventQuery:4000:999";

#[test]
fn a_child_waits_without_polling() -> Tested {
    if !is_simulation(FAILING_QUERY) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let flag = Flag::new(queue)?;
    let held = flag.hold(&bench, queue)?;
    // The wait is for an event, because another command follows.
    queue.start_fill(&out.0, &[7], WaitList::NOTHING)?;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(100));
            flag.set();
        });
        held.wait()
    })
}

/// Records a mark behind all commands of the queue.
fn mark(bench: &Bench) -> Result<Mark> {
    let Stream {
        context, handle, ..
    } = &*bench.queue.cuda()?.stream;
    // SAFETY: the stream is alive and belongs to the context.
    unsafe { Mark::record(context, handle.0, false) }
}

#[test]
fn reached_mark_is_synchronized_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_waits_for_a_reached_mark",
        FAILING_WAIT,
    );
}

const FAILING_WAIT: &str = "fail=cuEventSynchronize:1:999";

// The driver prints what kernels passed to `printf` only when a thread waits.
#[test]
fn a_child_waits_for_a_reached_mark() -> Tested {
    if !is_simulation(FAILING_WAIT) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let mark = mark(&bench)?;
    while !mark.is_reached()? {}
    assert_eq!(mark.wait().map_err(name), Err("CUDA_ERROR_UNKNOWN"));
    mark.wait()
}

#[test]
fn reached_mark_is_not_polled_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_waits_for_reached_marks",
        FEW_QUERIES,
    );
}

/// One query for each wait.
const FEW_QUERIES: &str = "fail=cuEventQuery:21:999";

#[test]
fn a_child_waits_for_reached_marks() -> Tested {
    if !is_simulation(FEW_QUERIES) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let mark = mark(&bench)?;
    mark.sleep()?;
    (0..20).try_for_each(|_| mark.wait())
}
