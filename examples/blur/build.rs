// SPDX-License-Identifier: MIT OR Apache-2.0
//! Compiles what Cargo.toml describes to the file that src/main.rs embeds.

fn main() {
    syclbin_build::Build::from_manifest().compile();
}
