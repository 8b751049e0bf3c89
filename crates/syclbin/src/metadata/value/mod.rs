// SPDX-License-Identifier: MIT OR Apache-2.0
//! Values: what one property means, and what the keys of one set mean together. Every view uses them.

pub(super) mod malformed;
pub(super) mod mask;
pub(super) mod named;
pub(super) mod property;
pub(super) mod size;
