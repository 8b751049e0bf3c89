// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samplers: there are none, as kernels for CUDA have no images.

use std::sync::Arc;

use crate::backend::cuda::context::Context;
use crate::backend::failure::{Failure, Rejection};
use crate::launch::sampler::modes::{Addressing, Filtering};

/// A sampler, which cannot exist.
pub(crate) enum Sampler {}

impl Sampler {
    /// Refuses: the facts of the device say that it has no images.
    pub(crate) fn new(
        _context: &Arc<Context>,
        _addressing: Addressing,
        _filtering: Filtering,
        _normalized: bool,
    ) -> Result<Self, Failure> {
        Err(Failure::Rejected(Rejection::NoSamplers))
    }

    /// Returns its context.
    pub(crate) fn context(&self) -> &Arc<Context> {
        match *self {}
    }
}
