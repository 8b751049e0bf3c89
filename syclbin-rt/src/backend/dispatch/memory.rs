//! Memory of a device, and who uses it beyond a borrow.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[cfg(feature = "cuda")]
use crate::backend::cuda;
use crate::backend::{Context, Found, Queue, each, opencl};

/// Owned memory.
pub(crate) struct Memory {
    raw: Raw,
    /// Prepared launches and recordings that have it.
    held: Uses,
    /// Views of the host.
    mapped: Uses,
}

/// The memory of a backend.
pub(in crate::backend) enum Raw {
    OpenCl(opencl::Memory),
    #[cfg(feature = "cuda")]
    Cuda(cuda::Memory),
}

/// How many there are that use memory beyond the borrow that they were made with.
#[derive(Default)]
struct Uses {
    all: AtomicUsize,
    /// Those of them that write.
    writing: AtomicUsize,
}

/// Who can reach memory that has an address (unified shared memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The device alone.
    Device,
    /// Both; it lies with the host.
    Host,
    /// Both; it moves to who uses it.
    Shared,
}

impl Memory {
    fn new(raw: Raw) -> Self {
        Self {
            raw,
            held: Uses::default(),
            mapped: Uses::default(),
        }
    }

    pub(in crate::backend) fn raw(&self) -> &Raw {
        &self.raw
    }

    /// That of OpenCL, if it is.
    #[inline]
    pub(in crate::backend) fn opencl(&self) -> Option<&opencl::Memory> {
        match &self.raw {
            Raw::OpenCl(memory) => Some(memory),
            #[cfg(feature = "cuda")]
            Raw::Cuda(_) => None,
        }
    }

    /// That of CUDA, if it is.
    #[cfg(feature = "cuda")]
    #[inline]
    pub(in crate::backend) fn cuda(&self) -> Option<&cuda::Memory> {
        match &self.raw {
            Raw::OpenCl(_) => None,
            Raw::Cuda(memory) => Some(memory),
        }
    }

    /// What the byte where a part begins must be a multiple of for a kernel to get it; none where it
    /// may begin anywhere.
    pub(crate) fn part_alignment(&self) -> Option<usize> {
        match &self.raw {
            Raw::OpenCl(memory) => memory.part_alignment(),
            #[cfg(feature = "cuda")]
            Raw::Cuda(_) => None,
        }
    }

    /// The largest power of two that the address of byte `offset` is known to be a multiple of.
    pub(crate) fn alignment(&self, offset: usize) -> u64 {
        let of = |address: u64| 1 << address.trailing_zeros().min(63);
        match each!(Raw, &self.raw, memory => memory.place()) {
            Some(address) => of(address.wrapping_add(offset as u64)),
            // The driver alone knows where it is.
            None => self.least_alignment().min(of(offset as u64)),
        }
    }

    /// What the device aligns all memory to.
    pub(crate) fn least_alignment(&self) -> u64 {
        let alignment = each!(Raw, &self.raw, memory => memory.least_alignment());
        1 << alignment.max(1).ilog2()
    }

    /// The context it lies in.
    pub(crate) fn context(&self) -> Context {
        match &self.raw {
            Raw::OpenCl(memory) => Context::OpenCl(Arc::clone(memory.context())),
            #[cfg(feature = "cuda")]
            Raw::Cuda(memory) => Context::Cuda(Arc::clone(memory.context())),
        }
    }

    /// The device it is of.
    pub(crate) fn device(&self) -> Found {
        self.context().device()
    }

    /// Whether commands of `queue` can use it. Asked at each launch, so without a count of handles.
    #[inline]
    pub(crate) fn is_for(&self, queue: &Queue) -> bool {
        match (&self.raw, queue) {
            (Raw::OpenCl(memory), Queue::OpenCl(queue)) => {
                Arc::ptr_eq(memory.context(), queue.context())
            }
            #[cfg(feature = "cuda")]
            (Raw::Cuda(memory), Queue::Cuda(queue)) => {
                Arc::ptr_eq(memory.context(), queue.context())
            }
            #[cfg(feature = "cuda")]
            _ => false,
        }
    }

    /// Its address on the device, if kernels find it by one that a program can know.
    pub(crate) fn address(&self) -> Option<u64> {
        each!(Raw, &self.raw, memory => memory.address())
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

    pub(in crate::backend) fn map_begins(&self, writing: bool) {
        self.mapped.begin(writing);
    }

    pub(in crate::backend) fn map_ends(&self, writing: bool) {
        self.mapped.end(writing);
    }
}

impl From<opencl::Memory> for Memory {
    fn from(memory: opencl::Memory) -> Self {
        Self::new(Raw::OpenCl(memory))
    }
}

#[cfg(feature = "cuda")]
impl From<cuda::Memory> for Memory {
    fn from(memory: cuda::Memory) -> Self {
        Self::new(Raw::Cuda(memory))
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
