// SPDX-License-Identifier: MIT OR Apache-2.0
//! Intel's CPU driver: negations whose results are lost at barriers.
//!
//! The driver saves a value that lives across a work-group barrier once per work-item, or once if it is uniform.
//! It considers every floating-point negation uniform, and so every value computed from negations alone. After the
//! barrier, all work-items read the value of the last work-item, or of the last vector of work-items.
//!
//! Only unoptimized code and groups of exactly one vector are right. Versions 2025.3 and 2026.2 have the fault, and
//! no fixed version is known.

use crate::device::facts::{DeviceKind, Facts};

/// Adds what no query tells.
pub(in crate::backend::opencl) fn add_facts(facts: &mut Facts) {
    facts.loses_negations = facts.kind == DeviceKind::Cpu && facts.platform == "Intel(R) OpenCL";
}
