// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images of a device.

use std::sync::Arc;

use crate::backend::dispatch::context::Context;
use crate::backend::dispatch::device::DriverDevice;
use crate::backend::dispatch::queue::Queue;
use crate::backend::dispatch::{both, each, either};
use crate::backend::failure::Failure;
use crate::backend::{cuda, opencl};
use crate::memory::image::shape::Shape;

either! {
    /// An owned image.
    Image: opencl::Image, cuda::Image
}

impl Image {
    /// Creates an image that holds `pixels`, for a device with images of this shape.
    pub(crate) fn new(context: &Context, shape: &Shape, pixels: &[u8]) -> Result<Self, Failure> {
        match context {
            Context::OpenCl(context) => {
                opencl::Image::new(context, shape, pixels).map(Self::OpenCl)
            }
            Context::Cuda(context) => cuda::Image::new(context, shape, pixels).map(Self::Cuda),
        }
    }

    /// Returns whether the device has images of the format of `shape`.
    pub(crate) fn has_format(context: &Context, shape: &Shape) -> Result<bool, Failure> {
        match context {
            Context::OpenCl(context) => opencl::Image::has_format(context, shape),
            Context::Cuda(_) => Ok(false),
        }
    }

    /// Returns the largest width, height and depth of an image of so many dimensions; 1 beyond these.
    pub(crate) fn max_size(context: &Context, dimensions: u8) -> Result<[usize; 3], Failure> {
        match context {
            Context::OpenCl(context) => opencl::Image::max_size(context, dimensions),
            Context::Cuda(_) => Ok([0; 3]),
        }
    }

    /// Returns the OpenCL value, if it is of OpenCL.
    pub(in crate::backend) fn opencl(&self) -> Option<&opencl::Image> {
        match self {
            Self::OpenCl(image) => Some(image),
            Self::Cuda(_) => None,
        }
    }

    /// Returns its size and format.
    pub(crate) fn shape(&self) -> &Shape {
        each!(Self, self, image => image.shape())
    }

    /// Returns whether kernels on `queue` can take it.
    pub(crate) fn is_for(&self, queue: &Queue) -> bool {
        both!(Self self, Queue queue; image, queue => Arc::ptr_eq(image.context(), queue.context()), else false)
    }

    /// Returns its device.
    pub(crate) fn device(&self) -> DriverDevice {
        each!(Self, self, image => image.context().device().into())
    }
}

impl Queue {
    /// Copies all of `image` to `pixels`, after all earlier commands.
    pub(crate) fn read_image(&self, image: &Image, pixels: &mut [u8]) -> Result<(), Failure> {
        both!(Self self, Image image; queue, image => queue.read_image(image, pixels),
            else Err(Failure::foreign("reading an image")))
    }

    /// Copies `pixels` to all of `image`, after all earlier commands.
    pub(crate) fn write_image(&self, image: &Image, pixels: &[u8]) -> Result<(), Failure> {
        both!(Self self, Image image; queue, image => queue.write_image(image, pixels),
            else Err(Failure::foreign("writing an image")))
    }
}
