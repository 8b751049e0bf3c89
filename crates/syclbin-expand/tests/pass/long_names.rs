// SPDX-License-Identifier: MIT OR Apache-2.0
//! Names as long as those from code generators.
#![deny(warnings)]

syclbin_rt::include_syclbin! { mod kernels = "long_names.syclbin"; }

fn main() {
    let _ = kernels::Module::load;
}
