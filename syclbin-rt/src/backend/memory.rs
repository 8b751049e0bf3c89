// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device memory, and counters for its uses that outlive a borrow: prepared launches, recordings and mapped views.

use std::ffi::c_void;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{
    Device, DriverContext, Failure, MemoryHandle, Owned, Rejection, Result, opencl,
};

/// The kinds of unified shared memory, which programs access by address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum UsmKind {
    /// Accessible only by the device.
    Device,
    /// In host memory; accessible by host and device.
    Host,
    /// Accessible by host and device; migrates to the processor that uses it.
    Shared,
}

pub(crate) struct Memory {
    pub(crate) raw: RawMemory,
    /// Uses by prepared launches and recordings.
    pub(crate) prepared: Uses,
    /// Uses by mapped views.
    pub(crate) mapped: Uses,
}

either! {
    RawMemory: dyn DriverMemory, Owned<opencl::memory::Memory, cuda::memory::Memory>
}

pub(crate) trait DriverMemory: Send + Sync {
    fn context(&self) -> &dyn DriverContext;

    /// Returns the size in bytes.
    fn size(&self) -> usize;

    /// Returns the native handle for the byte at `offset`.
    fn native(&self, offset: usize) -> MemoryHandle;

    /// Returns the device address if the public API exposes it.
    fn address(&self) -> Option<u64>;

    /// Returns the device address if this crate knows it, even if the public API does not expose it.
    fn known_address(&self) -> Option<u64> {
        self.address()
    }

    /// Returns the host address if the host can access the memory directly.
    fn host_pointer(&self) -> Option<*mut c_void>;
}

/// Counts the uses of memory that outlive a borrow.
#[derive(Default)]
pub(crate) struct Uses {
    all: AtomicUsize,
    /// The uses that write the memory.
    writing: AtomicUsize,
}

impl Memory {
    pub(crate) fn device(&self) -> Device {
        self.context().device()
    }

    /// Fails if the `size` bytes at byte `offset` extend beyond the memory, or if the memory does not belong to the
    /// context with the address `context`.
    pub(crate) fn check(&self, context: usize, offset: usize, size: usize) -> Result<()> {
        if self.raw.context().address() != context {
            return Err(Failure::FOREIGN);
        }
        match offset.checked_add(size) {
            Some(end) if end <= self.raw.size() => Ok(()),
            _ => Err(Failure::Rejected(Rejection::OutOfBounds)),
        }
    }

    /// Returns whether one command can copy between the two. OpenCL has none between a buffer object and an address.
    pub(crate) fn has_direct_copy(&self, other: &Self) -> bool {
        let kind = |memory: &Self| std::mem::discriminant(&memory.native(0));
        kind(self) == kind(other)
    }

    /// Returns the known alignment of the byte at `offset`, a power of two.
    pub(crate) fn alignment(&self, offset: usize) -> u64 {
        let of = |address: u64| 1 << address.trailing_zeros().min(63);
        match self.raw.known_address() {
            Some(address) => of(address.wrapping_add(offset as u64)),
            // Only the driver knows the address.
            None => self.least_alignment().min(of(offset as u64)),
        }
    }

    /// Returns the alignment, in bytes, that a part of this memory must have as a kernel argument, or `None` if the
    /// part may start at any byte.
    pub(crate) fn part_alignment(&self) -> Option<usize> {
        let alignment = self.device().facts().buffer_alignment.max(1);
        self.address().is_none().then_some(alignment)
    }

    /// Returns the alignment that the device guarantees for every allocation, a power of two.
    pub(crate) fn least_alignment(&self) -> u64 {
        1 << self.device().facts().least_alignment.max(1).ilog2()
    }
}

impl Deref for Memory {
    type Target = dyn DriverMemory;

    #[inline]
    fn deref(&self) -> &Self::Target {
        &*self.raw
    }
}

impl<M: Into<RawMemory>> From<M> for Memory {
    fn from(raw: M) -> Self {
        Self {
            raw: raw.into(),
            prepared: Uses::default(),
            mapped: Uses::default(),
        }
    }
}

/// Sequentially consistent: of a view and a prepared launch that begin at the same time, at least one sees the other.
impl Uses {
    pub(crate) fn begin(&self, writing: bool) {
        self.all.fetch_add(1, Ordering::SeqCst);
        if writing {
            self.writing.fetch_add(1, Ordering::SeqCst);
        }
    }

    pub(crate) fn end(&self, writing: bool) {
        if writing {
            self.writing.fetch_sub(1, Ordering::SeqCst);
        }
        self.all.fetch_sub(1, Ordering::SeqCst);
    }

    /// Returns whether there are uses. Considers only uses that write the memory, unless `any` is set.
    pub(crate) fn some(&self, any: bool) -> bool {
        let count = if any { &self.all } else { &self.writing };
        count.load(Ordering::SeqCst) > 0
    }
}

/// A use of memory by a prepared launch or a recording, counted until this value is dropped.
pub(crate) struct MemoryUse {
    memory: Arc<Memory>,
    written: bool,
}

impl MemoryUse {
    pub(crate) fn new(memory: &Arc<Memory>, written: bool) -> Self {
        memory.prepared.begin(written);
        let memory = Arc::clone(memory);
        Self { memory, written }
    }
}

impl Drop for MemoryUse {
    fn drop(&mut self) {
        self.memory.prepared.end(self.written);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::backend::queue::Contents;

    #[test]
    fn copies_beyond_the_memory_are_refused() {
        let Some(queue) = crate::common::queue() else {
            return;
        };
        let queue = queue.raw();
        let memory = queue
            .allocate(None, Contents::Bytes(&[1, 2, 3, 4]))
            .unwrap();
        let mut bytes = [0; 2];
        let refused = Err(Failure::Rejected(Rejection::OutOfBounds));
        assert_eq!(queue.read(&memory, 3, &mut bytes), refused);
        assert_eq!(queue.read(&memory, usize::MAX, &mut bytes), refused);
        assert_eq!(queue.write(&memory, 4, &bytes), refused);
        queue.read(&memory, 2, &mut bytes).unwrap();
        assert_eq!(bytes, [3, 4]);
    }
}
