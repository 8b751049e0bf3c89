// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reach: the processors that can use memory with an address.

/// The processors that can reach memory with an address (unified shared memory).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reach {
    /// The device alone.
    Device,
    /// Host and device; it is in host memory.
    Host,
    /// Host and device; it moves to the processor that uses it.
    Shared,
}
