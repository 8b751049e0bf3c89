// SPDX-License-Identifier: MIT OR Apache-2.0
//! Memory: each slice lies inside its allocation, and an allocation outlives the commands that use it.

pub(crate) mod array;
pub(crate) mod buffer;
pub(crate) mod image;
pub(crate) mod map;
pub(crate) mod padding;
pub(crate) mod slice;
