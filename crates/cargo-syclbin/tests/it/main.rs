// SPDX-License-Identifier: MIT OR Apache-2.0
//! The programs, as users run them.
// Clippy exempts only functions marked as tests; the helpers here are of tests too.
#![allow(clippy::panic, clippy::unwrap_used)]

mod files;
#[cfg(unix)] // runs a shell
mod guard;
mod project;
mod toolchain;
#[cfg(unix)] // a shell script stands in for Cargo
mod workspace;
