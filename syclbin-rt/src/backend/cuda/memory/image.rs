// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images: there are none, as no device of CUDA gets a texture or a surface here.

use std::sync::Arc;

use crate::backend::cuda::context::Context;
use crate::backend::cuda::queue::Queue;
use crate::backend::failure::{Failure, Rejection};
use crate::memory::image::shape::Shape;

/// An image, which cannot exist.
pub(crate) enum Image {}

impl Image {
    /// Refuses: the facts of the device say that it has no images.
    pub(crate) fn new(
        _context: &Arc<Context>,
        _shape: &Shape,
        _pixels: &[u8],
    ) -> Result<Self, Failure> {
        Err(Failure::Rejected(Rejection::NoImages))
    }

    /// Returns its context.
    pub(crate) fn context(&self) -> &Arc<Context> {
        match *self {}
    }

    /// Returns its size and format.
    pub(crate) fn shape(&self) -> &Shape {
        match *self {}
    }
}

impl Queue {
    /// Copies all of `image` to `pixels`.
    pub(crate) fn read_image(&self, image: &Image, _pixels: &mut [u8]) -> Result<(), Failure> {
        match *image {}
    }

    /// Copies `pixels` to all of `image`.
    pub(crate) fn write_image(&self, image: &Image, _pixels: &[u8]) -> Result<(), Failure> {
        match *image {}
    }
}
