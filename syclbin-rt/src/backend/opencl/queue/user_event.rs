// SPDX-License-Identifier: MIT OR Apache-2.0
//! User events, for tests alone: commands that wait for one start, or fail, when the test says so.

use std::os::raw::c_int;
use std::sync::Arc;

use opencl_sys::cl_function_types::{clCreateUserEvent_fn, clSetUserEventStatus_fn};
use opencl3::types::cl_event;

use crate::backend::opencl::context::Context;
use crate::backend::opencl::driver::sys::EntryPoint;
use crate::backend::opencl::queue::event::Event;

type Create = <clCreateUserEvent_fn as EntryPoint>::Function;
type SetStatus = <clSetUserEventStatus_fn as EntryPoint>::Function;

/// What ends an event of its own.
pub(crate) struct UserEvent {
    library: libloading::Library,
    handle: cl_event,
}

impl UserEvent {
    /// Creates it, and the event that it ends.
    pub(crate) fn new(context: &Arc<Context>) -> (Self, Event) {
        // SAFETY: the library is loaded already.
        let library = unsafe { libloading::Library::new(context.device().library()) };
        let library = library.expect("the library of the device");
        let mut code = 0;
        // SAFETY: the library has the function under this name; only the status is written.
        let handle = unsafe {
            let create = library.get::<Create>(b"clCreateUserEvent\0");
            (create.expect("clCreateUserEvent"))(context.handle, &raw mut code)
        };
        assert_eq!(code, 0);
        // SAFETY: the call handed this reference over.
        let event = unsafe { Event::from_owned(context.functions(), "clCreateUserEvent", handle) };
        (Self { library, handle }, event)
    }

    /// Ends the event, which is still alive: with 0, or with an error.
    pub(crate) fn end(self, status: c_int) {
        // SAFETY: the library has the function under this name, and the event is alive.
        let code = unsafe {
            let set = self.library.get::<SetStatus>(b"clSetUserEventStatus\0");
            (set.expect("clSetUserEventStatus"))(self.handle, status)
        };
        assert_eq!(code, 0);
    }
}
