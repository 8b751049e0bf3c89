// SPDX-License-Identifier: MIT OR Apache-2.0
//! Specialization constants and device globals of the generated module.

pub(crate) mod constants;
pub(crate) mod globals;
