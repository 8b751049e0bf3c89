// SPDX-License-Identifier: MIT OR Apache-2.0
//! The whole way: C++ sources, files, kernels on a device.
#![allow(clippy::panic, clippy::print_stdout, clippy::unwrap_used)] // a test may

mod common;
mod compiler;
mod device;
