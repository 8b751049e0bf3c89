// SPDX-License-Identifier: MIT OR Apache-2.0
//! Random kernels: the C++ source of each, and the Rust code that calls its stub.
//!
//! A seed and a number determine a kernel, so a [`Setting`] says all about a run. Nothing here compiles or
//! runs anything: package `random-kernels-run` does.
#![forbid(unsafe_code)]

pub mod differential;
mod random;
mod setting;
pub mod signatures;

pub use random::Random;
pub use setting::{Setting, Side};

/// A file of the generated program.
#[derive(Clone, Debug)]
pub struct Source {
    /// Its name without an extension, which is the name of its module in Rust, too.
    pub name: String,
    /// C++.
    pub text: String,
}

/// The sources of kernels, and the Rust code that calls them all.
#[derive(Clone, Debug)]
pub struct Program {
    /// Each becomes a SYCLBIN file.
    pub sources: Vec<Source>,
    /// Modules, a function for each kernel, and `CALLS`, the table of these functions.
    pub calls: String,
}
