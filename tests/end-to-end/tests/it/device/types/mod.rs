// SPDX-License-Identifier: MIT OR Apache-2.0
//! C++ types as parameters and in memory, and the Rust types that they become.

mod alignment;
mod bfloat16;
mod library_types;
mod signs;
mod structs;
