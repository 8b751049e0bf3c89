// SPDX-License-Identifier: MIT OR Apache-2.0
fn main() {
    syclbin_build::Build::new()
        .source("kernels/saxpy.cpp")
        .compile("saxpy");
}
