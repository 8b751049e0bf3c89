// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a driver reports about a compiled kernel.

/// What the driver reports about a compiled kernel. Returned by [`Kernel::attributes`](crate::Kernel::attributes).
///
/// A field is `None` where the driver does not report it. Sizes of memory are in bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct KernelAttributes {
    /// The largest number of work-items in a work-group.
    pub max_work_group_size: usize,
    /// The number that should divide the number of work-items in a work-group.
    pub preferred_work_group_size_multiple: usize,
    /// The work-group memory that the kernel uses beside its arguments.
    pub local_memory_bytes: u64,
    /// The private memory of a work-item. CUDA's drivers include spilled registers.
    pub private_memory_bytes: Option<u64>,
    /// The memory for spilled registers of a hardware thread. Only Intel's drivers for GPUs report it.
    pub spill_memory_bytes: Option<u64>,
    /// The registers: of a work-item on CUDA, of a hardware thread on Intel's GPUs.
    pub registers: Option<u32>,
    /// The largest sub-group of the largest work-group, in work-items.
    pub max_sub_group_size: Option<usize>,
    /// The sub-group size that the code requires.
    pub required_sub_group_size: Option<usize>,
}
