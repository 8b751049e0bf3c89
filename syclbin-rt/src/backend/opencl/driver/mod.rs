// SPDX-License-Identifier: MIT OR Apache-2.0
//! The functions of an OpenCL library: loaded once, never unloaded, and called through the gate.

pub(super) mod extensions;
pub(super) mod info;
pub(super) mod sys;
