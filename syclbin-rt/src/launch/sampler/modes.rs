// SPDX-License-Identifier: MIT OR Apache-2.0
//! Modes of samplers: the values between pixels and beyond the edge.

/// The value that a [`Sampler`](crate::Sampler) returns beyond the edge of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Addressing {
    /// Undefined (`addressing_mode::none`).
    None,
    /// The pixel at the edge (`clamp_to_edge`).
    ClampToEdge,
    /// The color of the border (`clamp`).
    Clamp,
    /// The image again (`repeat`); needs normalized coordinates.
    Repeat,
    /// The image again, mirrored (`mirrored_repeat`); needs normalized coordinates.
    MirroredRepeat,
}

/// The value that a [`Sampler`](crate::Sampler) returns between pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filtering {
    /// The nearest pixel.
    Nearest,
    /// A mix of the surrounding pixels.
    Linear,
}
