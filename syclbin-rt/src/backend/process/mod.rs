// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shared by all drivers of a process: no call runs while the drivers exit, and no foreign code runs on their
//! threads.

pub(crate) mod gate;
pub(in crate::backend) mod loader;
pub(in crate::backend) mod wakers;
