// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program, as users start it.
#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a test may

mod live;
