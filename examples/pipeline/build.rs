// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles kernels/collatz.cpp to the file that src/main.rs embeds.

fn main() {
    syclbin_build::Build::new()
        .source("kernels/collatz.cpp")
        .compile("collatz");
}
