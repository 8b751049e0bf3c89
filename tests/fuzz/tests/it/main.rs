// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a fuzzer does, on every test file.
#![allow(clippy::panic, clippy::unwrap_used)] // a test may

mod corrupt;
mod files;
mod smoke;
