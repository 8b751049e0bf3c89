// SPDX-License-Identifier: MIT OR Apache-2.0
//! Commands that fill memory and copy it: to the host, from it, and on the device.

use std::sync::Arc;

use crate::backend::cuda::context::Context;
use crate::backend::cuda::memory::Memory;
use crate::backend::cuda::memory::fill::{self, Step};
use crate::backend::cuda::memory::region::memory_of;
use crate::backend::cuda::queue::Queue;
use crate::backend::cuda::queue::event::Event;
use crate::backend::cuda::queue::wait_list::WaitList;
use crate::backend::cuda::sys::{CUdeviceptr, CUstream, Functions};
use crate::backend::failure::{Failure, Unstarted};
use crate::backend::reach::Reach;
use crate::backend::slice::Region;
use std::ffi::c_void;

/// The driver function that copies memory. Where addresses are unified, it determines from them whether memory
/// is on the host or the device.
pub(in crate::backend::cuda) const COPY: &str = "cuMemcpyAsync";
/// The name of the functions that fill memory: the most frequent of six functions.
pub(in crate::backend::cuda) const FILL: &str = "cuMemsetD32Async";

impl Queue {
    /// Returns whether the device supports memory with addresses.
    pub(crate) fn has_addresses(&self) -> bool {
        true
    }

    /// Allocates memory that holds `bytes`.
    pub(crate) fn upload(&self, bytes: &[u8]) -> Result<Memory, Failure> {
        let memory = Memory::object(self.context(), bytes.len())?;
        if bytes.is_empty() {
            self.clear(&memory)?;
        } else {
            self.write(&memory, 0, bytes)?;
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

    /// Fills memory with zeros and waits, because another queue may use the memory next and would not wait.
    fn clear(&self, memory: &Memory) -> Result<(), Failure> {
        let size = memory.size();
        self.fill(memory.pointer, size, &[0], &WaitList::empty())?;
        self.finish()
    }

    /// Copies `memory` from byte `offset` on into `bytes`, after all earlier commands.
    pub(crate) fn read(
        &self,
        memory: &Memory,
        offset: usize,
        bytes: &mut [u8],
    ) -> Result<(), Failure> {
        self.inside(COPY, memory, offset, bytes.len())?;
        if !bytes.is_empty() {
            let (from, to) = (memory.pointer + offset as u64, bytes.as_mut_ptr());
            // SAFETY: the region is inside of the memory; `bytes` may be written, and outlive the
            // copy, which is waited for.
            unsafe { self.copy_now(to.expose_provenance() as u64, from, bytes.len()) }?;
            return Ok(());
        }
        self.finish()
    }

    /// Copies `bytes` to `memory` from byte `offset` on, after all earlier commands.
    pub(crate) fn write(
        &self,
        memory: &Memory,
        offset: usize,
        bytes: &[u8],
    ) -> Result<(), Failure> {
        self.inside(COPY, memory, offset, bytes.len())?;
        if !bytes.is_empty() {
            let (from, to) = (bytes.as_ptr(), memory.pointer + offset as u64);
            // SAFETY: as above, but read.
            unsafe { self.copy_now(to, from.expose_provenance() as u64, bytes.len()) }?;
            return Ok(());
        }
        self.finish()
    }

    /// Copies `size` bytes, and waits for that.
    ///
    /// # Safety
    ///
    /// Both addresses are good for `size` bytes until everything in the queue has finished.
    pub(in crate::backend::cuda) unsafe fn copy_now(
        &self,
        to: CUdeviceptr,
        from: CUdeviceptr,
        size: usize,
    ) -> Result<(), Failure> {
        let copied = self.submit_without_event(&WaitList::empty(), |functions, stream| {
            // SAFETY: as the caller says.
            unsafe { copy(self.context(), functions, to, from, size, stream) }
        });
        // Also if the call failed: it may have queued the copy.
        let settled = self.stream.settle();
        copied.and(settled)
    }

    /// Starts to copy all of `region` to `to`, when all of `after` has finished. Where the host's memory is
    /// not pinned the driver may copy before this returns.
    ///
    /// # Safety
    ///
    /// `to` is good for writing as many bytes until the command has finished.
    pub(in crate::backend) unsafe fn start_read(
        &self,
        region: &Region<[()]>,
        to: *mut c_void,
        after: &WaitList<'_>,
    ) -> Result<Event, Unstarted> {
        let (from, size) = (self.address_of(COPY, region)?, region.bytes());
        let to = to.expose_provenance() as u64;
        let started = self.submit(COPY, after, |functions, stream| {
            // SAFETY: the region is inside of the memory; the rest is as the caller says.
            unsafe { copy(self.context(), functions, to, from, size, stream) }
        });
        Ok(started?)
    }

    /// Starts to copy from `from` to all of `region`, as above.
    ///
    /// # Safety
    ///
    /// `from` is good for reading as many bytes until the command has finished.
    pub(in crate::backend) unsafe fn start_write(
        &self,
        region: &Region<[()]>,
        from: *const c_void,
        after: &WaitList<'_>,
    ) -> Result<Event, Unstarted> {
        let (to, size) = (self.address_of(COPY, region)?, region.bytes());
        let from = from.expose_provenance() as u64;
        let started = self.submit(COPY, after, |functions, stream| {
            // SAFETY: as of `start_read`.
            unsafe { copy(self.context(), functions, to, from, size, stream) }
        });
        Ok(started?)
    }

    /// Starts to copy a region to another region of the same size. The regions do not overlap.
    pub(crate) fn start_copy(
        &self,
        from: &Region<[()]>,
        to: &Region<[()]>,
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        let size = from.bytes();
        let source = self.address_of(COPY, from)?;
        let target = self.address_of(COPY, to)?;
        self.submit(COPY, after, |functions, stream| {
            // SAFETY: both regions are inside of memory of this context, which lives until the queues
            // are empty.
            unsafe { copy(self.context(), functions, target, source, size, stream) }
        })
    }

    /// Returns the address of a region that is inside memory of this context.
    pub(super) fn address_of(
        &self,
        call: &'static str,
        region: &Region<[()]>,
    ) -> Result<CUdeviceptr, Failure> {
        let memory = memory_of(call, region)?;
        self.inside(call, memory, region.offset, region.bytes())?;
        Ok(memory.pointer + region.offset as u64)
    }

    /// Starts to fill a region with copies of `pattern`.
    ///
    /// # Errors
    ///
    /// When the driver refuses, and when the size is not a multiple of the pattern's size, which is 1 to 128
    /// bytes.
    pub(crate) fn start_fill(
        &self,
        region: &Region<[()]>,
        pattern: &[u8],
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        let address = self.address_of(FILL, region)?;
        self.fill(address, region.bytes(), pattern, after)
    }

    /// Starts to fill `size` bytes at `address`, which are inside memory of this context.
    fn fill(
        &self,
        address: CUdeviceptr,
        size: usize,
        pattern: &[u8],
        after: &WaitList<'_>,
    ) -> Result<Event, Failure> {
        let steps = fill::steps(address, size, pattern);
        let code = crate::backend::cuda::errors::INVALID_VALUE;
        let steps = steps.ok_or(Failure::cuda(FILL, code))?;
        self.submit(FILL, after, |functions, stream| {
            for step in steps {
                // SAFETY: the steps are inside of the memory, which lives until the queues are empty.
                unsafe { set(self.context(), functions, &step, stream) }?;
            }
            Ok(())
        })
    }
}

/// # Safety
///
/// Both addresses are good for `size` bytes until the command has finished. The context is current,
/// and the stream is one of it.
unsafe fn copy(
    context: &Arc<Context>,
    functions: &Functions,
    to: CUdeviceptr,
    from: CUdeviceptr,
    size: usize,
    stream: CUstream,
) -> Result<(), Failure> {
    if size == 0 {
        return Ok(());
    }
    // SAFETY: as the caller says.
    context.check(COPY, unsafe {
        (functions.cuMemcpyAsync.pass())(to, from, size, stream)
    })
}

/// # Safety
///
/// What the step writes is memory of the device until the command has finished. The context is
/// current, and the stream is one of it.
#[allow(
    clippy::cast_possible_truncation,
    reason = "the value of a step has as many bytes as its width says"
)]
unsafe fn set(
    context: &Arc<Context>,
    functions: &Functions,
    step: &Step,
    stream: CUstream,
) -> Result<(), Failure> {
    let Step {
        address,
        pitch,
        width,
        value,
        count,
    } = *step;
    // SAFETY: as the caller says.
    unsafe {
        let (call, code) = match (width, pitch == width) {
            (4, true) => (
                FILL,
                (functions.cuMemsetD32Async.pass())(address, value, count, stream),
            ),
            (2, true) => (
                "cuMemsetD16Async",
                (functions.cuMemsetD16Async.pass())(address, value as u16, count, stream),
            ),
            (_, true) => (
                "cuMemsetD8Async",
                (functions.cuMemsetD8Async.pass())(address, value as u8, count, stream),
            ),
            (4, false) => (
                "cuMemsetD2D32Async",
                (functions.cuMemsetD2D32Async.pass())(address, pitch, value, 1, count, stream),
            ),
            (2, false) => (
                "cuMemsetD2D16Async",
                (functions.cuMemsetD2D16Async.pass())(
                    address,
                    pitch,
                    value as u16,
                    1,
                    count,
                    stream,
                ),
            ),
            (_, false) => (
                "cuMemsetD2D8Async",
                (functions.cuMemsetD2D8Async.pass())(address, pitch, value as u8, 1, count, stream),
            ),
        };
        context.check(call, code)
    }
}
