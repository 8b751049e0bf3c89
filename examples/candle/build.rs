// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles the kernels to the files that src/matvec.rs, src/decoder.rs and src/matmul.rs embed.

fn main() {
    for name in ["matvec", "decoder", "matmul"] {
        syclbin_build::Build::new()
            .source(format!("kernels/{name}.cpp"))
            .compile(name);
    }
}
