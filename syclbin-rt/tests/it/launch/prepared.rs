// SPDX-License-Identifier: MIT OR Apache-2.0
//! Launches that are prepared once, and sequences that are recorded.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin_rt::native::DeviceHandle;
use syclbin_rt::{
    Arg, DeviceKind, DeviceSlice, ErrorKind, Kernel, Launch, NdRange, Partition, Queue,
    QueueOptions, Result, SafeLaunch, SharedArray,
};

use crate::common;

/// The queue of a test, which ends if no device is found.
macro_rules! queue {
    () => {
        match common::queue() {
            Some(queue) => queue,
            None => return Ok(()),
        }
    };
}

fn kernel(queue: &Queue, name: &str) -> Result<Kernel> {
    common::kernel(queue, "vector_ops.object.syclbin", name)
}

/// `y[i] += a * x[i]`.
fn saxpy<'a>(
    saxpy: &'a Result<Kernel>,
    a: f32,
    x: &'a DeviceSlice<f32>,
    y: &'a mut DeviceSlice<f32>,
) -> Launch<'a, 4> {
    let n = u32::try_from(y.len()).expect("few elements");
    let args = [Arg::scalar(a), Arg::read(x), Arg::write(y), Arg::scalar(n)];
    Launch::new(saxpy, &["a", "x", "y", "n"], args)
}

/// The same with a contract.
fn safe_saxpy<'a>(
    kernel: &'a Result<Kernel>,
    a: f32,
    x: &'a DeviceSlice<f32>,
    y: &'a mut DeviceSlice<f32>,
) -> SafeLaunch<'a, 4> {
    let launch = saxpy(kernel, a, x, y);
    // SAFETY: `y` has `n` elements, and so has `x` where the contract holds.
    unsafe {
        SafeLaunch::with_contract(launch, |given| {
            let (x, n) = (given.memory(1, 4), given.number::<u32>(3, 0));
            if given.holds(x.len() >= n) {
                return Ok(());
            }
            Err(given.broken("x.len() >= n", Some(1), &[("x.len()", &x.len()), ("n", &n)]))
        })
    }
}

fn problem(error: &syclbin_rt::Error) -> String {
    assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
    error.to_string()
}

#[test]
fn prepared_launch_runs_repeatedly() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let x = queue.upload(&[1.0f32, 2.0])?;
    let mut y = queue.zeroed::<f32>(2)?;
    let prepared = saxpy(&kernel, 0.5, &x, &mut y).prepare(2)?;
    // It keeps what it uses.
    drop(x);
    for _ in 0..10 {
        // SAFETY: both buffers have two elements.
        unsafe { prepared.launch()? };
    }
    assert_eq!(queue.download(&y)?, [5.0, 10.0]);
    // What others write in between is what it sees.
    queue.write(&mut y, &[0.0, 1.0])?;
    // SAFETY: as above.
    unsafe { prepared.launch()? };
    assert_eq!(queue.download(&y)?, [0.5, 2.0]);
    Ok(())
}

#[test]
fn a_prepared_launch_changes_what_differs() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let x = queue.upload(&[1.0f32; 4])?;
    let mut y = queue.zeroed::<f32>(4)?;
    let mut z = queue.zeroed::<f32>(2)?;
    let mut prepared = saxpy(&kernel, 1.0, &x, &mut y).prepare(4)?;
    // SAFETY: all buffers have as many elements as `n` says.
    unsafe { prepared.launch()? };
    for a in [2.0, 3.0] {
        prepared.change(saxpy(&kernel, a, &x, &mut y), 4)?;
        // SAFETY: as above.
        unsafe { prepared.launch()? };
    }
    prepared.change(saxpy(&kernel, 7.0, &x, &mut z), NdRange::new(2).local(1))?;
    // SAFETY: as above.
    unsafe { prepared.launch()? };
    assert_eq!(queue.download(&y)?, [6.0; 4]);
    assert_eq!(queue.download(&z)?, [7.0; 2]);

    // What is wrong changes nothing.
    let error = prepared
        .change(saxpy(&kernel, 9.0, &x, &mut y), 0)
        .unwrap_err();
    assert!(problem(&error).contains(" is empty;"), "{error}");
    // SAFETY: as above.
    unsafe { prepared.launch()? };
    assert_eq!(queue.download(&z)?, [14.0; 2]);

    let other = common::kernel(&queue, "vector_ops.object.syclbin", "saxpy");
    let error = prepared
        .change(saxpy(&other, 9.0, &x, &mut y), 4)
        .unwrap_err();
    assert!(
        problem(&error).contains("this launch was prepared for a different kernel"),
        "{error}"
    );
    Ok(())
}

#[test]
fn refused_argument_leaves_prepared_launch_as_before() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let x = queue.upload(&[1.0f32; 4])?;
    let mut y = queue.zeroed::<f32>(4)?;
    let mut prepared = saxpy(&kernel, 1.0, &x, &mut y).prepare(4)?;
    let of_eight_bytes = [
        Arg::scalar(2.0f64),
        Arg::read(&x),
        Arg::write(&mut y),
        Arg::scalar(4u32),
    ];
    let names = &["a", "x", "y", "n"];
    let error = prepared.change(Launch::new(&kernel, names, of_eight_bytes), 4);
    let error = error.unwrap_err();
    assert!(
        problem(&error).contains(" bytes long, but the kernel expects "),
        "{error}"
    );
    // SAFETY: both buffers have four elements.
    unsafe { prepared.launch()? };
    assert_eq!(queue.download(&y)?, [1.0; 4]);
    prepared.change(saxpy(&kernel, 2.0, &x, &mut y), 4)?;
    // SAFETY: as above.
    unsafe { prepared.launch()? };
    assert_eq!(queue.download(&y)?, [3.0; 4]);
    Ok(())
}

#[test]
fn buffer_of_another_device_changes_no_prepared_launch() -> Result<()> {
    let queue = queue!();
    let part = match queue.device().partition(Partition::Equally(1)) {
        Err(error) if error.kind() == ErrorKind::InvalidArgument => {
            common::say_skipped(&error.to_string());
            return Ok(());
        }
        parts => parts?[0].queue()?,
    };
    let kernel = kernel(&queue, "saxpy");
    let (x, foreign) = (queue.upload(&[1.0f32; 4])?, part.upload(&[5.0f32; 4])?);
    let mut y = queue.zeroed::<f32>(4)?;
    let mut prepared = saxpy(&kernel, 1.0, &x, &mut y).prepare(4)?;
    let error = prepared
        .change(saxpy(&kernel, 2.0, &foreign, &mut y), 4)
        .unwrap_err();
    assert!(
        problem(&error).contains("argument 1 (x) is on part 0 of "),
        "{error}"
    );
    // SAFETY: all buffers have four elements.
    unsafe { prepared.launch()? };
    assert_eq!(queue.download(&y)?, [1.0; 4]);
    Ok(())
}

#[test]
fn safe_launch_is_prepared_if_contract_holds() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let x = queue.upload(&[1.0f32, 2.0, 3.0])?;
    let mut y = queue.zeroed::<f32>(3)?;
    let mut long = queue.zeroed::<f32>(4)?;
    let mut prepared = safe_saxpy(&kernel, 2.0, &x, &mut y).prepare(3)?;
    prepared.launch()?;
    let first = prepared.launch()?;
    prepared.launch_after(&[&first])?;
    for error in [
        safe_saxpy(&kernel, 2.0, &x, &mut long)
            .prepare(4)
            .unwrap_err(),
        prepared
            .change(safe_saxpy(&kernel, 2.0, &x, &mut long), 4)
            .unwrap_err(),
        safe_saxpy(&kernel, 2.0, &x, &mut long)
            .record(&mut queue.record(), 4)
            .unwrap_err(),
    ] {
        assert!(problem(&error).contains("breaks the contract"), "{error}");
    }
    prepared.launch()?;
    assert_eq!(queue.download(&y)?, [8.0, 16.0, 24.0]);
    Ok(())
}

#[test]
fn threads_launch_one_prepared_launch_at_once() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let x = queue.upload(&[1.0f32; 64])?;
    let mut y = queue.zeroed::<f32>(64)?;
    let prepared = saxpy(&kernel, 1.0, &x, &mut y).prepare(64)?;
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| {
                for _ in 0..250 {
                    // SAFETY: both buffers have 64 elements, and the queue is in order.
                    unsafe { prepared.launch() }.expect("it starts");
                }
            });
        }
    });
    assert_eq!(queue.download(&y)?, [2000.0; 64]);
    Ok(())
}

#[test]
fn buffers_of_prepared_launch_cannot_be_mapped() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let mut x = queue.upload(&[1.0f32])?;
    let mut y = queue.zeroed::<f32>(1)?;
    let prepared = saxpy(&kernel, 1.0, &x, &mut y).prepare(1)?;
    let held = |error: syclbin_rt::Error| error.kind() == ErrorKind::MemoryInUse;
    assert!(held(queue.map(&y).unwrap_err()));
    assert!(held(queue.map_mut(&mut y).unwrap_err()));
    // It only reads this one.
    assert_eq!(queue.map(&x)?[..], [1.0]);
    assert!(held(queue.map_mut(&mut x).unwrap_err()));
    drop(prepared);
    assert_eq!(queue.map_mut(&mut y)?[..], [0.0]);
    assert_eq!(queue.map_mut(&mut x)?[..], [1.0]);
    Ok(())
}

#[test]
fn prepared_launch_and_view_never_begin_together() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let x = queue.upload(&[1.0f32; 64])?;
    let mut both = queue.zeroed::<f32>(2048)?;
    for _ in 0..500 {
        let (mut left, mut right) = both.split_at_mut(1024)?;
        let (mut left, barrier) = (left.slice_mut(..64)?, std::sync::Barrier::new(2));
        std::thread::scope(|scope| {
            let preparing = scope.spawn(|| {
                barrier.wait();
                let prepared = saxpy(&kernel, 1.0, &x, &mut left).prepare(64);
                barrier.wait();
                prepared.map(drop)
            });
            barrier.wait();
            let view = queue.map_mut(&mut right);
            barrier.wait();
            let prepared = preparing.join().expect("it does not panic");
            assert!(prepared.is_err() || view.is_err());
        });
    }
    Ok(())
}

#[test]
fn kernel_without_parameter_types_needs_a_contract() -> Result<()> {
    // Code for CUDA tells them.
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let module = common::load(&queue, &common::testfile("vector_ops.object.syclbin"))?;
    // A saved file has code without types. A driver may lack double precision, which another kernel of the file needs.
    let saved = match module.to_syclbin() {
        Err(error) if error.kind() == ErrorKind::Unavailable => {
            common::say_skipped(&error.to_string());
            return Ok(());
        }
        saved => saved?,
    };
    let kernel = common::load(&queue, &saved)?.kernel("saxpy");
    let x = queue.upload(&[1.0f32, 2.0])?;
    let mut y = queue.zeroed::<f32>(2)?;
    let error = saxpy(&kernel, 2.0, &x, &mut y).prepare(2).unwrap_err();
    assert!(
        problem(&error).contains("types of all parameters"),
        "{error}"
    );
    safe_saxpy(&kernel, 2.0, &x, &mut y).prepare(2)?.launch()?;
    let mut recorder = queue.record();
    // SAFETY: both buffers have two elements, and the arguments the types of the kernel's parameters.
    unsafe { saxpy(&kernel, 1.0, &x, &mut y).record(&mut recorder, 2)? };
    recorder.finish()?.replay()?;
    assert_eq!(queue.download(&y)?, [3.0, 6.0]);
    Ok(())
}

#[test]
fn launch_with_dependencies_cannot_be_prepared() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let x = queue.upload(&[1.0f32])?;
    let mut y = queue.zeroed::<f32>(1)?;
    let event = queue.barrier(&[])?;
    let error = saxpy(&kernel, 1.0, &x, &mut y).after(&[&event]).prepare(1);
    let error = error.unwrap_err();
    let safe = safe_saxpy(&kernel, 1.0, &x, &mut y);
    let of_safe = safe.after(&[&event]).prepare(1).unwrap_err();
    for error in [error, of_safe] {
        assert!(problem(&error).contains("`after` does not work"), "{error}");
    }
    Ok(())
}

fn is_intels_cpu(queue: &Queue) -> bool {
    let device = queue.device();
    device.platform() == "Intel(R) OpenCL" && device.kind() == DeviceKind::Cpu
}

/// Records steps whose result only comes out right in their order, and replays them.
fn replays(queue: &Queue) -> Result<()> {
    let kernel = kernel(queue, "saxpy");
    let mut x = queue.upload(&[1.0f32; 1 << 12])?;
    let mut y = queue.zeroed::<f32>(1 << 12)?;
    let mut last = queue.zeroed::<f32>(1 << 12)?;
    let mut recorder = queue.record();
    // SAFETY: all buffers have as many elements.
    unsafe {
        saxpy(&kernel, 2.0, &x, &mut y).record(&mut recorder, 1 << 12)?;
        recorder.copy(&y, &mut last)?;
        recorder.fill(&mut y, 0.5)?;
        saxpy(&kernel, 1.0, &last, &mut x).record(&mut recorder, 1 << 12)?;
    }
    let recording = recorder.finish()?;
    assert_eq!(recording.len(), 4);
    assert_eq!(recording.is_one_call(), common::on_cuda());
    let (mut expected_x, mut expected_y) = (1.0, 0.0);
    let mut expected_last = 0.0;
    for _ in 0..7 {
        recording.replay()?;
        expected_last = expected_y + 2.0 * expected_x;
        expected_y = 0.5;
        expected_x += expected_last;
        if queue.options() != QueueOptions::new() {
            queue.barrier(&[])?;
        }
    }
    assert_eq!(queue.download(&x)?, [expected_x; 1 << 12]);
    assert_eq!(queue.download(&last)?, [expected_last; 1 << 12]);
    let event = recording.replay()?;
    recording.replay_after(&[&event])?.wait()?;
    Ok(())
}

#[test]
fn recording_replays_its_steps_in_order() -> Result<()> {
    let queue = queue!();
    replays(&queue)
}

#[test]
fn recording_keeps_order_without_in_order_queue() -> Result<()> {
    let queue = queue!();
    match queue
        .device()
        .queue_with(QueueOptions::new().out_of_order())
    {
        Ok(queue) => replays(&queue),
        Err(_) => {
            assert!(
                !is_intels_cpu(&queue) && !common::on_cuda(),
                "it has such queues"
            );
            common::say_skipped("the device has no out-of-order queues");
            Ok(())
        }
    }
}

#[test]
fn recording_of_arrays_is_replayed() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let (Ok(x), Ok(mut y)) = (
        SharedArray::upload(&queue, &[1.0f32; 10]),
        SharedArray::<f32>::zeroed(&queue, 10),
    ) else {
        common::say_skipped("the device has no shared arrays");
        return Ok(());
    };
    let mut copy = SharedArray::<f32>::zeroed(&queue, 10)?;
    let mut recorder = queue.record();
    // SAFETY: all arrays have as many elements.
    unsafe { saxpy(&kernel, 3.0, &x, &mut y).record(&mut recorder, 10)? };
    recorder.copy(&y, &mut copy)?;
    let mut buffer = queue.zeroed::<f32>(10)?;
    let to_buffer = recorder.copy(&y, &mut buffer);
    if let Err(error) = &to_buffer {
        assert!(
            error.kind() == ErrorKind::InvalidArgument
                && error.to_string().contains("cannot be recorded"),
            "{error}"
        );
    }
    let is_cuda = matches!(queue.device().native(), DeviceHandle::Cuda(_));
    assert_eq!(to_buffer.is_ok(), is_cuda);
    let mut triples = queue.zeroed::<[f32; 3]>(2)?;
    let error = recorder.fill(&mut triples, [1.0, 2.0, 3.0]).unwrap_err();
    assert!(error.to_string().contains("not a power of two"), "{error}");
    let recording = recorder.finish()?;
    recording.replay()?;
    recording.replay()?.wait()?;
    assert_eq!(queue.download(&copy)?, [6.0; 10]);
    if is_cuda {
        assert_eq!(queue.download(&buffer)?, [6.0; 10]);
    }
    assert!(matches!(
        queue.map(&copy).unwrap_err().kind(),
        ErrorKind::MemoryInUse
    ));
    drop(recording);
    assert_eq!(queue.map(&copy)?[..], [6.0; 10]);
    Ok(())
}

#[test]
fn replays_on_several_threads_do_not_mix() -> Result<()> {
    let queue = queue!();
    let kernel = kernel(&queue, "saxpy");
    let ones = queue.upload(&[1.0f32; 64])?;
    let mut y = queue.zeroed::<f32>(64)?;
    let mut sum = queue.zeroed::<f32>(64)?;
    let mut recorder = queue.record();
    // SAFETY: all buffers have 64 elements.
    unsafe {
        recorder.fill(&mut y, 0.0)?;
        for _ in 0..5 {
            saxpy(&kernel, 1.0, &ones, &mut y).record(&mut recorder, 64)?;
        }
        saxpy(&kernel, 1.0, &y, &mut sum).record(&mut recorder, 64)?;
    }
    let recording = recorder.finish()?;
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    recording.replay().expect("it starts");
                }
            });
        }
    });
    assert_eq!(queue.download(&sum)?, [1000.0; 64]);
    Ok(())
}

#[test]
fn a_recording_of_nothing_is_replayed_as_nothing() -> Result<()> {
    let queue = queue!();
    let mut buffer = queue.zeroed::<u32>(1)?;
    let mut recorder = queue.record();
    recorder.fill(&mut buffer.slice_mut(1..)?, 1)?;
    let (from, mut to) = buffer.split_at_mut(1)?;
    recorder.copy(&from.slice(1..)?, &mut to)?;
    let recording = recorder.finish()?;
    assert!(recording.is_empty());
    recording.replay()?.wait()
}

#[test]
fn a_kernel_of_another_queue_is_not_recorded() -> Result<()> {
    let queue = queue!();
    let other = queue.device().queue()?;
    let kernel = kernel(&queue, "saxpy");
    let x = queue.upload(&[1.0f32])?;
    let mut y = queue.zeroed::<f32>(1)?;
    let mut recorder = other.record();
    // SAFETY: both buffers have an element.
    let error = unsafe { saxpy(&kernel, 1.0, &x, &mut y).record(&mut recorder, 1) }.unwrap_err();
    assert!(
        error.kind() == ErrorKind::Launch && error.to_string().contains("another queue"),
        "{error}"
    );
    Ok(())
}
