// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands on queues.

use std::time::{Duration, Instant};

use super::failures::{in_simulation, is_simulation};
use super::*;

#[test]
fn memory_is_copied_and_filled_at_any_place() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let bytes: Vec<u8> = (0..=255).collect();
    let kinds = [
        None,
        Some(UsmKind::Device),
        Some(UsmKind::Host),
        Some(UsmKind::Shared),
    ];
    for kind in kinds {
        let memory = queue.zeroed(kind, 512)?;
        assert_eq!(memory.address().is_some(), kind.is_some());
        for offset in [0, 4, 6] {
            let MemoryHandle::Address(address) = memory.native(offset) else {
                panic!("{:?}", memory.native(offset));
            };
            assert_eq!(memory.alignment(offset), 1 << address.trailing_zeros());
        }
        queue.write(&memory, 3, &bytes)?;
        let memory = region(memory, 3, 256);
        let copy = region(queue.upload(&[9; 512])?, 5, 256);
        queue.start_copy(&memory, &copy, WaitList::NOTHING)?;
        let event = queue.start_fill(&copy.part(2, 24), b"sycl-rs!", WaitList::NOTHING)?;
        let mut read = vec![0; 512];
        queue.read(&copy.memory, 0, &mut read)?;
        assert!(event.is_complete()?);
        let mut expected = vec![9; 512];
        expected[5..261].copy_from_slice(&bytes);
        expected[7..31].copy_from_slice(&b"sycl-rs!".repeat(3));
        assert_eq!(read, expected, "{kind:?}");
        if let Some(pointer) = memory.memory.host_pointer() {
            // SAFETY: the queue is empty, and the host can access this memory.
            let seen = unsafe { std::slice::from_raw_parts(pointer.cast::<u8>().add(3), 256) };
            assert_eq!(seen, bytes);
        }
    }
    let memory = queue.upload(&[])?;
    queue.read(&memory, 0, &mut [])?;
    // Even empty memory has a byte, which no earlier contents show through.
    let mut byte = [9];
    queue.read(&memory, 0, &mut byte)?;
    assert_eq!(byte, [0]);
    assert_eq!(
        queue.write(&memory, 0, &[1, 2]).err(),
        Some(Failure::Rejected(Rejection::OutOfBounds))
    );
    Ok(())
}

#[test]
fn transfers_end_with_their_events() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let from: Vec<u32> = counted(40);
    let mut to = vec![0u32; LEN];
    let bytes: &mut [u8] = bytemuck::cast_slice_mut(&mut to);
    // SAFETY: both copies are waited for before their memory is dropped.
    unsafe {
        let written = queue.start_transfer(
            &out.0,
            HostBytes::From(from.as_ptr().cast()),
            WaitList::NOTHING,
        );
        let written = written?;
        let after = WaitList::new([&written].into_iter());
        let read =
            queue.start_transfer(&out.0, HostBytes::To(bytes.as_mut_ptr().cast()), &after)?;
        assert!(read.has_ended());
    }
    assert_eq!(to, from);
    Ok(())
}

#[test]
fn recorded_commands_replay_in_order() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let Some(mut buffer) = queue.graph()? else {
        say_skipped("the driver does not support these graphs");
        return Ok(());
    };
    let (out, copy) = (Numbers::new(queue)?, Numbers::new(queue)?);
    let object = bench.doubling(&out)?;
    let range = grid(NdRange::new(LEN));
    buffer.add_fill(&out.0, &[1, 0, 0, 0, 2, 0, 0, 0])?;
    // SAFETY: the memory holds as many numbers, and lives as long as the graph.
    unsafe {
        buffer.add_kernel(&object, &range)?;
        buffer.add_kernel(&object, &range)?;
    }
    buffer.add_copy(&out.0, &copy.0)?;
    buffer.add_fill(&out.0, &[7])?;
    buffer.finish()?;
    let expected = [13, 17].repeat(LEN / 2);
    for _ in 0..3 {
        // SAFETY: as above.
        unsafe { buffer.enqueue(WaitList::NOTHING) }?.wait()?;
        assert_eq!(copy.read(queue)?, expected);
        assert_eq!(out.read(queue)?, [0x0707_0707; LEN]);
        queue.start_fill(&copy.0, &[0], WaitList::NOTHING)?;
    }
    Ok(())
}

#[test]
fn recorded_copies_take_memory_of_every_kind() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let kinds = [
        None,
        Some(UsmKind::Device),
        Some(UsmKind::Host),
        Some(UsmKind::Shared),
    ];
    for (from, to) in kinds
        .into_iter()
        .flat_map(|from| kinds.map(|to| (from, to)))
    {
        let Some(mut graph) = queue.graph()? else {
            say_skipped("the driver does not support these graphs");
            return Ok(());
        };
        let (memory, copy) = (queue.zeroed(from, 8)?, queue.zeroed(to, 8)?);
        queue.write(&memory, 0, &[1, 2, 3, 4, 5, 6, 7, 8])?;
        graph.add_copy(&region(memory.clone(), 1, 4), &region(copy.clone(), 3, 4))?;
        graph.finish()?;
        // SAFETY: the memory lives as long as the graph.
        unsafe { graph.enqueue(WaitList::NOTHING) }?.wait()?;
        let mut read = [9; 8];
        queue.read(&copy, 0, &mut read)?;
        assert_eq!(read, [0, 0, 0, 2, 3, 4, 5, 0], "{from:?} to {to:?}");
    }
    Ok(())
}

#[test]
fn empty_captures_add_nothing_in_simulation() {
    in_simulation(module_path!(), "a_child_captures_nothing", FAILING_CHILD);
}

const FAILING_CHILD: &str = "fail=cuGraphAddChildGraphNode:1:999";

#[test]
fn a_child_captures_nothing() -> Tested {
    if !is_simulation(FAILING_CHILD) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let mut graph = bench.queue.graph()?.expect("the driver supports graphs");
    // SAFETY: nothing is captured.
    let captured = unsafe { graph.capture(Box::new(|_| true)) }?;
    assert!(!captured);
    graph.finish()
}

#[test]
fn captured_commands_replay_in_order() -> Tested {
    use cudarc::driver::sys::cuMemsetD32Async;
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let Some(mut graph) = queue.graph()? else {
        say_skipped("the driver does not support these graphs");
        return Ok(());
    };
    let (out, copy) = (Numbers::new(queue)?, Numbers::new(queue)?);
    let (address, object) = (out.memory().pointer, bench.doubling(&out)?);
    let fill = |value, wanted| {
        move |handle| {
            let QueueHandle::Cuda { stream, .. } = handle else {
                panic!("{handle:?}");
            };
            // SAFETY: the memory holds as many numbers, and lives as long as the graph.
            let status = unsafe { cuMemsetD32Async(address, value, LEN, stream.cast()) };
            status == cudarc::driver::sys::CUresult::CUDA_SUCCESS && wanted
        }
    };
    // SAFETY: as above.
    unsafe {
        assert!(graph.capture(Box::new(fill(5, true)))?);
        assert!(!graph.capture(Box::new(fill(6, false)))?);
        assert!(!graph.capture(Box::new(|_| true))?);
        graph.add_kernel(&object, &grid(NdRange::new(LEN)))?;
    }
    graph.add_copy(&out.0, &copy.0)?;
    graph.finish()?;
    for _ in 0..2 {
        // SAFETY: as above.
        unsafe { graph.enqueue(WaitList::NOTHING) }?.wait()?;
        assert_eq!(copy.read(queue)?, [13; LEN]);
    }
    Ok(())
}

#[test]
fn profiles_order_commands_across_queues() -> Tested {
    let Some(bench) = bench_with(QueueOptions::new().profiling())? else {
        return Ok(());
    };
    let other = bench
        .queue
        .context()
        .new_queue(QueueOptions::new().profiling())?;
    let out = Numbers::new(&bench.queue)?;
    let mut ended = Duration::ZERO;
    for queue in [&bench.queue, &other, &bench.queue] {
        let event = bench.iota(queue, &out, 1, WaitList::NOTHING)?;
        event.wait()?;
        let times = event.profile()?;
        assert!(!times.queued.is_zero() && times.queued <= times.submitted);
        assert!(times.submitted <= times.started && times.started < times.ended);
        assert!(ended <= times.started, "{ended:?} {:?}", times.started);
        ended = times.ended;
    }
    Ok(())
}

#[test]
fn waiting_command_is_queued_before_it_starts() -> Tested {
    let Some(bench) = bench_with(QueueOptions::new().profiling())? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let out = Numbers::new(queue)?;
    let flag = Flag::new(queue)?;
    flag.hold(&bench, queue)?;
    let event = queue.start_fill(&out.0, &[7], WaitList::NOTHING)?;
    std::thread::sleep(Duration::from_millis(50)); // far more than the clocks differ
    flag.set();
    event.wait()?;
    let times = event.profile()?;
    assert!(times.queued < times.started, "{:?}", times.started);
    Ok(())
}

#[test]
fn clock_keeps_its_base_event_while_fresh() -> Tested {
    let Some(device) = device() else {
        return Ok(());
    };
    let context: Arc<CudaContext> = downcast(device.separate_context()?)?;
    loop {
        let begun = Instant::now();
        let (first, _) = context.clock.base(&context)?;
        let (second, _) = context.clock.base(&context)?;
        if begun.elapsed() < Duration::from_millis(900) {
            assert!(Arc::ptr_eq(&first, &second));
            return Ok(());
        }
    }
}

#[test]
fn streams_have_the_priority_of_their_queue() -> Tested {
    let mut numbers = [0; 3];
    let priorities = [Priority::Low, Priority::Normal, Priority::High];
    for (number, priority) in numbers.iter_mut().zip(priorities) {
        let options = QueueOptions::new().priority(priority);
        let Some(bench) = bench_with(options)? else {
            return Ok(());
        };
        assert_eq!(bench.queue.options(), options);
        let stream = bench.queue.cuda()?.stream.handle.0.cast();
        // SAFETY: the stream is alive; the call writes one value through a valid pointer.
        let status = unsafe { cudarc::driver::sys::cuStreamGetPriority(stream, number) };
        assert_eq!(status, cudarc::driver::sys::CUresult::CUDA_SUCCESS);
    }
    // Lower numbers are more urgent, and 0 is the default.
    assert!(
        numbers[0] >= 0 && numbers[1] == 0 && numbers[2] < 0,
        "{numbers:?}"
    );
    Ok(())
}

#[test]
fn per_thread_stream_is_not_adopted() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let QueueHandle::Cuda { context, .. } = bench.queue.native() else {
        panic!("{:?}", bench.queue.native());
    };
    let handle = QueueHandle::Cuda {
        stream: std::ptr::without_provenance_mut(2), // CU_STREAM_PER_THREAD
        context,
    };
    // SAFETY: the stream and the context are valid.
    let refused = unsafe { bench.queue.context().device().adopt_queue(handle) };
    let expected = Failure::Rejected(Rejection::PerThreadStream);
    assert_eq!(refused.err(), Some(expected));
    Ok(())
}

#[test]
fn allocations_wait_for_dropped_buffers_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_allocates_what_it_dropped",
        LITTLE_MEMORY,
    );
}

const LITTLE_MEMORY: &str = "memory=64M";

#[test]
fn a_child_allocates_what_it_dropped() -> Tested {
    if !is_simulation(LITTLE_MEMORY) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench_with_pool()?.expect("the simulated device has a pool");
    let queue = &bench.queue;
    let most = 40 << 20;
    for kind in [None, Some(UsmKind::Device)] {
        let buffer = queue.zeroed(None, most)?;
        let flag = Flag::new(queue)?;
        flag.hold(&bench, queue)?;
        drop(buffer);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(Duration::from_millis(200));
                flag.set();
            });
            queue.zeroed(kind, most).map(drop)
        })?;
    }
    let refused = queue.zeroed(Some(UsmKind::Device), 2 * most).map(drop);
    assert_eq!(refused.map_err(name), Err("CUDA_ERROR_OUT_OF_MEMORY"));
    Ok(())
}

#[test]
fn failed_step_ends_recording_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_cannot_finish_its_recording",
        FAILING_STEP,
    );
}

const FAILING_STEP: &str = "fail=cuGraphAddMemsetNode:1:999";

// Adding the step again could add a part of it twice.
#[test]
fn a_child_cannot_finish_its_recording() -> crate::Result<()> {
    if !is_simulation(FAILING_STEP) {
        return Ok(()); // only the child process runs the test
    }
    let queue = crate::common::queue().expect("the simulated device");
    let mut buffer = queue.zeroed::<u32>(4)?;
    let mut recorder = queue.record();
    recorder.fill(&mut buffer, 7)?;
    // SAFETY: nothing is captured.
    let captured: crate::Result<()> = unsafe { recorder.capture(|_| Ok(())) };
    assert!(captured.is_err());
    let error = recorder.finish().expect_err("the graph is incomplete");
    assert!(error.to_string().contains("record again"), "{error}");
    Ok(())
}

#[test]
fn times_do_not_wait_for_another_queue() -> Tested {
    let Some(bench) = bench_with(QueueOptions::new().profiling())? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let other = queue.context().new_queue(QueueOptions::new().profiling())?;
    let (out, unused) = (Numbers::new(queue)?, Numbers::new(queue)?);
    let flag = Flag::new(queue)?;
    let held = flag.hold(&bench, queue)?;
    std::thread::sleep(Duration::from_millis(1100)); // until the clock needs a new base event
    queue.start_fill(&unused.0, &[7], WaitList::NOTHING)?;
    let event = other.start_fill(&out.0, &[7], WaitList::NOTHING)?;
    let seen = std::thread::scope(|scope| {
        let (ended, waiting) = mpsc::channel::<()>();
        // If something does wait for the queue, the test fails instead of hanging.
        let flag = &flag;
        scope.spawn(move || {
            let _ = waiting.recv_timeout(Duration::from_secs(20));
            flag.set();
        });
        event.wait()?;
        event.profile()?;
        let seen = held.is_complete();
        drop(ended);
        seen
    })?;
    assert!(!seen, "it waited for the queue");
    queue.finish()
}

/// Without the pool, dropping a buffer waits for all queues.
fn bench_with_pool() -> Result<Option<Bench>> {
    let bench = bench()?;
    if let Some(bench) = &bench
        && !bench.queue.cuda()?.stream.context.device.has_pool
    {
        say_skipped("buffers do not come from a pool");
        return Ok(None);
    }
    Ok(bench)
}

#[test]
fn buffers_do_not_wait_for_a_queue() -> Tested {
    let Some(bench) = bench_with_pool()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let other = queue.context().new_queue(QueueOptions::new())?;
    let out = Numbers::new(queue)?;
    let flag = Flag::new(queue)?;
    let running = flag.hold(&bench, queue)?;
    let filled = queue.start_fill(&out.0, &[7], WaitList::NOTHING)?;
    let (found, zeros) = std::thread::scope(|scope| {
        let (ended, waiting) = mpsc::channel::<()>();
        // If something does wait for the queue, the test fails instead of hanging.
        let flag = &flag;
        scope.spawn(move || {
            let _ = waiting.recv_timeout(Duration::from_secs(20));
            flag.set();
        });
        drop(out);
        for size in [16, 1 << 20] {
            let memory = other.upload(&vec![9; size])?;
            let mut read = vec![0; size];
            other.read(&memory, 0, &mut read)?;
            assert_eq!(read, vec![9; size]);
        }
        let (zeroed, mut zeros) = (queue.zeroed(None, LEN * 4)?, [1; LEN * 4]);
        other.read(&zeroed, 0, &mut zeros)?;
        let found = [running.is_complete()?, filled.is_complete()?];
        drop(ended);
        Ok::<_, Failure>((found, zeros))
    })?;
    assert_eq!(found, [false; 2], "something waited for the queue");
    assert_eq!(zeros, [0; LEN * 4]);
    filled.wait()
}

#[test]
fn events_do_not_keep_a_queue_listed() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let other = bench.queue.context().new_queue(QueueOptions::new())?;
    let out = Numbers::new(&bench.queue)?;
    let event = bench.iota(&other, &out, 1, WaitList::NOTHING)?;
    let context = &bench.queue.cuda()?.stream.context;
    // The event keeps the address in use.
    let stream = Arc::as_ptr(&other.cuda()?.stream);
    let is_listed = || -> Result<bool> {
        let found = std::cell::Cell::new(false);
        context.queues.for_each(|known| {
            found.set(found.get() || std::ptr::eq(known, stream));
            Ok(())
        })?;
        Ok(found.get())
    };
    assert!(is_listed()?);
    drop(other);
    assert!(!is_listed()?);
    event.wait()
}

// The queue does not count what another library enqueues on its stream.
#[test]
fn dropped_buffer_outlives_foreign_commands() -> Tested {
    let Some(bench) = bench_with_pool()? else {
        return Ok(());
    };
    let queue = bench.queue.cuda()?;
    let (stream, context) = (queue.stream.handle.0, &queue.stream.context);
    let out = Numbers::new(&bench.queue)?;
    let flag = Flag::new(&bench.queue)?;
    let object = flag.object(&bench)?;
    // SAFETY: the kernel takes a pointer to a number. The fill is inside the memory.
    unsafe {
        let object = object.cuda()?;
        let one = grid(NdRange::new(1));
        object.prepare(queue, &one, |launch| {
            object.command(launch, &one)(context.enter()?, stream)
        })?;
        call!(context => cuMemsetD8Async(out.memory().pointer, 7, LEN * 4, stream))?;
    }
    drop(out);
    std::thread::sleep(Duration::from_millis(50)); // enough to free the memory too early
    flag.set();
    bench.queue.finish()
}

#[test]
fn failed_unmap_is_an_error_in_simulation() {
    in_simulation(module_path!(), "a_child_cannot_write_back", FAILING_WRITE);
}

const FAILING_WRITE: &str = "fail=cuMemcpyAsync:2:999";

#[test]
fn a_child_cannot_write_back() -> crate::Result<()> {
    if !is_simulation(FAILING_WRITE) {
        return Ok(());
    }
    let queue = crate::common::queue().expect("the simulated device");
    let mut buffer = queue.zeroed::<u8>(4)?;
    let mut view = queue.map_mut(&mut buffer)?;
    view[0] = 1;
    let error = view.unmap().expect_err("the write fails").to_string();
    assert!(error.contains("while unmapping a buffer"), "{error}");
    assert_eq!(queue.download(&buffer)?, [0; 4]);
    Ok(())
}
