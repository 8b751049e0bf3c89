// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that fill memory and copy it: to the host, from it, and on the device.

use std::ffi::c_void;

use opencl3::error_codes::CL_SUCCESS;
use opencl3::types::{CL_FALSE, CL_TRUE, cl_bool, cl_event, cl_int};

use crate::backend::failure::{Failure, Rejection};
use crate::backend::opencl::check_handle;
use crate::backend::opencl::driver::extensions::{USM, Usm};
use crate::backend::opencl::memory::region::memory_of;
use crate::backend::opencl::memory::{Handle, Memory};
use crate::backend::opencl::queue::Queue;
use crate::backend::opencl::queue::event::Event;
use crate::backend::opencl::queue::wait_list::WaitList;
use crate::backend::reach::Reach;
use crate::backend::slice::Region;

/// The driver function that copies memory with an address.
const MEMCPY: &str = "clEnqueueMemcpyINTEL";

/// The result of a call that enqueues a command.
#[must_use = "the event may be a reference to let go of"]
pub(in crate::backend::opencl) struct Queued {
    pub(in crate::backend::opencl) call: &'static str,
    pub(in crate::backend::opencl) event: cl_event,
    pub(in crate::backend::opencl) code: cl_int,
}

impl Queued {
    fn by(call: &'static str) -> Self {
        let (event, code) = (std::ptr::null_mut(), CL_SUCCESS);
        Self { call, event, code }
    }
}

impl Queue {
    /// Returns whether the device supports memory with addresses.
    pub(crate) fn has_addresses(&self) -> bool {
        self.context().device().extensions.usm.is_some()
    }

    /// Allocates memory that holds `bytes`.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Memory, Failure> {
        let memory = Memory::object(self.context(), bytes.len())?;
        if bytes.is_empty() {
            self.clear(&memory)?;
        } else {
            self.put(&memory, 0, bytes)?;
        }
        Ok(memory)
    }

    /// Allocates memory that holds `size` zero bytes.
    pub(crate) fn zeroed(&self, size: usize) -> Result<Memory, Failure> {
        let memory = Memory::object(self.context(), size)?;
        self.clear(&memory)?;
        Ok(memory)
    }

    /// Allocates memory with an address that holds `size` zero bytes.
    pub(crate) fn zeroed_at_address(&self, reach: Reach, size: usize) -> Result<Memory, Failure> {
        let memory = Memory::addressed(self.context(), reach, size)?;
        self.clear(&memory)?;
        Ok(memory)
    }

    fn clear(&self, memory: &Memory) -> Result<(), Failure> {
        let queued = self.enqueue_fill(memory, 0, memory.size(), &[0], &WaitList::empty())?;
        self.wait_for(queued.call, queued.event, queued.code)
    }

    /// Copies `memory` from byte `offset` on into `bytes`, after all earlier commands.
    pub(crate) fn read(
        &self,
        memory: &Memory,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        if bytes.is_empty() {
            self.same_context("clEnqueueReadBuffer", memory)?;
            return self.finish();
        }
        self.in_order()?;
        let to = bytes.as_mut_ptr().cast();
        // SAFETY: `bytes` may be written, and the call blocks, so they outlive the copy.
        let queued = unsafe {
            self.enqueue_read(memory, offset, to, bytes.len(), CL_TRUE, &WaitList::empty())
        }?;
        self.wait_for(queued.call, queued.event, queued.code)
    }

    /// Copies `bytes` to `memory` from byte `offset` on, after all earlier commands.
    pub(crate) fn write(
        &self,
        memory: &Memory,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        if bytes.is_empty() {
            self.same_context("clEnqueueWriteBuffer", memory)?;
            return self.finish();
        }
        self.in_order()?;
        self.put(memory, offset, bytes)
    }

    /// The same, at any time if this queue is out of order.
    fn put(&self, memory: &Memory, offset: usize, bytes: &[u8]) -> Result<(), Failure> {
        let from = bytes.as_ptr().cast();
        // SAFETY: `bytes` may be read, and the call blocks, so they outlive the copy.
        let queued = unsafe {
            self.enqueue_write(
                memory,
                offset,
                from,
                bytes.len(),
                CL_TRUE,
                &WaitList::empty(),
            )
        }?;
        self.wait_for(queued.call, queued.event, queued.code)
    }

    /// Starts to fill a region with a repeated element. `pattern` is the bytes of an element.
    ///
    /// # Errors
    ///
    /// When the driver refuses; [`pattern`](crate::backend::pattern) determines which elements no driver takes.
    pub(crate) fn start_fill(
        &self,
        region: &Region<[()]>,
        pattern: &[u8],
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        let (memory, size) = (memory_of("clEnqueueFillBuffer", region)?, region.bytes());
        let started = self.enqueue_fill(memory, region.offset, size, pattern, after)?;
        self.started(started)
    }

    /// Starts to copy a region to another region of the same size and kind of memory. The regions do not overlap.
    pub(crate) fn start_copy(
        &self,
        from: &Region<[()]>,
        to: &Region<[()]>,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        let size = from.bytes();
        let call = "clEnqueueCopyBuffer";
        let (source, target) = (memory_of(call, from)?, memory_of(call, to)?);
        let call = match source.handle {
            Handle::Object(_) => call,
            Handle::Address { .. } => MEMCPY,
        };
        self.inside(call, source, from.offset, size)?;
        self.inside(call, target, to.offset, size)?;
        let mut queued = Queued::by(call);
        match (source.handle, target.handle) {
            (Handle::Object(source), Handle::Object(target)) => {
                // SAFETY: queue, memory and events share a context, and both have that many bytes.
                queued.code = unsafe {
                    (self.context().functions().clEnqueueCopyBuffer.pass())(
                        self.handle,
                        source,
                        target,
                        from.offset,
                        to.offset,
                        size,
                        after.count(),
                        after.pointer(),
                        &raw mut queued.event,
                    )
                };
            }
            (
                Handle::Address {
                    pointer: source, ..
                },
                Handle::Address {
                    pointer: target, ..
                },
            ) => {
                // SAFETY: both have that many bytes, and live until the queues are empty.
                queued = unsafe {
                    let source = source.byte_add(from.offset);
                    self.memcpy(target.byte_add(to.offset), source, size, CL_FALSE, after)?
                };
            }
            _ => return Err(Failure::unsuitable(call)),
        }
        self.started(queued)
    }

    fn enqueue_fill(
        &self,
        memory: &Memory,
        offset: usize,
        size: usize,
        pattern: &[u8],
        after: &WaitList<'_>,
    ) -> Result<Queued, Failure> {
        let mut queued = Queued::by(match memory.handle {
            Handle::Object(_) => "clEnqueueFillBuffer",
            Handle::Address { .. } => "clEnqueueMemFillINTEL",
        });
        self.inside(queued.call, memory, offset, size)?;
        // SAFETY: queue, memory and events share a context, the memory has that many bytes, and the
        // driver copies the pattern before it returns (OpenCL 3.0, clEnqueueFillBuffer, and
        // cl_intel_unified_shared_memory).
        queued.code = unsafe {
            match memory.handle {
                Handle::Object(object) => (self.context().functions().clEnqueueFillBuffer.pass())(
                    self.handle,
                    object,
                    pattern.as_ptr().cast(),
                    pattern.len(),
                    offset,
                    size,
                    after.count(),
                    after.pointer(),
                    &raw mut queued.event,
                ),
                Handle::Address { pointer, .. } => {
                    (self.usm(queued.call)?.enqueue_mem_fill.pass())(
                        self.handle,
                        pointer.byte_add(offset),
                        pattern.as_ptr().cast(),
                        pattern.len(),
                        size,
                        after.count(),
                        after.pointer(),
                        &raw mut queued.event,
                    )
                }
            }
        };
        Ok(queued)
    }

    /// Queues a copy of `size` bytes of `memory` from byte `offset` on to `to`, to start when all of
    /// `after` has finished, whose events are of this context.
    ///
    /// # Safety
    ///
    /// `to` is good for writing `size` bytes until the command has completed, which it has on
    /// return if `blocking`.
    pub(in crate::backend::opencl) unsafe fn enqueue_read(
        &self,
        memory: &Memory,
        offset: usize,
        to: *mut c_void,
        size: usize,
        blocking: cl_bool,
        after: &WaitList<'_>,
    ) -> Result<Queued, Failure> {
        let mut queued = Queued::by("clEnqueueReadBuffer");
        let object = match memory.handle {
            Handle::Object(object) => object,
            Handle::Address { pointer, .. } => {
                self.inside(MEMCPY, memory, offset, size)?;
                // SAFETY: the region is inside of the memory; the caller vouches for the host.
                return unsafe { self.memcpy(to, pointer.byte_add(offset), size, blocking, after) };
            }
        };
        self.inside(queued.call, memory, offset, size)?;
        // SAFETY: queue, memory and events share a context, and the memory has that many bytes; the
        // caller vouches for those of the host.
        queued.code = unsafe {
            (self.context().functions().clEnqueueReadBuffer.pass())(
                self.handle,
                object,
                blocking,
                offset,
                size,
                to,
                after.count(),
                after.pointer(),
                &raw mut queued.event,
            )
        };
        Ok(queued)
    }

    /// Queues a copy of `size` bytes from `from` to `memory` from byte `offset` on, as above.
    ///
    /// # Safety
    ///
    /// `from` is good for reading `size` bytes until the command has completed, which it has on
    /// return if `blocking`.
    pub(in crate::backend::opencl) unsafe fn enqueue_write(
        &self,
        memory: &Memory,
        offset: usize,
        from: *const c_void,
        size: usize,
        blocking: cl_bool,
        after: &WaitList<'_>,
    ) -> Result<Queued, Failure> {
        let mut queued = Queued::by("clEnqueueWriteBuffer");
        let object = match memory.handle {
            Handle::Object(object) => object,
            Handle::Address { pointer, .. } => {
                self.inside(MEMCPY, memory, offset, size)?;
                // SAFETY: the region is inside of the memory; the caller vouches for the host.
                return unsafe {
                    self.memcpy(pointer.byte_add(offset), from, size, blocking, after)
                };
            }
        };
        self.inside(queued.call, memory, offset, size)?;
        // SAFETY: queue, memory and events share a context, and the memory has that many bytes; the
        // caller vouches for those of the host.
        queued.code = unsafe {
            (self.context().functions().clEnqueueWriteBuffer.pass())(
                self.handle,
                object,
                blocking,
                offset,
                size,
                from,
                after.count(),
                after.pointer(),
                &raw mut queued.event,
            )
        };
        Ok(queued)
    }

    /// Queues a copy where addresses say from where to where.
    ///
    /// # Safety
    ///
    /// Both pointers are good for `size` bytes until the command has completed.
    unsafe fn memcpy(
        &self,
        to: *mut c_void,
        from: *const c_void,
        size: usize,
        blocking: cl_bool,
        after: &WaitList<'_>,
    ) -> Result<Queued, Failure> {
        let mut queued = Queued::by(MEMCPY);
        let usm = self.usm(MEMCPY)?;
        // SAFETY: queue and events share a context, and the caller vouches for the memory.
        queued.code = unsafe {
            (usm.enqueue_memcpy.pass())(
                self.handle,
                blocking,
                to,
                from,
                size,
                after.count(),
                after.pointer(),
                &raw mut queued.event,
            )
        };
        Ok(queued)
    }

    /// Returns the event of a command that runs asynchronously.
    fn started(&self, queued: Queued) -> Result<Event, Failure> {
        let event = check_handle(queued.call, queued.event, queued.code)?;
        // SAFETY: the call handed this reference over.
        let event = unsafe { Event::from_owned(self.context().functions(), queued.call, event) };
        self.flush()?;
        Ok(event)
    }

    fn usm(&self, call: &'static str) -> Result<&'static Usm, Failure> {
        let usm = self.context().device().extensions.usm.as_ref();
        usm.ok_or(Failure::Missing {
            function: call,
            needs: USM,
        })
    }

    /// Refuses what is not of this context, or not inside of the memory.
    pub(in crate::backend::opencl) fn inside(
        &self,
        call: &'static str,
        memory: &Memory,
        offset: usize,
        size: usize,
    ) -> Result<(), Failure> {
        self.same_context(call, memory)?;
        let end = offset.checked_add(size);
        if end.is_some_and(|end| end <= memory.size()) {
            return Ok(());
        }
        Err(Failure::Rejected(Rejection::OutOfBounds(call)))
    }
}
