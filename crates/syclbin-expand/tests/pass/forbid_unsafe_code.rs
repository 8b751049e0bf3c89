// SPDX-License-Identifier: MIT OR Apache-2.0
//! Embedding kernels requires no `unsafe` in the user's crate, except where a contract is declared.
#![deny(warnings, unsafe_code)]

use syclbin_rt::{Buffer, Queue, Result};

mod strict {
    #![forbid(unsafe_code)]

    syclbin_rt::include_syclbin! {
        /// Docs.
        pub(crate) mod kernels = "declared.syclbin";
    }
}

syclbin_rt::include_syclbin! {
    /// Docs.
    #[allow(unsafe_code, reason = "contracts")]
    pub mod kernels = "declared.syclbin";
    unsafe extern "SYCL" {
        safe fn saxpy where x.len() >= n, y.len() >= n, range.dimensions() == 1;
    }
}

/// Launches a kernel.
pub fn call(queue: &Queue, x: &Buffer<f32>, y: &mut Buffer<f32>) -> Result<()> {
    let _ = strict::kernels::Module::load(queue)?;
    let kernels = kernels::Module::load(queue)?;
    kernels.saxpy(2.0, x, y, 3).launch(3)?.wait()
}

fn main() {}
