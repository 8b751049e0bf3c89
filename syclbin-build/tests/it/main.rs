// SPDX-License-Identifier: MIT OR Apache-2.0
//! Builds, each in a process of its own, with a compiler that is a shell script.
#![cfg(unix)] // the shell
#![allow(clippy::panic, clippy::unwrap_used, clippy::print_stdout)] // a test may

mod abandoned;
mod cache;
mod cargo;
mod compiler;
mod failures;
mod manifest;
mod patterns;
mod prebuilt;
mod script;
mod selection;
mod sources;
mod watch;
