// SPDX-License-Identifier: MIT OR Apache-2.0
//! What dropping an object waits for, and what it frees.

use cudarc::driver::sys::{
    CUresult, cuMemGetAddressRange_v2, cuStreamCreate, cuStreamDestroy_v2, cuStreamGetPriority,
};

use super::failures::{FAILING_FINISH, in_simulation, is_simulation};
use super::*;

/// Returns what `check` returns after `wait`, during which the flag is set.
fn after<T>(flag: &Flag, wait: impl FnOnce(), check: impl FnOnce() -> T) -> T {
    std::thread::scope(|scope| {
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(20));
            flag.set();
        });
        wait();
        check()
    })
}

#[test]
fn dropped_graph_waits_for_its_runs() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = &bench.queue;
    let Some(mut graph) = queue.graph()? else {
        say_skipped("the driver does not support these graphs");
        return Ok(());
    };
    let flag = Flag::new(queue)?;
    let object = flag.object(&bench)?;
    // SAFETY: the kernel takes a pointer to a number, which is never freed.
    unsafe { graph.add_kernel(&object, &grid(NdRange::new(1))) }?;
    graph.finish()?;
    // SAFETY: as above.
    let run = unsafe { graph.enqueue(WaitList::NOTHING) }?;
    let ended = after(&flag, || drop(graph), || run.is_complete())?;
    assert!(ended, "the graph was dropped during a run");
    Ok(())
}

#[test]
fn dropped_queue_waits_for_its_commands() -> Tested {
    let Some(bench) = bench()? else {
        return Ok(());
    };
    let queue = bench.queue.context().new_queue(QueueOptions::new())?;
    let flag = Flag::new(&queue)?;
    let held = flag.hold(&bench, &queue)?;
    let ended = after(&flag, || drop(queue), || held.is_complete())?;
    assert!(ended, "a command of the dropped queue is running");
    Ok(())
}

#[test]
fn memory_outlives_unfinished_queue_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_drops_a_running_queue",
        FAILING_FINISH,
    );
}

// The memory that the commands use must not be freed before they end.
#[test]
fn a_child_drops_a_running_queue() -> Tested {
    if !is_simulation(FAILING_FINISH) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let context = bench.queue.context();
    let queue = bench.queue.context().new_queue(QueueOptions::new())?;
    let out = region(queue.zeroed(Some(UsmKind::Host), 4)?, 0, 4);
    let flag = Flag::new(&queue)?;
    flag.hold(&bench, &queue)?;
    queue.start_fill(&out, &[7], WaitList::NOTHING)?;
    drop(queue);
    let mut finished = Ok(());
    let pointer = out.memory.host_pointer().expect("host memory");
    // SAFETY: the memory is alive.
    let read = || unsafe { AtomicU32::from_ptr(pointer.cast()) }.load(Ordering::Relaxed);
    assert_eq!(read(), 0);
    let seen = after(&flag, || finished = context.finish_all(), read);
    assert_eq!(seen, 0x0707_0707);
    finished
}

#[test]
fn only_owned_streams_are_destroyed_in_simulation() {
    in_simulation(module_path!(), "a_child_drops_streams", ONE_DEVICE);
}

/// The settings of a child process in which nothing fails. Nothing else in it reuses what a test frees.
const ONE_DEVICE: &str = "devices=1";

#[test]
fn a_child_drops_streams() -> Tested {
    if !is_simulation(ONE_DEVICE) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let context = bench.queue.context();
    let is_alive = |handle| {
        let mut priority = 0;
        // SAFETY: the simulated driver also accepts handles of destroyed streams, and reports them.
        let status = unsafe { cuStreamGetPriority(handle, &raw mut priority) };
        status == CUresult::CUDA_SUCCESS
    };
    let owned = bench.queue.context().new_queue(QueueOptions::new())?;
    let handle = owned.cuda()?.stream.handle.0.cast();
    assert!(is_alive(handle));
    drop(owned);
    assert!(!is_alive(handle));

    let QueueHandle::Cuda { context: raw, .. } = bench.queue.native() else {
        panic!("{:?}", bench.queue.native());
    };
    let mut stream = std::ptr::null_mut();
    // SAFETY: the context is current; the call writes one handle.
    let created = unsafe { cuStreamCreate(&raw mut stream, 0) };
    assert_eq!(created, CUresult::CUDA_SUCCESS);
    let handle = QueueHandle::Cuda {
        stream: stream.cast(),
        context: raw,
    };
    // SAFETY: the stream belongs to the context and outlives the queue.
    drop(unsafe { context.device().adopt_queue(handle) }?);
    assert!(is_alive(stream));
    // SAFETY: the stream is owned and no longer used.
    let destroyed = unsafe { cuStreamDestroy_v2(stream) };
    assert_eq!(destroyed, CUresult::CUDA_SUCCESS);
    Ok(())
}

#[test]
fn memory_of_each_kind_is_freed_in_simulation() {
    in_simulation(module_path!(), "a_child_drops_memory", ONE_DEVICE);
}

#[test]
fn a_child_drops_memory() -> Tested {
    if !is_simulation(ONE_DEVICE) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    for kind in [UsmKind::Device, UsmKind::Host, UsmKind::Shared] {
        let memory = bench.queue.zeroed(Some(kind), 64)?;
        let address = memory.address().expect("memory with an address");
        let is_known = || {
            let (mut start, mut size) = (0, 0);
            // SAFETY: the call writes two values through valid pointers.
            let status = unsafe { cuMemGetAddressRange_v2(&raw mut start, &raw mut size, address) };
            status == CUresult::CUDA_SUCCESS
        };
        assert!(is_known(), "{kind:?}");
        drop(memory);
        assert!(!is_known(), "{kind:?}");
    }
    Ok(())
}

#[test]
fn captured_graph_is_destroyed_in_simulation() {
    in_simulation(
        module_path!(),
        "a_child_cannot_destroy_a_graph",
        FAILING_DESTROY,
    );
}

const FAILING_DESTROY: &str = "fail=cuGraphDestroy:1:719";

// That the context is lost shows that the captured graph, which was copied, was to be destroyed.
#[test]
fn a_child_cannot_destroy_a_graph() -> Tested {
    if !is_simulation(FAILING_DESTROY) {
        return Ok(()); // only the child process runs the test
    }
    let bench = bench()?.expect("the simulated device");
    let out = Numbers::new(&bench.queue)?;
    let address = out.memory().pointer;
    let mut graph = bench.queue.graph()?.expect("the driver supports graphs");
    let fill = move |handle| {
        let QueueHandle::Cuda { stream, .. } = handle else {
            panic!("{handle:?}");
        };
        // SAFETY: the memory holds as many bytes, and the graph is never enqueued.
        let status =
            unsafe { cudarc::driver::sys::cuMemsetD8Async(address, 7, LEN, stream.cast()) };
        status == CUresult::CUDA_SUCCESS
    };
    // SAFETY: as above.
    assert!(unsafe { graph.capture(Box::new(fill)) }?);
    assert!(bench.queue.cuda()?.stream.context.is_lost());
    Ok(())
}

#[test]
fn dropped_program_is_unloaded_in_simulation() {
    in_simulation(module_path!(), "a_child_drops_a_program", ONE_DEVICE);
}

#[test]
fn a_child_drops_a_program() -> Tested {
    if !is_simulation(ONE_DEVICE) {
        return Ok(()); // only the child process runs the test
    }
    let Bench { queue, program } = bench()?.expect("the simulated device");
    let (address, size) = downcast::<CudaProgram>(program.clone())?.variable(c"table")?;
    assert_eq!(size, 16);
    let is_known = || {
        let (mut start, mut size) = (0, 0);
        // SAFETY: the call writes two values through valid pointers.
        let status = unsafe { cuMemGetAddressRange_v2(&raw mut start, &raw mut size, address) };
        status == CUresult::CUDA_SUCCESS
    };
    let kernel = find(&program, c"double", None)?;
    drop(program);
    assert!(is_known(), "a kernel uses the program");
    drop(kernel);
    assert!(!is_known());
    queue.finish()
}
