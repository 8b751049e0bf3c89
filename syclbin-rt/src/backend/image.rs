// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images and samplers at the driver level: sizes, formats, filtering and addressing.

/// The size and format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// From one to three.
    pub(crate) dimensions: u8,
    /// Width, height and depth, padded with 1.
    pub(crate) size: [usize; 3],
    pub(crate) order: Order,
    pub(crate) storage: Storage,
}

impl Shape {
    /// Returns the number of pixels, or `None` on overflow.
    pub(crate) fn pixels(&self) -> Option<usize> {
        let [width, height, depth] = self.size;
        width.checked_mul(height)?.checked_mul(depth)
    }

    /// Returns the size of all pixels in host memory in bytes, or `None` on overflow.
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

/// The order of a pixel's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    R,
    Rg,
    Rgba,
}

/// The data type of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Storage {
    Unorm8,
    Unorm16,
    Snorm8,
    Snorm16,
    I8,
    I16,
    I32,
    U8,
    U16,
    U32,
    #[cfg_attr(
        not(feature = "half"),
        allow(dead_code, reason = "only the feature `half` provides 16-bit floats")
    )]
    F16,
    F32,
}

/// How a [`Sampler`](crate::Sampler) reads beyond the edge of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addressing {
    /// Returns undefined values (`addressing_mode::none`).
    None,
    /// Returns the pixel at the edge (`clamp_to_edge`).
    ClampToEdge,
    /// Returns the border color (`clamp`).
    Clamp,
    /// Repeats the image (`repeat`); needs normalized coordinates.
    Repeat,
    /// Repeats the image, mirroring every other copy (`mirrored_repeat`); needs normalized coordinates.
    MirroredRepeat,
}

/// How a [`Sampler`](crate::Sampler) reads between pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filtering {
    /// Returns the nearest pixel.
    Nearest,
    /// Interpolates linearly between the surrounding pixels.
    Linear,
}
