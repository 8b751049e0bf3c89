// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel without a function, and a kernel without a readable name, do not affect the other functions.
#![deny(warnings)]

syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn main() {
    let _ = kernels::Module::nothing;
}
