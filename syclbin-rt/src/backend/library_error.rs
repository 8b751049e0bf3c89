// SPDX-License-Identifier: MIT OR Apache-2.0
//! The reasons why a driver library cannot be used.

use crate::backend::failure::Failure;

/// The reason why a driver library cannot be used.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LibraryError {
    /// The system's loader refused it, for this reason.
    #[error("{0}")]
    NotLoaded(String),
    /// It lacks a function of OpenCL; the system's loader gave this reason.
    #[error("not an OpenCL library: {0}")]
    NotOpenCl(String),
    /// NVIDIA's driver does not load.
    #[cfg_attr(
        not(feature = "cuda"),
        allow(dead_code, reason = "no driver is loaded")
    )]
    #[error("cannot load {name}: {reason}; it comes with NVIDIA's driver")]
    NoCudaDriver { name: &'static str, reason: String },
    /// NVIDIA's driver lacks functions that are required.
    #[cfg_attr(
        not(feature = "cuda"),
        allow(dead_code, reason = "no driver is loaded")
    )]
    #[error("the driver is too old: it has no {}; install a newer one", .0.join(", "))]
    TooOld(Vec<&'static str>),
    /// The program has no backend for CUDA.
    #[cfg_attr(feature = "cuda", allow(dead_code, reason = "the backend exists"))]
    #[error("this program is built without feature `cuda` of syclbin-rt")]
    WithoutCuda,
    /// The driver did not start.
    #[error(transparent)]
    Driver(#[from] Failure),
}
