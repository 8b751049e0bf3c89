//! Memory of a device: buffer objects, and allocations that have an address.

use std::ffi::c_void;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use opencl3::error_codes::CL_INVALID_OPERATION;
use opencl3::types::{cl_buffer_region, cl_mem};

use super::context::Context;
use super::{Failure, check_handle};

/// Owned memory.
pub(crate) struct Memory {
    context: Arc<Context>,
    pub(super) handle: Handle,
    size: usize,
    /// Prepared launches and recordings that have it.
    held: Uses,
    /// Views of the host.
    mapped: Uses,
}

/// How many there are that use memory beyond the borrow that they were made with.
#[derive(Default)]
struct Uses {
    all: AtomicUsize,
    /// Those of them that write.
    writing: AtomicUsize,
}

/// How the driver calls it.
#[derive(Clone, Copy)]
pub(super) enum Handle {
    /// A buffer object.
    Object(cl_mem),
    Address {
        pointer: *mut c_void,
        /// Whether it is one for the host too.
        host: bool,
    },
}

/// Who can reach memory that has an address (cl_intel_unified_shared_memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The device alone.
    Device,
    /// Both; it lies with the host.
    Host,
    /// Both; it moves to who uses it.
    Shared,
}

// SAFETY: buffer objects may be used from every thread (OpenCL 3.0, appendix A.2), and so may
// memory with an address: the device touches it through queues, the host by functions that ask
// for the borrow of it.
unsafe impl Send for Memory {}
// SAFETY: as for Send.
unsafe impl Sync for Memory {}

impl Memory {
    /// `size` bytes that a kernel may read and write, but never none: OpenCL has no such buffer, and
    /// a kernel argument needs one. Their content is undefined: whoever allocates fills them before
    /// anyone else sees them.
    pub(super) fn object(context: &Arc<Context>, size: usize) -> Result<Self, Failure> {
        let size = size.max(1);
        let mut code = 0;
        let flags = opencl3::memory::CL_MEM_READ_WRITE;
        let null = std::ptr::null_mut();
        // SAFETY: the context is alive; without a host pointer only the status is written.
        let handle = unsafe {
            (context.functions().clCreateBuffer)(context.handle, flags, size, null, &raw mut code)
        };
        let handle = check_handle("clCreateBuffer", handle, code)?;
        Ok(Self::new(context, Handle::Object(handle), size))
    }

    /// `size` bytes that have an address, but never none. Their content is undefined, as above.
    ///
    /// # Errors
    ///
    /// When the device has no such memory, or not enough of it.
    pub(super) fn addressed(
        context: &Arc<Context>,
        reach: Reach,
        size: usize,
    ) -> Result<Self, Failure> {
        let size = size.max(1);
        let device = context.device();
        let call = match reach {
            Reach::Device => "clDeviceMemAllocINTEL",
            Reach::Host => "clHostMemAllocINTEL",
            Reach::Shared => "clSharedMemAllocINTEL",
        };
        let code = CL_INVALID_OPERATION;
        let usm = device.extensions.usm.as_ref();
        let usm = usm.ok_or(Failure { call, code })?;
        let none = std::ptr::null();
        let mut code = 0;
        let status = &raw mut code;
        // SAFETY: the device is the one of the context; no properties; an alignment of 0 is one
        // that suits every type; only the status is written.
        let pointer = unsafe {
            match reach {
                Reach::Device => {
                    (usm.device_mem_alloc)(context.handle, device.id, none, size, 0, status)
                }
                Reach::Host => (usm.host_mem_alloc)(context.handle, none, size, 0, status),
                Reach::Shared => {
                    (usm.shared_mem_alloc)(context.handle, device.id, none, size, 0, status)
                }
            }
        };
        let pointer = check_handle(call, pointer, code)?;
        let host = reach != Reach::Device;
        Ok(Self::new(context, Handle::Address { pointer, host }, size))
    }

    fn new(context: &Arc<Context>, handle: Handle, size: usize) -> Self {
        Self {
            context: Arc::clone(context),
            handle,
            size,
            held: Uses::default(),
            mapped: Uses::default(),
        }
    }

    /// The part of a buffer object from byte `offset` on, as an object that keeps all of it alive.
    ///
    /// # Errors
    ///
    /// When the device does not let an object begin there.
    pub(super) fn part(&self, offset: usize, size: usize) -> Result<Self, Failure> {
        let call = "clCreateSubBuffer";
        let Handle::Object(whole) = self.handle else {
            let code = CL_INVALID_OPERATION;
            return Err(Failure { call, code });
        };
        let region = cl_buffer_region {
            origin: offset,
            size,
        };
        let mut code = 0;
        // SAFETY: the object is alive and no part itself; the region is what this kind of part is
        // described by, and the driver refuses one that is not inside of the object.
        let handle = unsafe {
            (self.context.functions().clCreateSubBuffer)(
                whole,
                opencl3::memory::CL_MEM_READ_WRITE,
                opencl_sys::CL_BUFFER_CREATE_TYPE_REGION,
                (&raw const region).cast(),
                &raw mut code,
            )
        };
        let handle = check_handle(call, handle, code)?;
        Ok(Self::new(&self.context, Handle::Object(handle), size))
    }

    /// What the byte where a part begins must be a multiple of for a kernel to get it; none where it
    /// may begin anywhere.
    pub(crate) fn part_alignment(&self) -> Option<usize> {
        let alignment = self.context.device().facts().buffer_alignment.max(1);
        self.address().is_none().then_some(alignment)
    }

    /// The context it lies in.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// How many bytes it has.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Its address on the device, if it has one.
    pub(crate) fn address(&self) -> Option<u64> {
        match self.handle {
            Handle::Address { pointer, .. } => Some(pointer as u64),
            Handle::Object(_) => None,
        }
    }

    /// Whether a prepared launch or a recording can still start a kernel that uses it; one that
    /// writes it, unless `any` counts.
    pub(crate) fn is_held(&self, any: bool) -> bool {
        self.held.some(any)
    }

    /// Whether the host has a view of it; one that it writes through, unless `any` counts.
    pub(crate) fn is_mapped(&self, any: bool) -> bool {
        self.mapped.some(any)
    }

    pub(super) fn map_begins(&self, writing: bool) {
        self.mapped.begin(writing);
    }

    pub(super) fn map_ends(&self, writing: bool) {
        self.mapped.end(writing);
    }
}

impl Uses {
    fn begin(&self, writing: bool) {
        self.all.fetch_add(1, Ordering::AcqRel);
        if writing {
            self.writing.fetch_add(1, Ordering::AcqRel);
        }
    }

    fn end(&self, writing: bool) {
        if writing {
            self.writing.fetch_sub(1, Ordering::AcqRel);
        }
        self.all.fetch_sub(1, Ordering::AcqRel);
    }

    fn some(&self, any: bool) -> bool {
        let count = if any { &self.all } else { &self.writing };
        count.load(Ordering::Acquire) > 0
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        match self.handle {
            // SAFETY: the handle is owned. Commands may still use it: the object is deleted when
            // the reference count is zero *and* the queued commands that use it have finished
            // (OpenCL 3.0, clReleaseMemObject).
            Handle::Object(handle) => unsafe {
                (self.context.functions().clReleaseMemObject)(handle);
            },
            Handle::Address { pointer, .. } => {
                // Unlike a buffer the memory is gone at once. The function that frees it is said to
                // wait for commands that may use it (cl_intel_unified_shared_memory), but the CPU
                // driver does not count those that only find its address in a variable. Where a queue
                // cannot be waited for, the memory stays: a kernel may still write to it.
                if self.context.finish_all().is_ok()
                    && let Some(usm) = &self.context.device().extensions.usm
                {
                    // SAFETY: the memory is owned, and what uses it has finished.
                    unsafe { (usm.mem_blocking_free)(self.context.handle, pointer) };
                }
            }
        }
    }
}

/// Memory that a prepared launch or a recording has.
pub(crate) struct Held {
    memory: Arc<Memory>,
    written: bool,
}

impl Held {
    pub(crate) fn new(memory: &Arc<Memory>, written: bool) -> Self {
        memory.held.begin(written);
        let memory = Arc::clone(memory);
        Self { memory, written }
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.memory.held.end(self.written);
    }
}
