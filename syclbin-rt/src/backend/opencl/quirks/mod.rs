// SPDX-License-Identifier: MIT OR Apache-2.0
//! Quirks: what one driver does otherwise than the specification has it, a file for each driver.

pub(in crate::backend::opencl) mod intel_cpu;
pub(crate) mod intel_cpu_target;
pub(in crate::backend::opencl) mod pocl;
pub(in crate::backend::opencl) mod rusticl;
