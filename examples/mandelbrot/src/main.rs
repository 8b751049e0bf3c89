// SPDX-License-Identifier: MIT OR Apache-2.0
//! A valley of the Mandelbrot set over a range of two dimensions, written as a PNG.
//!
//! `mandelbrot [FILE [TURNS]]`: the file is mandelbrot.png in the current directory if none is named, and each pixel
//! takes at most this many turns.
//! `mandelbrot --live [FILE [SOURCE]]`: draws again each time the source of the kernel is saved.

mod live;

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use syclbin_rt::Queue;

syclbin_rt::include_syclbin! {
    #[allow(unsafe_code, reason = "a contract")]
    mod kernels = "mandelbrot";

    // SAFETY: each work-item of a range of two dimensions touches one pixel, which no other does.
    unsafe extern "SYCL" {
        safe fn mandelbrot where pixels.len() >= range.items();
    }
}

const WIDTH: u32 = 600;
const HEIGHT: u32 = 360;
/// The number at the first pixel, and what lies between two pixels.
const LEFT: f32 = -0.7510;
const TOP: f32 = 0.1156;
const STEP: f32 = 1.6e-5;
const TURNS: u32 = 2000;
/// Each so many pixels, one is compared with Rust's.
const COMPARED: usize = 17;

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).peekable();
    let is_live = arguments.next_if(|first| first == "--live").is_some();
    let mut next = |default: &str| arguments.next().unwrap_or_else(|| default.into());
    let file = next("mandelbrot.png");
    let outcome = if is_live {
        let source = next(live::SOURCE);
        live::run(Path::new(&file), Path::new(&source))
    } else {
        let turns = next("").to_string_lossy().parse();
        run(Path::new(&file), turns.unwrap_or(TURNS))
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

#[allow(clippy::print_stdout, reason = "a program for people to read")]
fn run(file: &Path, turns: u32) -> Result<(), Box<dyn Error>> {
    let queue = kernels::Module::best_device()?.queue()?;
    println!("device    {}", queue.device());
    let start = Instant::now();
    let pixels = draw(&queue, &kernels::Module::load(&queue)?, turns)?;
    println!("time      {:.1?}, with compiling", start.elapsed());

    for (index, drawn) in pixels.iter().enumerate().step_by(COMPARED) {
        let expected = pixel(index, turns);
        if *drawn != expected {
            return Err(format!("pixel {index} is {drawn}, not {expected}").into());
        }
    }
    println!("pixels    {WIDTH} x {HEIGHT}, those compared as Rust computes them");
    write(file, &pixels)?;
    println!("picture   {}", file.display());
    Ok(())
}

/// The picture, an index into the palette for each pixel, from the device.
fn draw(queue: &Queue, kernels: &kernels::Module, turns: u32) -> syclbin_rt::Result<Vec<u8>> {
    let range = [HEIGHT as usize, WIDTH as usize];
    let mut pixels = queue.zeroed::<u8>(range[0] * range[1])?;
    let mandelbrot = kernels.mandelbrot(LEFT, TOP, STEP, turns, &mut pixels);
    mandelbrot.launch(range)?;
    queue.download(&pixels)
}

/// What the kernel computes, in Rust, to the last bit.
fn pixel(index: usize, turns: u32) -> u8 {
    let (row, column) = (index / WIDTH as usize, index % WIDTH as usize);
    let cx = (column as f32).mul_add(STEP, LEFT);
    let cy = (row as f32).mul_add(-STEP, TOP);
    let (mut x, mut y) = (0.0f32, 0.0f32);
    for turn in 0..turns {
        if x.mul_add(x, y * y) > 4.0 {
            return 1 + u8::try_from(turn % 255).unwrap_or_default();
        }
        (x, y) = (x.mul_add(x, (-y).mul_add(y, cx)), (2.0 * x).mul_add(y, cy));
    }
    0
}

fn write(file: &Path, pixels: &[u8]) -> Result<(), Box<dyn Error>> {
    let mut encoder = png::Encoder::new(BufWriter::new(File::create(file)?), WIDTH, HEIGHT);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette());
    encoder.set_compression(png::Compression::High);
    // Indices that lie side by side are no colours that lie side by side.
    encoder.set_filter(png::Filter::NoFilter);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    Ok(writer.finish()?)
}

/// Black for the set; else from blue over white to orange, and again from blue.
fn palette() -> Vec<u8> {
    const STOPS: [[u8; 3]; 5] = [
        [0, 7, 100],
        [32, 107, 203],
        [237, 255, 255],
        [255, 170, 0],
        [255, 85, 0],
    ];
    const BETWEEN: u16 = 64;
    let colour = |index: u16| {
        let (stop, part) = (usize::from(index / BETWEEN), index % BETWEEN);
        [0, 1, 2].map(|channel| {
            let [from, to] = [stop, stop + 1].map(|stop| u16::from(STOPS[stop][channel]));
            let mixed = (from * (BETWEEN - part) + to * part) / BETWEEN;
            u8::try_from(mixed).unwrap_or(u8::MAX)
        })
    };
    let outside = (0..255).flat_map(colour);
    [0, 0, 0].into_iter().chain(outside).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readme_picture_matches_rust() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/mandelbrot.png");
        let file = std::io::BufReader::new(File::open(path).unwrap());
        let mut reader = png::Decoder::new(file).read_info().unwrap();
        let mut pixels = vec![0; reader.output_buffer_size().unwrap()];
        let info = reader.next_frame(&mut pixels).unwrap();
        assert_eq!((info.width, info.height), (WIDTH, HEIGHT));
        assert_eq!(reader.info().palette.as_deref(), Some(&*palette()));
        for (index, drawn) in pixels.iter().enumerate().step_by(COMPARED) {
            assert_eq!(*drawn, pixel(index, TURNS), "pixel {index}");
        }
    }
}
