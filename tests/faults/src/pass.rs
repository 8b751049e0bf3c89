// SPDX-License-Identifier: MIT OR Apache-2.0
//! One call: it is failed, or passed on and accounted for.

use std::ffi::c_void;

use opencl_sys::{
    CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST, CL_INVALID_OPERATION, CL_INVALID_VALUE,
    CL_OUT_OF_RESOURCES, CL_SUCCESS, cl_command_queue, cl_event, cl_int, cl_uint,
};

use crate::control::{self, Verdict};
use crate::live::{self, Kind};
use crate::slot::Slot;
use crate::{events, standard};

/// What a call does, as far as it matters here.
pub(crate) struct Role {
    /// The code that it usually fails with.
    usual: cl_int,
    /// Where it writes its status, if it does not return it.
    status: *mut cl_int,
    change: Change,
    command: Option<Command>,
}

/// What a call does to objects.
#[derive(Clone, Copy)]
enum Change {
    None,
    /// It returns a new one.
    Creates(Kind),
    Retains(Kind, usize),
    Releases(Kind, usize),
}

/// What is put into a queue.
#[derive(Clone, Copy)]
struct Command {
    queue: cl_command_queue,
    waits_for: (cl_uint, *const cl_event),
    event: *mut cl_event,
}

impl Role {
    /// It does nothing to any object.
    pub(crate) fn plain() -> Self {
        Self {
            usual: CL_OUT_OF_RESOURCES,
            status: std::ptr::null_mut(),
            change: Change::None,
            command: None,
        }
    }

    /// It returns an object, and writes its status elsewhere.
    pub(crate) fn creates(kind: Kind, status: *mut cl_int) -> Self {
        Self {
            status,
            change: Change::Creates(kind),
            ..Self::plain()
        }
    }

    pub(crate) fn retains(kind: Kind, object: *mut c_void) -> Self {
        Self {
            change: Change::Retains(kind, object.addr()),
            ..Self::plain()
        }
    }

    pub(crate) fn releases(kind: Kind, object: *mut c_void) -> Self {
        Self {
            change: Change::Releases(kind, object.addr()),
            ..Self::plain()
        }
    }

    /// It puts a command into a queue, and may give an event of it.
    pub(crate) fn enqueues(
        queue: cl_command_queue,
        waits_for: (cl_uint, *const cl_event),
        event: *mut cl_event,
    ) -> Self {
        Self::plain().with_command(queue, waits_for, event)
    }

    /// The same for a call that does something else as well.
    pub(crate) fn with_command(
        self,
        queue: cl_command_queue,
        waits_for: (cl_uint, *const cl_event),
        event: *mut cl_event,
    ) -> Self {
        let command = Some(Command {
            queue,
            waits_for,
            event,
        });
        Self { command, ..self }
    }

    /// The code that it usually fails with.
    pub(crate) fn usually(self, usual: cl_int) -> Self {
        Self { usual, ..self }
    }

    /// Whether it gives something back: a device that is gone still does that.
    pub(crate) fn is_release(&self) -> bool {
        matches!(self.change, Change::Releases(..))
    }
}

/// What functions return: a status or an object.
pub(crate) trait Answer: Copy {
    /// Whether it is an object.
    const IS_OBJECT: bool;
    /// The answer of a call that failed.
    ///
    /// # Safety
    ///
    /// `status` is null or may be written.
    unsafe fn failure(code: cl_int, status: *mut cl_int) -> Self;
    /// Whether the call did what it was to do, with the object that it returned.
    fn object(self) -> Option<usize>;
}

impl Answer for cl_int {
    const IS_OBJECT: bool = false;

    unsafe fn failure(code: cl_int, _: *mut cl_int) -> Self {
        code
    }

    fn object(self) -> Option<usize> {
        (self == CL_SUCCESS).then_some(0)
    }
}

impl Answer for *mut c_void {
    const IS_OBJECT: bool = true;

    unsafe fn failure(code: cl_int, status: *mut cl_int) -> Self {
        if !status.is_null() {
            // SAFETY: it is not null, and the caller vouches for the rest.
            unsafe { *status = code };
        }
        std::ptr::null_mut()
    }

    fn object(self) -> Option<usize> {
        (!self.is_null()).then_some(self.addr())
    }
}

/// Makes a call of `slot`, or fails it.
///
/// # Safety
///
/// `F` is the type of the function of that name, and what `role` points to are arguments of the
/// call, which are what the specification says.
pub(crate) unsafe fn pass<F: Copy, A: Answer>(
    slot: &Slot,
    role: Role,
    call: impl FnOnce(F) -> A,
) -> A {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    let after_failed = role
        .command
        // SAFETY: the caller vouches for the list.
        .is_some_and(|command| unsafe { events::any_failed(command.waits_for) });
    let ends_with = match control::decide(slot, &role, role.usual) {
        // SAFETY: the caller vouches for where the status goes; so below.
        Verdict::Refuse(code) => return unsafe { A::failure(code, role.status) },
        Verdict::Null => {
            match role.command.filter(|command| !command.event.is_null()) {
                // SAFETY: it is not null, and one event may be written there.
                Some(command) => unsafe { *command.event = std::ptr::null_mut() },
                // It gives nothing that could be null.
                None if !A::IS_OBJECT => {
                    // SAFETY: as above.
                    return unsafe { A::failure(CL_INVALID_VALUE, role.status) };
                }
                None => {}
            }
            // SAFETY: as above.
            return unsafe { A::failure(CL_SUCCESS, role.status) };
        }
        Verdict::Later(code) => Some(code),
        Verdict::Pass if after_failed => Some(CL_EXEC_STATUS_ERROR_FOR_EVENTS_IN_WAIT_LIST),
        Verdict::Pass => None,
    };
    if let Some(code) = ends_with {
        // What gives an object or no event cannot be made to fail later, nor can what names no queue.
        let command = role.command.filter(|command| {
            matches!(role.change, Change::None)
                && !command.event.is_null()
                && !command.queue.is_null()
        });
        let Some(command) = command else {
            // SAFETY: as above.
            return unsafe { A::failure(code, role.status) };
        };
        // SAFETY: the queue is alive, and one event may be written there. The command is left out:
        // a marker takes its place.
        let marked = unsafe { standard::marker(command.queue, command.event) };
        if marked == CL_SUCCESS {
            // SAFETY: the marker's event was written there.
            let event = unsafe { *command.event };
            live::add(Kind::Event, event.addr());
            events::fail(event, code);
        }
        // SAFETY: as above.
        return unsafe { A::failure(marked, role.status) };
    }
    let real = slot.real();
    if real.is_null() {
        // SAFETY: as above.
        return unsafe { A::failure(CL_INVALID_OPERATION, role.status) };
    }
    if let Change::Releases(kind, object) = role.change {
        // Before the call: from then on another thread may get a new object at that address.
        if live::remove(kind, object) && kind == Kind::Event {
            events::forget(object);
        }
    }
    // SAFETY: the caller vouches for the type, and it is as large as a pointer.
    let answer = call(unsafe { std::mem::transmute_copy::<*mut c_void, F>(&real) });
    let Some(object) = answer.object() else {
        if let Change::Releases(kind, object) = role.change {
            live::add(kind, object);
        }
        return answer;
    };
    match role.change {
        Change::Creates(kind) => live::add(kind, object),
        Change::Retains(kind, object) => live::add(kind, object),
        Change::Releases(..) | Change::None => {}
    }
    if let Some(command) = role.command
        && !command.event.is_null()
    {
        // SAFETY: it is not null, and a call that went well has written an event there.
        live::add(Kind::Event, unsafe { *command.event }.addr());
    }
    answer
}
