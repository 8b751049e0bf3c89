// SPDX-License-Identifier: MIT OR Apache-2.0
//! Generic SPIR-V analysis: which operands are ids, which parts of a module a kernel needs, and which pointers it
//! only reads.

pub(crate) mod grammar;
pub(crate) mod reads;
#[cfg(test)]
mod tests;
mod trim;
pub(crate) mod words;

pub use trim::trim;
