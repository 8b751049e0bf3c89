// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads and writes files as a program does that depends on this crate.
#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a test may

mod containers;
mod cubin;
mod described;
mod differences;
mod files;
mod future;
mod images;
mod metadata;
mod parameters;
mod portable;
mod ptx;
mod recorded;
mod signatures;
mod specification;
mod variables;
