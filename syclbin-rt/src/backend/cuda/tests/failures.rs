// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that fault, and failing driver calls.

use super::*;

/// The environment variable that is set in the child process.
pub(super) const CHILD: &str = "SYCLBIN_RT_TEST_CHILD";

// Runs in a child process, because other tests use the device's context too.
#[test]
fn lost_context_stays_lost_in_its_process() {
    if device().is_none() {
        return;
    }
    let name = "backend::cuda::tests::failures::a_child_loses_its_context";
    let mut child = std::process::Command::new(std::env::current_exe().unwrap());
    let output = child.args([name, "--exact"]).env(CHILD, "1").output();
    let output = output.unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn a_child_loses_its_context() -> Tested {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // only the child process runs the test
    }
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let object = bench.kernel("fault", &[])?.object()?;
    // SAFETY: the kernel faults on purpose.
    let event = unsafe { object.enqueue(queue, &grid(NdRange::new(1)), WaitList::NOTHING) }?;
    let fault = Failure::cuda("cuLaunchKernel", 700);
    assert_eq!(event.wait(), Err(fault));
    assert!(queue.cuda()?.stream.context.is_lost());
    // Everything in the context returns the error that destroyed it.
    for answer in [
        out.read(queue).map(drop),
        queue.finish(),
        queue.zeroed(None, 4).map(drop),
        bench.iota(queue, &out, 1, WaitList::NOTHING).map(drop),
        event.is_complete().map(drop),
        queue.context().finish_all(),
    ] {
        assert_eq!(answer.map_err(name), Err("CUDA_ERROR_ILLEGAL_ADDRESS"));
    }
    let polled = event.poll(queue, &mut None, Waker::noop());
    assert_eq!(polled, Poll::Ready(Err(fault)));

    let device = queue.context().device();
    drop((object, event, bench, out));
    let refused = device.shared_context().err();
    assert_eq!(refused.map(Failure::code), Some(fault.code()));
    Ok(())
}

#[test]
fn refused_code_comes_with_the_drivers_log() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let context = &bench.queue.context();
    let code = PTX.to_vec();
    let text = String::from_utf8(code).unwrap();
    let broken = text.replace("add.s32", "bad.s32");
    let error = try_build(context, &[module(broken.as_bytes())]).err();
    let BuildError { failure, log, .. } = error.expect("no such instruction");
    assert_eq!(name(failure), "CUDA_ERROR_INVALID_PTX");
    assert!(!log.is_empty());
    let newer = text.replace(".version 6.3", ".version 99.0");
    let error = try_build(context, &[module(newer.as_bytes())]).err();
    let failure = error.expect("no such version").failure;
    assert_eq!(name(failure), "CUDA_ERROR_UNSUPPORTED_PTX_VERSION");
    // The context is not affected.
    assert!(!bench.queue.cuda()?.stream.context.is_lost());
    bench.queue.finish()
}

/// Makes the simulated driver fail: `fail=FUNCTION:CALL:CODE`.
pub(super) const SIMULATION: &str = "SYCLBIN_SIMULATED_CUDA";

/// Returns whether the simulated driver has these settings.
pub(super) fn is_simulation(settings: &str) -> bool {
    std::env::var(SIMULATION).is_ok_and(|own| own == settings)
}

/// Runs a test of the module in a child process, in which the simulated driver has these settings.
pub(super) fn in_simulation(module: &str, test: &str, settings: &str) {
    let Some(device) = device().filter(|_| std::env::var_os(SIMULATION).is_none()) else {
        return say_skipped("no CUDA device, or a simulation with other settings");
    };
    if !device.facts().name.starts_with("Simulated") {
        return say_skipped("only the simulated driver has settings");
    }
    let mut child = crate::common::child(module, test);
    let output = child.env(SIMULATION, settings).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

#[test]
fn unavailable_context_is_an_error_in_simulation() {
    in_simulation(module_path!(), "a_child_retries_the_context", NO_CONTEXT);
}

const NO_CONTEXT: &str = "fail=cuDevicePrimaryCtxRetain:1:2";

#[test]
fn a_child_retries_the_context() -> Tested {
    if !is_simulation(NO_CONTEXT) {
        return Ok(()); // only the child process runs the test
    }
    let device = device().expect("the simulated device");
    let refused = device.shared_context().err();
    assert_eq!(
        refused,
        Some(Failure::cuda("cuDevicePrimaryCtxRetain", OUT_OF_MEMORY))
    );
    device.shared_context().map(drop)
}

#[test]
fn polled_failure_names_the_command_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_polls_a_failing_wait",
        FAILING_EVENT,
    );
}

const FAILING_EVENT: &str = "fail=cuEventSynchronize:1:999";

#[test]
fn a_child_polls_a_failing_wait() -> Tested {
    if !is_simulation(FAILING_EVENT) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let queue = &bench.queue;
    let flag = Flag::new(queue)?;
    let held = flag.hold(&bench, queue)?;
    let (send, woken) = mpsc::channel();
    let (waker, mut end) = (Waker::from(Arc::new(Bell(send))), None);
    let ended = loop {
        match held.poll(queue, &mut end, &waker) {
            Poll::Pending => assert!(woken.recv().is_ok(), "the waker is gone"),
            Poll::Ready(ended) => break ended,
        }
    };
    assert_eq!(ended, Err(Failure::cuda("cuLaunchKernel", 999)));
    Ok(())
}

#[test]
fn failed_wait_leaves_no_copy_running_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_reads_despite_a_failed_wait",
        FAILING_FINISH,
    );
}

/// The first two waits are for allocations.
pub(super) const FAILING_FINISH: &str = "fail=cuStreamSynchronize:3:999";

// A copy that is still running would write to memory that the caller may free.
#[test]
fn a_child_reads_despite_a_failed_wait() -> Tested {
    if !is_simulation(FAILING_FINISH) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let flag = Flag::new(queue)?;
    flag.hold(&bench, queue)?;
    bench.iota(queue, &out, 5, WaitList::NOTHING)?;
    let mut numbers = vec![0; LEN];
    let read = std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            flag.set();
        });
        queue.read(&out.0.memory, 0, bytemuck::cast_slice_mut(&mut numbers))
    });
    assert_eq!(read.map_err(name), Err("CUDA_ERROR_UNKNOWN"));
    assert_eq!(numbers, counted(5));
    Ok(())
}

#[test]
fn failing_driver_calls_never_crash_the_process() {
    if std::env::var_os(SIMULATION).is_some() {
        return; // this is a child process
    }
    let Some(device) = device() else {
        return;
    };
    if !device.facts().name.starts_with("Simulated") {
        return say_skipped("only the simulated driver fails on request");
    }
    for function in sys::NAMES {
        // One code destroys the context, the other does not. A driver may report the former from a wait only when
        // nothing in the context is running any more, which the simulation does not guarantee.
        let waits = matches!(*function, "cuStreamSynchronize" | "cuEventSynchronize");
        let first = if waits { 999 } else { 719 };
        for (call, code) in [(1, first), (3, 999)] {
            let fail = format!("fail={function}:{call}:{code}");
            let mut child = std::process::Command::new(std::env::current_exe().unwrap());
            child.args(["backend::cuda::tests", "--test-threads=1"]);
            child.env(CHILD, "1").env(SIMULATION, &fail);
            let output = child.output().unwrap();
            // 101 is the exit code of failed tests. Only their own assertions panic.
            assert!(
                matches!(output.status.code(), Some(0 | 101)),
                "{fail}: {output:?}"
            );
            let said = String::from_utf8_lossy(&output.stdout);
            let panics = said.lines().filter(|line| line.contains("panicked at"));
            let own = |line: &str| line.contains("cuda/tests/");
            assert!(panics.clone().all(own), "{fail}: {said}");
        }
    }
}
