// SPDX-License-Identifier: MIT OR Apache-2.0
//! Command buffers: commands that are recorded once and enqueued together (`cl_khr_command_buffer`).

use std::ptr::{null, null_mut};
use std::sync::{Arc, Mutex, PoisonError};

use opencl_sys::{
    CL_COMMAND_BUFFER_FLAGS_KHR, cl_command_buffer_khr, cl_command_buffer_properties_khr,
    cl_sync_point_khr,
};
use opencl3::types::{cl_int, cl_uint};

use crate::backend::failure::Failure;
use crate::backend::opencl::driver::extensions::{CommandBuffers, Versioned};
use crate::backend::opencl::kernel::object::KernelObject;
use crate::backend::opencl::memory::Handle;
use crate::backend::opencl::memory::region::memory_of;
use crate::backend::opencl::queue::Queue;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::queue::wait_list::WaitList;
use crate::backend::opencl::{check, check_handle};
use crate::backend::slice::Region;
use crate::launch::range::Grid;

/// `CL_COMMAND_BUFFER_SIMULTANEOUS_USE_KHR`, which the bindings do not have.
const SIMULTANEOUS_USE: cl_command_buffer_properties_khr = 1;

/// An owned command buffer.
pub(crate) struct CommandBuffer {
    queue: Arc<Queue>,
    functions: &'static CommandBuffers,
    handle: cl_command_buffer_khr,
    /// The last command, which the next command waits for.
    last: Option<cl_sync_point_khr>,
    /// The run that must end before the next run begins, where the device allows only one run at a time.
    running: Option<Mutex<Option<Event>>>,
}

// SAFETY: a command buffer may be queued from every thread; recording takes `&mut self`
// (cl_khr_command_buffer: only recording to one from several threads is not safe).
unsafe impl Send for CommandBuffer {}
// SAFETY: as for Send.
unsafe impl Sync for CommandBuffer {}

impl CommandBuffer {
    /// Creates an empty command buffer for `queue`; `None` where the device does not support them.
    pub(crate) fn new(queue: &Arc<Queue>) -> Result<Option<Self>, Failure> {
        let device = queue.context().device();
        let Some(functions) = device.extensions.command_buffers.as_ref() else {
            return Ok(None);
        };
        if queue.options().out_of_order && !functions.out_of_order {
            return Ok(None);
        }
        let flags = [CL_COMMAND_BUFFER_FLAGS_KHR, SIMULTANEOUS_USE, 0];
        let properties = if functions.simultaneous {
            flags.as_ptr()
        } else {
            null()
        };
        let call = "clCreateCommandBufferKHR";
        let mut code = 0;
        // SAFETY: one queue, which is alive; the properties are null or end with 0; only the status is
        // written.
        let handle = unsafe {
            (functions.create.pass())(1, &raw const queue.handle, properties, &raw mut code)
        };
        Ok(Some(Self {
            queue: Arc::clone(queue),
            functions,
            handle: check_handle(call, handle, code)?,
            last: None,
            running: (!functions.simultaneous).then(Mutex::default),
        }))
    }

    /// Records a kernel with its current arguments.
    ///
    /// # Safety
    ///
    /// As of [`KernelObject::enqueue`], for every time that the buffer is queued.
    pub(crate) unsafe fn add_kernel(
        &mut self,
        kernel: &KernelObject,
        grid: &Grid,
    ) -> Result<(), Failure> {
        let call = "clCommandNDRangeKernelKHR";
        if !Arc::ptr_eq(kernel.context(), self.queue.context()) {
            return Err(Failure::foreign(call));
        }
        let dimensions = cl_uint::try_from(grid.global().len()).unwrap_or(cl_uint::MAX);
        self.add(call, |this, count, waits, point| {
            // SAFETY: kernel and buffer share a context; every slice is as long as `dimensions` says;
            // the rest is what the caller vouches for.
            unsafe {
                (this.functions.kernel.pass())(
                    this.handle,
                    null_mut(),
                    null(),
                    kernel.handle,
                    dimensions,
                    grid.offset().map_or(null(), <[usize]>::as_ptr),
                    grid.global().as_ptr(),
                    grid.local().map_or(null(), <[usize]>::as_ptr),
                    count,
                    waits,
                    point,
                    null_mut(),
                )
            }
        })
    }

    /// Records a copy between buffer objects. Returns `false` for other memory, which this cannot copy.
    pub(crate) fn add_copy(
        &mut self,
        from: &Region<[()]>,
        to: &Region<[()]>,
    ) -> Result<bool, Failure> {
        let call = "clCommandCopyBufferKHR";
        let (read, written) = (memory_of(call, from)?, memory_of(call, to)?);
        let (Handle::Object(source), Handle::Object(target)) = (read.handle, written.handle) else {
            return Ok(false);
        };
        self.queue.inside(call, read, from.offset, from.bytes())?;
        self.queue.inside(call, written, to.offset, from.bytes())?;
        self.add(call, |this, count, waits, point| {
            let (buffer, queue, handle) = (this.handle, null_mut(), null_mut());
            let (at, to, size) = (from.offset, to.offset, from.bytes());
            // SAFETY: all is of one context, and both have that many bytes.
            unsafe {
                match &this.functions.copy {
                    Versioned::New(copy) => (copy.pass())(
                        buffer,
                        queue,
                        null(),
                        source,
                        target,
                        at,
                        to,
                        size,
                        count,
                        waits,
                        point,
                        handle,
                    ),
                    Versioned::Old(copy) => (copy.pass())(
                        buffer, queue, source, target, at, to, size, count, waits, point, handle,
                    ),
                }
            }
        })?;
        Ok(true)
    }

    /// Records a fill of a buffer object. Returns `false` for other memory, which this cannot fill.
    pub(crate) fn add_fill(
        &mut self,
        region: &Region<[()]>,
        pattern: &[u8],
    ) -> Result<bool, Failure> {
        let call = "clCommandFillBufferKHR";
        let memory = memory_of(call, region)?;
        let Handle::Object(object) = memory.handle else {
            return Ok(false);
        };
        let size = region.bytes();
        self.queue.inside(call, memory, region.offset, size)?;
        self.add(call, |this, count, waits, point| {
            let (buffer, queue, handle) = (this.handle, null_mut(), null_mut());
            let (bytes, len, at) = (pattern.as_ptr().cast(), pattern.len(), region.offset);
            // SAFETY: all is of one context, the memory has that many bytes, and the driver copies the
            // pattern before it returns.
            unsafe {
                match &this.functions.fill {
                    Versioned::New(fill) => (fill.pass())(
                        buffer,
                        queue,
                        null(),
                        object,
                        bytes,
                        len,
                        at,
                        size,
                        count,
                        waits,
                        point,
                        handle,
                    ),
                    Versioned::Old(fill) => (fill.pass())(
                        buffer, queue, object, bytes, len, at, size, count, waits, point, handle,
                    ),
                }
            }
        })?;
        Ok(true)
    }

    /// Records a command that comes after the last one.
    fn add(
        &mut self,
        call: &'static str,
        command: impl FnOnce(&Self, cl_uint, *const cl_sync_point_khr, *mut cl_sync_point_khr) -> cl_int,
    ) -> Result<(), Failure> {
        // A queue in order keeps the order of what is recorded for it.
        let ordered = !self.queue.options().out_of_order;
        let last = self.last.filter(|_| !ordered);
        let (count, waits) = match &last {
            Some(last) => (1, std::ptr::from_ref(last)),
            None => (0, null()),
        };
        let mut point = 0;
        let written = if ordered { null_mut() } else { &raw mut point };
        check(call, command(self, count, waits, written))?;
        self.last = (!ordered).then_some(point);
        Ok(())
    }

    /// Ends the recording: from here on it can be enqueued.
    pub(crate) fn finish(&mut self) -> Result<(), Failure> {
        // SAFETY: the buffer is alive.
        check("clFinalizeCommandBufferKHR", unsafe {
            (self.functions.finalize.pass())(self.handle)
        })
    }

    /// Enqueues all commands, to start when all of `after` has finished.
    ///
    /// # Safety
    ///
    /// The recording has ended. What it uses is alive, and what its kernels do is sound. The events
    /// of `after` are of this context.
    pub(crate) unsafe fn enqueue(&self, after: &WaitList<'_>) -> Result<Event, Failure> {
        let Some(running) = &self.running else {
            // SAFETY: as the caller says.
            return unsafe { self.enqueue_now(after) };
        };
        let mut running = running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(event) = running.take() {
            // That it failed is for those who have its event.
            let _ = event.wait();
        }
        // SAFETY: as the caller says.
        let event = unsafe { self.enqueue_now(after) }?;
        match event.shared() {
            Ok(shared) => *running = Some(shared),
            // It is enqueued, so that is not an error; but the next run must not begin before its end.
            Err(_) => _ = event.wait(),
        }
        Ok(event)
    }

    /// # Safety
    ///
    /// As of [`CommandBuffer::enqueue`].
    unsafe fn enqueue_now(&self, after: &WaitList<'_>) -> Result<Event, Failure> {
        let call = "clEnqueueCommandBufferKHR";
        let mut event = null_mut();
        // SAFETY: no queues means the one it was made for, which is alive; the list is as long as it
        // says; the rest is what the caller vouches for.
        let code = unsafe {
            (self.functions.enqueue.pass())(
                0,
                null_mut(),
                self.handle,
                after.count(),
                after.pointer(),
                &raw mut event,
            )
        };
        let event = check_handle(call, event, code)?;
        // SAFETY: the call handed this reference over.
        let event = unsafe { Event::from_owned(self.queue.context().functions(), call, event) };
        // As for a launch, a failed flush is not a failure of the replay, which is enqueued.
        let _ = self.queue.flush();
        Ok(event)
    }
}

impl Drop for CommandBuffer {
    fn drop(&mut self) {
        // A driver may not count an enqueued run as a use of the buffer, so the buffer is not freed if the wait
        // fails.
        if self.queue.finish().is_ok() {
            // SAFETY: the handle is owned, and its runs have finished.
            unsafe { (self.functions.release.pass())(self.handle) };
        }
    }
}
