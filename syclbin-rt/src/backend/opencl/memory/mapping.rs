// SPDX-License-Identifier: MIT OR Apache-2.0
//! Views of the host: buffer objects that are mapped, and memory that the host has an address of.

use std::ffi::c_void;

use opencl3::types::{CL_TRUE, cl_map_flags};

use crate::backend::failure::{Failure, NoView};
use crate::backend::opencl::check_handle;
use crate::backend::opencl::memory::{Handle, Memory};
use crate::backend::opencl::queue::Queue;

/// A host view of memory until it is ended.
pub(crate) struct HostView(*mut c_void);

impl HostView {
    /// Creates a view of `size` bytes of memory from byte `offset` on: a buffer object is mapped.
    pub(crate) fn new(
        queue: &Queue,
        memory: &Memory,
        offset: usize,
        size: usize,
        writing: bool,
    ) -> Result<Self, NoView> {
        let call = "clEnqueueMapBuffer";
        let object = match memory.handle {
            Handle::Object(object) => object,
            Handle::Address { host: false, .. } => return Err(NoView::OutOfReach),
            Handle::Address { pointer, .. } => {
                queue
                    .inside(call, memory, offset, size)
                    .map_err(NoView::Failed)?;
                // SAFETY: the region is inside of the memory.
                return Ok(Self(unsafe { pointer.byte_add(offset) }));
            }
        };
        let flags: cl_map_flags = if writing {
            opencl_sys::CL_MAP_READ | opencl_sys::CL_MAP_WRITE
        } else {
            opencl_sys::CL_MAP_READ
        };
        let mut code = 0;
        // SAFETY: queue and memory share a context; the driver refuses what is not inside of the
        // memory; no events; only the status is written. It blocks until the view can be used.
        let pointer = unsafe {
            (queue.context().functions().clEnqueueMapBuffer.pass())(
                queue.handle,
                object,
                CL_TRUE,
                flags,
                offset,
                size,
                0,
                std::ptr::null(),
                std::ptr::null_mut(),
                &raw mut code,
            )
        };
        let pointer = check_handle(call, pointer, code).map_err(NoView::Failed)?;
        Ok(Self(pointer))
    }

    /// Returns the view's address for the host.
    pub(crate) fn pointer(&self) -> *mut c_void {
        self.0
    }

    /// Gives a view of a buffer object back, and waits until that is done: another queue would not.
    pub(crate) fn end(self, queue: &Queue, memory: &Memory) -> Result<(), Failure> {
        let call = "clEnqueueUnmapMemObject";
        let Handle::Object(object) = memory.handle else {
            return Ok(());
        };
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and memory share a context, and the pointer is what mapping it gave.
        let code = unsafe {
            (queue.context().functions().clEnqueueUnmapMemObject.pass())(
                queue.handle,
                object,
                self.0,
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        queue.wait_for(call, event, code)
    }
}
