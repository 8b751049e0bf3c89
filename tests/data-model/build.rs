// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernel on the build machine, whatever Cargo's target is.

fn main() {
    syclbin_build::Build::new()
        .source("kernels/data_model.cpp")
        .compile("data_model");
}
