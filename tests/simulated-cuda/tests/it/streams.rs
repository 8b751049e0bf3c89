// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, events, functions of the host, captures and graphs.
#![allow(unsafe_code, reason = "it calls functions of a C library")]

use std::ffi::c_void;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};

use cudarc::driver::sys::{
    CUDA_KERNEL_NODE_PARAMS_v2_st, CUDA_MEMSET_NODE_PARAMS, CUevent, CUgraphNode, CUresult as Code,
    CUstream,
};
use simulated_cuda::api::{copy, event, fill, graph, launch, stream};

use crate::driver::{context, download, fails, function, launch_in, load, ok, synchronize, upload};

const TEXT: &str = ".version 6.3\n.target sm_70\n.address_size 64\n\
    .visible .entry add(.param .u64 at, .param .u32 by) { .reg .b64 %d<2>; .reg .b32 %r<4>; \
    ld.param.u64 %d1, [at]; ld.param.u32 %r1, [by]; ld.global.u32 %r2, [%d1]; \
    mad.lo.u32 %r3, %r2, 10, %r1; st.global.u32 [%d1], %r3; ret; }\n";

fn stream(flags: u32) -> CUstream {
    let mut new = null_mut();
    // SAFETY: it can be written to.
    ok(unsafe { stream::cuStreamCreate(&mut new, flags) });
    new
}

fn event(flags: u32) -> CUevent {
    let mut new = null_mut();
    // SAFETY: it can be written to.
    ok(unsafe { event::cuEventCreate(&mut new, flags) });
    new
}

/// A door that a stream waits at until it is opened.
#[derive(Default)]
struct Door {
    open: Mutex<bool>,
    changed: Condvar,
}

impl Door {
    fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    fn open(&self) {
        *self.open.lock().expect("nobody panics") = true;
        self.changed.notify_all();
    }

    fn put_into(&'static self, stream: CUstream) {
        unsafe extern "C" fn wait(door: *mut c_void) {
            // SAFETY: it is a door that is never freed.
            let door = unsafe { &*door.cast::<Door>() };
            let open = door.open.lock().expect("nobody panics");
            drop(door.changed.wait_while(open, |open| !*open));
        }
        let door = std::ptr::from_ref(self).cast_mut().cast();
        // SAFETY: the door is never freed.
        ok(unsafe { stream::cuLaunchHostFunc(stream, Some(wait), door) });
    }
}

fn add(stream: CUstream, address: u64, by: u32) {
    thread_local! {
        static ADD: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
    }
    if ADD.get() == 0 {
        ADD.set(function(load(TEXT), "add").addr());
    }
    let function = std::ptr::without_provenance_mut(ADD.get());
    let arguments = [&address.to_ne_bytes()[..], &by.to_ne_bytes()];
    ok(launch_in(stream, function, [1; 3], [1; 3], 0, &arguments));
}

#[test]
fn stream_keeps_order_while_host_continues() {
    context();
    let address = upload(&[0u32]);
    let own = stream(1);
    let door = Door::new();
    door.put_into(own);
    add(own, address, 1);
    add(own, address, 2);
    // SAFETY: the stream is there.
    unsafe {
        fails(stream::cuStreamQuery(own), Code::CUDA_ERROR_NOT_READY);
        door.open();
        ok(stream::cuStreamSynchronize(own));
        ok(stream::cuStreamQuery(own));
    }
    assert_eq!(download::<u32>(address, 1), [12]);
}

#[test]
fn streams_wait_for_events_and_null_stream() {
    context();
    let address = upload(&[0u32]);
    let (first, second, blocking) = (stream(1), stream(1), stream(0));
    let (recorded, begin) = (event(0), event(0));
    let door = Door::new();
    // SAFETY: all handles are there.
    unsafe {
        // What was never recorded holds nobody.
        ok(stream::cuStreamWaitEvent(second, recorded, 0));
        ok(event::cuEventRecord(begin, first));
        door.put_into(first);
        add(first, address, 1);
        ok(event::cuEventRecord(recorded, first));
        ok(stream::cuStreamWaitEvent(second, recorded, 0));
        add(second, address, 2);
        fails(event::cuEventQuery(recorded), Code::CUDA_ERROR_NOT_READY);
        let mut passed = 0.0;
        fails(
            event::cuEventElapsedTime(&mut passed, begin, recorded),
            Code::CUDA_ERROR_NOT_READY,
        );
        door.open();
        ok(event::cuEventSynchronize(recorded));
        ok(event::cuEventElapsedTime(&mut passed, begin, recorded));
        assert!(passed >= 0.0);
        ok(stream::cuStreamSynchronize(second));
        assert_eq!(download::<u32>(address, 1), [12]);
        let untimed = event(2);
        ok(event::cuEventRecord(untimed, first));
        ok(event::cuEventSynchronize(untimed));
        fails(
            event::cuEventElapsedTime(&mut passed, begin, untimed),
            Code::CUDA_ERROR_INVALID_HANDLE,
        );

        let door = Door::new();
        door.put_into(blocking);
        add(null_mut(), address, 3);
        add(blocking, address, 4);
        door.open();
        ok(synchronize());
        assert_eq!(download::<u32>(address, 1), [1234]);
        ok(event::cuEventDestroy_v2(untimed));
        fails(
            event::cuEventDestroy_v2(untimed),
            Code::CUDA_ERROR_INVALID_HANDLE,
        );
        ok(stream::cuStreamDestroy_v2(first));
        fails(
            stream::cuStreamSynchronize(first),
            Code::CUDA_ERROR_INVALID_HANDLE,
        );
    }
}

#[test]
fn driver_calls_are_forbidden_in_host_functions() {
    static CODE: AtomicU32 = AtomicU32::new(0);
    unsafe extern "C" fn call(_: *mut c_void) {
        CODE.store(synchronize(), Ordering::Relaxed);
    }
    context();
    // SAFETY: it takes nothing.
    ok(unsafe { stream::cuLaunchHostFunc(null_mut(), Some(call), null_mut()) });
    ok(synchronize());
    fails(CODE.load(Ordering::Relaxed), Code::CUDA_ERROR_NOT_PERMITTED);
}

#[test]
fn captured_graph_runs_at_each_launch() {
    context();
    let address = upload(&[0u32; 2]);
    let (first, second) = (stream(1), stream(1));
    let (forked, joined) = (event(2), event(2));
    let (mut captured, mut executable, mut status) = (null_mut(), null_mut(), 7);
    // SAFETY: all handles are there, and what is written to can be.
    unsafe {
        fails(
            stream::cuStreamBeginCapture_v2(null_mut(), 0),
            Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        );
        ok(stream::cuStreamBeginCapture_v2(first, 0));
        ok(fill::cuMemsetD32Async(address, 5, 1, first));
        ok(event::cuEventRecord(forked, first));
        ok(stream::cuStreamWaitEvent(second, forked, 0));
        ok(copy::cuMemcpyDtoDAsync_v2(address + 4, address, 4, second));
        add(first, address, 1);
        ok(event::cuEventRecord(joined, second));
        ok(stream::cuStreamWaitEvent(first, joined, 0));
        add(first, address, 2);
        ok(stream::cuStreamIsCapturing(first, &mut status));
        assert_eq!(status, 1);
        fails(
            stream::cuStreamEndCapture(second, &mut captured),
            Code::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED,
        );
        ok(stream::cuStreamEndCapture(first, &mut captured));
        ok(graph::cuGraphInstantiateWithFlags(
            &mut executable,
            captured,
            0,
        ));
        ok(graph::cuGraphDestroy(captured));
        for _ in 0..2 {
            ok(graph::cuGraphLaunch(executable, first));
        }
        ok(stream::cuStreamSynchronize(first));
        ok(graph::cuGraphExecDestroy(executable));
        fails(
            graph::cuGraphLaunch(executable, first),
            Code::CUDA_ERROR_INVALID_HANDLE,
        );
    }
    assert_eq!(download::<u32>(address, 2), [512, 5]);
}

#[test]
fn waiting_for_a_stream_invalidates_its_capture() {
    context();
    let address = upload(&[7u32]);
    let (first, mut captured, mut status) = (stream(1), null_mut(), 7);
    // SAFETY: all handles are there, and what is written to can be.
    unsafe {
        ok(stream::cuStreamBeginCapture_v2(first, 1));
        fails(
            stream::cuStreamSynchronize(first),
            Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
        );
        ok(stream::cuStreamIsCapturing(first, &mut status));
        assert_eq!(status, 2);
        let invalidated = Code::CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
        fails(fill::cuMemsetD32Async(address, 5, 1, first), invalidated);
        fails(stream::cuStreamQuery(first), invalidated);
        fails(
            stream::cuStreamEndCapture(first, &mut captured),
            invalidated,
        );
        assert!(captured.is_null());
        ok(stream::cuStreamSynchronize(first));
    }
    assert_eq!(download::<u32>(address, 1), [7]);
}

#[test]
fn captured_graph_is_a_node_of_another() {
    let own = context();
    let address = upload(&[0u32; 2]);
    let first = stream(1);
    let (mut captured, mut made, mut executable) = (null_mut(), null_mut(), null_mut());
    let (mut before, mut child, mut count) = (null_mut(), null_mut(), 0);
    let fill = CUDA_MEMSET_NODE_PARAMS {
        dst: address,
        pitch: 0,
        value: 2,
        elementSize: 4,
        width: 1,
        height: 1,
    };
    // SAFETY: all handles are there, and what is written to can be.
    unsafe {
        ok(stream::cuStreamBeginCapture_v2(first, 1));
        ok(copy::cuMemcpyDtoDAsync_v2(address + 4, address, 4, first));
        ok(fill::cuMemsetD32Async(address, 9, 1, first));
        ok(stream::cuStreamEndCapture(first, &mut captured));
        ok(graph::cuGraphCreate(&mut made, 0));
        ok(graph::cuGraphAddMemsetNode(
            &mut before,
            made,
            null(),
            0,
            &fill,
            own,
        ));
        ok(graph::cuGraphAddChildGraphNode(
            &mut child, made, &before, 1, captured,
        ));
        fails(
            graph::cuGraphAddChildGraphNode(&mut child, made, &before, 1, made),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        ok(graph::cuGraphGetNodes(made, null_mut(), &mut count));
        assert_eq!(count, 2);
        // The node is a copy.
        ok(graph::cuGraphDestroy(captured));
        ok(graph::cuGraphInstantiateWithFlags(&mut executable, made, 0));
        ok(graph::cuGraphLaunch(executable, first));
        ok(stream::cuStreamSynchronize(first));
        ok(graph::cuGraphExecDestroy(executable));
        ok(graph::cuGraphDestroy(made));
    }
    assert_eq!(download::<u32>(address, 2), [9, 2]);
}

#[test]
fn unjoined_stream_invalidates_a_capture() {
    context();
    let address = upload(&[0u32]);
    let (first, second, forked) = (stream(1), stream(1), event(2));
    let mut captured = null_mut();
    // SAFETY: all handles are there.
    unsafe {
        ok(stream::cuStreamBeginCapture_v2(first, 0));
        ok(event::cuEventRecord(forked, first));
        ok(stream::cuStreamWaitEvent(second, forked, 0));
        add(second, address, 1);
        fails(
            stream::cuStreamEndCapture(first, &mut captured),
            Code::CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
        );
        assert!(captured.is_null());
        ok(stream::cuStreamSynchronize(second));
    }
    assert_eq!(download::<u32>(address, 1), [0]);
}

#[test]
fn graph_is_built_from_nodes_and_updated() {
    let own = context();
    let address = upload(&[0u32]);
    let add = function(load(TEXT), "add");
    let (mut at, mut by) = (address, 3u32);
    let mut arguments = [(&raw mut at).cast::<c_void>(), (&raw mut by).cast()];
    let parameters = CUDA_KERNEL_NODE_PARAMS_v2_st {
        func: add,
        gridDimX: 1,
        gridDimY: 1,
        gridDimZ: 1,
        blockDimX: 1,
        blockDimY: 1,
        blockDimZ: 1,
        sharedMemBytes: 0,
        kernelParams: arguments.as_mut_ptr(),
        extra: null_mut(),
        kern: null_mut(),
        ctx: null_mut(),
    };
    let fill = CUDA_MEMSET_NODE_PARAMS {
        dst: address,
        pitch: 0,
        value: 2,
        elementSize: 4,
        width: 1,
        height: 1,
    };
    let (mut made, mut executable) = (null_mut(), null_mut());
    let (mut first, mut second): (CUgraphNode, CUgraphNode) = (null_mut(), null_mut());
    let mut count = 0;
    // SAFETY: all handles are there, and what is written to can be.
    unsafe {
        ok(graph::cuGraphCreate(&mut made, 0));
        ok(graph::cuGraphAddMemsetNode(
            &mut first,
            made,
            null(),
            0,
            &fill,
            own,
        ));
        ok(graph::cuGraphAddKernelNode_v2(
            &mut second,
            made,
            &first,
            1,
            &parameters,
        ));
        let stranger = std::ptr::without_provenance_mut(16);
        fails(
            graph::cuGraphAddEmptyNode(&mut first, made, &stranger, 1),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        ok(graph::cuGraphGetNodes(made, null_mut(), &mut count));
        assert_eq!(count, 2);
        ok(graph::cuGraphInstantiateWithFlags(&mut executable, made, 0));
        ok(graph::cuGraphUpload(executable, null_mut()));
        ok(graph::cuGraphLaunch(executable, null_mut()));
        assert_eq!(download::<u32>(address, 1), [23]);
        by = 4;
        ok(graph::cuGraphExecKernelNodeSetParams_v2(
            executable,
            second,
            &parameters,
        ));
        fails(
            graph::cuGraphExecKernelNodeSetParams_v2(executable, first, &parameters),
            Code::CUDA_ERROR_INVALID_VALUE,
        );
        ok(graph::cuGraphLaunch(executable, null_mut()));
        assert_eq!((by, download::<u32>(address, 1)), (4, vec![24]));
    }
}

#[test]
fn arguments_may_lie_in_one_buffer() {
    context();
    let address = upload(&[1u32]);
    let add = function(load(TEXT), "add");
    let mut buffer = [address.to_ne_bytes(), 7u64.to_ne_bytes()].concat();
    let mut launch = |mut size: usize| {
        let mut extra = [
            std::ptr::without_provenance_mut(1),
            buffer.as_mut_ptr().cast::<c_void>(),
            std::ptr::without_provenance_mut(2),
            (&raw mut size).cast(),
            null_mut(),
        ];
        let extra = extra.as_mut_ptr();
        // SAFETY: the list ends with zero, and the buffer has as many bytes as it says.
        unsafe { launch::cuLaunchKernel(add, 1, 1, 1, 1, 1, 1, 0, null_mut(), null_mut(), extra) }
    };
    ok(launch(12));
    assert_eq!(download::<u32>(address, 1), [17]);
    fails(launch(8), Code::CUDA_ERROR_INVALID_VALUE);
}
