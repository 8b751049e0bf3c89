// SPDX-License-Identifier: MIT OR Apache-2.0
//! The pages of the guide as documentation, whose code blocks `cargo test --doc` compiles and runs.
#![allow(
    unsafe_code,
    clippy::needless_doctest_main,
    rustdoc::all,
    reason = "for readers of the guide, whose links are files"
)]

include!(concat!(env!("OUT_DIR"), "/pages.rs"));
