// SPDX-License-Identifier: MIT OR Apache-2.0
//! A PNG, rotated with a sampler that interpolates between its pixels.
//!
//! `rotate [FROM [TO]]`: before.png of this directory and after.png in the current one, if none are named.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use syclbin_rt::format::{Rgba, Unorm8};
use syclbin_rt::{Addressing, Filtering, Image, Queue, Sampler};

syclbin_rt::include_syclbin! {
    mod kernels = "rotate";
}

/// Clockwise, because y points down.
const DEGREES: f32 = 30.0;
/// Devices interpolate with as few as eight bits of a fraction, and round the result.
const DIFFERENCE: f32 = 3.0;

/// A picture, row by row: red, green, blue and how opaque.
struct Picture {
    rows: usize,
    columns: usize,
    pixels: Vec<[u8; 4]>,
}

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let own = concat!(env!("CARGO_MANIFEST_DIR"), "/before.png");
    let from = arguments.next().unwrap_or_else(|| own.into());
    let to = arguments.next().unwrap_or_else(|| "after.png".into());
    match run(&from, &to) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stdout, reason = "a program for people to read")]
fn run(from: &Path, to: &Path) -> Result<(), Box<dyn Error>> {
    let queue = kernels::Module::best_device()?.queue()?;
    println!("device    {}", queue.device());
    let picture = read(from)?;
    let pixels = rotate(&queue, &picture)?;
    check(&picture, &pixels)?;
    let (columns, rows) = (picture.columns, picture.rows);
    println!("pixels    {columns} x {rows}, as Rust interpolates them");
    write(to, &Picture { pixels, ..picture })?;
    println!("picture   {}", to.display());
    Ok(())
}

/// The picture as the device rotates it.
#[allow(unsafe_code, reason = "a launch is unsafe")]
fn rotate(queue: &Queue, picture: &Picture) -> syclbin_rt::Result<Vec<[u8; 4]>> {
    let kernels = kernels::Module::load(queue)?;
    let size = [picture.columns, picture.rows];
    let from = Image::<2, Rgba<Unorm8>>::upload(queue, size, &picture.pixels)?;
    let mut to = Image::<2, Rgba<Unorm8>>::zeroed(queue, size)?;
    // Beyond the edge nothing is there: all components are 0.
    let sampler = Sampler::new(queue, Addressing::Clamp, Filtering::Linear, false)?;
    let (sine, cosine) = DEGREES.to_radians().sin_cos();
    let launch = kernels.rotate(&from, &sampler, &mut to, sine, cosine);
    // SAFETY: a work-item for each pixel, which no other work-item writes. The sampler takes any coordinates.
    unsafe { launch.launch([picture.rows, picture.columns]) }?;
    to.download(queue)
}

/// Compares all pixels with those that Rust interpolates.
fn check(picture: &Picture, pixels: &[[u8; 4]]) -> Result<(), String> {
    for (index, pixel) in pixels.iter().enumerate() {
        let expected = rotated(picture, index);
        let mut parts = pixel.iter().zip(expected);
        if parts.any(|(part, expected)| (f32::from(*part) - expected).abs() > DIFFERENCE) {
            return Err(format!("pixel {index} is {pixel:?}, not {expected:?}"));
        }
    }
    Ok(())
}

/// What the kernel computes, in Rust.
fn rotated(picture: &Picture, index: usize) -> [f32; 4] {
    let (row, column) = (index / picture.columns, index % picture.columns);
    let (sine, cosine) = DEGREES.to_radians().sin_cos();
    let [center_x, center_y] = [picture.columns, picture.rows].map(|size| size as f32 * 0.5);
    let (x, y) = (column as f32 + 0.5 - center_x, row as f32 + 0.5 - center_y);
    // Pixels have their places at their centers.
    let x_before = center_x + x * cosine + y * sine - 0.5;
    let y_before = center_y - x * sine + y * cosine - 0.5;
    let (left, top) = (x_before.floor(), y_before.floor());
    let mut mixed = [0.0; 4];
    for (x, y) in [
        (left, top),
        (left + 1.0, top),
        (left, top + 1.0),
        (left + 1.0, top + 1.0),
    ] {
        let weight = (1.0 - (x_before - x).abs()) * (1.0 - (y_before - y).abs());
        for (mixed, part) in mixed.iter_mut().zip(pixel(picture, x, y)) {
            *mixed += weight * f32::from(part);
        }
    }
    mixed
}

/// A pixel, or nothing beyond the edge.
#[allow(
    clippy::cast_possible_truncation,
    reason = "coordinates are whole numbers"
)]
fn pixel(picture: &Picture, x: f32, y: f32) -> [u8; 4] {
    let inside = |at: f32, size: usize| (0.0..size as f32).contains(&at).then_some(at as usize);
    match (inside(x, picture.columns), inside(y, picture.rows)) {
        (Some(column), Some(row)) => picture.pixels[row * picture.columns + column],
        _ => [0; 4],
    }
}

fn read(file: &Path) -> Result<Picture, Box<dyn Error>> {
    let opened = File::open(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut decoder = png::Decoder::new(BufReader::new(opened));
    decoder.set_transformations(
        png::Transformations::normalize_to_color8() | png::Transformations::ALPHA,
    );
    let mut reader = decoder.read_info()?;
    let mut bytes = vec![
        0;
        reader
            .output_buffer_size()
            .ok_or("the picture is too large")?
    ];
    let info = reader.next_frame(&mut bytes)?;
    let pixels = match info.color_type {
        png::ColorType::Rgba => bytes.as_chunks::<4>().0.to_vec(),
        png::ColorType::GrayscaleAlpha => {
            let pairs = bytes.as_chunks::<2>().0.iter();
            pairs
                .map(|&[grey, alpha]| [grey, grey, grey, alpha])
                .collect()
        }
        other => return Err(format!("{}: {other:?} is not read", file.display()).into()),
    };
    let [rows, columns] = [info.height, info.width].map(|number| number as usize);
    Ok(Picture {
        rows,
        columns,
        pixels,
    })
}

fn write(file: &Path, picture: &Picture) -> Result<(), Box<dyn Error>> {
    let [width, height] = [
        u32::try_from(picture.columns)?,
        u32::try_from(picture.rows)?,
    ];
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(file)?), width, height);
    encoder.set_color(png::ColorType::Rgba);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(picture.pixels.as_flattened())?;
    Ok(writer.finish()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_picture_matches_rust() {
        let picture = |name: &str| {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
            read(&folder.join(name)).unwrap()
        };
        check(&picture("before.png"), &picture("after.png").pixels).unwrap();
    }
}
