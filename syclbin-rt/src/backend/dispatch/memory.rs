// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory of a device, and its uses beyond a borrow.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::backend::dispatch::context::Context;
use crate::backend::dispatch::device::DriverDevice;
use crate::backend::dispatch::{each, either, narrow};
use crate::backend::{cuda, opencl};

/// Owned memory.
pub(crate) struct Memory {
    raw: Raw,
    /// The prepared launches and recordings that hold it.
    prepared: Uses,
    /// The host views of it.
    mapped: Uses,
}

either! {
    /// The memory of a backend.
    Raw: opencl::Memory, cuda::Memory
}

narrow!(Raw: opencl::Memory, cuda::Memory);

/// Counts the objects that use memory beyond the borrow that they were made with.
#[derive(Default)]
struct Uses {
    all: AtomicUsize,
    /// The objects among them that write.
    writing: AtomicUsize,
}

impl Memory {
    pub(in crate::backend) fn raw(&self) -> &Raw {
        &self.raw
    }

    /// Returns the required alignment in bytes of a part that is an argument; `None` where a part may begin
    /// anywhere.
    pub(crate) fn part_alignment(&self) -> Option<usize> {
        each!(Raw, &self.raw, memory => memory.part_alignment())
    }

    /// Returns the known alignment of the address of byte `offset`, a power of two.
    pub(crate) fn alignment(&self, offset: usize) -> u64 {
        let of = |address: u64| 1 << address.trailing_zeros().min(63);
        match each!(Raw, &self.raw, memory => memory.known_address()) {
            Some(address) => of(address.wrapping_add(offset as u64)),
            // Only the driver knows its address.
            None => self.least_alignment().min(of(offset as u64)),
        }
    }

    /// Returns the alignment that the device gives to all memory.
    pub(crate) fn least_alignment(&self) -> u64 {
        let alignment = each!(Raw, &self.raw, memory => memory.least_alignment());
        1 << alignment.max(1).ilog2()
    }

    /// Returns its context.
    pub(crate) fn context(&self) -> Context {
        each!(Raw, &self.raw, memory => Arc::clone(memory.context()).into())
    }

    /// Returns its device.
    pub(crate) fn device(&self) -> DriverDevice {
        self.context().device()
    }

    /// Returns its address on the device, if programs can know the address.
    pub(crate) fn address(&self) -> Option<u64> {
        each!(Raw, &self.raw, memory => memory.address())
    }

    /// Returns whether a prepared launch or a recording can still start a kernel that uses it. Unless `any` is
    /// set, only kernels that write it count.
    pub(crate) fn is_in_use(&self, any: bool) -> bool {
        self.prepared.some(any)
    }

    /// Returns whether the host has a view of it. Unless `any` is set, only writable views count.
    pub(crate) fn is_mapped(&self, any: bool) -> bool {
        self.mapped.some(any)
    }

    pub(in crate::backend) fn map_begins(&self, writing: bool) {
        self.mapped.begin(writing);
    }

    pub(in crate::backend) fn map_ends(&self, writing: bool) {
        self.mapped.end(writing);
    }
}

impl<M: Into<Raw>> From<M> for Memory {
    fn from(raw: M) -> Self {
        Self {
            raw: raw.into(),
            prepared: Uses::default(),
            mapped: Uses::default(),
        }
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

/// Memory that a prepared launch or a recording holds.
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

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }
}

impl Drop for MemoryUse {
    fn drop(&mut self) {
        self.memory.prepared.end(self.written);
    }
}
