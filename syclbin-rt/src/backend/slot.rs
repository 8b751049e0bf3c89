// SPDX-License-Identifier: MIT OR Apache-2.0
//! Slots: the positions of a kernel's parameters.

/// The position of a parameter among all parameters of a kernel, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(
    not(feature = "cuda"),
    allow(dead_code, reason = "drivers of OpenCL know it")
)]
pub(crate) struct Slot {
    pub(crate) offset: usize,
    pub(crate) size: usize,
}
