// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles kernels/wave.cpp to the file that src/tile.rs embeds.

fn main() {
    syclbin_build::Build::new()
        .source("kernels/wave.cpp")
        .compile("wave");
}
