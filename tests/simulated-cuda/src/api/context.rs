// SPDX-License-Identifier: MIT OR Apache-2.0
//! Contexts.

use std::ffi::{c_int, c_uint};

use cudarc::driver::sys::CUcontext;

use super::{handle, pointer};
use crate::call::{Code, functions, give, give_if};
use crate::device::{context, table};

functions! {
    fn cuCtxCreate_v2(to: *mut CUcontext, flags: c_uint, device: c_int) {
        let device = context::device(device)?;
        let new = table::reserve();
        give(to, pointer(new))?;
        context::make(new, device, flags);
        context::push(new);
        Ok(())
    }

    fn cuCtxDestroy_v2(which: CUcontext) {
        context::by_handle(handle(which))?;
        context::destroy(handle(which))?;
        if context::current_handle() == handle(which) {
            context::set_current(0);
        }
        Ok(())
    }

    fn cuCtxSetCurrent(which: CUcontext) {
        if !which.is_null() {
            context::by_handle(handle(which))?;
        }
        context::initialized()?;
        context::set_current(handle(which));
        Ok(())
    }

    fn cuCtxGetCurrent(to: *mut CUcontext) {
        context::initialized()?;
        give(to, pointer(context::current_handle()))
    }

    fn cuCtxEnablePeerAccess(peer: CUcontext, flags: c_uint) {
        let device = context::by_handle(handle(peer))?.device;
        if flags != 0 || device == context::current()?.device {
            return Err(Code::CUDA_ERROR_INVALID_VALUE);
        }
        Ok(())
    }

    fn cuCtxPushCurrent_v2(which: CUcontext) {
        context::by_handle(handle(which))?;
        context::push(handle(which));
        Ok(())
    }

    fn cuCtxPopCurrent_v2(to: *mut CUcontext) {
        context::initialized()?;
        give_if(to, pointer(context::pop()?));
        Ok(())
    }

    fn cuCtxGetDevice(device: *mut c_int) {
        give(device, context::current_even_if_lost()?.device)
    }

    fn cuCtxGetFlags(flags: *mut c_uint) {
        give(flags, context::current_even_if_lost()?.flags)
    }

    fn cuCtxGetApiVersion(which: CUcontext, version: *mut c_uint) {
        if !which.is_null() {
            context::by_handle(handle(which))?;
        }
        give(version, 3020)
    }

    fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) {
        context::current()?;
        give_if(least, 0);
        give_if(greatest, -5);
        Ok(())
    }

    fn cuCtxSynchronize() {
        let context = context::current()?;
        let streams = context.streams().clone();
        if streams.iter().any(|stream| stream.capture().is_some()) {
            return Err(Code::CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
        }
        context.wait();
        context.shared.check()
    }
}
