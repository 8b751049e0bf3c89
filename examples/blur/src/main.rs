// SPDX-License-Identifier: MIT OR Apache-2.0
//! A PNG, blurred with specialization constants: how far, and by which weights.
//!
//! `blur [FROM [TO]]`: before.png of this directory and after.png in the current one, if none are named.

use std::error::Error;
use std::fs::File;
use std::io::{BufReader, BufWriter};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use syclbin_rt::Queue;

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "blur";

    // SAFETY: each work-item of a range of two dimensions reads pixels of that range, and writes its own.
    unsafe extern "SYCL" {
        safe fn blur where from.len() >= range.items(), to.len() >= range.items();
    }
}

/// The constants that the kernel has if they are not set.
const DEFAULT: Blur = Blur {
    radius: 1,
    weights: [2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0],
};
/// Another blur: a row of the binomial triangle, which is close to a bell curve.
const WIDE: Blur = Blur {
    radius: 6,
    weights: [924, 792, 495, 220, 66, 12, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0],
};

/// How to blur: the values of the specialization constants.
#[derive(Clone, Copy)]
struct Blur {
    radius: i32,
    weights: [u32; 16],
}

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

    let slightly = kernels::Module::load(&queue)?;
    check(
        "radius 1",
        &picture,
        DEFAULT,
        blur(&queue, &slightly, &picture)?,
    )?;

    let Blur { radius, weights } = WIDE;
    let widely = kernels::Module::builder(&queue)
        .radius(radius)
        .weights(kernels::Weights { at: weights })
        .load()?;
    let pixels = check("radius 6", &picture, WIDE, blur(&queue, &widely, &picture)?)?;

    write(to, &Picture { pixels, ..picture })?;
    println!("picture   {}", to.display());
    Ok(())
}

/// The picture as the device blurs it.
fn blur(
    queue: &Queue,
    kernels: &kernels::Module,
    picture: &Picture,
) -> syclbin_rt::Result<Vec<[u8; 4]>> {
    let from = queue.upload(&picture.pixels)?;
    let mut to = queue.zeroed::<[u8; 4]>(picture.pixels.len())?;
    let range = [picture.rows, picture.columns];
    kernels.blur(&from, &mut to).launch(range)?;
    queue.download(&to)
}

/// Gives the pixels back if they are those that Rust computes.
#[allow(clippy::print_stdout, reason = "a program for people to read")]
fn check(
    title: &str,
    picture: &Picture,
    blur: Blur,
    pixels: Vec<[u8; 4]>,
) -> Result<Vec<[u8; 4]>, String> {
    for (index, pixel) in pixels.iter().enumerate() {
        let expected = blurred(picture, blur, index);
        if *pixel != expected {
            return Err(format!(
                "{title}: pixel {index} is {pixel:?}, not {expected:?}"
            ));
        }
    }
    let (columns, rows) = (picture.columns, picture.rows);
    println!("{title}  {columns} x {rows} pixels as Rust computes them");
    Ok(pixels)
}

/// What the kernel computes, in Rust.
fn blurred(picture: &Picture, blur: Blur, index: usize) -> [u8; 4] {
    let (row, column) = (index / picture.columns, index % picture.columns);
    let near = |at: usize, by: i32, end: usize| {
        let moved = at.saturating_add_signed(by as isize);
        moved.min(end - 1)
    };
    let weight = |by: i32| blur.weights[by.unsigned_abs() as usize];
    let (mut sum, mut all) = ([0u32; 4], 0);
    for dy in -blur.radius..=blur.radius {
        for dx in -blur.radius..=blur.radius {
            let (y, x) = (
                near(row, dy, picture.rows),
                near(column, dx, picture.columns),
            );
            let by = weight(dy) * weight(dx);
            let pixel = picture.pixels[y * picture.columns + x];
            for (sum, part) in sum.iter_mut().zip(pixel) {
                *sum += by * u32::from(part);
            }
            all += by;
        }
    }
    sum.map(|sum| u8::try_from((sum + all / 2) / all).unwrap_or(u8::MAX))
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
        let (before, after) = (picture("before.png"), picture("after.png"));
        for (index, pixel) in after.pixels.iter().enumerate().step_by(17) {
            assert_eq!(*pixel, blurred(&before, WIDE, index), "pixel {index}");
        }
    }
}
