// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels that the build script compiled, and what their files say of them.
//!
//! All that these tests need is in this program, so it can be copied to another machine and run there
//! with the filter `device::`. They use no compiler, no Cargo and no files of the repository.

mod asserts;
mod constants;
mod contracts;
mod forms;
mod images;
mod initial;
mod kernels;
mod patterns;
mod programs;
mod races;
mod reductions;
mod replaced;
mod rest;
pub(crate) mod scenarios;
mod scratch;
mod sources;
mod sub_groups;
mod types;
