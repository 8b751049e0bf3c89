// SPDX-License-Identifier: MIT OR Apache-2.0
//! Events of commands that were made to fail.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::{Mutex, MutexGuard, PoisonError};

use opencl_sys::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST,
    CL_SUCCESS, cl_event, cl_int, cl_uint,
};

/// The code that each of them ends with.
static FAILED: Mutex<Option<HashMap<usize, cl_int>>> = Mutex::new(None);

/// What is called when the state of an event changes.
pub(crate) type Callback = Option<unsafe extern "C" fn(cl_event, cl_int, *mut c_void)>;

fn failed() -> MutexGuard<'static, Option<HashMap<usize, cl_int>>> {
    FAILED.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The command of `event` ends with `code`.
pub(crate) fn fail(event: cl_event, code: cl_int) {
    failed().get_or_insert_default().insert(event.addr(), code);
}

/// The event is gone.
pub(crate) fn forget(event: usize) {
    if let Some(failed) = failed().as_mut() {
        failed.remove(&event);
    }
}

pub(crate) fn code_of(event: cl_event) -> Option<cl_int> {
    failed().as_ref()?.get(&event.addr()).copied()
}

/// Whether one of these has failed.
///
/// # Safety
///
/// The list is null or has as many events as are told.
pub(crate) unsafe fn any_failed((count, list): (cl_uint, *const cl_event)) -> bool {
    if list.is_null() || count == 0 {
        return false;
    }
    // SAFETY: it is not null, and the caller vouches for its length.
    let events = unsafe { std::slice::from_raw_parts(list, count as usize) };
    events.iter().any(|event| code_of(*event).is_some())
}

/// What waiting for these events comes to, after the driver has waited for them with `code`.
///
/// # Safety
///
/// As of [`any_failed`].
pub(crate) unsafe fn waited(code: cl_int, count: cl_uint, list: *const cl_event) -> cl_int {
    // SAFETY: the caller vouches for the list.
    if code == CL_SUCCESS && unsafe { any_failed((count, list)) } {
        return CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST;
    }
    code
}

/// Puts the code that a failed event ends with in place of what the driver has said of it.
///
/// # Safety
///
/// `value` is null or holds `size` bytes.
pub(crate) unsafe fn told(
    code: cl_int,
    event: cl_event,
    name: cl_uint,
    size: usize,
    value: *mut c_void,
) -> cl_int {
    if code == CL_SUCCESS
        && name == CL_EVENT_COMMAND_EXECUTION_STATUS
        && size >= size_of::<cl_int>()
        && !value.is_null()
        && let Some(failed) = code_of(event)
    {
        let status = value.cast::<cl_int>();
        // SAFETY: it is not null, and there is room, which the driver has written to.
        unsafe {
            // Until what came before has ended it is still waiting.
            if status.read_unaligned() == CL_COMPLETE {
                status.write_unaligned(failed);
            }
        }
    }
    code
}

/// A callback that is to hear of a failure, and with what.
struct Wrapped {
    callback: unsafe extern "C" fn(cl_event, cl_int, *mut c_void),
    data: *mut c_void,
    code: cl_int,
}

/// What is to be registered for `event` in place of `callback` and `data`.
pub(crate) fn wrapped(
    event: cl_event,
    callback: Callback,
    data: *mut c_void,
) -> (Callback, *mut c_void) {
    match (code_of(event), callback) {
        (Some(code), Some(callback)) => {
            let wrapped = Box::new(Wrapped {
                callback,
                data,
                code,
            });
            (Some(call), Box::into_raw(wrapped).cast())
        }
        _ => (callback, data),
    }
}

/// Tells a callback that its command has failed.
unsafe extern "C" fn call(event: cl_event, _: cl_int, wrapped: *mut c_void) {
    // SAFETY: `wrapped` has made it, and the driver calls back once.
    let wrapped = unsafe { Box::from_raw(wrapped.cast::<Wrapped>()) };
    // SAFETY: it was registered to be called like this.
    unsafe { (wrapped.callback)(event, wrapped.code, wrapped.data) };
}
