// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of the driver's API, by the names that `libcuda.so` has them under.
//!
//! What each of them does is in NVIDIA's documentation of the CUDA driver API; comments here say
//! where the simulation is another thing.
#![allow(
    missing_docs,
    clippy::missing_safety_doc,
    clippy::too_many_arguments,
    non_snake_case,
    reason = "these functions are NVIDIA's: they have their names, arguments and documentation"
)]

pub mod context;
pub mod copy;
pub mod device;
pub mod event;
pub mod fill;
pub mod function;
pub mod general;
pub mod graph;
pub mod launch;
pub mod link;
pub mod memory;
pub mod module;
pub mod stream;

/// A handle as the program has it.
fn handle<T>(pointer: *mut T) -> u64 {
    pointer.addr() as u64
}

/// A handle as the program gets it.
fn pointer<T>(handle: u64) -> *mut T {
    std::ptr::without_provenance_mut(handle as usize)
}
