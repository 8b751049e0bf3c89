// SPDX-License-Identifier: MIT OR Apache-2.0
//! The compiler driver `syclbin-clang`. `toolchain install` places it next to the compiler library. It shares no code
//! with `cargo syclbin`.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    syclbin_clang::main()
}
