// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images: their creation, copies of their pixels, and what is refused.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin::{AbstractModule, IrType, State, Syclbin};
use syclbin_rt::format::{Channel, Format, R, Rg, Rgba, Snorm8, Snorm16, Unorm8, Unorm16};
use syclbin_rt::{
    Addressing, Arg, Aspect, Buffer, ErrorKind, Event, Filtering, Image, Kernel, Launch, Queue,
    QueueOptions, Result, Sampler,
};

use crate::common;
use crate::module::asserts;

/// Returns a queue of a device with images.
fn queue() -> Option<Queue> {
    let queue = common::queue()?;
    if queue.device().has(Aspect::IMAGE) {
        return Some(queue);
    }
    let made = Image::<1, R<f32>>::zeroed(&queue, [1]);
    let error = made.expect_err("the device does not support images");
    assert!(error.kind() == ErrorKind::Unsupported, "{error}");
    common::say_skipped(&error.to_string());
    None
}

/// Copies pixels to an image of four pixels and back, unless the device lacks the format.
fn round_trip<F>(queue: &Queue, pixels: [F::Pixel; 4]) -> Result<()>
where
    F: Format<Pixel: PartialEq + std::fmt::Debug>,
{
    let mut image = match Image::<2, F>::zeroed(queue, [2, 2]) {
        Err(error) if error.kind() == ErrorKind::Unsupported => {
            common::say_skipped(&error.to_string());
            return Ok(());
        }
        made => made?,
    };
    let zero: F::Pixel = syclbin_rt::bytemuck::Zeroable::zeroed();
    assert_eq!(image.download(queue)?, [zero; 4], "{image:?}");
    image.write(queue, &pixels)?;
    assert_eq!(image.download(queue)?, pixels, "{image:?}");
    Ok(())
}

fn all_orders<C>(queue: &Queue, n: [C::Number; 4]) -> Result<()>
where
    C: Channel<Number: PartialEq + std::fmt::Debug>,
{
    let [a, b, c, d] = n;
    round_trip::<R<C>>(queue, n)?;
    round_trip::<Rg<C>>(queue, [[a, b], [b, c], [c, d], [d, a]])?;
    round_trip::<Rgba<C>>(queue, [n, [b, c, d, a], [c, d, a, b], [d, a, b, c]])
}

#[test]
fn every_format_keeps_its_pixels() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    all_orders::<Unorm8>(&queue, [1, 2, 3, 255])?;
    all_orders::<Unorm16>(&queue, [1, 2, 3, 65535])?;
    all_orders::<Snorm8>(&queue, [-127, 2, 3, 127])?;
    all_orders::<Snorm16>(&queue, [-32767, 2, 3, 32767])?;
    all_orders::<u8>(&queue, [1, 2, 3, 255])?;
    all_orders::<u16>(&queue, [1, 2, 3, 65535])?;
    all_orders::<u32>(&queue, [1, 2, 3, u32::MAX])?;
    all_orders::<i8>(&queue, [-128, 2, 3, 127])?;
    all_orders::<i16>(&queue, [-32768, 2, 3, 32767])?;
    all_orders::<i32>(&queue, [i32::MIN, 2, 3, i32::MAX])?;
    all_orders::<f32>(&queue, [0.5, -1.25, f32::MAX, 4.0])?;
    let halves = [0.5f32, -1.25, 65504.0, 4.0].map(syclbin_rt::half::f16::from_f32);
    all_orders::<syclbin_rt::half::f16>(&queue, halves)
}

#[test]
fn pixels_follow_the_width_first() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let pixels: Vec<[f32; 4]> = (0..24).map(|index| [index as f32; 4]).collect();
    let image = Image::<3, Rgba<f32>>::upload(&queue, [4, 3, 2], &pixels)?;
    assert_eq!(image.size(), [4, 3, 2]);
    assert_eq!(image.device(), *queue.device());
    assert_eq!(image.download(&queue)?, pixels);
    // Queues of a device share its images.
    let other = queue
        .device()
        .queue_with(QueueOptions::new().out_of_order())?;
    let mut read = vec![[0.0; 4]; 24];
    image.read(&other, &mut read)?;
    assert_eq!(read, pixels);
    Ok(())
}

#[test]
fn other_lengths_are_refused() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let mut image = Image::<2, Rgba<u8>>::zeroed(&queue, [3, 2])?;
    for refused in [
        image.write(&queue, &[[0; 4]; 5]),
        image.read(&queue, &mut [[0; 4]; 5]),
        Image::<2, Rgba<u8>>::upload(&queue, [3, 2], &[[0; 4]; 5]).map(drop),
    ] {
        assert_eq!(
            refused.unwrap_err().to_string(),
            "the image has 3x2 pixels, but the slice has 5; the numbers must be equal"
        );
    }
    Ok(())
}

#[test]
fn impossible_sizes_are_refused() {
    let Some(queue) = queue() else { return };
    for size in [[0, 5], [5, 0], [1 << 30, 1]] {
        let error = Image::<2, Rgba<u8>>::zeroed(&queue, size).unwrap_err();
        assert!(
            error.kind() == ErrorKind::InvalidArgument
                && error.to_string().contains("cannot create an image of"),
            "{error}"
        );
    }
    // Every device with images has these widths, which may be less in an image of three dimensions.
    let wide = Image::<1, Rgba<u8>>::zeroed(&queue, [16384]);
    assert!(wide.is_ok(), "{}", wide.unwrap_err());
    let wide = Image::<2, Rgba<u8>>::zeroed(&queue, [16384, 1]);
    assert!(wide.is_ok(), "{}", wide.unwrap_err());
    let error = Image::<2, Rgba<u8>>::upload(&queue, [0, 5], &[]).unwrap_err();
    assert!(
        error
            .to_string()
            .starts_with("cannot create an image of 0x5 pixels: "),
        "{error}"
    );
    let huge = [usize::MAX / 2, 3, 5];
    let error = Image::<3, Rgba<u8>>::zeroed(&queue, huge).unwrap_err();
    assert!(
        error.kind() == ErrorKind::OutOfMemory
            && error.to_string().contains("exceeds the address space"),
        "{error}"
    );
    let error = Image::<3, Rgba<u8>>::upload(&queue, huge, &[]).unwrap_err();
    assert!(
        error.kind() == ErrorKind::InvalidArgument && error.to_string().contains("must be equal"),
        "{error}"
    );
}

#[test]
fn buffers_and_images_are_not_mixed_up() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let kernel = common::kernel(&queue, "vector_ops.object.syclbin", "saxpy");
    let image = Image::<1, R<f32>>::zeroed(&queue, [1]);
    let Ok(image) = image else {
        common::say_skipped("the device lacks a format");
        return Ok(());
    };
    let mut y = queue.zeroed::<f32>(1)?;
    let args = [
        Arg::scalar(1.0f32),
        Arg::read_image(&image),
        Arg::write(&mut y),
        Arg::scalar(1u32),
    ];
    // SAFETY: refused before the driver sees it.
    let launched = unsafe { Launch::new(&kernel, &["a", "x", "y", "n"], args).launch(1) };
    assert_eq!(
        launched.unwrap_err().to_string(),
        "kernel saxpy: argument 1 (x) is a one-dimensional image for reading, but the kernel expects a buffer"
    );
    Ok(())
}

#[test]
fn image_reads_report_failed_asserts() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let image = Image::<1, R<f32>>::zeroed(&queue, [1])?;
    let mut data = queue.upload(&[5])?;
    asserts::launch(&asserts::module(&queue)?, "halve", &mut data)?;
    let error = image.download(&queue).expect_err("5 is odd");
    assert!(error.kind() == ErrorKind::Assert, "{error}");
    assert_eq!(image.download(&queue)?, [0.0]);
    Ok(())
}

/// `kernel void look(read_only image1d_t image, sampler_t sampler, global float4 *out)` writes pixel 2. Written by
/// hand, because no file here has a kernel with a sampler.
fn looking() -> Vec<u8> {
    let [main, void, float, uint, vector, image_type] = [1, 2, 3, 4, 5, 6];
    let [sampler_type, sampled_type, pointer, function] = [7, 8, 9, 10];
    let [two, zero, image, sampler, out, label, sampled, pixel] = [11, 12, 13, 14, 15, 16, 17, 18];
    let [look, end] = [*b"look", *b"\0\0\0\0"].map(u32::from_le_bytes);
    let instructions: &[(u32, &[u32])] = &[
        (17, &[4]),                  // Addresses
        (17, &[6]),                  // Kernel
        (17, &[13]),                 // ImageBasic
        (17, &[43]),                 // Sampled1D
        (14, &[2, 2]),               // memory model: 64-bit addresses, OpenCL
        (15, &[6, main, look, end]), // entry point of a kernel
        (19, &[void]),
        (22, &[float, 32]),
        (21, &[uint, 32, 0]),
        (23, &[vector, float, 4]),
        (25, &[image_type, void, 0, 0, 0, 0, 0, 0, 0]), // of one dimension, for reading
        (26, &[sampler_type]),
        (27, &[sampled_type, image_type]),
        (32, &[pointer, 5, vector]), // to global memory
        (33, &[function, void, image_type, sampler_type, pointer]),
        (43, &[uint, two, 2]),
        (43, &[float, zero, 0]),
        (54, &[void, main, 0, function]),
        (55, &[image_type, image]),
        (55, &[sampler_type, sampler]),
        (55, &[pointer, out]),
        (248, &[label]),
        (86, &[sampled_type, sampled, image, sampler]),
        (88, &[vector, pixel, sampled, two, 2, zero]), // read with a level of detail
        (62, &[out, pixel, 2, 16]),                    // store, aligned to 16
        (253, &[]),
        (56, &[]),
    ];
    let mut words: Vec<u32> = vec![0x0723_0203, 0x0001_0000, 0, 19, 0];
    for (code, operands) in instructions {
        let count = u32::try_from(operands.len() + 1).expect("a short instruction");
        words.push(count << 16 | code);
        words.extend(*operands);
    }
    let code: Vec<u8> = words.into_iter().flat_map(u32::to_le_bytes).collect();
    let mut module = AbstractModule::default();
    module.add_kernel_name("look");
    let image = syclbin::Image::ir(IrType::SpirV, "spir64-unknown-unknown", code);
    module.images.push(image);
    let mut file = Syclbin::new(State::Object);
    file.modules.push(module);
    common::written(&file)
}

/// A kernel that samples an image, and what it needs, for a queue of a device with images.
struct Look {
    kernel: Result<Kernel>,
    image: Image<1, Rgba<f32>>,
    sampler: Sampler,
}

const PIXELS: [[f32; 4]; 4] = [[1.0; 4], [2.0; 4], [3.0, 4.0, 5.0, 6.0], [7.0; 4]];

impl Look {
    fn new(queue: &Queue) -> Result<Self> {
        Ok(Self {
            kernel: common::load(queue, &looking())?.kernel("look"),
            image: Image::upload(queue, [4], &PIXELS)?,
            sampler: Sampler::new(queue, Addressing::ClampToEdge, Filtering::Nearest, false)?,
        })
    }

    fn launch(
        &self,
        image: &Image<1, Rgba<f32>>,
        sampler: &Sampler,
        out: &mut Buffer<[f32; 4]>,
    ) -> Result<Event> {
        let args = [
            Arg::read_image(image),
            Arg::sampler(sampler),
            Arg::write(out),
        ];
        // SAFETY: a single work-item writes the only element.
        unsafe { Launch::new(&self.kernel, &["image", "sampler", "out"], args).launch(1) }
    }
}

#[test]
fn kernel_samples_an_image() -> Result<()> {
    let Some(queue) = queue() else {
        return Ok(());
    };
    let look = Look::new(&queue)?;
    let mut out = queue.zeroed::<[f32; 4]>(1)?;
    look.launch(&look.image, &look.sampler, &mut out)?;
    assert_eq!(queue.download(&out)?, [PIXELS[2]]);
    Ok(())
}

/// Refuses an image and a sampler of `other`, which is a queue of another context of the same device.
pub(crate) fn check_foreign_images(queue: &Queue, other: &Queue) -> Result<()> {
    if !queue.device().has(Aspect::IMAGE) {
        common::say_skipped("the device does not support images");
        return Ok(());
    }
    let (look, foreign) = (Look::new(queue)?, Look::new(other)?);
    let mut out = queue.zeroed::<[f32; 4]>(1)?;
    let device = queue.device();
    for (launched, argument) in [
        (
            look.launch(&foreign.image, &look.sampler, &mut out),
            "0 (image)",
        ),
        (
            look.launch(&look.image, &foreign.sampler, &mut out),
            "1 (sampler)",
        ),
    ] {
        assert_eq!(
            launched.expect_err("it is foreign").to_string(),
            format!(
                "kernel look: argument {argument} belongs to a different context than the queue, on the same device {device}"
            )
        );
    }
    look.launch(&look.image, &look.sampler, &mut out)?.wait()
}
