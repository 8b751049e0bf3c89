// SPDX-License-Identifier: MIT OR Apache-2.0
//! Native handles: a program that calls `opencl3` or `cudarc` beside this crate, on the same queue and memory.
#![allow(unsafe_code, reason = "handles of others are unsafe to take")]

use std::sync::Arc;

use syclbin_rt::native::{DeviceHandle, EventHandle, KernelHandle, MemoryHandle, QueueHandle};
use syclbin_rt::{Arg, Buffer, Device, DeviceArray, Event, Launch, Queue, QueueOptions, Result};

use crate::common;
use crate::image::check_foreign_images;

const LEN: usize = 256;
const BYTES: usize = LEN * 4;
const IOTA: &str = "_ZN18__sycl_kernel_fill4iotaEfPfi";
/// Set for the child.
const CHILD: &str = "SYCLBIN_RT_TEST_NATIVE";

/// Writes `start`, `start + 1` and so on.
fn iota(queue: &Queue, start: f32, out: &mut Buffer<f32>) -> Result<Event> {
    let kernel = common::kernel(queue, "vector_ops.object.syclbin", IOTA);
    let count = i32::try_from(LEN).expect("it is small");
    let args = [Arg::scalar(start), Arg::write(out), Arg::scalar(count)];
    // SAFETY: it writes as many elements as there are.
    unsafe { Launch::new(&kernel, &["start", "out", "count"], args).launch(LEN) }
}

fn ascending(start: f32) -> Vec<f32> {
    (0..LEN).map(|i| start + i as f32).collect()
}

/// Runs a test in a process whose `opencl3` uses the library of our device. It chooses its library once.
fn run(test: &str) {
    let _ = run_with(test, "0");
}

/// Returns what the process wrote to standard error, or `None` if it cannot run here. `stats` is the value of
/// `SYCLBIN_STATS`.
fn run_with(test: &str, stats: &str) -> Option<String> {
    let queue = common::opencl_queue()?;
    if std::env::var("SYCLBIN_DEVICE_EXECUTES").is_ok_and(|executes| executes == "no") {
        common::say_skipped("the device executes nothing");
        return None;
    }
    let output = common::child(module_path!(), test)
        .env(CHILD, "1")
        .env("SYCLBIN_STATS", stats)
        .env("OPENCL_DYLIB_PATH", queue.device().library())
        .output()
        .expect("this program starts");
    let printed = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{printed}");
    assert!(printed.contains("1 passed"), "{printed}");
    Some(String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn adopted_queue_applies_settings() {
    if let Some(printed) = run_with("a_child_only_adopts", "1") {
        assert!(printed.contains("copies and fills"), "{printed}");
    }
}

#[test]
fn a_child_only_adopts() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the test above
    }
    let (_, queue) = adopted(&Device::best()?, 0)?.expect("a queue without properties");
    assert_eq!(queue.download(&queue.upload(&[1, 2])?)?, [1, 2]);
    Ok(())
}

#[test]
fn opencl3_uses_our_queue_and_buffer() {
    run("a_child_lends_to_opencl3");
}

#[test]
fn stubs_use_queue_and_buffer_of_opencl3() {
    run("a_child_borrows_from_opencl3");
}

#[test]
fn dropped_objects_leave_no_references() {
    run("a_child_counts_references");
}

#[test]
fn opencl3_sets_arguments_of_our_kernel() {
    run("a_child_lends_its_kernel");
}

#[test]
fn adopted_queues_keep_their_properties() {
    run("a_child_adopts_queues");
}

#[test]
fn barrier_of_adopted_queue_waits_for_all() {
    run("a_child_orders_an_adopted_queue");
}

#[test]
fn images_of_another_context_are_refused() {
    run("a_child_mixes_contexts");
}

#[test]
fn a_child_mixes_contexts() -> Result<()> {
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the test above
    }
    let ours = common::queue().expect("the device that the other test found");
    let (_, theirs) = adopted(ours.device(), 0)?.expect("a queue without properties");
    check_foreign_images(&ours, &theirs)
}

#[test]
fn a_child_counts_references() -> Result<()> {
    use opencl3::memory::{
        CL_MEM_MAP_COUNT, CL_MEM_REFERENCE_COUNT, get_mem_object_info, release_mem_object,
        retain_mem_object,
    };
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the test above
    }
    let queue = common::queue().expect("the device that the other test found");
    let mut buffer = queue.upload(&[7.0f32; LEN])?;
    queue.wait()?;
    let MemoryHandle::OpenCl { memory, .. } = buffer.native() else {
        panic!("{:?}", buffer.native());
    };
    let count = |name| {
        get_mem_object_info(memory, name)
            .expect("a live buffer")
            .to_uint()
    };
    let views = count(CL_MEM_MAP_COUNT);
    assert_eq!(queue.map(&buffer)?[LEN - 1], 7.0);
    queue.map_mut(&mut buffer)?.unmap()?;
    assert_eq!(count(CL_MEM_MAP_COUNT), views);
    // SAFETY: the buffer is alive.
    unsafe { retain_mem_object(memory) }.expect("a live buffer");
    let before = count(CL_MEM_REFERENCE_COUNT);
    drop(buffer);
    assert_eq!(count(CL_MEM_REFERENCE_COUNT), before - 1);
    // SAFETY: the reference is owned.
    unsafe { release_mem_object(memory) }.expect("it is owned");
    Ok(())
}

#[test]
fn a_child_lends_its_kernel() -> Result<()> {
    use opencl3::kernel::{CL_KERNEL_FUNCTION_NAME, get_kernel_info, set_kernel_arg};
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the test above
    }
    let queue = common::queue().expect("the device that the other test found");
    let kernel = common::kernel(&queue, "vector_ops.object.syclbin", IOTA);
    let mut out = queue.zeroed::<f32>(LEN)?;
    let mut launch = |start: f32| -> Result<Vec<f32>> {
        let args = [
            Arg::scalar(start),
            Arg::write(&mut out),
            Arg::scalar(i32::try_from(LEN).expect("a few elements")),
        ];
        // SAFETY: it writes as many elements as there are.
        unsafe { Launch::new(&kernel, &["start", "out", "count"], args).launch(LEN)? };
        queue.download(&out)
    };
    assert_eq!(launch(3.0)?, ascending(3.0));
    let KernelHandle::OpenCl { kernel: raw, .. } = kernel.clone()?.native() else {
        panic!("{:?}", kernel.clone()?.native());
    };
    let name = get_kernel_info(raw, CL_KERNEL_FUNCTION_NAME).expect("a live kernel");
    assert_eq!(String::from(name).trim_end_matches('\0'), IOTA);
    let start = 5.0f32;
    // SAFETY: the first parameter is a `float`, and nothing else uses the kernel.
    unsafe { set_kernel_arg(raw, 0, 4, (&raw const start).cast()) }.expect("a number");
    // A launch does not rely on the arguments of the launch before.
    assert_eq!(launch(3.0)?, ascending(3.0));
    Ok(())
}

/// Creates a context and a queue with `opencl3`, and adopts the queue. Returns `None` if the device has no such queues.
#[allow(clippy::panic, reason = "the caller has an OpenCL device")]
fn adopted(device: &Device, properties: u64) -> Result<Option<(QueueHandle, Queue)>> {
    use opencl3::command_queue::create_command_queue;
    use opencl3::context::context::create_context;
    use std::ptr::{null, null_mut};
    let DeviceHandle::OpenCl(id) = device.native() else {
        panic!("{:?}", device.native());
    };
    let context = create_context(&[id], null(), None, null_mut()).expect("a context");
    // SAFETY: the device is the context's.
    let Ok(queue) = (unsafe { create_command_queue(context, id, properties) }) else {
        common::say_skipped("the device has no queues with these properties");
        return Ok(None);
    };
    let handle = QueueHandle::OpenCl { queue, context };
    // SAFETY: the queue is alive, and of the library of the device.
    let queue = unsafe { Queue::from_native(device, handle) }?;
    Ok(Some((handle, queue)))
}

#[test]
fn a_child_adopts_queues() -> Result<()> {
    use opencl3::command_queue::{
        CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE as OUT_OF_ORDER,
        CL_QUEUE_PROFILING_ENABLE as PROFILING,
    };
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the test above
    }
    let ours = common::queue().expect("the device that the other test found");
    let plain = QueueOptions::new();
    for (properties, options) in [
        (0, plain),
        (PROFILING, plain.profiling()),
        (OUT_OF_ORDER, plain.out_of_order()),
        (OUT_OF_ORDER | PROFILING, plain.out_of_order().profiling()),
    ] {
        if let Some((_, queue)) = adopted(ours.device(), properties)? {
            assert_eq!(queue.options(), options);
        }
    }
    Ok(())
}

#[test]
fn a_child_orders_an_adopted_queue() -> Result<()> {
    use opencl3::command_queue::{CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE, enqueue_fill_buffer};
    use opencl3::event::{create_user_event, release_event, set_user_event_status};
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the test above
    }
    let ours = common::queue().expect("the device that the other test found");
    let adopted = adopted(ours.device(), CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE)?;
    let Some((
        QueueHandle::OpenCl {
            queue: raw,
            context,
        },
        queue,
    )) = adopted
    else {
        return Ok(());
    };
    let (mut numbers, mut others) = (queue.zeroed::<u32>(LEN)?, queue.zeroed::<u32>(LEN)?);
    let MemoryHandle::OpenCl { memory, .. } = numbers.native() else {
        panic!("{:?}", numbers.native());
    };
    let listed = queue.fill(&mut others, 9)?;
    listed.wait()?;
    // A fill that waits, then a barrier with an event that has ended, then another fill.
    let gate = create_user_event(context).expect("an event");
    let one = 1u32;
    let pattern = (&raw const one).cast();
    // SAFETY: all handles are alive, and the region is the whole buffer.
    let first =
        unsafe { enqueue_fill_buffer(raw, memory, pattern, 4, 0, BYTES, 1, &raw const gate) };
    let first = first.expect("a fill");
    queue.barrier(&[&listed])?;
    queue.fill(&mut numbers, 2)?;
    std::thread::sleep(std::time::Duration::from_millis(100)); // enough to overtake
    set_user_event_status(gate, 0).expect("it is pending");
    assert_eq!(queue.download(&numbers)?, [2; LEN]);
    for event in [first, gate] {
        // SAFETY: both are owned.
        unsafe { release_event(event) }.expect("it is owned");
    }
    Ok(())
}

#[test]
fn array_outlives_a_buffer_over_it() -> Result<()> {
    let Some(queue) = common::queue() else {
        return Ok(());
    };
    let Ok(array) = DeviceArray::upload(&queue, &[1i64, 2, 3]) else {
        common::say_skipped("the device has no arrays");
        return Ok(());
    };
    let part = array.slice(1..)?;
    let (MemoryHandle::Address(start), MemoryHandle::Address(second)) =
        (array.native(), part.native())
    else {
        panic!("{:?}", array.native());
    };
    assert_eq!(second, start + 8);
    for _ in 0..3 {
        // SAFETY: the memory is of this context and outlives the buffer, and nothing writes it.
        let buffer = unsafe { queue.buffer_from_native::<i64, _>(array.native(), 3, ()) }?;
        assert_eq!(queue.download(&buffer)?, [1, 2, 3]);
        drop(buffer);
        // The memory still belongs to the array.
        let other = DeviceArray::upload(&queue, &[7i64, 8, 9])?;
        assert_ne!(other.native(), array.native());
        assert_eq!(queue.download(&array)?, [1, 2, 3]);
    }
    Ok(())
}

#[test]
fn a_child_lends_to_opencl3() -> Result<()> {
    use opencl3::command_queue::enqueue_copy_buffer;
    use opencl3::event::{release_event, wait_for_events};
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the test above
    }
    let queue = common::queue().expect("the device that the other test found");
    let mut from = queue.zeroed::<f32>(LEN)?;
    let to = queue.upload(&[7.0f32; LEN + 1])?;
    let launched = iota(&queue, 3.0, &mut from)?;
    let part = to.slice(1..)?;
    let QueueHandle::OpenCl { queue: raw, .. } = queue.native() else {
        panic!("{:?}", queue.native());
    };
    let (
        MemoryHandle::OpenCl { memory, offset },
        MemoryHandle::OpenCl {
            memory: into,
            offset: at,
        },
    ) = (from.native(), part.native())
    else {
        panic!("{:?}", from.native());
    };
    assert_eq!([offset, at], [0, 4]);
    let after = launched.native()?.expect("an event of OpenCL");
    let EventHandle::OpenCl(event) = after.handle() else {
        panic!("{after:?}");
    };
    // SAFETY: all handles are alive, and the regions are inside of the buffers.
    let copied =
        unsafe { enqueue_copy_buffer(raw, memory, into, offset, at, BYTES, 1, &raw const event) };
    let copied = copied.expect("a copy");
    // SAFETY: the event is alive.
    let barrier = unsafe { queue.barrier_after_native(EventHandle::OpenCl(copied)) }?;
    barrier.wait()?;
    wait_for_events(&[copied]).expect("it has ended");
    // SAFETY: it is owned.
    unsafe { release_event(copied) }.expect("it is owned");
    assert_eq!(queue.download(&part)?, ascending(3.0));
    assert_eq!(queue.download(&to)?[0], 7.0);
    Ok(())
}

#[test]
fn a_child_borrows_from_opencl3() -> Result<()> {
    use opencl3::command_queue::{
        create_command_queue, enqueue_read_buffer, release_command_queue,
    };
    use opencl3::context::context::{create_context, release_context};
    use opencl3::memory::{CL_MEM_READ_WRITE, create_buffer, release_mem_object};
    use std::ptr::{null, null_mut};
    if std::env::var_os(CHILD).is_none() {
        return Ok(()); // it is there for the test above
    }
    let ours = common::queue().expect("the device that the other test found");
    let device = ours.device().clone();
    let DeviceHandle::OpenCl(id) = device.native() else {
        panic!("{:?}", device.native());
    };
    let context = create_context(&[id], null(), None, null_mut()).expect("a context");
    // SAFETY: the device is the context's.
    let raw = unsafe { create_command_queue(context, id, 0) }.expect("a queue");
    // SAFETY: nothing is copied from the host.
    let memory = unsafe { create_buffer(context, CL_MEM_READ_WRITE, BYTES, null_mut()) };
    let memory = memory.expect("a buffer");

    let handle = QueueHandle::OpenCl {
        queue: raw,
        context,
    };
    // SAFETY: the queue is alive, and of the library of the device.
    let queue = unsafe { Queue::from_native(&device, handle) }?;
    let object = MemoryHandle::OpenCl { memory, offset: 0 };
    // SAFETY: the memory is of the queue's context. It is released after the buffer is dropped.
    let foreign = unsafe { ours.buffer_from_native::<f32, _>(object, LEN, ()) };
    let message = foreign.unwrap_err().to_string();
    assert!(message.contains("another driver or context"), "{message}");
    // SAFETY: as above.
    let long = unsafe { queue.buffer_from_native::<f32, _>(object, LEN + 1, ()) };
    let message = long.unwrap_err().to_string();
    assert!(message.contains("beyond the end"), "{message}");

    let owner = Arc::new(());
    // SAFETY: as above.
    let buffer = unsafe { queue.buffer_from_native::<f32, _>(object, LEN, Arc::clone(&owner)) };
    let mut buffer = buffer?;
    drop(iota(&queue, 5.0, &mut buffer)?);
    let mut host = vec![0.0f32; LEN];
    // SAFETY: it blocks, and the memory is of this size.
    let event = unsafe {
        enqueue_read_buffer(
            raw,
            memory,
            1,
            0,
            BYTES,
            host.as_mut_ptr().cast(),
            0,
            null(),
        )
    };
    let event = event.expect("it reads");
    assert_eq!(host, ascending(5.0));
    // SAFETY: it is owned.
    unsafe { opencl3::event::release_event(event) }.expect("it is owned");
    // A second owner of the same queue has the same context.
    // SAFETY: as above.
    let second = unsafe { Queue::from_native(&device, handle) }?;
    assert_eq!(second.download(&buffer)?, ascending(5.0));
    assert_eq!(Arc::strong_count(&owner), 2);
    drop(buffer);
    assert_eq!(Arc::strong_count(&owner), 1);
    // SAFETY: these are the owned references. The queues hold others.
    unsafe {
        release_mem_object(memory).expect("it is owned");
        release_command_queue(raw).expect("it is owned");
        release_context(context).expect("it is owned");
    }
    let mut last = second.zeroed(LEN)?;
    drop(iota(&second, 9.0, &mut last)?);
    assert_eq!(queue.download(&last)?, ascending(9.0));
    Ok(())
}

#[cfg(feature = "cuda")]
#[test]
fn cudarc_shares_stream_and_memory() -> Result<()> {
    use cudarc::driver::{CudaContext, DevicePtrMut};

    if !common::on_cuda() {
        common::say_skipped("not a CUDA device");
        return Ok(());
    }
    let Some(ours) = common::queue() else {
        return Ok(());
    };
    let DeviceHandle::Cuda(ordinal) = ours.device().native() else {
        panic!("{:?}", ours.device().native());
    };
    let context = CudaContext::new(usize::try_from(ordinal).expect("a number")).expect("a context");
    let stream = context.new_stream().expect("a stream");
    let mut theirs = stream.alloc_zeros::<f32>(LEN).expect("memory");

    // In: a kernel of ours on their stream writes their memory.
    let handle = QueueHandle::Cuda {
        stream: stream.cu_stream().cast(),
        context: context.cu_ctx().cast(),
    };
    // SAFETY: the stream is of the primary context, and is dropped last.
    let queue = unsafe { Queue::from_native(ours.device(), handle) }?;
    let (address, guard) = theirs.device_ptr_mut(&stream);
    // SAFETY: the memory has this size, and outlives the buffer.
    let buffer =
        unsafe { queue.buffer_from_native::<f32, _>(MemoryHandle::Address(address), LEN, ()) };
    let mut buffer = buffer?;
    drop(iota(&queue, 4.0, &mut buffer)?);
    drop(buffer);
    drop(guard);
    let copy = stream.clone_dtoh(&theirs).expect("a copy");
    stream.synchronize().expect("it ends");
    assert_eq!(copy, ascending(4.0));

    // Out: they read our memory, after our event.
    let mut from = ours.zeroed::<f32>(LEN)?;
    let launched = iota(&ours, 6.0, &mut from)?;
    let MemoryHandle::Address(address) = from.native() else {
        panic!("{:?}", from.native());
    };
    if let Some(event) = launched.native()? {
        let EventHandle::Cuda(raw) = event.handle() else {
            panic!("{event:?}");
        };
        // SAFETY: both are alive.
        unsafe {
            cudarc::driver::result::stream::wait_event(
                stream.cu_stream(),
                raw.cast(),
                cudarc::driver::sys::CUevent_wait_flags::CU_EVENT_WAIT_DEFAULT,
            )
        }
        .expect("it waits");
    }
    // SAFETY: the memory has this size, and is not freed: leaked below.
    let view = unsafe { stream.upgrade_device_ptr::<f32>(address, LEN) };
    let copy = stream.clone_dtoh(&view).expect("a copy");
    stream.synchronize().expect("it ends");
    assert_eq!(copy, ascending(6.0));
    let _ = view.leak();
    Ok(())
}
