// SPDX-License-Identifier: MIT OR Apache-2.0
//! Loading: an abstract module becomes a program when it is first needed, or an error that has the reason for each
//! image.
//!
//! [`files::Files`] are read and checked without a driver. [`build::Builder`] finds the images that a device takes,
//! and its driver builds them. [`loaded_module::LoadedModule`] does this once for each part of a module.

pub(crate) mod ahead_of_time;
pub(crate) mod build;
pub(crate) mod build_options;
pub(crate) mod constants;
pub(crate) mod coverage;
pub(crate) mod cubin;
pub(crate) mod device_code;
pub(crate) mod files;
pub(crate) mod image;
pub(crate) mod image_choice;
pub(crate) mod link;
pub(crate) mod loaded_module;
pub(crate) mod made_for;
pub(crate) mod native;
pub(crate) mod requirements;
pub(crate) mod unit;
pub(crate) mod verdict;
