// SPDX-License-Identifier: MIT OR Apache-2.0
//! `syclbin-clang`, the compiler driver. It shares no code with `cargo syclbin`: `toolchain install` puts it beside the
//! compiler library.
#![forbid(unsafe_code)]

use std::process::ExitCode;

fn main() -> ExitCode {
    syclbin_clang::main()
}
