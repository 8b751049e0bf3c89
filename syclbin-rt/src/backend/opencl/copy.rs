// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that fill and copy memory: to and from the host, and on the device.

use std::ffi::c_void;
use std::sync::Arc;

use opencl_sys::{CL_MAP_READ, CL_MAP_WRITE};
use opencl3::types::{CL_FALSE, CL_TRUE, cl_bool};

use super::*;

/// Zeros to copy into small allocations. Up to this size, a single call that allocates and copies is ten times as fast
/// as two calls with Intel's CPU driver; from 8 kB on, it is slower.
static ZEROS: [u8; 4096] = [0; 4096];

impl Copies for Queue {
    fn allocate(&self, kind: Option<UsmKind>, contents: Contents<'_>) -> Result<Arc<AnyMemory>> {
        // OpenCL does not allow empty buffers, but a kernel argument needs a buffer.
        let size = contents.bytes().max(1);
        let zeros = ZEROS.get(..size).filter(|_| kind.is_none());
        let at_once = zeros.map(|zeros| match contents {
            Contents::Bytes(bytes) if !bytes.is_empty() => bytes,
            _ => zeros,
        });
        let memory = match kind {
            None => Memory::object(&self.context, size, at_once),
            Some(kind) => Memory::addressed(&self.context, kind, size),
        };
        let memory = Arc::new(AnyMemory::from(memory?));
        match (at_once, contents) {
            (None, Contents::Bytes(bytes)) => self.transfer(&memory, 0, HostSlice::From(bytes))?,
            (None, Contents::Zeros(_)) => {
                let all = Region::new(Arc::clone(&memory), 0, size, 1);
                // The next command on the memory may be on another queue, which would not wait for the fill.
                self.start_fill(&all, &[0], WaitList::NOTHING)?.wait()?;
            }
            _ => {}
        }
        Ok(memory)
    }

    /// A blocking write only guarantees that the bytes have been copied out of the slice (OpenCL 3.0,
    /// clEnqueueWriteBuffer). A read on another queue does not wait for the write: with Intel's CPU driver, about
    /// one such read in a hundred returns the old content. So this function also waits for the write's event.
    fn transfer(&self, memory: &AnyMemory, offset: usize, host: HostSlice<'_>) -> Result<()> {
        let size = host.len();
        if size == 0 {
            self.handle_of(memory, offset, 0)?;
            return self.finish();
        }
        self.in_order()?;
        let (host, none) = (host.raw(), WaitList::NOTHING);
        // SAFETY: the call blocks, so the bytes that it writes or reads outlive the copy.
        unsafe { self.enqueue_transfer(memory, offset, host, size, CL_TRUE, none) }?.wait()?;
        self.pace.waited();
        Ok(())
    }

    fn start_fill(
        &self,
        region: &Region,
        pattern: &[u8],
        after: &WaitList<'_>,
    ) -> Result<AnyEvent> {
        let (offset, size) = (region.offset, region.bytes());
        let (bytes, len) = (pattern.as_ptr().cast(), pattern.len());
        let handle = self.handle_of(&region.memory, offset, size)?;
        // SAFETY: the queue, the memory and the events share a context. The region is inside the memory. The driver
        // copies the pattern before it returns (OpenCL 3.0, clEnqueueFillBuffer; cl_intel_unified_shared_memory).
        let event = unsafe {
            match handle {
                Handle::Object(object) => {
                    enqueue!(self, after => clEnqueueFillBuffer(object, bytes, len, offset, size))
                }
                Handle::Address { pointer, .. } => {
                    let usm = self.context.usm("clEnqueueMemFillINTEL")?;
                    let to = pointer.byte_add(offset);
                    enqueue!(self, after, usm => clEnqueueMemFillINTEL(to, bytes, len, size))
                }
            }
        };
        self.started(event)
    }

    fn start_copy(&self, from: &Region, to: &Region, after: &WaitList<'_>) -> Result<AnyEvent> {
        let (start, end, size) = (from.offset, to.offset, from.bytes());
        let handles = (
            self.handle_of(&from.memory, start, size)?,
            self.handle_of(&to.memory, end, size)?,
        );
        // SAFETY: the queue, the memory and the events share a context. Both regions are `size` bytes long and live
        // until the queues are empty.
        let event = unsafe {
            match handles {
                (Handle::Object(from), Handle::Object(to)) => {
                    enqueue!(self, after => clEnqueueCopyBuffer(from, to, start, end, size))
                }
                (Handle::Address { pointer: from, .. }, Handle::Address { pointer: to, .. }) => {
                    let (from, to) = (from.byte_add(start), to.byte_add(end));
                    self.memcpy(to, from, size, CL_FALSE, after)
                }
                _ => return Err(Failure::UNSUITABLE),
            }
        };
        self.started(event)
    }

    fn map(
        &self,
        memory: &AnyMemory,
        offset: usize,
        size: usize,
        writing: bool,
    ) -> Result<Option<*mut c_void>> {
        let Handle::Object(object) = self.handle_of(memory, offset, size)? else {
            return Err(Failure::UNSUITABLE);
        };
        let flags = CL_MAP_READ | if writing { CL_MAP_WRITE } else { 0 };
        let (queue, no_events, none) = (self.handle.0, std::ptr::null(), std::ptr::null_mut());
        // SAFETY: the queue and the memory share a context, and the region is inside the memory. There are no events,
        // and the call writes only the status. It blocks until the mapped memory can be used.
        let mapped = unsafe {
            create!(self.functions => clEnqueueMapBuffer(
                queue, object, CL_TRUE, flags, offset, size, 0, no_events, none
            ))
        };
        mapped.map(Some)
    }

    fn unmap(&self, memory: &AnyMemory, view: *mut c_void) -> Result<()> {
        let Handle::Object(object) = self.handle_of(memory, 0, 0)? else {
            return Err(Failure::UNSUITABLE);
        };
        let none = WaitList::NOTHING;
        // SAFETY: the queue and the memory share a context, and mapping the memory returned this pointer.
        self.started(unsafe { enqueue!(self, none => clEnqueueUnmapMemObject(object, view)) })?
            .wait()
    }

    unsafe fn start_transfer(
        &self,
        region: &Region,
        host: HostBytes,
        after: &WaitList<'_>,
    ) -> Result<AnyEvent> {
        let (memory, offset, size) = (&region.memory, region.offset, region.bytes());
        // SAFETY: the caller guarantees this.
        let event = unsafe { self.enqueue_transfer(memory, offset, host, size, CL_FALSE, after) };
        event.map(AnyEvent::from)
    }
}

impl Queue {
    /// Enqueues a copy of `size` bytes between `memory`, starting at byte `offset`, and `host`. The copy starts
    /// once all commands in `after`, which must belong to this context, have finished.
    ///
    /// # Safety
    ///
    /// The host memory must be `size` bytes long and stay valid for writing or reading until the command has completed.
    /// With `blocking`, the command has completed when this function returns.
    unsafe fn enqueue_transfer(
        &self,
        memory: &AnyMemory,
        offset: usize,
        host: HostBytes,
        size: usize,
        blocking: cl_bool,
        after: &WaitList<'_>,
    ) -> Result<Event> {
        // SAFETY: the queue, the memory and the events share a context, and the region is inside the memory. The caller
        // guarantees that the host memory is valid.
        unsafe {
            match (self.handle_of(memory, offset, size)?, host) {
                (Handle::Object(object), host) => enqueue_copy!(
                    self, after, self.functions => clEnqueueReadBuffer
                        | clEnqueueWriteBuffer(object, blocking, offset, size), host
                ),
                (Handle::Address { pointer, .. }, HostBytes::To(to)) => {
                    self.memcpy(to, pointer.byte_add(offset), size, blocking, after)
                }
                (Handle::Address { pointer, .. }, HostBytes::From(from)) => {
                    self.memcpy(pointer.byte_add(offset), from, size, blocking, after)
                }
            }
        }
    }

    /// Enqueues a copy between addresses.
    ///
    /// # Safety
    ///
    /// Both pointers must be valid for `size` bytes until the command has completed. The events must belong to this
    /// context.
    unsafe fn memcpy(
        &self,
        to: *mut c_void,
        from: *const c_void,
        size: usize,
        blocking: cl_bool,
        after: &WaitList<'_>,
    ) -> Result<Event> {
        let usm = self.context.usm("clEnqueueMemcpyINTEL")?;
        // SAFETY: the caller guarantees this. The blocking flag comes first, unlike in other enqueue functions.
        unsafe { enqueue!(self, after, usm => clEnqueueMemcpyINTEL(blocking, to, from, size)) }
    }

    /// Flushes an asynchronous command and returns its event.
    fn started(&self, event: Result<Event>) -> Result<AnyEvent> {
        let event = event?;
        self.flush()?;
        Ok(event.into())
    }
}

#[cfg(test)]
mod tests {
    use std::ptr::NonNull;
    use std::sync::atomic::{AtomicU64, Ordering};

    use opencl3::error_codes::CL_OUT_OF_RESOURCES;
    use opencl3::types::{cl_bitfield, cl_command_queue, cl_event, cl_int, cl_mem, cl_uint};

    use super::*;

    /// The flags of the last view that the driver was asked for.
    static FLAGS: AtomicU64 = AtomicU64::new(0);

    unsafe extern "C" fn refuse_view(
        _queue: cl_command_queue,
        _memory: cl_mem,
        _blocking: cl_bool,
        flags: cl_bitfield,
        _offset: usize,
        _size: usize,
        _count: cl_uint,
        _events: *const cl_event,
        _event: *mut cl_event,
        status: *mut cl_int,
    ) -> *mut c_void {
        FLAGS.store(flags, Ordering::SeqCst);
        // SAFETY: the caller passes a valid pointer.
        unsafe { status.write(CL_OUT_OF_RESOURCES) };
        std::ptr::null_mut()
    }

    #[test]
    fn views_are_mapped_for_the_access_they_allow() {
        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        let device = queue.raw().opencl().unwrap().context.device;
        let replace = |name: &str| {
            let address = NonNull::new(refuse_view as *mut c_void);
            address.filter(|_| name == "clEnqueueMapBuffer")
        };
        // SAFETY: the function has the type of the one that it replaces.
        let device = unsafe { device.with_functions(replace) };
        let context = Arc::new(Context::new(device).unwrap());
        let queue = Queue::new(context, QueueOptions::new()).unwrap();
        let memory = queue.allocate(None, Contents::Zeros(4)).unwrap();
        let refused = Failure::opencl("clEnqueueMapBuffer", CL_OUT_OF_RESOURCES);
        for (writing, flags) in [(false, CL_MAP_READ), (true, CL_MAP_READ | CL_MAP_WRITE)] {
            assert_eq!(queue.map(&memory, 0, 4, writing), Err(refused));
            assert_eq!(FLAGS.load(Ordering::SeqCst), flags);
        }
    }
}
