// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that the build script compiled, and what their files say of them.
//!
//! All that these tests need is in this program, so it can be copied to another machine and run there
//! with the filter `device::`. They use no compiler, no Cargo and no files of the repository.

mod alignment;
mod asserts;
mod bfloat16;
mod captures;
mod constants;
mod contracts;
mod functions;
mod images;
mod initial;
mod kernels;
mod library_types;
mod names;
mod patterns;
mod programs;
mod ranges;
mod reductions;
mod replaced;
mod rest;
pub(crate) mod scenarios;
mod scratch;
mod signatures;
mod signs;
mod slim;
mod sources;
mod structs;
mod sub_groups;
mod virtual_functions;
