// SPDX-License-Identifier: MIT OR Apache-2.0
//! Tests the code that the macro generates, and how rustc reacts to it.
#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a test may

mod compile;
mod errors;
mod files;
pub mod pedantic;
mod snapshots;
