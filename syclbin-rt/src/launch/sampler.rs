// SPDX-License-Identifier: MIT OR Apache-2.0
//! Samplers: each belongs to a device with image support, and kernels on other devices reject it.

use std::fmt;
use std::sync::Arc;

use crate::backend;
use crate::backend::image::{Addressing, Filtering};
use crate::error::{Error, Result};
use crate::memory::image::NEEDS_IMAGES;
use crate::queue::Queue;

/// A SYCL 1.2.1 `sampler`, for devices that support images.
pub struct Sampler {
    raw: Arc<backend::Sampler>,
}

impl Sampler {
    /// Creates a sampler for kernels on `queue`. With `normalized`, coordinates range from 0 to 1; otherwise they count
    /// pixels.
    ///
    /// # Errors
    ///
    /// Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the device does not support images. Also
    /// fails if the driver rejects the request, for instance because an addressing mode needs normalized coordinates.
    pub fn new(
        queue: &Queue,
        addressing: Addressing,
        filtering: Filtering,
        normalized: bool,
    ) -> Result<Self> {
        let device = queue.device();
        if !device.facts().images {
            return Err(Error::unsupported("samplers", NEEDS_IMAGES, device));
        }
        let context = queue.raw().context();
        let raw = backend::Sampler::new(&context, addressing, filtering, normalized)
            .map_err(|failure| Error::driver(failure, "creating a sampler", device))?;
        Ok(Self { raw: Arc::new(raw) })
    }

    pub(crate) fn raw(&self) -> &Arc<backend::Sampler> {
        &self.raw
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sampler")
    }
}
