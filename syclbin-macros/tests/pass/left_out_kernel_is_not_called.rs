// SPDX-License-Identifier: MIT OR Apache-2.0
//! A kernel that has no function, and one by its symbol, do not keep the others from theirs.
#![deny(warnings)]

syclbin_rt::include_syclbin! { mod kernels = "declared.syclbin"; }

fn main() {
    let _ = kernels::Module::nothing;
}
