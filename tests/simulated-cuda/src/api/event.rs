// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events.

use std::ffi::c_uint;
use std::sync::Arc;

use cudarc::driver::sys::{CUevent, CUstream};

use super::{handle, pointer};
use crate::call::{Code, functions, give};
use crate::device::event::Event;
use crate::device::{context, table};

/// `CU_EVENT_DISABLE_TIMING`
const NO_TIMING: u32 = 2;

functions! {
    fn cuEventCreate(to: *mut CUevent, flags: c_uint) {
        let context = context::current()?;
        if flags > 7 {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        let new = table::reserve();
        give(to, pointer(new))?;
        table::insert(new, Arc::new(Event::new(context.handle, flags & NO_TIMING == 0)));
        Ok(())
    }

    fn cuEventDestroy_v2(event: CUevent) {
        context::current_even_if_lost()?;
        table::remove::<Event>(handle(event)).map(|_| ())
    }

    fn cuEventRecord(event: CUevent, stream: CUstream) {
        let context = context::current()?;
        let event: Arc<Event> = table::find(handle(event))?;
        let stream = context.stream(handle(stream))?;
        if event.context != stream.context {
            return Err(Code::CUDA_ERROR_INVALID_HANDLE);
        }
        stream.record(&context, &event)
    }

    fn cuEventQuery(event: CUevent) {
        let context = context::current()?;
        table::find::<Event>(handle(event))?.query()?;
        context.shared.check()
    }

    fn cuEventSynchronize(event: CUevent) {
        let context = context::current()?;
        let event: Arc<Event> = table::find(handle(event))?;
        if let Some(capture) = event.capture() {
            return Err(capture.refuse(Code::CUDA_ERROR_CAPTURED_EVENT));
        }
        event.wait_for(event.expected());
        context.shared.check()
    }

    fn cuEventElapsedTime(milliseconds: *mut f32, begin: CUevent, end: CUevent) {
        context::current()?;
        let begin = table::find::<Event>(handle(begin))?.when()?;
        let end = table::find::<Event>(handle(end))?.when()?;
        let passed = match end.checked_duration_since(begin) {
            Some(passed) => passed.as_secs_f32(),
            None => -begin.duration_since(end).as_secs_f32(),
        };
        give(milliseconds, passed * 1000.0)
    }

    fn cuEventElapsedTime_v2(milliseconds: *mut f32, begin: CUevent, end: CUevent) {
        context::current()?;
        let begin = table::find::<Event>(handle(begin))?.when()?;
        let end = table::find::<Event>(handle(end))?.when()?;
        let passed = match end.checked_duration_since(begin) {
            Some(passed) => passed.as_secs_f32(),
            None => -begin.duration_since(end).as_secs_f32(),
        };
        give(milliseconds, passed * 1000.0)
    }
}
