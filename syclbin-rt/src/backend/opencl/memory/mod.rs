// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a device: buffer objects, and allocations that have an address.

mod copy;
pub(super) mod image;
pub(super) mod mapping;
pub(super) mod region;
mod transfer;
mod variable;

use std::ffi::c_void;
use std::sync::Arc;

use opencl3::types::{cl_bitfield, cl_buffer_region, cl_mem};

use crate::backend::failure::{Failure, Rejection};
use crate::backend::native::{MemoryHandle, Owner};
use crate::backend::opencl::context::Context;
use crate::backend::opencl::driver::extensions::USM;
use crate::backend::opencl::driver::info;
use crate::backend::opencl::{check, check_handle};
use crate::backend::reach::Reach;

/// Owned memory.
pub(crate) struct Memory {
    context: Arc<Context>,
    pub(super) handle: Handle,
    size: usize,
    /// What keeps it alive, if another library allocated it.
    owner: Option<Owner>,
}

/// The driver's handle of it.
#[derive(Clone, Copy)]
pub(super) enum Handle {
    /// A buffer object.
    Object(cl_mem),
    Address {
        pointer: *mut c_void,
        /// Whether it is also an address of the host.
        host: bool,
    },
}

// SAFETY: buffer objects may be used from every thread (OpenCL 3.0, appendix A.2), and so may
// memory with an address: the device touches it through queues, the host by functions that ask
// for the borrow of it.
unsafe impl Send for Memory {}
// SAFETY: as for Send.
unsafe impl Sync for Memory {}

/// The property of memory with an address that holds flags (cl_intel_unified_shared_memory).
const CL_MEM_FLAGS_INTEL: cl_bitfield = 0x10001;
/// Intel's flag for memory beyond the driver's limit for a buffer, which its guide for programmers describes.
const CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL: cl_bitfield = 1 << 23;

/// Returns the flag that memory of this size needs, or 0.
fn unlimited(context: &Context, size: usize) -> cl_bitfield {
    if context.device().facts().needs_unlimited_buffer(size) {
        CL_MEM_ALLOW_UNRESTRICTED_SIZE_INTEL
    } else {
        0
    }
}

impl Memory {
    /// Allocates `size` bytes that a kernel may read and write, at least one byte: OpenCL has no empty buffers,
    /// and a kernel argument needs a buffer. Their content is undefined, so the caller fills them before they
    /// are used.
    pub(super) fn object(context: &Arc<Context>, size: usize) -> Result<Self, Failure> {
        let size = size.max(1);
        let mut code = 0;
        let flags = opencl3::memory::CL_MEM_READ_WRITE | unlimited(context, size);
        let null = std::ptr::null_mut();
        // SAFETY: the context is alive; without a host pointer only the status is written.
        let handle = unsafe {
            (context.functions().clCreateBuffer.pass())(
                context.handle,
                flags,
                size,
                null,
                &raw mut code,
            )
        };
        let handle = check_handle("clCreateBuffer", handle, code)?;
        Ok(Self::new(context, Handle::Object(handle), size))
    }

    /// Allocates `size` bytes with an address, at least one byte. Their content is undefined, as above.
    ///
    /// # Errors
    ///
    /// When the device does not support such memory, or does not have enough of it.
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
        let usm = device.extensions.usm.as_ref();
        let usm = usm.ok_or(Failure::Missing {
            function: call,
            needs: USM,
        })?;
        let unlimited = unlimited(context, size);
        let properties = [CL_MEM_FLAGS_INTEL, unlimited, 0];
        let properties = if unlimited == 0 {
            std::ptr::null()
        } else {
            properties.as_ptr()
        };
        let mut code = 0;
        let status = &raw mut code;
        // SAFETY: the device is the context's. The properties are null or end with 0. An alignment of 0 suits every
        // type. Only the status is written.
        let pointer = unsafe {
            match reach {
                Reach::Device => {
                    let allocate = usm.device_mem_alloc.pass();
                    allocate(context.handle, device.id, properties, size, 0, status)
                }
                Reach::Host => {
                    (usm.host_mem_alloc.pass())(context.handle, properties, size, 0, status)
                }
                Reach::Shared => {
                    let allocate = usm.shared_mem_alloc.pass();
                    allocate(context.handle, device.id, properties, size, 0, status)
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
            owner: None,
        }
    }

    /// Shares the memory of another library, which lives as long as `owner`.
    ///
    /// # Errors
    ///
    /// When the memory is of another context or smaller than `size`.
    ///
    /// # Safety
    ///
    /// `handle` is live memory of the library of `context`, and stays alive with `owner`. An address has `size` bytes.
    pub(crate) unsafe fn adopt(
        context: &Arc<Context>,
        handle: MemoryHandle,
        size: usize,
        owner: Owner,
    ) -> Result<Self, Failure> {
        let call = "clGetMemObjectInfo";
        let handle = match handle {
            MemoryHandle::Address(address) if context.device().extensions.usm.is_some() => {
                let address = usize::try_from(address).map_err(|_| Failure::unsuitable(call))?;
                let pointer = std::ptr::with_exposed_provenance_mut(address);
                let host = false;
                Handle::Address { pointer, host }
            }
            MemoryHandle::Address(_) => {
                return Err(Failure::Missing {
                    function: "clSetKernelArgMemPointerINTEL",
                    needs: USM,
                });
            }
            MemoryHandle::OpenCl { memory, .. } => {
                let functions = context.functions();
                let query = |name| {
                    move |size, value, returned| {
                        // SAFETY: the object is alive; `value` is null or holds `size` bytes.
                        unsafe {
                            (functions.clGetMemObjectInfo.pass())(
                                memory, name, size, value, returned,
                            )
                        }
                    }
                };
                let of: usize = info::value(call, &query(opencl_sys::CL_MEM_CONTEXT))?;
                if of != context.handle.addr() {
                    return Err(Failure::foreign(call));
                }
                let bytes: usize = info::value(call, &query(opencl_sys::CL_MEM_SIZE))?;
                if bytes < size {
                    return Err(Failure::Rejected(Rejection::OutOfBounds(call)));
                }
                // SAFETY: the object is alive, and has one owner more from here on.
                check("clRetainMemObject", unsafe {
                    (functions.clRetainMemObject.pass())(memory)
                })?;
                Handle::Object(memory)
            }
        };
        let mut memory = Self::new(context, handle, size);
        memory.owner = Some(owner);
        Ok(memory)
    }

    /// Returns its handle.
    pub(crate) fn native(&self, offset: usize) -> MemoryHandle {
        match self.handle {
            Handle::Object(memory) => MemoryHandle::OpenCl { memory, offset },
            Handle::Address { pointer, .. } => {
                MemoryHandle::Address((pointer.expose_provenance() + offset) as u64)
            }
        }
    }

    /// Creates the part of a buffer object from byte `offset` on, as an object that keeps the whole buffer
    /// alive.
    ///
    /// # Errors
    ///
    /// When the device does not let an object begin there.
    pub(super) fn part(&self, offset: usize, size: usize) -> Result<Self, Failure> {
        let call = "clCreateSubBuffer";
        let Handle::Object(whole) = self.handle else {
            return Err(Failure::unsuitable(call));
        };
        let region = cl_buffer_region {
            origin: offset,
            size,
        };
        let mut code = 0;
        // SAFETY: the object is alive and no part itself. The region is what this kind of part is
        // described by, and the driver refuses one that is not inside of the object.
        let handle = unsafe {
            (self.context.functions().clCreateSubBuffer.pass())(
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

    /// Returns the required alignment in bytes of a part that is an argument; `None` where a part may begin
    /// anywhere.
    pub(crate) fn part_alignment(&self) -> Option<usize> {
        let alignment = self.context.device().facts().buffer_alignment.max(1);
        self.address().is_none().then_some(alignment)
    }

    /// Returns the alignment of all memory of the device.
    pub(crate) fn least_alignment(&self) -> u64 {
        self.context.device().facts().buffer_alignment as u64
    }

    /// Returns its address, if that is known.
    pub(crate) fn known_address(&self) -> Option<u64> {
        self.address()
    }

    /// Returns its context.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Returns its size in bytes.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// Returns its address on the device, if it has an address.
    pub(crate) fn address(&self) -> Option<u64> {
        match self.handle {
            Handle::Address { pointer, .. } => Some(pointer as u64),
            Handle::Object(_) => None,
        }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if let Some(owner) = self.owner.take() {
            // A driver may not count what its owner frees. If a wait for a queue fails, a kernel may still write to it.
            if self.context.finish_all().is_err() {
                std::mem::forget(owner);
                return;
            }
            if let Handle::Object(handle) = self.handle {
                // SAFETY: `adopt` added the reference.
                unsafe { (self.context.functions().clReleaseMemObject.pass())(handle) };
            }
            return;
        }
        match self.handle {
            // SAFETY: the handle is owned. Commands may still use it: the object is deleted when
            // the reference count is zero *and* the queued commands that use it have finished
            // (OpenCL 3.0, clReleaseMemObject).
            Handle::Object(handle) => unsafe {
                (self.context.functions().clReleaseMemObject.pass())(handle);
            },
            Handle::Address { pointer, .. } => {
                // Unlike a buffer, the memory is freed at once, whatever commands use it. `clMemBlockingFreeINTEL`
                // would wait for them, but Intel's CPU driver does not count commands that only find the address
                // in a variable, and PoCL 6.0 waits there for commands of other threads that are not queued yet,
                // and crashes. If a wait for a queue fails, the memory is not freed: a kernel may still write to it.
                if self.context.finish_all().is_ok()
                    && let Some(usm) = &self.context.device().extensions.usm
                {
                    // SAFETY: the memory is owned, and what uses it has finished.
                    unsafe { (usm.mem_free.pass())(self.context.handle, pointer) };
                }
            }
        }
    }
}
