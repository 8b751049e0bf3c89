// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernels of images.cpp by their stubs, compared with what Rust calculates of the same pixels.
#![allow(unsafe_code)] // a launch is unsafe

use syclbin_rt::format::{Format, R, Rgba, Snorm8, Unorm8};
use syclbin_rt::{
    Addressing, Arg, Aspect, ErrorKind, Filtering, Image, Launch, Module, Queue, Result, Sampler,
};

use crate::common;

syclbin_rt::include_syclbin! {
    mod images = "images";
}

const IMAGES: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/images.syclbin"));
const BINDLESS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/syclbin/bindless.syclbin"));

/// A queue of a device with images, unless there is none.
fn queue() -> Option<Queue> {
    common::queue().filter(|queue| !common::lacks(queue, Aspect::IMAGE))
}

/// The file on a device with images, unless there is none.
macro_rules! load {
    ($queue:ident, $kernels:ident) => {
        let Some($queue) = queue() else {
            return;
        };
        let $kernels = images::Module::load(&$queue).unwrap();
    };
}

/// Returns the image, unless the device does not have this format.
fn supported<const D: usize, F: Format>(made: Result<Image<D, F>>) -> Option<Image<D, F>> {
    match made {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            common::say_skipped(&error.to_string());
            None
        }
        made => Some(made.unwrap()),
    }
}

/// Interpolates between the pixels of an image as OpenCL does with `CLK_ADDRESS_CLAMP_TO_EDGE` (OpenCL C 3.0,
/// section 6.13.14.2, linear filter). Coordinates count pixels, whose centers are at 0.5.
fn linear(pixels: &[f32], size: [usize; 3], at: [f32; 3]) -> f32 {
    let mut sum = 0.0;
    for corner in 0..8 {
        let (mut weight, mut index, mut stride) = (1.0, 0, 1);
        for dimension in 0..3 {
            let left = at[dimension] - 0.5;
            let fraction = left - left.floor();
            let (pixel, share) = if corner >> dimension & 1 == 0 {
                (left.floor(), 1.0 - fraction)
            } else {
                (left.floor() + 1.0, fraction)
            };
            #[allow(clippy::cast_possible_truncation, reason = "it is a whole number")]
            let pixel = pixel.max(0.0) as usize;
            index += stride * pixel.min(size[dimension] - 1);
            weight *= if size[dimension] == 1 && corner >> dimension & 1 == 1 {
                0.0
            } else if size[dimension] == 1 {
                1.0
            } else {
                share
            };
            stride *= size[dimension];
        }
        sum += weight * pixels[index];
    }
    sum
}

/// Devices interpolate with as few as eight bits of a fraction.
fn assert_close(found: &[[f32; 4]], expected: impl Iterator<Item = f32>, range: f32) {
    for (index, (found, expected)) in found.iter().zip(expected).enumerate() {
        let difference = (found[0] - expected).abs();
        assert!(
            difference <= range / 128.0,
            "{index}: {found:?}, {expected}"
        );
    }
}

fn clamp(queue: &Queue, filtering: Filtering) -> Sampler {
    Sampler::new(queue, Addressing::ClampToEdge, filtering, false).unwrap()
}

#[test]
fn lines_are_sampled_linearly() {
    load!(queue, kernels);
    let pixels = [0.0f32, 8.0, 4.0, -4.0];
    let Some(image) = supported(Image::<1, R<f32>>::upload(&queue, [4], &pixels)) else {
        return;
    };
    let places = [-3.0f32, 0.0, 0.5, 1.0, 1.25, 2.0, 3.4, 9.0];
    let at = queue.upload(&places).unwrap();
    let mut out = queue.zeroed::<[f32; 4]>(places.len()).unwrap();
    let sampler = clamp(&queue, Filtering::Linear);
    // SAFETY: as many work-items as places and elements; the sampler clamps.
    unsafe {
        kernels
            .sample1(&image, &sampler, &at, &mut out)
            .launch(places.len())
    }
    .unwrap();
    let expected = places
        .iter()
        .map(|x| linear(&pixels, [4, 1, 1], [*x, 0.5, 0.5]));
    assert_close(&queue.download(&out).unwrap(), expected, 12.0);
}

#[test]
fn pictures_are_sampled_linearly() {
    load!(queue, kernels);
    let red = [10u8, 90, 30, 250, 0, 130];
    let pixels = red.map(|red| [red, 255, 0, 51]);
    let image = Image::<2, Rgba<Unorm8>>::upload(&queue, [3, 2], &pixels);
    let Some(image) = supported(image) else {
        return;
    };
    let places = [
        [0.5f32, 0.5],
        [1.0, 0.5],
        [1.75, 1.25],
        [2.9, 1.9],
        [-1.0, 7.0],
    ];
    let at = queue.upload(&places).unwrap();
    let mut out = queue.zeroed::<[f32; 4]>(places.len()).unwrap();
    let sampler = clamp(&queue, Filtering::Linear);
    // SAFETY: as many work-items as places and elements; the sampler clamps.
    unsafe {
        kernels
            .sample2(&image, &sampler, &at, &mut out)
            .launch(places.len())
    }
    .unwrap();
    let found = queue.download(&out).unwrap();
    let red = red.map(|red| f32::from(red) / 255.0);
    assert_close(
        &found,
        places
            .iter()
            .map(|[x, y]| linear(&red, [3, 2, 1], [*x, *y, 0.5])),
        1.0,
    );
    for [_, green, blue, alpha] in found {
        assert_eq!((green, blue), (1.0, 0.0));
        assert!((alpha - 0.2).abs() < 0.01, "{alpha}");
    }
}

#[test]
fn volumes_are_sampled_linearly() {
    load!(queue, kernels);
    let red: [i8; 24] = std::array::from_fn(|index| i8::try_from(index * 5).unwrap() - 60);
    let pixels: Vec<[i8; 4]> = red.iter().map(|red| [*red, 0, 0, 127]).collect();
    let image = Image::<3, Rgba<Snorm8>>::upload(&queue, [2, 3, 4], &pixels);
    let Some(image) = supported(image) else {
        return;
    };
    let places = [
        [0.5f32, 0.5, 0.5, 0.0],
        [1.0, 1.5, 2.5, 0.0],
        [0.75, 2.25, 3.0, 0.0],
    ];
    let at = queue.upload(&places).unwrap();
    let mut out = queue.zeroed::<[f32; 4]>(places.len()).unwrap();
    let sampler = clamp(&queue, Filtering::Linear);
    // SAFETY: as many work-items as places and elements; the sampler clamps.
    unsafe {
        kernels
            .sample3(&image, &sampler, &at, &mut out)
            .launch(places.len())
    }
    .unwrap();
    let red: Vec<f32> = red.iter().map(|red| f32::from(*red) / 127.0).collect();
    assert_close(
        &queue.download(&out).unwrap(),
        places
            .iter()
            .map(|[x, y, z, _]| linear(&red, [2, 3, 4], [*x, *y, *z])),
        2.0,
    );
}

#[test]
fn nearest_pixels_are_exact() {
    load!(queue, kernels);
    let pixels: Vec<[f32; 4]> = (0..12)
        .map(|index| [index as f32, 0.5, -1.0, 2.0])
        .collect();
    let image = Image::<2, Rgba<f32>>::upload(&queue, [4, 3], &pixels).unwrap();
    let at = queue
        .upload(&[[3.9f32, 2.2], [0.1, 1.9], [40.0, -3.0]])
        .unwrap();
    let mut out = queue.zeroed::<[f32; 4]>(3).unwrap();
    let sampler = clamp(&queue, Filtering::Nearest);
    // SAFETY: three work-items, three elements; the sampler clamps.
    unsafe { kernels.sample2(&image, &sampler, &at, &mut out).launch(3) }.unwrap();
    let expected = [pixels[11], pixels[4], pixels[3]];
    assert_eq!(queue.download(&out).unwrap(), expected);
}

#[test]
fn images_of_all_dimensions_are_written() {
    load!(queue, kernels);
    let line: Vec<[i32; 4]> = (0..5).map(|x| [x, -x, 1 << 20, 7]).collect();
    let from = Image::<1, Rgba<i32>>::upload(&queue, [5], &line).unwrap();
    let mut to = Image::<1, Rgba<i32>>::zeroed(&queue, [5]).unwrap();
    // SAFETY: a work-item for each pixel, here and below.
    unsafe { kernels.twice1(&from, &mut to).launch(5) }.unwrap();
    let twice: Vec<[i32; 4]> = line
        .iter()
        .map(|pixel| pixel.map(|part| part * 2))
        .collect();
    assert_eq!(to.download(&queue).unwrap(), twice);

    let picture: Vec<[u8; 4]> = (0..15).map(|index| [index, 2 * index, 100, 127]).collect();
    let from = Image::<2, Rgba<u8>>::upload(&queue, [5, 3], &picture).unwrap();
    let mut to = Image::<2, Rgba<u16>>::zeroed(&queue, [5, 3]).unwrap();
    // SAFETY: as above.
    unsafe { kernels.twice2(&from, &mut to).launch([3, 5]) }.unwrap();
    let twice = |pixel: &[u8; 4]| pixel.map(|part| u16::from(part) * 2);
    let twice: Vec<[u16; 4]> = picture.iter().map(twice).collect();
    assert_eq!(to.download(&queue).unwrap(), twice);

    let volume: Vec<[f32; 4]> = (0..24)
        .map(|index| [index as f32, 0.25, -1.0, 3.0])
        .collect();
    let from = Image::<3, Rgba<f32>>::upload(&queue, [4, 3, 2], &volume).unwrap();
    let mut to = Image::<3, Rgba<f32>>::zeroed(&queue, [4, 3, 2]).unwrap();
    // SAFETY: as above.
    let launched = unsafe { kernels.twice3(&from, &mut to).launch([2, 3, 4]) };
    if let Err(error) = &launched
        && !queue.device().has_extension("cl_khr_3d_image_writes")
    {
        common::say_skipped(&error.to_string());
        return;
    }
    launched.unwrap();
    let twice: Vec<[f32; 4]> = volume
        .iter()
        .map(|pixel| pixel.map(|part| part * 2.0))
        .collect();
    assert_eq!(to.download(&queue).unwrap(), twice);
}

#[test]
fn arrays_of_images_are_volumes() {
    load!(queue, kernels);
    let pixels: Vec<[i32; 4]> = (0..12).map(|index| [index; 4]).collect();
    let image = Image::<3, Rgba<i32>>::upload(&queue, [2, 2, 3], &pixels).unwrap();
    let mut out = queue.zeroed::<[i32; 4]>(1).unwrap();
    // SAFETY: one work-item, one element; the image has a layer 2.
    unsafe { kernels.layer(&image, 2, &mut out).launch(1) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [[9; 4]]);
}

#[test]
fn functors_and_lambdas_take_images() {
    load!(queue, kernels);
    let image = Image::<1, Rgba<i8>>::upload(&queue, [2], &[[-5, 0, 0, 0], [9, 0, 0, 0]]).unwrap();
    let mut out = queue.zeroed::<i32>(2).unwrap();
    // SAFETY: two work-items, pixels and elements, here and below; the image has integers.
    unsafe { kernels.Functor(&image, &mut out).launch(2) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [-5, 9]);
    let image = Image::<1, Rgba<u8>>::upload(&queue, [2], &[[0, 250, 0, 0], [0, 3, 0, 0]]).unwrap();
    let mut out = queue.zeroed::<u32>(2).unwrap();
    // SAFETY: as above.
    unsafe { kernels.Lambda(&mut out, &image).launch(2) }.unwrap();
    assert_eq!(queue.download(&out).unwrap(), [250, 3]);
}

#[test]
fn prepared_launches_keep_images() {
    load!(queue, kernels);
    let from = Image::<1, Rgba<i32>>::upload(&queue, [2], &[[3; 4], [4; 4]]).unwrap();
    let mut to = Image::<1, Rgba<i32>>::zeroed(&queue, [2]).unwrap();
    let prepared = kernels.twice1(&from, &mut to).prepare(2).unwrap();
    drop(from);
    // SAFETY: a work-item for each pixel.
    unsafe { prepared.launch() }.unwrap();
    assert_eq!(to.download(&queue).unwrap(), [[6; 4], [8; 4]]);
}

#[test]
fn other_dimensions_and_accesses_are_refused() {
    let Some(queue) = queue() else {
        return;
    };
    let flat = Image::<2, Rgba<i32>>::zeroed(&queue, [2, 2]).unwrap();
    let line = Image::<1, Rgba<i32>>::zeroed(&queue, [2]).unwrap();
    // SAFETY: a compiler made the file.
    let module = unsafe { Module::load(&queue, IMAGES) }.unwrap();
    let kernel = module.kernel("__sycl_kernel_twice1");
    for (args, index, given, takes) in [
        (
            [Arg::read_image(&flat), Arg::read_image(&line)],
            0,
            "a two-dimensional image for reading",
            "a one-dimensional image for reading",
        ),
        (
            [Arg::read_image(&line), Arg::read_image(&line)],
            1,
            "a one-dimensional image for reading",
            "a one-dimensional image for writing",
        ),
    ] {
        // SAFETY: refused before the driver sees it.
        let refused = unsafe { Launch::new(&kernel, &["in", "out"], args).launch(1) };
        let error = refused.unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Launch, "{error}");
        let text = error.to_string();
        let problem = format!(" is {given}, but the kernel expects {takes}");
        assert!(
            text.contains(&format!("argument {index} (")) && text.ends_with(&problem),
            "{text}"
        );
    }
}

#[test]
fn bindless_images_are_named_where_refused() {
    let Some(queue) = queue() else {
        return;
    };
    // SAFETY: a compiler made the file.
    let Err(error) = (unsafe { Module::load(&queue, BINDLESS) }) else {
        common::say_skipped("the driver builds bindless images");
        return;
    };
    let error = error.to_string();
    assert!(error.contains("BindlessImagesINTEL"), "{error}");
}
