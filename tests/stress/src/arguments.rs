// SPDX-License-Identifier: MIT OR Apache-2.0
//! Arguments of the right kinds, for kernels that nothing executes.

use syclbin::signature::{Access, Element, Layouts, Type};
use syclbin_rt::format::Rgba;
use syclbin_rt::{
    AccessorRange, Addressing, AnyRange, Arg, Buffer, ErrorKind, Event, Extent, Filtering, Image,
    Kernel, Launch, NdRange, Queue, Range, Result, Sampler,
};

/// Elements of each dimension of an accessor.
const RANGE: usize = 16;
/// Bytes of work-group memory where the launch decides.
const LOCAL: usize = 1024;

/// An argument that can be made.
pub(crate) enum Made {
    Value(usize),
    Buffer,
    Accessor(usize),
    Local(usize),
    LocalAccessor(usize),
    Handler,
    Sampler,
    Image { dimensions: u8, written: bool },
}

/// An image of 16 pixels in each dimension.
enum Picture {
    Line(Image<1, Rgba<f32>>),
    Flat(Image<2, Rgba<f32>>),
    Volume(Image<3, Rgba<f32>>),
}

impl Picture {
    fn new(queue: &Queue, dimensions: u8) -> Result<Self> {
        Ok(match dimensions {
            1 => Self::Line(Image::zeroed(queue, [RANGE])?),
            2 => Self::Flat(Image::zeroed(queue, [RANGE; 2])?),
            _ => Self::Volume(Image::zeroed(queue, [RANGE; 3])?),
        })
    }

    fn arg(&mut self, written: bool) -> Arg<'_> {
        match (self, written) {
            (Self::Line(image), false) => Arg::read_image(image),
            (Self::Flat(image), false) => Arg::read_image(image),
            (Self::Volume(image), false) => Arg::read_image(image),
            (Self::Line(image), true) => Arg::write_image(image),
            (Self::Flat(image), true) => Arg::write_image(image),
            (Self::Volume(image), true) => Arg::write_image(image),
        }
    }
}

impl Made {
    /// The argument for a parameter, or why it cannot be made.
    pub(crate) fn of(ty: &Type, layouts: &Layouts) -> std::result::Result<Self, String> {
        let size = |element: &Element| layouts.size(element).and_then(|size| size.try_into().ok());
        let element = match ty {
            Type::Pointer { .. } => return Ok(Self::Buffer),
            Type::Accessor { dimensions, .. } => return Ok(Self::Accessor((*dimensions).into())),
            Type::LocalMemory { size, .. } => {
                let size = size.and_then(|size| size.try_into().ok());
                return Ok(Self::Local(size.unwrap_or(LOCAL)));
            }
            Type::LocalAccessor { dimensions, .. } => {
                return Ok(Self::LocalAccessor(dimensions.unwrap_or(1).into()));
            }
            Type::Image {
                dimensions, access, ..
            } => {
                return Ok(Self::Image {
                    dimensions: *dimensions,
                    written: *access == Access::ReadWrite,
                });
            }
            Type::Sampler => return Ok(Self::Sampler),
            Type::KernelHandler => return Ok(Self::Handler),
            Type::Unused => return Ok(Self::Value(1)),
            Type::Value(element) => element,
        };
        match size(element) {
            Some(size) if value(size).is_some() => Ok(Self::Value(size)),
            size => Err(format!(
                "no argument can be made for a value of {size:?} bytes"
            )),
        }
    }

    /// The image that it is, if it is one.
    fn picture(&self, queue: &Queue) -> Result<Option<Picture>> {
        match self {
            Self::Image { dimensions, .. } => Picture::new(queue, *dimensions).map(Some),
            _ => Ok(None),
        }
    }

    /// The argument, with all memory in `buffer`.
    fn arg<'a>(
        &self,
        buffer: &'a Buffer<f32>,
        sampler: Option<&'a Sampler>,
        picture: &'a mut Option<Picture>,
    ) -> Arg<'a> {
        match *self {
            Self::Image { written, .. } => match picture {
                Some(picture) => picture.arg(written),
                None => Arg::kernel_handler(),
            },
            Self::Value(size) => value(size).unwrap_or_else(Arg::kernel_handler),
            Self::Buffer => Arg::read(buffer),
            Self::Accessor(dimensions) => {
                Arg::read_accessor(buffer, AccessorRange::new(extent(dimensions)))
            }
            Self::Local(bytes) => Arg::local(bytes),
            Self::LocalAccessor(dimensions) => Arg::local_accessor::<f32>(extent(dimensions)),
            Self::Sampler => sampler.map_or_else(Arg::kernel_handler, Arg::sampler),
            Self::Handler => Arg::kernel_handler(),
        }
    }
}

/// Sixteen elements in each dimension. SYCL passes zero dimensions like one.
fn extent(dimensions: usize) -> Extent {
    match dimensions {
        0 | 1 => [RANGE].into(),
        2 => [RANGE; 2].into(),
        _ => [RANGE; 3].into(),
    }
}

/// A value of `size` bytes, if a type of that size is listed here.
fn value(size: usize) -> Option<Arg<'static>> {
    macro_rules! sizes {
        ($($size:literal)*) => {
            match size {
                $($size => Some(Arg::value([0u8; $size])),)*
                _ => None,
            }
        };
    }
    sizes! { 1 2 3 4 6 7 8 12 16 18 20 24 28 32 36 40 44 48 52 56 60 64 72 80 88 96 112 128 160 192 256 512 }
}

/// Launches a kernel with these arguments. Its dimensions and its work-group scratch memory are found by trial:
/// the runtime refuses others before the driver sees them.
pub(crate) fn launch(
    kernel: &Result<Kernel>,
    made: &[Made],
    buffer: &Buffer<f32>,
) -> Result<Event> {
    let queue = kernel.as_ref().map_err(Clone::clone)?.queue();
    let needs_sampler = made.iter().any(|made| matches!(made, Made::Sampler));
    let sampler = needs_sampler
        .then(|| Sampler::new(queue, Addressing::ClampToEdge, Filtering::Nearest, false))
        .transpose()?;
    let pictures = made.iter().map(|made| made.picture(queue));
    let mut pictures: Vec<Option<Picture>> = pictures.collect::<Result<_>>()?;
    let mut refused = None;
    for scratch in [false, true] {
        for range in ranges(kernel) {
            let mut args: Vec<Arg<'_>> = made
                .iter()
                .zip(&mut pictures)
                .map(|(made, picture)| made.arg(buffer, sampler.as_ref(), picture))
                .collect();
            args.extend(scratch.then(|| Arg::local(LOCAL)));
            match launch_any(kernel, args, range) {
                Err(error) if error.kind() == ErrorKind::Launch => {
                    refused.get_or_insert(error);
                }
                ended => return ended,
            }
        }
    }
    Err(refused.expect("a launch was tried"))
}

/// The ranges to try: of the only work-group size, or of one to three dimensions.
fn ranges(kernel: &Result<Kernel>) -> Vec<AnyRange> {
    match kernel.as_ref().ok().and_then(Kernel::required_local_size) {
        Some([d0]) => vec![grouped::<1>(*d0)],
        Some([d0, d1]) => vec![grouped::<2>([*d0, *d1])],
        Some([d0, d1, d2]) => vec![grouped::<3>([*d0, *d1, *d2])],
        _ => vec![RANGE.into(), [RANGE; 2].into(), [RANGE; 3].into()],
    }
}

/// A range of one work-group.
fn grouped<const D: usize>(local: impl Into<Range<D>>) -> AnyRange {
    let local = local.into();
    NdRange::new(local).local(local).into()
}

/// Launches with as many arguments as there are.
fn launch_any(kernel: &Result<Kernel>, args: Vec<Arg<'_>>, range: AnyRange) -> Result<Event> {
    macro_rules! counts {
        ($($count:literal)*) => {
            match args.len() {
                $($count => launch_all::<$count>(kernel, args, range),)*
                count => panic!("a kernel has {count} parameters; add that number to the list"),
            }
        };
    }
    counts! { 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 }
}

fn launch_all<const N: usize>(
    kernel: &Result<Kernel>,
    args: Vec<Arg<'_>>,
    range: AnyRange,
) -> Result<Event> {
    let args: [Arg<'_>; N] = args.try_into().expect("there are so many");
    let launch = Launch::new(kernel, const { &["argument"; N] }, args);
    // SAFETY: nothing executes the kernel, so it reads and writes nothing.
    unsafe { launch.launch(range) }
}
