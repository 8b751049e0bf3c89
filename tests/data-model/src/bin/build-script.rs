// SPDX-License-Identifier: MIT OR Apache-2.0
//! A build script as a program. `cargo xtask platforms` runs it under Wine, where Cargo is not installed, with the
//! variables that Cargo would set.
//!
//! Usage: `build-script NAME` compiles `kernels/NAME.cpp` in the current directory.

fn main() {
    let name = std::env::args()
        .nth(1)
        .expect("missing the name of a source file");
    syclbin_build::Build::new()
        .source(format!("kernels/{name}.cpp"))
        .compile(&name);
}
