// SPDX-License-Identifier: MIT OR Apache-2.0
//! rusticl (Mesa 25.0 and 26.2): queues that end with their first failed command.
//!
//! All later commands of such a queue fail with the same code, and so does clFinish, although nothing runs any
//! more. Other queues of the context go on.

use crate::device::facts::Facts;

/// Returns whether a queue of the device takes no command after one that failed.
pub(in crate::backend::opencl) fn queues_stay_failed(facts: &Facts) -> bool {
    facts.platform == "rusticl"
}
