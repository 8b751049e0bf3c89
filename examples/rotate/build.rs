// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles kernels/rotate.cpp to the file that src/main.rs embeds.

fn main() {
    syclbin_build::Build::new()
        .source("kernels/rotate.cpp")
        // Images are for devices of OpenCL, which take SPIR-V.
        .targets(["spir64"])
        .compile("rotate");
}
