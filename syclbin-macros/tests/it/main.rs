// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the macro writes, and what rustc says of it.
#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a test may

mod compile;
mod errors;
mod files;
pub mod pedantic;
mod snapshots;
