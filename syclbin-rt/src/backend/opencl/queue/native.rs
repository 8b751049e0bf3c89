// SPDX-License-Identifier: MIT OR Apache-2.0
//! Queues and events of other libraries, and handles for them.

use std::sync::Arc;

use opencl_sys::{
    CL_QUEUE_CONTEXT, CL_QUEUE_DEVICE, CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE,
    CL_QUEUE_PROFILING_ENABLE, CL_QUEUE_PROPERTIES,
};
use opencl3::types::cl_bitfield;

use crate::backend::failure::Failure;
use crate::backend::native::{EventHandle, NativeEvent, QueueHandle};
use crate::backend::opencl::check;
use crate::backend::opencl::context::Context;
use crate::backend::opencl::device::DriverDevice;
use crate::backend::opencl::driver::info;
use crate::backend::opencl::queue::Queue;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::queue::wait_list::WaitList;
use crate::queue::options::QueueOptions;

impl Queue {
    /// Returns its handles.
    pub(crate) fn native(&self) -> QueueHandle {
        QueueHandle::OpenCl {
            queue: self.handle,
            context: self.context.handle,
        }
    }

    /// Becomes another owner of a queue of `device`.
    ///
    /// # Errors
    ///
    /// When the queue is of another device.
    ///
    /// # Safety
    ///
    /// The queue is alive, and of the library of `device`.
    pub(crate) unsafe fn adopt(
        device: &'static DriverDevice,
        handle: QueueHandle,
    ) -> Result<Self, Failure> {
        let call = "clGetCommandQueueInfo";
        let QueueHandle::OpenCl { queue, .. } = handle else {
            return Err(Failure::foreign(call));
        };
        let query = |name| {
            move |size, value, returned| {
                // SAFETY: the queue is alive; `value` is null or holds `size` bytes.
                unsafe {
                    (device.functions.clGetCommandQueueInfo.pass())(
                        queue, name, size, value, returned,
                    )
                }
            }
        };
        let of: usize = info::value(call, &query(CL_QUEUE_DEVICE))?;
        if of != device.id.addr() {
            return Err(Failure::foreign(call));
        }
        let bits: cl_bitfield = info::value(call, &query(CL_QUEUE_PROPERTIES))?;
        let context: usize = info::value(call, &query(CL_QUEUE_CONTEXT))?;
        // SAFETY: the context of a live queue is alive, and has the queue's device.
        let context =
            unsafe { Context::adopt(device, std::ptr::with_exposed_provenance_mut(context)) }?;
        // SAFETY: the queue is alive, and has one owner more from here on.
        check("clRetainCommandQueue", unsafe {
            (device.functions.clRetainCommandQueue.pass())(queue)
        })?;
        let out_of_order = bits & CL_QUEUE_OUT_OF_ORDER_EXEC_MODE_ENABLE != 0;
        let options = QueueOptions {
            out_of_order,
            profiling: bits & CL_QUEUE_PROFILING_ENABLE != 0,
        };
        Ok(Self::with_handle(context, queue, out_of_order, options))
    }

    /// Enqueues a barrier that waits for an event of another library.
    ///
    /// # Safety
    ///
    /// The event is alive and of the context of this queue.
    pub(crate) unsafe fn barrier_after(&self, event: EventHandle) -> Result<Event, Failure> {
        let call = "clRetainEvent";
        let EventHandle::OpenCl(handle) = event else {
            return Err(Failure::foreign(call));
        };
        let functions = self.context.functions();
        // SAFETY: the event is alive, and has one owner more from here on.
        check(call, unsafe { (functions.clRetainEvent.pass())(handle) })?;
        // SAFETY: the reference is the one above.
        let event = unsafe { Event::from_owned(functions, call, handle) };
        self.barrier(&WaitList::new(std::iter::once(&event)))
    }
}

impl Event {
    /// Returns the event of the driver.
    pub(crate) fn native(&self) -> Result<Option<NativeEvent>, Failure> {
        let handle = EventHandle::OpenCl(self.handle);
        Ok(Some(NativeEvent::new(handle, Arc::new(self.shared()?))))
    }
}
