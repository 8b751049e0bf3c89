//! Samplers: how a kernel reads images between their pixels.

use std::fmt;
use std::sync::Arc;

use crate::backend::{Context, opencl};
use crate::device::Device;
use crate::error::{Error, ErrorKind, Result};
use crate::queue::Queue;

/// A `sampler` of SYCL 1.2.1, for devices that have images.
pub struct Sampler {
    raw: Arc<opencl::Sampler>,
}

/// What a [`Sampler`] reads beyond the edge of an image.
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

/// What a [`Sampler`] reads between pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Filtering {
    /// The nearest one.
    Nearest,
    /// A mix of those around.
    Linear,
}

impl Sampler {
    /// A sampler for kernels on `queue`. With `normalized`, coordinates go from 0 to 1, else they
    /// count pixels.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Unsupported`] when the device has no images; and when the driver refuses, as it
    /// does for modes that need normalized coordinates without them.
    pub fn new(
        queue: &Queue,
        addressing: Addressing,
        filtering: Filtering,
        normalized: bool,
    ) -> Result<Self> {
        let device = queue.device();
        if !device.facts().images {
            return Err(unsupported(device));
        }
        let raw = match queue.raw().context() {
            Context::OpenCl(context) => {
                opencl::Sampler::new(&context, addressing, filtering, normalized)
                    .map_err(|failure| Error::driver(failure, "creating a sampler", device))?
            }
            #[cfg(feature = "cuda")]
            Context::Cuda(_) => return Err(unsupported(device)),
        };
        Ok(Self { raw: Arc::new(raw) })
    }

    pub(crate) fn raw(&self) -> &Arc<opencl::Sampler> {
        &self.raw
    }
}

fn unsupported(device: &Device) -> Error {
    ErrorKind::Unsupported {
        what: "samplers",
        needs: "images (CL_DEVICE_IMAGE_SUPPORT)",
        device: device.to_string(),
    }
    .into()
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sampler")
    }
}
