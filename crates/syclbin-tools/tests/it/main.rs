// SPDX-License-Identifier: MIT OR Apache-2.0
//! Verifies, links and extracts files as the tools do that depend on this crate.
#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a test may

#[cfg(feature = "extract")]
mod extract;
mod images;
mod linked;
mod nvidia;
mod offsets;
#[cfg(feature = "extract")]
mod packed;
mod renamed;
mod trimmed;
mod verify;
