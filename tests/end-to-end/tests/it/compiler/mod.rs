// SPDX-License-Identifier: MIT OR Apache-2.0
//! What `syclbin-clang` and build scripts do while the tests run. These tests need the toolchain and the
//! sources.

#[cfg(unix)] // a script counts how often the compiler runs
mod builtins;
mod cache;
mod clang;
#[cfg(unix)] // signals
mod crashes;
mod driver;

mod intel_gpus;
mod linking;
mod many_kernels;
mod new_projects;
mod nvidia;
mod objects;
mod optional_target;
mod parameters;
mod projects;
mod published;
mod scenarios;
mod targets;
mod user_crate;
