// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles kernels/matvec.cpp to the file that src/matvec.rs embeds.

fn main() {
    syclbin_build::Build::new()
        .source("kernels/matvec.cpp")
        .compile("matvec");
}
