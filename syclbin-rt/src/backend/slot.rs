//! Slots: where the parameters of a kernel lie.

/// Where a parameter lies among all of a kernel, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, reason = "drivers of OpenCL know it")
)]
pub(crate) struct Slot {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}
