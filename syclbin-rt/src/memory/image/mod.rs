// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images. Their pixels are always initialized, and their type includes the pixel format.

pub(crate) mod format;

use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use crate::backend::{self, Addressing, Filtering, HostSlice, Shape};
use crate::device::Device;
use crate::error::{Error, Result};
use crate::memory::copy::{checked_size, elements, host_memory};
use crate::memory::image::format::{Format, sealed};
use crate::queue::Queue;

pub(crate) const NEEDS_IMAGES: &str = "CL_DEVICE_IMAGE_SUPPORT";

/// An image with one to three dimensions (`D`) on an OpenCL device. A kernel declares it as a SYCL 1.2.1 accessor with
/// `sycl::target::image`, and reads it directly or through a [`Sampler`].
///
/// Sizes start with the width, like coordinates in C++: `[width, height, depth]`. Host pixels are stored row by row,
/// without gaps.
///
/// ```no_run
/// use syclbin_rt::format::{Rgba, Unorm8};
/// use syclbin_rt::{Device, Image};
///
/// let queue = Device::best()?.queue()?;
/// let mut picture = Image::<2, Rgba<Unorm8>>::zeroed(&queue, [640, 480])?;
/// picture.write(&queue, &vec![[255, 0, 0, 255]; 640 * 480])?;
/// assert_eq!(picture.download(&queue)?[0], [255, 0, 0, 255]);
/// # Ok::<(), syclbin_rt::Error>(())
/// ```
///
/// You can drop an image while kernels still use it: the driver keeps it until they have finished (OpenCL 3.0,
/// `clReleaseMemObject`).
pub struct Image<const D: usize, F: Format> {
    pub(crate) raw: Arc<backend::Image>,
    format: PhantomData<fn() -> F>,
}

impl<const D: usize, F: Format> Image<D, F> {
    /// Creates a zeroed image of this `size` on the device of `queue`.
    ///
    /// # Errors
    ///
    /// - Returns [`ErrorKind::Unsupported`](crate::ErrorKind::Unsupported) if the device does not support images or
    ///   this format.
    /// - Fails if a size is 0 or exceeds the device's limit.
    /// - Fails if the device or the host does not have enough memory.
    pub fn zeroed(queue: &Queue, size: [usize; D]) -> Result<Self> {
        let shape = shape::<D, F>(size);
        let pixels = shape.pixels().unwrap_or(usize::MAX);
        checked_size::<F::Pixel>(pixels)?;
        supported(queue, &shape)?;
        Self::new(queue, &shape, &host_memory(pixels)?)
    }

    /// Creates an image of this `size` that holds `pixels`.
    ///
    /// # Errors
    ///
    /// Fails for the same reasons as [`Image::zeroed`], or if the number of pixels does not match.
    pub fn upload(queue: &Queue, size: [usize; D], pixels: &[F::Pixel]) -> Result<Self> {
        let shape = shape::<D, F>(size);
        same_length(&size, pixels.len())?;
        supported(queue, &shape)?;
        Self::new(queue, &shape, pixels)
    }

    fn new(queue: &Queue, shape: &Shape, pixels: &[F::Pixel]) -> Result<Self> {
        let raw = backend::Image::new(&queue.raw().context(), shape, bytemuck::cast_slice(pixels));
        let raw = raw.map_err(|failure| failed(failure, "creating", queue))?;
        let (raw, format) = (Arc::new(raw), PhantomData);
        Ok(Self { raw, format })
    }

    /// Waits for all commands enqueued earlier on `queue`, then returns the pixels.
    ///
    /// # Errors
    ///
    /// Fails if the image is on another device, if the host does not have enough memory, or if an earlier
    /// kernel or one of its asserts failed.
    pub fn download(&self, queue: &Queue) -> Result<Vec<F::Pixel>> {
        self.same_device(queue)?;
        let mut pixels = host_memory(self.raw.shape().pixels().unwrap_or(usize::MAX))?;
        self.read(queue, &mut pixels)?;
        Ok(pixels)
    }

    /// Copies the image to `pixels`, after all commands enqueued earlier on `queue`.
    ///
    /// # Errors
    ///
    /// Fails if the number of pixels does not match, if the image is on another device, or if an earlier
    /// kernel or one of its asserts failed.
    pub fn read(&self, queue: &Queue, pixels: &mut [F::Pixel]) -> Result<()> {
        self.can_copy(queue, pixels.len())?;
        let pixels = HostSlice::To(bytemuck::cast_slice_mut(pixels));
        let read = queue.raw().transfer_image(&self.raw, pixels);
        read.map_err(|failure| failed(failure, "reading", queue))?;
        queue.check_asserts()
    }

    /// Copies `pixels` to the image, after all commands enqueued earlier on `queue`.
    ///
    /// # Errors
    ///
    /// Fails if the number of pixels does not match, if the image is on another device, or if the driver reports that
    /// an earlier kernel failed.
    pub fn write(&mut self, queue: &Queue, pixels: &[F::Pixel]) -> Result<()> {
        self.can_copy(queue, pixels.len())?;
        let pixels = HostSlice::From(bytemuck::cast_slice(pixels));
        let written = queue.raw().transfer_image(&self.raw, pixels);
        written.map_err(|failure| failed(failure, "writing", queue))
    }

    /// Returns the size in each dimension, starting with the width.
    #[must_use]
    pub fn size(&self) -> [usize; D] {
        std::array::from_fn(|dimension| self.raw.shape().size[dimension])
    }

    /// Returns the device that holds the image.
    #[must_use]
    pub fn device(&self) -> Device {
        Device::new(self.raw.context.device)
    }

    fn can_copy(&self, queue: &Queue, pixels: usize) -> Result<()> {
        self.same_device(queue)?;
        same_length(&self.size(), pixels)
    }

    fn same_device(&self, queue: &Queue) -> Result<()> {
        if queue.raw().is_in(&*self.raw.context) {
            return Ok(());
        }
        let elsewhere = queue.elsewhere(&self.device());
        Err(Error::invalid(format_args!("the image {elsewhere}")))
    }
}

fn shape<const D: usize, F: Format>(size: [usize; D]) -> Shape {
    const { assert!(matches!(D, 1..=3), "an image has one to three dimensions") };
    Shape {
        dimensions: u8::try_from(D).unwrap_or(u8::MAX),
        size: std::array::from_fn(|dimension| size.get(dimension).copied().unwrap_or(1)),
        order: <F as sealed::Format>::ORDER,
        storage: <F as sealed::Format>::STORAGE,
        pixel_bytes: size_of::<F::Pixel>(),
    }
}

fn supported(queue: &Queue, shape: &Shape) -> Result<()> {
    let device = queue.device();
    if !device.facts().images {
        return Err(Error::unsupported("images", NEEDS_IMAGES, device));
    }
    let asking = |failure| failed(failure, "querying the formats and sizes of", queue);
    let context = queue.raw().context();
    let Some(max) = backend::Image::max_size(&context, shape).map_err(asking)? else {
        let needs = "this pixel format (clGetSupportedImageFormats)";
        let images = format!("images of {:?}<{:?}>", shape.order, shape.storage);
        return Err(Error::unsupported(&images, needs, device));
    };
    let mut sizes = shape.size.iter().zip(max);
    if sizes.all(|(size, max)| (1..=max).contains(size)) {
        return Ok(());
    }
    let dimensions = usize::from(shape.dimensions);
    let (size, max) = (by(&shape.size[..dimensions]), by(&max[..dimensions]));
    Err(Error::invalid(format_args!(
        "cannot create an image of {size} pixels: {device} supports images of 1 to {max} pixels"
    )))
}

fn same_length(size: &[usize], pixels: usize) -> Result<()> {
    if elements(size) == Some(pixels) {
        return Ok(());
    }
    let size = by(size);
    Err(Error::invalid(format_args!(
        "the image has {size} pixels, but the slice has {pixels}; the numbers must be equal"
    )))
}

/// Formats a size as `640x480`.
fn by(size: &[usize]) -> String {
    let sizes: Vec<String> = size.iter().map(ToString::to_string).collect();
    sizes.join("x")
}

fn failed(failure: backend::failure::Failure, action: &str, queue: &Queue) -> Error {
    Error::driver(failure, format!("{action} an image"), queue.device())
}

impl<const D: usize, F: Format> fmt::Debug for Image<D, F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Shape { order, storage, .. } = self.raw.shape();
        let (size, device) = (self.size(), self.device());
        write!(f, "Image({order:?}<{storage:?}>, {size:?}, {device})")
    }
}

/// A SYCL 1.2.1 `sampler`, for devices that support images.
pub struct Sampler(pub(crate) Arc<backend::Sampler>);

impl Sampler {
    /// Creates a sampler for kernels on `queue`. With `normalized`, coordinates range from 0 to 1; otherwise they are
    /// in pixels.
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
        let raw = backend::Sampler::new(&queue.raw().context(), addressing, filtering, normalized)
            .map_err(device.failed("creating a sampler"))?;
        Ok(Self(Arc::new(raw)))
    }
}

impl fmt::Debug for Sampler {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Sampler")
    }
}
