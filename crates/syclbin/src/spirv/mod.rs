// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads, trims and edits SPIR-V modules. Also finds pointers that kernels only read through, and features that
//! some drivers lack.

pub mod edit;
pub mod grammar;
pub(crate) mod module;
pub(crate) mod reads;
mod reverse;
#[cfg(test)]
mod tests;
mod trim;
mod uses;
pub mod words;

pub use reverse::{REVERSING_BIT, reversible};
pub use trim::{reachable, strip_debug_info, trim};
pub use uses::{ASSERT_FAIL, Import, KernelUses, Uses, is_target};
