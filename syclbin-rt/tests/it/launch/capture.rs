// SPDX-License-Identifier: MIT OR Apache-2.0
//! Recordings of another CUDA library's work. The tests are that library: they call the driver themselves.
#![allow(
    unsafe_code,
    reason = "launching a kernel and calling a driver are unsafe"
)]
#![allow(clippy::panic, reason = "what is missing here fails the test")]

use std::panic::{AssertUnwindSafe, catch_unwind};

use cudarc::driver::sys::{self, CUresult, CUstream};
use syclbin_rt::native::{MemoryHandle, QueueHandle};
use syclbin_rt::{Arg, DeviceSlice, Error, ErrorKind, Launch, Queue, Recorder, Result};

use crate::common;

const LEN: usize = 64;
const LEN_32: u32 = 64;
/// The parameters of the kernel `saxpy`.
const NAMES: [&str; 4] = ["a", "x", "y", "n"];

/// The error of the other library.
#[derive(Debug)]
enum Problem {
    Theirs(&'static str),
    Ours(Error),
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        Self::Ours(error)
    }
}

fn queue() -> Option<Queue> {
    if !common::on_cuda() {
        common::say_skipped("not a CUDA device");
        return None;
    }
    common::queue()
}

fn stream(handle: QueueHandle) -> CUstream {
    match handle {
        QueueHandle::Cuda { stream, .. } => stream.cast(),
        _ => panic!("{handle:?}"),
    }
}

fn address<T: bytemuck::Pod>(slice: &DeviceSlice<T>) -> u64 {
    match slice.native() {
        MemoryHandle::Address(address) => address,
        other => panic!("{other:?}"),
    }
}

fn ok(status: CUresult) {
    assert_eq!(status, CUresult::CUDA_SUCCESS);
}

/// Captures a fill of the slice with `value`.
fn capture_fill(
    recorder: &mut Recorder,
    slice: &mut DeviceSlice<u32>,
    value: u32,
) -> Result<(), Error> {
    // SAFETY: the fill stays within the slice, which outlives the recording.
    unsafe {
        recorder.capture(|handle| {
            let (address, len) = (address(slice), slice.len());
            ok(sys::cuMemsetD32Async(address, value, len, stream(handle)));
            Ok(())
        })
    }
}

#[test]
fn captured_work_runs_between_two_launches() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "vector_ops.object.syclbin", "saxpy");
    let mut x = queue.upload(&[1.0f32; LEN])?;
    let mut y = queue.zeroed::<f32>(LEN)?;
    let z = queue.zeroed::<f32>(LEN)?;
    let n = Arg::scalar(LEN_32);
    let mut recorder = queue.record();
    // SAFETY: all buffers have `LEN` elements, and outlive the recording.
    unsafe {
        let args = [Arg::scalar(2.0f32), Arg::read(&x), Arg::write(&mut y), n];
        Launch::new(&kernel, &NAMES, args).record(&mut recorder, LEN)?;
        recorder.capture::<Error>(|handle| {
            let (stream, half) = (stream(handle), 0.5f32.to_bits());
            ok(sys::cuMemcpyAsync(
                address(&z),
                address(&y),
                4 * LEN,
                stream,
            ));
            ok(sys::cuMemsetD32Async(address(&y), half, LEN / 2, stream));
            Ok(())
        })?;
        let n = Arg::scalar(LEN_32);
        let args = [Arg::scalar(1.0f32), Arg::read(&z), Arg::write(&mut x), n];
        Launch::new(&kernel, &NAMES, args).record(&mut recorder, LEN)?;
    }
    // Capturing runs nothing.
    assert_eq!(queue.download(&z)?, [0.0; LEN]);
    let recording = recorder.finish()?;
    assert_eq!((recording.len(), recording.is_one_call()), (3, true));
    let (mut expected_x, mut expected_y) = ([1.0f32; LEN], [0.0f32; LEN]);
    for _ in 0..3 {
        recording.replay()?;
        for (at, (x, y)) in expected_x.iter_mut().zip(&mut expected_y).enumerate() {
            *y += 2.0 * *x;
            *x += *y;
            if at < LEN / 2 {
                *y = 0.5;
            }
        }
    }
    assert_eq!(queue.download(&x)?, expected_x);
    assert_eq!(queue.download(&y)?, expected_y);
    Ok(())
}

#[test]
fn failed_work_is_not_recorded() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let mut buffer = queue.zeroed::<u32>(2)?;
    let mut recorder = queue.record();
    recorder.fill(&mut buffer.slice_mut(..1)?, 1)?;
    // SAFETY: nothing runs what is captured.
    let failed = unsafe {
        recorder.capture(|handle| {
            ok(sys::cuMemsetD32Async(
                address(&buffer),
                9,
                2,
                stream(handle),
            ));
            Err(Problem::Theirs("out of coffee"))
        })
    };
    assert!(
        matches!(failed, Err(Problem::Theirs("out of coffee"))),
        "{failed:?}"
    );
    capture_fill(&mut recorder, &mut buffer.slice_mut(1..)?, 2)?;
    let recording = recorder.finish()?;
    assert_eq!(recording.len(), 2);
    recording.replay()?;
    assert_eq!(queue.download(&buffer)?, [1, 2]);
    Ok(())
}

#[test]
fn waiting_for_the_stream_is_an_error() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let mut buffer = queue.zeroed::<u32>(2)?;
    let mut recorder = queue.record();
    // SAFETY: nothing runs what is captured.
    let failed = unsafe {
        recorder.capture(|handle| {
            assert_eq!(
                sys::cuStreamSynchronize(stream(handle)),
                CUresult::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED
            );
            Ok(())
        })
    };
    let Err(Problem::Ours(error)) = failed else {
        panic!("{failed:?}");
    };
    assert_eq!(error.kind(), ErrorKind::Driver);
    let message = error.to_string();
    let expected = "cuStreamEndCapture failed with CUDA_ERROR_STREAM_CAPTURE_INVALIDATED (901) while \
         capturing another library's work (which must neither wait nor allocate device memory) on ";
    assert!(message.starts_with(expected), "{message}");
    capture_fill(&mut recorder, &mut buffer, 3)?;
    recorder.finish()?.replay()?.wait()?;
    assert_eq!(queue.download(&buffer)?, [3, 3]);
    Ok(())
}

#[test]
fn panic_ends_the_capture() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let mut buffer = queue.zeroed::<u32>(2)?;
    let mut recorder = queue.record();
    // SAFETY: nothing runs what is captured.
    let panicked = catch_unwind(AssertUnwindSafe(|| unsafe {
        recorder.capture::<Error>(|handle| {
            ok(sys::cuMemsetD32Async(
                address(&buffer),
                9,
                2,
                stream(handle),
            ));
            std::panic::resume_unwind(Box::new("coffee"))
        })
    }));
    assert!(panicked.is_err());
    // During a capture, this thread must not allocate.
    assert_eq!(queue.download(&queue.upload(&[5u32])?)?, [5]);
    capture_fill(&mut recorder, &mut buffer, 4)?;
    let recording = recorder.finish()?;
    assert_eq!(recording.len(), 1);
    recording.replay()?;
    assert_eq!(queue.download(&buffer)?, [4, 4]);
    Ok(())
}

#[test]
fn capture_without_work_records_nothing() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let mut recorder = queue.record();
    // SAFETY: nothing is enqueued.
    unsafe { recorder.capture::<Error>(|_| Ok(()))? };
    let recording = recorder.finish()?;
    assert!(recording.is_empty() && !recording.is_one_call());
    recording.replay()?.wait()
}

#[test]
fn other_threads_work_during_a_capture() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let mut buffer = queue.zeroed::<u32>(2)?;
    let mut recorder = queue.record();
    // SAFETY: the fill stays within the buffer, which outlives the recording.
    unsafe {
        recorder.capture(|handle| {
            let worked = std::thread::scope(|scope| {
                let other = scope.spawn(|| {
                    // Allocates, waits and frees. Without a pool, freeing waits for all queues.
                    queue.download(&queue.upload(&[6u32])?)
                });
                other.join().expect("it does not panic")
            });
            assert_eq!(worked?, [6]);
            ok(sys::cuMemsetD32Async(
                address(&buffer),
                7,
                1,
                stream(handle),
            ));
            Ok::<_, Error>(())
        })?;
    }
    recorder.fill(&mut buffer.slice_mut(1..)?, 8)?;
    recorder.finish()?.replay()?.wait()?;
    assert_eq!(queue.download(&buffer)?, [7, 8]);
    Ok(())
}

#[test]
fn opencl_cannot_capture() -> Result<()> {
    let Some(queue) = common::opencl_queue() else {
        return Ok(());
    };
    let mut recorder = queue.record();
    // SAFETY: nothing is enqueued.
    let error = unsafe { recorder.capture::<Error>(|_| panic!("as a library might")) };
    let error = error.expect_err("it needs a graph");
    assert_eq!(error.kind(), ErrorKind::Unsupported);
    let message = error.to_string();
    let expected = "recordings of another library's work (enqueue it between replays of two recordings) require CUDA 12 or later";
    assert!(message.starts_with(expected), "{message}");
    assert!(recorder.finish()?.is_empty());
    Ok(())
}
