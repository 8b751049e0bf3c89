// SPDX-License-Identifier: MIT OR Apache-2.0
//! Times of a command, as the device recorded them.

/// The times when a command was queued, handed to the device, started and ended, in nanoseconds of the device's
/// clock.
pub(crate) struct Times {
    pub(crate) queued: u64,
    pub(crate) submitted: u64,
    pub(crate) started: u64,
    pub(crate) ended: u64,
}
