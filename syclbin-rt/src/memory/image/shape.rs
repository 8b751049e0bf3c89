// SPDX-License-Identifier: MIT OR Apache-2.0
//! Shapes: the size and the format of an image, as a driver knows them.

use crate::memory::image::format::{Order, Storage};

/// The size and the format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// One to three.
    pub(crate) dimensions: u8,
    /// Width, height and depth; 1 beyond the dimensions.
    pub(crate) size: [usize; 3],
    pub(crate) order: Order,
    pub(crate) storage: Storage,
}

impl Shape {
    /// Returns the number of pixels, if it fits.
    pub(crate) fn pixels(&self) -> Option<usize> {
        let [width, height, depth] = self.size;
        width.checked_mul(height)?.checked_mul(depth)
    }

    /// Returns the bytes of all pixels in host memory, if that fits.
    pub(crate) fn bytes(&self) -> Option<usize> {
        self.pixels()?.checked_mul(self.pixel_bytes())
    }

    fn pixel_bytes(&self) -> usize {
        let components = match self.order {
            Order::R => 1,
            Order::Rg => 2,
            Order::Rgba => 4,
        };
        let bytes = match self.storage {
            Storage::Unorm8 | Storage::Snorm8 | Storage::I8 | Storage::U8 => 1,
            Storage::Unorm16 | Storage::Snorm16 | Storage::I16 | Storage::U16 | Storage::F16 => 2,
            Storage::I32 | Storage::U32 | Storage::F32 => 4,
        };
        components * bytes
    }
}
