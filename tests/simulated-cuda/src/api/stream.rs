// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams, functions of the host in them, and captures.

use std::ffi::{c_int, c_uint, c_void};
use std::sync::Arc;

use cudarc::driver::sys::{CUcontext, CUgraph, CUhostFn, CUresult, CUstream};

use super::{handle, pointer};
use crate::call::{Code, Outcome, functions, give};
use crate::device::capture::Capture;
use crate::device::context::{self, Context};
use crate::device::graph::{Graph, Template};
use crate::device::stream::Stream;
use crate::device::table;
use crate::device::work::{Host, Work};

type Callback = Option<unsafe extern "C" fn(CUstream, CUresult, *mut c_void)>;

fn create(flags: u32, priority: i32) -> Outcome<u64> {
    let context = context::current()?;
    if flags > 1 {
        return Err(Code::CUDA_ERROR_INVALID_VALUE);
    }
    let new = table::reserve();
    let priority = priority.clamp(-5, 0);
    let stream = Stream::new(new, context.handle, flags == 0, priority, &context.shared);
    let stream = Arc::new(stream);
    table::insert(new, Arc::clone(&stream));
    context.forget_streams();
    context.streams().push(stream);
    Ok(new)
}

/// The stream with a handle, in the current context, outside of a capture; otherwise the capture becomes invalid.
fn idle(context: &Context, stream: CUstream) -> Outcome<Arc<Stream>> {
    let stream = context.stream(handle(stream))?;
    if let Some(capture) = &*stream.capture() {
        return Err(capture.refuse(Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED));
    }
    Ok(stream)
}

functions! {
    fn cuStreamCreate(to: *mut CUstream, flags: c_uint) {
        give(to, pointer(create(flags, 0)?))
    }

    fn cuStreamCreateWithPriority(to: *mut CUstream, flags: c_uint, priority: c_int) {
        give(to, pointer(create(flags, priority)?))
    }

    // What is in it is still done, and all that waits for the context waits for that.
    fn cuStreamDestroy_v2(which: CUstream) {
        let context = context::current_even_if_lost()?;
        let stream: Arc<Stream> = table::remove(handle(which))?;
        stream.close();
        context.forget_streams();
        Ok(())
    }

    fn cuStreamSynchronize(which: CUstream) {
        let context = context::current()?;
        let stream = idle(&context, which)?;
        stream.wait();
        context.shared.check()
    }

    fn cuStreamQuery(which: CUstream) {
        let context = context::current()?;
        if idle(&context, which)?.is_empty() {
            context.shared.check()
        } else {
            Err(Code::CUDA_ERROR_NOT_READY)
        }
    }

    fn cuStreamWaitEvent(which: CUstream, event: cudarc::driver::sys::CUevent, _flags: c_uint) {
        let context = context::current()?;
        let event = table::find(handle(event))?;
        context.stream(handle(which))?.wait_event(&context, &event)
    }

    fn cuStreamGetCtx(which: CUstream, to: *mut CUcontext) {
        let context = context::current()?;
        give(to, pointer(context.stream(handle(which))?.context))
    }

    fn cuStreamGetFlags(which: CUstream, flags: *mut c_uint) {
        let context = context::current()?;
        give(flags, c_uint::from(!context.stream(handle(which))?.blocking))
    }

    fn cuStreamGetPriority(which: CUstream, priority: *mut c_int) {
        let context = context::current()?;
        give(priority, context.stream(handle(which))?.priority)
    }

    fn cuStreamAddCallback(which: CUstream, callback: Callback, data: *mut c_void, _flags: c_uint) {
        let context = context::current()?;
        let callback = callback.ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        let stream = idle(&context, which)?;
        let data = data.expose_provenance();
        stream.submit(&context, Work::Host(Host::Callback(callback, handle(which), data)))
    }

    fn cuLaunchHostFunc(which: CUstream, function: CUhostFn, data: *mut c_void) {
        let context = context::current()?;
        let function = function.ok_or(Code::CUDA_ERROR_INVALID_VALUE)?;
        let stream = context.stream(handle(which))?;
        stream.submit(&context, Work::Host(Host::Plain(function, data.expose_provenance())))
    }

    fn cuStreamBeginCapture_v2(which: CUstream, _mode: c_uint) {
        let context = context::current()?;
        if handle(which) <= 2 {
            return Err(Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        let stream = context.stream(handle(which))?;
        let mut capture = stream.capture();
        if capture.is_some() {
            return Err(Code::CUDA_ERROR_ILLEGAL_STATE);
        }
        *capture = Some(Capture::begin());
        Ok(())
    }

    fn cuStreamEndCapture(which: CUstream, to: *mut CUgraph) {
        let context = context::current()?;
        let stream = context.stream(handle(which))?;
        give(to, std::ptr::null_mut())?;
        let taken = stream.capture().take();
        let capture = match taken {
            Some(capture) if capture.origin => capture,
            Some(capture) => {
                *stream.capture() = Some(capture);
                return Err(Code::CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
            }
            None => return Err(Code::CUDA_ERROR_ILLEGAL_STATE),
        };
        for other in context.streams().iter() {
            let mut theirs = other.capture();
            if theirs.as_ref().is_some_and(|theirs| theirs.is_of(&capture)) {
                *theirs = None;
            }
        }
        give(to, pointer(held(capture.end()?)))
    }

    fn cuStreamIsCapturing(which: CUstream, status: *mut c_uint) {
        let context = context::current()?;
        let stream = context.stream(handle(which))?;
        let capture = stream.capture();
        let status_now = capture.as_ref().map_or(0, |capture| if capture.check().is_ok() { 1 } else { 2 });
        give(status, status_now)
    }
}

fn held(graph: Graph) -> u64 {
    let new = table::reserve();
    table::insert(new, Arc::new(Template::new(graph)));
    new
}
