// SPDX-License-Identifier: MIT OR Apache-2.0
//! Streams and events of other libraries, and handles for them.

use crate::backend::cuda::context::Context;
use crate::backend::cuda::context::stream::Stream;
use crate::backend::cuda::device::DriverDevice;
use crate::backend::cuda::queue::Queue;
use crate::backend::cuda::queue::event::Event;
use crate::backend::cuda::queue::wait_list::WaitList;
use crate::backend::failure::Failure;
use crate::backend::native::{EventHandle, NativeEvent, QueueHandle};
use crate::queue::options::QueueOptions;

impl Queue {
    /// Returns its handles.
    pub(crate) fn native(&self) -> QueueHandle {
        QueueHandle::Cuda {
            stream: self.stream.handle.cast(),
            context: self.context().handle.cast(),
        }
    }

    /// Uses a stream of `device`, and does not destroy it.
    ///
    /// # Errors
    ///
    /// When the context is not the primary context of the device.
    ///
    /// # Safety
    ///
    /// The stream is of that context, and outlives the queue and its events.
    pub(crate) unsafe fn adopt(
        device: &'static DriverDevice,
        handle: QueueHandle,
    ) -> Result<Self, Failure> {
        let call = "cuDevicePrimaryCtxRetain";
        let QueueHandle::Cuda { stream, context } = handle else {
            return Err(Failure::foreign(call));
        };
        let own = Context::shared(device)?;
        if !std::ptr::eq(own.handle.cast(), context) {
            return Err(Failure::foreign(call));
        }
        Ok(Self {
            stream: Stream::with_handle(own, stream.cast(), true),
            options: QueueOptions::new(),
        })
    }

    /// Makes later commands wait for an event of another library.
    ///
    /// # Safety
    ///
    /// The event is alive.
    pub(crate) unsafe fn barrier_after(&self, event: EventHandle) -> Result<Event, Failure> {
        let call = "cuStreamWaitEvent";
        let EventHandle::Cuda(event) = event else {
            return Err(Failure::foreign(call));
        };
        self.submit(call, WaitList::NOTHING, |functions, stream| {
            // SAFETY: the stream is alive, and so is the event, as the caller says.
            let code = unsafe { (functions.cuStreamWaitEvent.pass())(stream, event.cast(), 0) };
            self.context().check(call, code)
        })
    }
}

impl Event {
    /// Returns an event of the driver at its end or later. `None` if it is known to have ended.
    pub(crate) fn native(&self) -> Result<Option<NativeEvent>, Failure> {
        let mark = self.mark()?;
        Ok(mark.map(|mark| {
            let handle = EventHandle::Cuda(mark.handle().cast());
            NativeEvent::new(handle, mark)
        }))
    }
}
