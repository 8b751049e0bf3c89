// SPDX-License-Identifier: MIT OR Apache-2.0
//! SPIR-V modules, whatever their instructions mean: which words of an instruction are ids, and what a kernel needs
//! of its module.

pub(crate) mod grammar;
#[cfg(test)]
mod tests;
mod trim;

pub use trim::trim;
