// SPDX-License-Identifier: MIT OR Apache-2.0
//! Devices, memory and kernels, as programs use them.
//!
//! The test files are read when a test runs: from the directory `SYCLBIN_TESTFILES`, or from `tests/files`
//! of this repository. Nothing else of the repository is needed, so this program also tests a machine
//! that has only the program and those files.

#[path = "../common/answer.rs"]
mod answer;
mod arrays;
#[path = "../common/mod.rs"]
mod common;
mod device;
#[path = "../common/emulated.rs"]
mod emulated;
mod image;
mod intel_gpus;
mod launch;
mod memory;
mod module;
mod native;
mod queue;
