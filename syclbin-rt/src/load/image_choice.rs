//! Choices: which image of a module runs on the device, and why that one.

use std::fmt;

/// Which image of an abstract module was chosen for the device, and why the others were not. Got
/// from [`Module::images`](crate::Module::images).
///
/// Its text has a line for the module and one for each image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ImageChoice {
    pub(crate) module: usize,
    pub(crate) kernels: String,
    pub(crate) chosen: Option<usize>,
    pub(crate) images: Vec<ImageVerdict>,
}

/// What became of one image.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ImageVerdict {
    pub(crate) image: String,
    pub(crate) verdict: String,
}

impl ImageChoice {
    /// The abstract module, counted from 0 in the order of the file.
    #[must_use]
    pub fn module(&self) -> usize {
        self.module
    }

    /// The image that runs, counted from 0 in the order of the module; none where none fits.
    #[must_use]
    pub fn image(&self) -> Option<usize> {
        self.chosen
    }

    /// What each image is, and why it was chosen or passed over.
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
