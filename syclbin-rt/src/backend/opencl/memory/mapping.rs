//! Views of the host: buffer objects that are mapped, and memory that the host has an address of.

use std::ffi::c_void;

use opencl3::types::{CL_TRUE, cl_map_flags};

use crate::backend::NoView;
use crate::backend::opencl::memory::Handle;
use crate::backend::opencl::{Failure, Memory, Queue, check_handle};

impl Queue {
    /// Where the host sees `size` bytes of memory from byte `offset` on: a buffer object is mapped.
    pub(in crate::backend) fn map(
        &self,
        memory: &Memory,
        offset: usize,
        size: usize,
        writing: bool,
    ) -> Result<*mut c_void, NoView> {
        let call = "clEnqueueMapBuffer";
        let object = match memory.handle {
            Handle::Object(object) => object,
            Handle::Address { host: false, .. } => return Err(NoView::OutOfReach),
            Handle::Address { pointer, .. } => {
                self.inside(call, memory, offset, size)
                    .map_err(NoView::Failed)?;
                // SAFETY: the place is inside of the memory.
                return Ok(unsafe { pointer.byte_add(offset) });
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
            (self.context().functions().clEnqueueMapBuffer.pass())(
                self.handle,
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
        check_handle(call, pointer, code).map_err(NoView::Failed)
    }

    /// Gives a view of a buffer object back, and waits until that is done: another queue would not.
    pub(in crate::backend) fn unmap(
        &self,
        memory: &Memory,
        pointer: *mut c_void,
    ) -> Result<(), Failure> {
        let call = "clEnqueueUnmapMemObject";
        let Handle::Object(object) = memory.handle else {
            return Ok(());
        };
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and memory share a context, and the pointer is what mapping it gave.
        let code = unsafe {
            (self.context().functions().clEnqueueUnmapMemObject.pass())(
                self.handle,
                object,
                pointer,
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }
}
