// SPDX-License-Identifier: MIT OR Apache-2.0
//! Images: their creation, copies of their pixels, and what is refused.
#![allow(unsafe_code, reason = "launching a kernel is unsafe")]

use syclbin_rt::format::{Channel, Format, R, Rg, Rgba, Snorm8, Snorm16, Unorm8, Unorm16};
use syclbin_rt::{Arg, Aspect, ErrorKind, Image, Launch, Queue, QueueOptions, Result};

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
