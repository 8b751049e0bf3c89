//! Modes of samplers: what is read between pixels and beyond them.

/// What a [`Sampler`](crate::Sampler) reads beyond the edge of an image.
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

/// What a [`Sampler`](crate::Sampler) reads between pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filtering {
    /// The nearest one.
    Nearest,
    /// A mix of those around.
    Linear,
}
