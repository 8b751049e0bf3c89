// SPDX-License-Identifier: MIT OR Apache-2.0
//! Device memory. Every slice lies inside its allocation, and every allocation outlives the commands that use it.

pub(crate) mod between;
pub(crate) mod buffer;
pub(crate) mod copy;
pub(crate) mod image;
#[cfg(feature = "ndarray")]
mod ndarray;
pub(crate) mod slice;
pub(crate) mod transfer;
