// SPDX-License-Identifier: MIT OR Apache-2.0
//! The CUDA driver's interface, under the names of its C header: types, and a table of functions.
//!
//! Numbers that pass between the driver and this crate are integers, never Rust enumerations: a driver
//! newer than this crate may return a number without a name here. The crate `cudarc` is not a dependency.
//! Its features for CUDA versions exclude each other, so a program that uses another version could not
//! compile. The tests compare every declaration with `cudarc`'s.
#![allow(
    non_camel_case_types,
    non_snake_case,
    reason = "types, fields and functions have the names of the C header"
)]

mod functions;
#[cfg(test)]
mod tests;
mod types;

pub(super) use functions::Functions;
#[cfg(test)]
pub(super) use functions::NAMES;
pub(super) use types::{
    CU_MEMHOSTALLOC_DEVICEMAP, CU_MEMHOSTALLOC_PORTABLE, CUDA_KERNEL_NODE_PARAMS, CUDA_MEMCPY3D,
    CUDA_MEMSET_NODE_PARAMS, CUcontext, CUdevice, CUdevice_attribute, CUdeviceptr, CUevent,
    CUevent_flags, CUfunction, CUfunction_attribute, CUgraph, CUgraphExec, CUgraphNode,
    CUjit_option, CUjitInputType, CUlinkState, CUmemAttach_flags, CUmemorytype, CUmodule, CUstream,
    CUstream_flags,
};
