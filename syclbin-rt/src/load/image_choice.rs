// SPDX-License-Identifier: MIT OR Apache-2.0
//! Choices: the image of a module that runs on the device, as far as is known, with the reason.

use std::fmt;

/// The image of an abstract module that was chosen for the device, and the reasons against the others. Returned
/// by [`Module::images`](crate::Module::images).
///
/// Its text has a line for the module and a line for each image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChoice {
    pub(crate) module: usize,
    pub(crate) kernels: String,
    pub(crate) chosen: Option<usize>,
    pub(crate) images: Vec<ImageVerdict>,
}

/// The verdict on an image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageVerdict {
    pub(crate) image: String,
    pub(crate) verdict: String,
}

impl ImageChoice {
    /// Returns the index of the abstract module, counted from 0 in the order of the file.
    #[must_use]
    pub fn module(&self) -> usize {
        self.module
    }

    /// Returns the index of the image that runs, counted from 0 in the order of the module; `None` if no image
    /// fits.
    #[must_use]
    pub fn image(&self) -> Option<usize> {
        self.chosen
    }

    /// Describes each image, with the reason why it was chosen or skipped.
    pub fn verdicts(&self) -> impl Iterator<Item = (&str, &str)> {
        let images = self.images.iter();
        images.map(|verdict| (verdict.image.as_str(), verdict.verdict.as_str()))
    }
}

impl fmt::Display for ImageChoice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "module {} ({})", self.module, self.kernels)?;
        for (index, (image, verdict)) in self.verdicts().enumerate() {
            write!(f, "\n  image {index} ({image}): {verdict}")?;
        }
        Ok(())
    }
}
