// SPDX-License-Identifier: MIT OR Apache-2.0
//! The wave as a PNG: blue below zero, red above, and the lens darker.

use std::error::Error;
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;

use crate::grid::Grid;

/// Colours for a place in the lens or outside of it.
const COLOURS: u8 = 127;

/// Writes the cells of the whole grid, a pixel each.
pub fn write(file: &Path, grid: &Grid, cells: &[f32]) -> Result<(), Box<dyn Error>> {
    let places = grid.all();
    let pixels = places.cells().zip(cells).map(|((row, column), value)| {
        let lens = if grid.is_lens(row, column) {
            COLOURS
        } else {
            0
        };
        let part = (0.5 + 0.5 * value).clamp(0.0, 1.0);
        // From 0 to 126, so the cast does not cut.
        lens + (part * f32::from(COLOURS - 1)).round() as u8
    });
    let pixels: Vec<u8> = pixels.collect();
    let [width, height] = [grid.columns, grid.rows].map(u32::try_from);
    let created = File::create(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let mut encoder = png::Encoder::new(BufWriter::new(created), width?, height?);
    encoder.set_color(png::ColorType::Indexed);
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_palette(palette());
    encoder.set_compression(png::Compression::High);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(&pixels)?;
    Ok(writer.finish()?)
}

/// From blue over white to red, and the same darker.
fn palette() -> Vec<u8> {
    const ENDS: [[f32; 3]; 2] = [[10.0, 40.0, 140.0], [160.0, 20.0, 30.0]];
    let colour = |brightness: f32, index: u8| {
        let value = 2.0 * f32::from(index) / f32::from(COLOURS - 1) - 1.0;
        let end = ENDS[usize::from(value > 0.0)];
        // Small waves are visible as well.
        let strength = value.abs().powf(0.6);
        end.map(|channel| (brightness * (255.0 + strength * (channel - 255.0))) as u8)
    };
    let outside = (0..COLOURS).flat_map(|index| colour(1.0, index));
    let lens = (0..COLOURS).flat_map(|index| colour(0.85, index));
    outside.chain(lens).collect()
}
