// SPDX-License-Identifier: MIT OR Apache-2.0
//! Image objects, and the commands that copy them from and to the host.

use std::sync::Arc;

use opencl_sys as cl;
use opencl3::types::{CL_TRUE, cl_image_desc, cl_image_format, cl_mem, cl_uint};

use crate::backend::failure::{Failure, Rejection};
use crate::backend::opencl::context::Context;
use crate::backend::opencl::driver::info;
use crate::backend::opencl::queue::Queue;
use crate::backend::opencl::{check, check_handle};
use crate::memory::image::format::{Order, Storage};
use crate::memory::image::shape::Shape;

/// An owned image object.
pub(crate) struct Image {
    context: Arc<Context>,
    pub(in crate::backend::opencl) handle: cl_mem,
    shape: Shape,
}

// SAFETY: memory objects may be used from every thread (OpenCL 3.0, appendix A.2).
unsafe impl Send for Image {}
// SAFETY: as for Send.
unsafe impl Sync for Image {}

/// What kernels may do with every image: some read it, others write it.
const FLAGS: cl::cl_mem_flags = cl::CL_MEM_READ_WRITE;

impl Image {
    /// Creates an image that holds `pixels`. The device has images of this shape.
    pub(crate) fn new(
        context: &Arc<Context>,
        shape: &Shape,
        pixels: &[u8],
    ) -> Result<Self, Failure> {
        let call = "clCreateImage";
        same_bytes(call, shape, pixels.len())?;
        let [width, height, depth] = shape.size;
        let of = |dimension, size| {
            if shape.dimensions < dimension {
                0
            } else {
                size
            }
        };
        let description = cl_image_desc {
            image_type: kind(shape.dimensions),
            image_width: width,
            image_height: of(2, height),
            image_depth: of(3, depth),
            image_array_size: 0,
            image_row_pitch: 0,
            image_slice_pitch: 0,
            num_mip_levels: 0,
            num_samples: 0,
            buffer: std::ptr::null_mut(),
        };
        let format = format(shape);
        let mut code = 0;
        // SAFETY: the context is alive. The driver copies the pixels before it returns, and reads as many as the
        // description says, because rows have no gaps. The host pointer is not written.
        let handle = unsafe {
            (context.functions().clCreateImage.pass())(
                context.handle,
                FLAGS | cl::CL_MEM_COPY_HOST_PTR,
                &raw const format,
                &raw const description,
                pixels.as_ptr().cast_mut().cast(),
                &raw mut code,
            )
        };
        Ok(Self {
            context: Arc::clone(context),
            handle: check_handle(call, handle, code)?,
            shape: *shape,
        })
    }

    /// Returns whether the device has images of the format of `shape`.
    pub(crate) fn has_format(context: &Context, shape: &Shape) -> Result<bool, Failure> {
        let ask = |count: cl_uint, formats: *mut cl_image_format, found: *mut cl_uint| {
            // SAFETY: the context is alive; `formats` is null or holds `count` formats.
            check("clGetSupportedImageFormats", unsafe {
                (context.functions().clGetSupportedImageFormats.pass())(
                    context.handle,
                    FLAGS,
                    kind(shape.dimensions),
                    count,
                    formats,
                    found,
                )
            })
        };
        let mut count = 0;
        ask(0, std::ptr::null_mut(), &raw mut count)?;
        let nothing = cl_image_format {
            image_channel_order: 0,
            image_channel_data_type: 0,
        };
        let mut formats = vec![nothing; count as usize];
        if count > 0 {
            ask(count, formats.as_mut_ptr(), std::ptr::null_mut())?;
        }
        let key =
            |format: &cl_image_format| (format.image_channel_order, format.image_channel_data_type);
        let wanted = key(&format(shape));
        Ok(formats.iter().any(|format| key(format) == wanted))
    }

    /// Returns the largest width, height and depth of an image of so many dimensions; 1 beyond these.
    pub(crate) fn max_size(context: &Context, dimensions: u8) -> Result<[usize; 3], Failure> {
        let query = context.functions().clGetDeviceInfo;
        let size = |name| {
            info::value::<usize>("clGetDeviceInfo", &|size, value, returned| {
                // SAFETY: the device is one of this library; `value` is null or holds `size` bytes.
                unsafe { (query.pass())(context.device().id, name, size, value, returned) }
            })
        };
        Ok(match dimensions {
            1 => [size(cl::CL_DEVICE_IMAGE2D_MAX_WIDTH)?, 1, 1],
            2 => [
                size(cl::CL_DEVICE_IMAGE2D_MAX_WIDTH)?,
                size(cl::CL_DEVICE_IMAGE2D_MAX_HEIGHT)?,
                1,
            ],
            _ => [
                size(cl::CL_DEVICE_IMAGE3D_MAX_WIDTH)?,
                size(cl::CL_DEVICE_IMAGE3D_MAX_HEIGHT)?,
                size(cl::CL_DEVICE_IMAGE3D_MAX_DEPTH)?,
            ],
        })
    }

    /// Returns its context.
    pub(crate) fn context(&self) -> &Arc<Context> {
        &self.context
    }

    /// Returns its size and format.
    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: the handle is owned. Commands may still use it: the object is deleted when they have finished
        // (OpenCL 3.0, clReleaseMemObject).
        unsafe { (self.context.functions().clReleaseMemObject.pass())(self.handle) };
    }
}

impl Queue {
    /// Copies all of `image` to `pixels`, after all earlier commands.
    pub(crate) fn read_image(&self, image: &Image, pixels: &mut [u8]) -> Result<(), Failure> {
        let call = "clEnqueueReadImage";
        self.can_copy_image(call, image, pixels.len())?;
        let mut event = std::ptr::null_mut();
        // SAFETY: queue and image share a context. The region is all of the image, and `pixels` has as many bytes.
        // The call blocks, so they outlive the copy.
        let code = unsafe {
            (self.context().functions().clEnqueueReadImage.pass())(
                self.handle,
                image.handle,
                CL_TRUE,
                ORIGIN.as_ptr(),
                image.shape.size.as_ptr(),
                0,
                0,
                pixels.as_mut_ptr().cast(),
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }

    /// Copies `pixels` to all of `image`, after all earlier commands.
    pub(crate) fn write_image(&self, image: &Image, pixels: &[u8]) -> Result<(), Failure> {
        let call = "clEnqueueWriteImage";
        self.can_copy_image(call, image, pixels.len())?;
        let mut event = std::ptr::null_mut();
        // SAFETY: as for a read; `pixels` are only read.
        let code = unsafe {
            (self.context().functions().clEnqueueWriteImage.pass())(
                self.handle,
                image.handle,
                CL_TRUE,
                ORIGIN.as_ptr(),
                image.shape.size.as_ptr(),
                0,
                0,
                pixels.as_ptr().cast(),
                0,
                std::ptr::null(),
                &raw mut event,
            )
        };
        self.wait_for(call, event, code)
    }

    fn can_copy_image(
        &self,
        call: &'static str,
        image: &Image,
        bytes: usize,
    ) -> Result<(), Failure> {
        if !Arc::ptr_eq(self.context(), &image.context) {
            return Err(Failure::foreign(call));
        }
        same_bytes(call, &image.shape, bytes)?;
        self.in_order()
    }
}

/// The first pixel of an image.
const ORIGIN: [usize; 3] = [0; 3];

fn same_bytes(call: &'static str, shape: &Shape, bytes: usize) -> Result<(), Failure> {
    if shape.bytes() == Some(bytes) {
        return Ok(());
    }
    Err(Failure::Rejected(Rejection::OutOfBounds(call)))
}

/// Returns the type of an image of so many dimensions.
fn kind(dimensions: u8) -> cl::cl_mem_object_type {
    match dimensions {
        1 => cl::CL_MEM_OBJECT_IMAGE1D,
        2 => cl::CL_MEM_OBJECT_IMAGE2D,
        _ => cl::CL_MEM_OBJECT_IMAGE3D,
    }
}

fn format(shape: &Shape) -> cl_image_format {
    cl_image_format {
        image_channel_order: match shape.order {
            Order::R => cl::CL_R,
            Order::Rg => cl::CL_RG,
            Order::Rgba => cl::CL_RGBA,
        },
        image_channel_data_type: match shape.storage {
            Storage::Unorm8 => cl::CL_UNORM_INT8,
            Storage::Unorm16 => cl::CL_UNORM_INT16,
            Storage::Snorm8 => cl::CL_SNORM_INT8,
            Storage::Snorm16 => cl::CL_SNORM_INT16,
            Storage::I8 => cl::CL_SIGNED_INT8,
            Storage::I16 => cl::CL_SIGNED_INT16,
            Storage::I32 => cl::CL_SIGNED_INT32,
            Storage::U8 => cl::CL_UNSIGNED_INT8,
            Storage::U16 => cl::CL_UNSIGNED_INT16,
            Storage::U32 => cl::CL_UNSIGNED_INT32,
            Storage::F16 => cl::CL_HALF_FLOAT,
            Storage::F32 => cl::CL_FLOAT,
        },
    }
}
