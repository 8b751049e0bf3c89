// SPDX-License-Identifier: MIT OR Apache-2.0
//! SPIR-V: its words, the types and kernels of a module, the parts that a kernel needs, the pointers that it only
//! reads, and features that some drivers lack.

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
