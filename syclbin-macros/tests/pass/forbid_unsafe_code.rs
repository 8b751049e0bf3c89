// SPDX-License-Identifier: MIT OR Apache-2.0
//! A contract needs no `unsafe` in the crate that writes it.
#![deny(warnings)]
#![forbid(unsafe_code)]

use syclbin_rt::{Buffer, Queue, Result};

syclbin_rt::include_syclbin! {
    /// Docs.
    pub mod kernels = "declared.syclbin";
    safe fn saxpy where x.len() >= n, y.len() >= n;
}

/// Launches a kernel.
pub fn call(queue: &Queue, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let kernels = kernels::Module::load(queue)?;
    kernels.saxpy(2.0, x, y, 3).launch(3)?.wait()
}

fn main() {}
