// SPDX-License-Identifier: MIT OR Apache-2.0
//! Problems of images: each names the sizes that do not fit.

/// The problem of an image that cannot be made or copied.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ImageProblem {
    /// It is used on a queue of another device.
    #[error("the image is on {image}, the queue is on {queue}")]
    Device {
        /// The device of the image.
        image: String,
        /// The device of the queue.
        queue: String,
    },
    /// It is copied from or to a slice with more or fewer pixels.
    #[error(
        "the image has {} pixels, the slice has {pixels}; they must be equal",
        by(size)
    )]
    Length {
        /// The width, the height and the depth of the image, as far as there are dimensions.
        size: Vec<usize>,
        /// The number of pixels in the slice.
        pixels: usize,
    },
    /// It is empty, or too large for the device.
    #[error(
        "an image cannot have {} pixels: {device} has images of 1 to {} pixels",
        by(size),
        by(max)
    )]
    Size {
        /// The requested width, height and depth, as far as there are dimensions.
        size: Vec<usize>,
        /// The largest size of each dimension.
        max: Vec<usize>,
        /// The device.
        device: String,
    },
}

/// Returns a size as people write it: `640x480`.
fn by(size: &[usize]) -> String {
    let sizes: Vec<String> = size.iter().map(ToString::to_string).collect();
    sizes.join("x")
}
