// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intel's CPU driver: negations whose results are lost at barriers.
//!
//! A value that lives across a barrier of the work-group is saved for each work-item, unless it is the same in all.
//! The driver (2026.2) assumes that of every negation of a floating-point number, and of what is computed from
//! it alone. After the barrier all work-items get the value of the last one, or of the last vector of work-items.
//! Kernels are right without optimization, and in work-groups that fit one vector. No version is known that has the
//! fault mended, so the code is rewritten for all of them.

use crate::device::facts::{DeviceKind, Facts};

/// Adds what no query tells.
pub(in crate::backend::opencl) fn add_facts(facts: &mut Facts) {
    facts.loses_negations = facts.kind == DeviceKind::Cpu && facts.platform == "Intel(R) OpenCL";
}
