// SPDX-License-Identifier: MIT OR Apache-2.0
//! Image and sampler objects, and the commands that copy images between host and device. Only the OpenCL backend
//! supports images.

use std::sync::Arc;

use opencl_sys as cl;
use opencl3::types::{CL_TRUE, cl_bool, cl_image_desc, cl_image_format, cl_mem, cl_sampler};

use super::*;

/// The size and format of an image.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Shape {
    /// The number of dimensions, from 1 to 3.
    pub(crate) dimensions: u8,
    /// The width, height and depth; 1 for each unused dimension.
    pub(crate) size: [usize; 3],
    pub(crate) order: Order,
    pub(crate) storage: Storage,
    /// The size of a pixel in host memory.
    pub(crate) pixel_bytes: usize,
}

impl Shape {
    /// Returns the number of pixels, or `None` on overflow.
    pub(crate) fn pixels(&self) -> Option<usize> {
        let [width, height, depth] = self.size;
        width.checked_mul(height)?.checked_mul(depth)
    }

    /// Returns the size of all pixels in host memory in bytes, or `None` on overflow.
    pub(crate) fn bytes(&self) -> Option<usize> {
        self.pixels()?.checked_mul(self.pixel_bytes)
    }
}

/// The order of a pixel's components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Order {
    R = cl::CL_R,
    Rg = cl::CL_RG,
    Rgba = cl::CL_RGBA,
}

/// The data type of a component.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Storage {
    Unorm8 = cl::CL_UNORM_INT8,
    Unorm16 = cl::CL_UNORM_INT16,
    Snorm8 = cl::CL_SNORM_INT8,
    Snorm16 = cl::CL_SNORM_INT16,
    I8 = cl::CL_SIGNED_INT8,
    I16 = cl::CL_SIGNED_INT16,
    I32 = cl::CL_SIGNED_INT32,
    U8 = cl::CL_UNSIGNED_INT8,
    U16 = cl::CL_UNSIGNED_INT16,
    U32 = cl::CL_UNSIGNED_INT32,
    #[cfg_attr(
        not(feature = "half"),
        allow(dead_code, reason = "only the feature `half` provides 16-bit floats")
    )]
    F16 = cl::CL_HALF_FLOAT,
    F32 = cl::CL_FLOAT,
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
    /// Repeats the image (`repeat`); requires normalized coordinates.
    Repeat,
    /// Repeats the image, mirroring every other copy (`mirrored_repeat`); requires normalized coordinates.
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

pub(crate) struct Image {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: Raw<cl_mem>,
    shape: Shape,
}

/// Kernels may read and write every image.
const FLAGS: cl::cl_mem_flags = cl::CL_MEM_READ_WRITE;

impl Image {
    /// Creates an image with the content `pixels`. The device must support images of this shape.
    pub(crate) fn new(context: &AnyContext, shape: &Shape, pixels: &[u8]) -> Result<Self> {
        let context = downcast::<Context>(context.clone())?;
        same_bytes(shape, pixels.len())?;
        let dimensions = usize::from(shape.dimensions);
        let [width, height, depth] =
            std::array::from_fn(|at| if at < dimensions { shape.size[at] } else { 0 });
        let description = cl_image_desc {
            image_type: kind(shape.dimensions),
            image_width: width,
            image_height: height,
            image_depth: depth,
            image_array_size: 0,
            image_row_pitch: 0,
            image_slice_pitch: 0,
            num_mip_levels: 0,
            num_samples: 0,
            buffer: std::ptr::null_mut(),
        };
        let (format, flags) = (format(shape), FLAGS | cl::CL_MEM_COPY_HOST_PTR);
        let host = pixels.as_ptr().cast_mut().cast();
        // SAFETY: the context is alive. The driver copies the pixels before it returns. `pixels` has exactly the size
        // that the description implies, because rows have no gaps. The driver does not write to the host pointer.
        let handle = unsafe {
            let (format, description) = (&raw const format, &raw const description);
            create!(context.functions => clCreateImage(
                context.handle.0, flags, format, description, host
            ))
        }?;
        Ok(Self {
            context,
            handle: Raw(handle),
            shape: *shape,
        })
    }

    /// Returns the maximum width, height and depth of an image with the same number of dimensions and the same format
    /// as `shape`; 1 for each unused dimension. Returns `None` if the device does not support images of this format.
    pub(crate) fn max_size(context: &AnyContext, shape: &Shape) -> Result<Option<[usize; 3]>> {
        let context = downcast::<Context>(context.clone())?;
        let (functions, handle, id) = (context.functions, context.handle.0, context.device.id);
        let (kind, wanted) = (kind(shape.dimensions), format(shape));
        let empty = cl_image_format {
            image_channel_order: 0,
            image_channel_data_type: 0,
        };
        let call = "clGetSupportedImageFormats";
        let formats = list(call, empty, |count, formats, found| {
            let ask = functions.clGetSupportedImageFormats.pass();
            // SAFETY: the context is alive; `formats` is null or has room for `count` formats.
            unsafe { ask(handle, FLAGS, kind, count, formats, found) }
        })?;
        let is_wanted = |format: &cl_image_format| {
            format.image_channel_order == wanted.image_channel_order
                && format.image_channel_data_type == wanted.image_channel_data_type
        };
        if !formats.iter().any(is_wanted) {
            return Ok(None);
        }
        let names: &[_] = match shape.dimensions {
            1 => &[cl::CL_DEVICE_IMAGE2D_MAX_WIDTH],
            2 => &[
                cl::CL_DEVICE_IMAGE2D_MAX_WIDTH,
                cl::CL_DEVICE_IMAGE2D_MAX_HEIGHT,
            ],
            _ => &[
                cl::CL_DEVICE_IMAGE3D_MAX_WIDTH,
                cl::CL_DEVICE_IMAGE3D_MAX_HEIGHT,
                cl::CL_DEVICE_IMAGE3D_MAX_DEPTH,
            ],
        };
        let mut max = [1; 3];
        for (max, name) in max.iter_mut().zip(names) {
            // SAFETY: the device belongs to this library.
            *max = unsafe { query!(functions => clGetDeviceInfo(id, *name)) }.value()?;
        }
        Ok(Some(max))
    }

    pub(crate) fn shape(&self) -> &Shape {
        &self.shape
    }
}

impl Drop for Image {
    fn drop(&mut self) {
        // SAFETY: the handle is owned. Commands may still use it: the driver deletes the object once they have finished
        // (OpenCL 3.0, clReleaseMemObject).
        unsafe { (self.context.functions.clReleaseMemObject.pass())(self.handle.0) };
    }
}

impl AnyQueue {
    /// Copies between all of `image` and `pixels`, after all earlier commands, and waits until the copy has finished.
    pub(crate) fn transfer_image(&self, image: &Image, pixels: HostSlice<'_>) -> Result<()> {
        if !self.is_in(&*image.context) {
            return Err(Failure::FOREIGN);
        }
        same_bytes(&image.shape, pixels.len())?;
        self.in_order()?;
        let (queue, none) = (self.opencl()?, WaitList::NOTHING);
        let (object, origin, size) = (image.handle.0, ORIGIN.as_ptr(), image.shape.size.as_ptr());
        // SAFETY: the queue and the image share a context. The region is the entire image, and `pixels` is equally long
        // and valid for writing or reading. The call blocks, so the pixels outlive the copy.
        unsafe {
            enqueue_copy!(queue, none, queue.functions => clEnqueueReadImage | clEnqueueWriteImage(
                object, CL_TRUE, origin, size, 0, 0
            ), pixels.raw())
        }?
        .wait()
    }
}

const ORIGIN: [usize; 3] = [0; 3];

fn same_bytes(shape: &Shape, bytes: usize) -> Result<()> {
    if shape.bytes() == Some(bytes) {
        return Ok(());
    }
    Err(Failure::Rejected(Rejection::OutOfBounds))
}

/// Returns the object type of an image with this many dimensions.
fn kind(dimensions: u8) -> cl::cl_mem_object_type {
    match dimensions {
        1 => cl::CL_MEM_OBJECT_IMAGE1D,
        2 => cl::CL_MEM_OBJECT_IMAGE2D,
        _ => cl::CL_MEM_OBJECT_IMAGE3D,
    }
}

fn format(shape: &Shape) -> cl_image_format {
    cl_image_format {
        image_channel_order: shape.order as u32,
        image_channel_data_type: shape.storage as u32,
    }
}

/// An owned sampler, which defines how a kernel reads an image between and beyond its pixels.
pub(crate) struct Sampler {
    pub(crate) context: Arc<Context>,
    pub(crate) handle: Raw<cl_sampler>,
}

impl Sampler {
    /// Creates a sampler for a device that supports images. With `normalized`, coordinates range from 0 to 1; otherwise
    /// they count pixels.
    pub(crate) fn new(
        context: &AnyContext,
        addressing: Addressing,
        filtering: Filtering,
        normalized: bool,
    ) -> Result<Self> {
        let context = downcast::<Context>(context.clone())?;
        let addressing = match addressing {
            Addressing::None => cl::CL_ADDRESS_NONE,
            Addressing::ClampToEdge => cl::CL_ADDRESS_CLAMP_TO_EDGE,
            Addressing::Clamp => cl::CL_ADDRESS_CLAMP,
            Addressing::Repeat => cl::CL_ADDRESS_REPEAT,
            Addressing::MirroredRepeat => cl::CL_ADDRESS_MIRRORED_REPEAT,
        };
        let filtering = match filtering {
            Filtering::Nearest => cl::CL_FILTER_NEAREST,
            Filtering::Linear => cl::CL_FILTER_LINEAR,
        };
        let normalized = cl_bool::from(normalized);
        // OpenCL 2.0 deprecates this function in favor of one with more properties, none of which are needed here.
        // SAFETY: the context is alive; the call writes only the status.
        let handle = unsafe {
            create!(context.functions => clCreateSampler(
                context.handle.0, normalized, addressing, filtering
            ))
        }?;
        Ok(Self {
            context,
            handle: Raw(handle),
        })
    }
}

impl Drop for Sampler {
    fn drop(&mut self) {
        // SAFETY: the handle is owned. Commands may still use it: the driver deletes the sampler once they have
        // finished (OpenCL 3.0, clReleaseSampler). A kernel object does not keep its samplers alive, so every launch
        // sets them again. Prepared launches and recordings do not, but they keep their samplers alive.
        unsafe { (self.context.functions.clReleaseSampler.pass())(self.handle.0) };
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::c_void;
    use std::ptr::NonNull;
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering};

    use opencl3::types::{cl_context, cl_int, cl_uint};

    use super::*;

    /// Lists two formats: `R` of `f32`, and `Rgba` of `u8`.
    unsafe extern "C" fn two_formats(
        _context: cl_context,
        _flags: cl::cl_mem_flags,
        _kind: cl::cl_mem_object_type,
        count: cl_uint,
        formats: *mut cl_image_format,
        found: *mut cl_uint,
    ) -> cl_int {
        let two = [
            (cl::CL_R, cl::CL_FLOAT),
            (cl::CL_RGBA, cl::CL_UNSIGNED_INT8),
        ];
        for (index, (order, ty)) in two.into_iter().enumerate().take(count as usize) {
            let format = cl_image_format {
                image_channel_order: order,
                image_channel_data_type: ty,
            };
            // SAFETY: there is room for `count` formats.
            unsafe { formats.add(index).write(format) };
        }
        // SAFETY: the caller passes a valid pointer.
        unsafe { found.write(2) };
        0
    }

    #[test]
    fn only_listed_formats_are_supported() {
        let Some(queue) = crate::common::opencl_queue() else {
            return;
        };
        let device = queue.raw().opencl().unwrap().context.device;
        let replace = |name: &str| {
            let address = NonNull::new(two_formats as *mut c_void);
            address.filter(|_| name == "clGetSupportedImageFormats")
        };
        // SAFETY: the function has the type of the one that it replaces.
        let device = unsafe { device.with_functions(replace) };
        let context: AnyContext = Arc::new(Context::new(device).unwrap());
        let supports = |order, storage| {
            let shape = Shape {
                dimensions: 2,
                size: [1; 3],
                order,
                storage,
                pixel_bytes: 4,
            };
            Image::max_size(&context, &shape).unwrap().is_some()
        };
        assert!(supports(Order::R, Storage::F32));
        assert!(supports(Order::Rgba, Storage::U8));
        assert!(!supports(Order::R, Storage::U8));
        assert!(!supports(Order::Rgba, Storage::F32));
        assert!(!supports(Order::Rg, Storage::I16));
    }

    const SHAPE: Shape = Shape {
        dimensions: 2,
        size: [2, 3, 1],
        order: Order::Rgba,
        storage: Storage::U8,
        pixel_bytes: 4,
    };

    /// Returns a device that supports images of this shape.
    fn device() -> Option<&'static DriverDevice> {
        let queue = crate::common::opencl_queue()?;
        let device = queue.raw().opencl().unwrap().context.device;
        let context: AnyContext = Arc::new(Context::new(device).unwrap());
        let is_supported = || Image::max_size(&context, &SHAPE).unwrap().is_some();
        if device.facts.images && is_supported() {
            return Some(device);
        }
        crate::common::say_skipped("the device does not support these images");
        None
    }

    #[test]
    fn other_numbers_of_bytes_never_reach_the_driver() {
        let Some(device) = device() else {
            return;
        };
        let context: AnyContext = Arc::new(Context::new(device).unwrap());
        let out_of_bounds = Failure::Rejected(Rejection::OutOfBounds);
        let mut pixels = [7; 25];
        let image = Image::new(&context, &SHAPE, &pixels[..24]).unwrap();
        let queue = context.clone().new_queue(QueueOptions::new()).unwrap();
        for bytes in [25, 23, 0] {
            let pixels = &mut pixels[..bytes];
            let created = Image::new(&context, &SHAPE, pixels).map(drop);
            assert_eq!(created, Err(out_of_bounds), "{bytes}");
            let written = queue.transfer_image(&image, HostSlice::From(pixels));
            assert_eq!(written, Err(out_of_bounds), "{bytes}");
            let read = queue.transfer_image(&image, HostSlice::To(pixels));
            assert_eq!(read, Err(out_of_bounds), "{bytes}");
        }
    }

    static DEVICE: OnceLock<&DriverDevice> = OnceLock::new();
    /// The numbers of images and samplers that the driver was told to release.
    static RELEASED: [AtomicUsize; 2] = [const { AtomicUsize::new(0) }; 2];

    unsafe extern "C" fn release_image(image: cl_mem) -> cl_int {
        RELEASED[0].fetch_add(1, Ordering::SeqCst);
        let device = DEVICE.get().expect("the test has set it");
        // SAFETY: the argument is that of the caller.
        unsafe { (device.functions.clReleaseMemObject.pass())(image) }
    }

    unsafe extern "C" fn release_sampler(sampler: cl_sampler) -> cl_int {
        RELEASED[1].fetch_add(1, Ordering::SeqCst);
        let device = DEVICE.get().expect("the test has set it");
        // SAFETY: the argument is that of the caller.
        unsafe { (device.functions.clReleaseSampler.pass())(sampler) }
    }

    #[test]
    fn dropped_images_and_samplers_are_released() {
        let Some(device) = device() else {
            return;
        };
        let device = *DEVICE.get_or_init(|| device);
        let replace = |name: &str| match name {
            "clReleaseMemObject" => NonNull::new(release_image as *mut c_void),
            "clReleaseSampler" => NonNull::new(release_sampler as *mut c_void),
            _ => None,
        };
        // SAFETY: the functions have the types of those that they replace.
        let device = unsafe { device.with_functions(replace) };
        let context: AnyContext = Arc::new(Context::new(device).unwrap());
        let released = || [0, 1].map(|at: usize| RELEASED[at].load(Ordering::SeqCst));
        let image = Image::new(&context, &SHAPE, &[7; 24]).unwrap();
        let (addressing, filtering) = (Addressing::ClampToEdge, Filtering::Nearest);
        let sampler = Sampler::new(&context, addressing, filtering, false).unwrap();
        assert_eq!(released(), [0, 0]);
        drop(image);
        assert_eq!(released(), [1, 0]);
        drop(sampler);
        assert_eq!(released(), [1, 1]);
    }
}
