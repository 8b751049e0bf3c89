// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modules: loaded, linked, saved and cached.

mod ahead_of_time;
pub(crate) mod asserts;
mod cache;
mod constants;
mod emulated_constants;
mod globals;
mod kernel_attributes;
mod link;
mod loading;
mod requirements;
mod save;
mod states;
