// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads a SYCLBIN file and determines which images a device accepts, without calling a driver.

pub(crate) mod code;
pub(crate) mod constants;
pub(crate) mod files;
pub(crate) mod link;
pub(crate) mod native;
pub(crate) mod requirements;
