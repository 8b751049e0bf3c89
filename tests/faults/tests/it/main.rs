// SPDX-License-Identifier: MIT OR Apache-2.0
//! Failures of the driver, and what the runtime makes of them.

mod child;
mod covered;
mod failures;
mod intel_gpu;
mod sources;
