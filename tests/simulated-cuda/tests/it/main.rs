// SPDX-License-Identifier: MIT OR Apache-2.0
//! The driver, by the functions that programs call.

mod driver;
mod instructions;
mod kernels;
mod memory;
mod modules;
mod program;
mod streams;
