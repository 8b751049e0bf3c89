// SPDX-License-Identifier: MIT OR Apache-2.0
//! SPIR-V modules, whatever their instructions mean: which words of an instruction are ids, what a kernel needs
//! of its module, and which pointers it only reads.

pub(crate) mod grammar;
pub(crate) mod reads;
#[cfg(test)]
mod tests;
mod trim;
pub(crate) mod words;

pub use trim::trim;
