// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads, writes and checks files as a program does that depends on this crate.
#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a test may

mod containers;
mod cubin;
mod described;
mod differences;
#[cfg(feature = "extract")]
mod extract;
mod files;
mod future;
mod images;
mod linked;
mod metadata;
mod nvidia;
#[cfg(feature = "extract")]
mod packed;
mod portable;
mod ptx;
mod recorded;
mod renamed;
mod signatures;
mod specification;
mod trimmed;
mod variables;
mod verify;
