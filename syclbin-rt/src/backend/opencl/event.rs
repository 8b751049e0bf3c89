// SPDX-License-Identifier: MIT OR Apache-2.0
//! OpenCL events, each of which tracks one enqueued command, and the arrays of event handles that drivers wait for.

use std::ffi::c_void;
use std::sync::Arc;
use std::time::Duration;

use opencl_sys::{
    CL_COMPLETE, CL_EVENT_COMMAND_EXECUTION_STATUS, CL_PROFILING_COMMAND_END,
    CL_PROFILING_COMMAND_QUEUED, CL_PROFILING_COMMAND_START, CL_PROFILING_COMMAND_SUBMIT,
    CL_QUEUED,
};
use opencl3::types::{cl_event, cl_int, cl_uint};

use super::*;

pub(crate) struct Event {
    functions: &'static Functions,
    call: &'static str,
    pub(crate) handle: Raw<cl_event>,
}

impl Event {
    /// Takes ownership of the event reference that `call` returned for the command that it enqueued, if `status` is
    /// success.
    ///
    /// # Safety
    ///
    /// If `status` is success, `handle` must be null or an event from the library of `functions`, and nothing else may
    /// own the reference.
    #[inline]
    pub(crate) unsafe fn enqueued(
        functions: &'static Functions,
        call: &'static str,
        handle: cl_event,
        status: cl_int,
    ) -> Result<Self> {
        let handle = check_handle(call, handle, status)?;
        Ok(Self {
            functions,
            call,
            handle: Raw(handle),
        })
    }

    /// Acquires an additional reference to an event from the library of `functions`.
    ///
    /// # Safety
    ///
    /// The event must be alive.
    pub(crate) unsafe fn retain(
        functions: &'static Functions,
        call: &'static str,
        handle: cl_event,
    ) -> Result<Self> {
        // SAFETY: the event is alive, and the new reference is owned by the returned value.
        unsafe {
            call!(functions => clRetainEvent(handle))?;
            Self::enqueued(functions, call, handle, opencl3::error_codes::CL_SUCCESS)
        }
    }

    /// Blocks until the command has ended, and returns 0 or the command's error code.
    ///
    /// # Errors
    ///
    /// Fails if the driver does not report the end, in which case the command may still be running.
    pub(crate) fn end(&self) -> Result<cl_int> {
        // SAFETY: the list is a single event, which is alive.
        let waited =
            unsafe { call!(self.functions => clWaitForEvents(1, &raw const self.handle.0)) };
        let Err(failure) = waited else {
            return Ok(CL_COMPLETE);
        };
        // The error may just mean that the command failed. Then the event's status is the command's error code.
        match self.status()? {
            status if status <= CL_COMPLETE => Ok(status),
            _ => Err(failure),
        }
    }

    /// Returns the status of the command. Pollers call this repeatedly, so it makes a single call and does not
    /// allocate.
    pub(crate) fn status(&self) -> Result<cl_int> {
        // If the driver writes nothing, the command counts as unfinished.
        let mut status = CL_QUEUED;
        let size = size_of_val(&status);
        let (name, value) = (CL_EVENT_COMMAND_EXECUTION_STATUS, (&raw mut status).cast());
        let none = std::ptr::null_mut();
        // SAFETY: the event is alive, and the buffer has the size of the status.
        unsafe { call!(self.functions => clGetEventInfo(self.handle.0, name, size, value, none)) }?;
        Ok(status)
    }

    pub(crate) fn another(&self) -> Result<Self> {
        // SAFETY: the event is alive.
        unsafe { Self::retain(self.functions, self.call, self.handle.0) }
    }
}

impl DriverEvent for Event {
    fn call(&self) -> &'static str {
        self.call
    }

    fn shared(&self) -> Result<AnyEvent> {
        self.another().map(AnyEvent::from)
    }

    fn wait(&self) -> Result<()> {
        check(self.call, self.end()?)
    }

    fn has_ended(&self) -> bool {
        self.end().is_ok()
    }

    fn is_complete(&self) -> Result<bool> {
        let status = self.status()?;
        if status < CL_COMPLETE {
            check(self.call, status)?;
        }
        Ok(status == CL_COMPLETE)
    }

    fn profile(&self) -> Result<Profile> {
        let time = |name| {
            // SAFETY: the event is alive.
            unsafe { query!(self.functions => clGetEventProfilingInfo(self.handle.0, name)) }
                .value()
                .map(Duration::from_nanos)
        };
        let queued = time(CL_PROFILING_COMMAND_QUEUED)?;
        let submitted = time(CL_PROFILING_COMMAND_SUBMIT)?;
        Ok(Profile {
            // Drivers report no queue time for some commands, such as barriers.
            queued: if queued.is_zero() { submitted } else { queued },
            submitted,
            started: time(CL_PROFILING_COMMAND_START)?,
            ended: time(CL_PROFILING_COMMAND_END)?,
        })
    }

    fn native(&self) -> Result<Option<NativeEvent>> {
        let handle = EventHandle::OpenCl(self.handle.0);
        Ok(Some(NativeEvent::new(handle, Arc::new(self.another()?))))
    }

    /// The driver calls back on its own thread, possibly with locks held, and OpenCL forbids most calls there (OpenCL
    /// 3.0, clSetEventCallback). So the callback only hands the waker to a waker thread.
    fn notify(&self, queue: &AnyQueue, completion: &Completion) -> Result<bool> {
        let data = completion.clone().into_raw();
        // SAFETY: the event is alive. The callback takes ownership of `data`, a reference of its own, and is called at
        // most once.
        let registered = unsafe {
            let callback = Some(command_ended as _);
            call!(self.functions => clSetEventCallback(self.handle.0, CL_COMPLETE, callback, data))
        };
        if let Err(failure) = registered {
            // SAFETY: the driver rejected the callback, so this function still owns the reference.
            drop(unsafe { Completion::from_raw(data) });
            return Err(failure);
        }
        match &queue.opencl()?.failure_waiter {
            Some(waiter) => Ok(waiter.notify(self.another()?, completion.clone(), Self::wait)),
            None => Ok(true),
        }
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        // SAFETY: the reference is owned. The command continues without it.
        unsafe { (self.functions.clReleaseEvent.pass())(self.handle.0) };
    }
}

/// Reports the end of a command to its poller. The driver calls this function when the command has ended.
///
/// # Safety
///
/// `data` must come from [`Completion::into_raw`], and this function must be called only once with it.
unsafe extern "C" fn command_ended(_event: cl_event, status: cl_int, data: *mut c_void) {
    // SAFETY: guaranteed by the caller.
    let completion = unsafe { Completion::from_raw(data) };
    // The call name is empty here; the poller fills in the call that enqueued the command.
    completion.end(check("", status));
}

/// A wait list as the array of event handles that the driver expects. Short lists need no allocation.
pub(crate) struct Handles {
    few: [cl_event; FEW],
    /// All handles if the list is longer than [`FEW`]; otherwise empty.
    many: Vec<cl_event>,
    count: usize,
}

impl Handles {
    /// Returns the handles of the events in `list`. They are valid as long as the events are alive.
    pub(crate) fn new(list: &WaitList<'_>) -> Result<Self> {
        let mut handles = Self {
            few: [std::ptr::null_mut(); FEW],
            many: Vec::new(),
            count: list.iter().count(),
        };
        let all = list.iter().map(|event| Ok(event.opencl()?.handle.0));
        if handles.count > FEW {
            handles.many = all.collect::<Result<_>>()?;
            return Ok(handles);
        }
        for (slot, handle) in handles.few.iter_mut().zip(all) {
            *slot = handle?;
        }
        Ok(handles)
    }

    /// Returns the number of events, and a pointer to their handles. The pointer is valid as long as `self`. It is
    /// null for an empty list, as drivers require.
    pub(crate) fn raw(&self) -> (cl_uint, *const cl_event) {
        let pointer = match self.count {
            0 => std::ptr::null(),
            1..=FEW => self.few.as_ptr(),
            _ => self.many.as_ptr(),
        };
        // The conversion never fails: that many events would not fit into memory.
        let count = cl_uint::try_from(self.count).unwrap_or(cl_uint::MAX);
        (count, pointer)
    }
}

#[cfg(test)]
pub(crate) use tests::UserEvent;

#[cfg(test)]
mod tests {
    use opencl_sys::CL_EVENT_REFERENCE_COUNT;
    use opencl_sys::cl_function_types::{clCreateUserEvent_fn, clSetUserEventStatus_fn};

    use super::*;
    use crate::backend::EntryPoint;
    use crate::backend::opencl::context::Context;

    type Create = <clCreateUserEvent_fn as EntryPoint>::Function;
    type SetStatus = <clSetUserEventStatus_fn as EntryPoint>::Function;

    /// A user event. Commands that wait for it start, or fail, when the test completes it.
    pub(crate) struct UserEvent {
        library: libloading::Library,
        handle: cl_event,
    }

    impl UserEvent {
        /// Creates a user event, and the event that completes with it.
        pub(crate) fn new(context: &Arc<Context>) -> (Self, Event) {
            // SAFETY: the library is already loaded, so no initializers run.
            let library = unsafe { libloading::Library::new(context.device.facts.library) };
            let library = library.expect("the library of the device");
            let mut code = 0;
            // SAFETY: the library exports this function, which writes only the status.
            let handle = unsafe {
                let create = library.get::<Create>(b"clCreateUserEvent\0");
                (create.expect("clCreateUserEvent"))(context.handle.0, &raw mut code)
            };
            // SAFETY: the call returned this reference, which nothing else owns.
            let event =
                unsafe { Event::enqueued(context.functions, "clCreateUserEvent", handle, code) };
            (Self { library, handle }, event.expect("a user event"))
        }

        /// Completes the event with 0 or an error code.
        pub(crate) fn end(self, status: cl_int) {
            // SAFETY: the library exports this function, and the event is alive.
            let code = unsafe {
                let set = self.library.get::<SetStatus>(b"clSetUserEventStatus\0");
                (set.expect("clSetUserEventStatus"))(self.handle, status)
            };
            assert_eq!(code, 0);
        }
    }

    #[test]
    fn dropped_event_releases_its_reference() {
        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        let context = &queue.raw().opencl().unwrap().context;
        let (user, event) = UserEvent::new(context);
        let functions = context.functions;
        let references = || {
            // SAFETY: the event is alive.
            let count = unsafe {
                query!(functions => clGetEventInfo(event.handle.0, CL_EVENT_REFERENCE_COUNT))
            };
            count.value::<cl_uint>().unwrap()
        };
        let before = references();
        let another = event.another().unwrap();
        assert_eq!(references(), before + 1);
        drop(another);
        assert_eq!(references(), before);
        user.end(0);
    }

    unsafe extern "C" fn refuse_to_wait(_count: cl_uint, _events: *const cl_event) -> cl_int {
        opencl3::error_codes::CL_OUT_OF_RESOURCES
    }

    #[test]
    fn refused_wait_does_not_end_a_command() {
        use std::ptr::NonNull;

        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        let context = &queue.raw().opencl().unwrap().context;
        let replace = |name: &str| {
            let address = NonNull::new(refuse_to_wait as *mut c_void);
            address.filter(|_| name == "clWaitForEvents")
        };
        // SAFETY: the function has the type of the one that it replaces.
        let device = unsafe { context.device.with_functions(replace) };
        let (user, event) = UserEvent::new(context);
        // SAFETY: the event is alive.
        let event = unsafe { Event::retain(device.functions, "", event.handle.0) }.unwrap();
        let refused = Failure::opencl("clWaitForEvents", -5);
        assert_eq!(event.end(), Err(refused));
        user.end(0);
        assert_eq!(event.end(), Ok(0));
    }
}
