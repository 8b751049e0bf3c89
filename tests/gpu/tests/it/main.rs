// SPDX-License-Identifier: MIT OR Apache-2.0
//! Packs of fake steps: shell scripts, some of which print what a Rust test executable prints. The
//! device is made up, too, so nothing here needs a driver.
#![allow(clippy::panic, clippy::unwrap_used)] // a test may

mod pack;
mod programs;
mod suites;
