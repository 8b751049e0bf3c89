// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles kernels/matmul.cpp to the file that src/main.rs embeds.

fn main() {
    syclbin_build::Build::new()
        .source("kernels/matmul.cpp")
        .compile("matmul");
}
