// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads, trims and edits SPIR-V modules. Also finds pointers that kernels only read through, and features that
//! some drivers lack.

pub(crate) mod edit;
pub(crate) mod grammar;
mod kernel_uses;
pub(crate) mod module;
pub(crate) mod reads;
#[cfg(test)]
mod tests;
mod trim;
mod uses;
pub(crate) mod words;

pub use kernel_uses::KernelUses;
pub use trim::{reachable, trim};
pub use uses::{ASSERT_FAIL, Import, Uses, is_target, unresolved_imports};
