// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the grid shows: a pulse that runs into a lens. Also the wave equation in Rust, to compare with.

use crate::grid::{Grid, Part};

/// The square of how far a wave gets in a step, in cells.
const SPEED: f32 = 0.25;
/// How much slower a wave is in the lens.
const INDEX: f32 = 1.4;

impl Grid {
    /// Returns whether a cell is in the lens, a disc.
    pub fn is_lens(&self, row: usize, column: usize) -> bool {
        let (x, y) = (self.x(column) - 0.4, self.y(row));
        x.mul_add(x, y * y) < 0.18 * 0.18
    }

    /// Returns the wave at the start, and a step before it: a few crests, as high as the grid.
    pub fn start(&self, part: &Part) -> [Vec<f32>; 2] {
        let at = |steps_ago: f32| {
            let crests = part.cells().map(|(_, column)| {
                let moved = SPEED.sqrt() * steps_ago / self.columns as f32;
                let x = self.x(column) - 0.12 + moved;
                (-(x / 0.03).powi(2)).exp() * (x * 160.0).cos()
            });
            // As in the kernel.
            let crests = crests.map(|value| if value.abs() < 1e-20 { 0.0 } else { value });
            crests.collect()
        };
        [at(0.0), at(1.0)]
    }

    /// Returns the square of the speed in each cell.
    pub fn speed(&self, part: &Part) -> Vec<f32> {
        let cells = part.cells().map(|(row, column)| {
            if self.is_lens(row, column) {
                SPEED / (INDEX * INDEX)
            } else {
                SPEED
            }
        });
        cells.collect()
    }

    /// Returns the whole grid after so many steps, computed in Rust.
    pub fn in_rust(&self, steps: usize) -> Vec<f32> {
        let all = self.all();
        let [mut now, mut next] = self.start(&all);
        let speed = self.speed(&all);
        let (height, width) = (self.rows, self.columns);
        for _ in 0..steps {
            for (i, (row, column)) in all.cells().enumerate() {
                // Beyond the grid, the outermost cells are repeated: waves are reflected.
                let up = now[i - if row > 0 { width } else { 0 }];
                let down = now[i + if row + 1 < height { width } else { 0 }];
                let left = now[i - usize::from(column > 0)];
                let right = now[i + usize::from(column + 1 < width)];
                let around = (up + down) + (left + right);
                let bend = now[i].mul_add(-4.0, around);
                let value = speed[i].mul_add(bend, now[i].mul_add(2.0, -next[i]));
                next[i] = if value.abs() < 1e-20 { 0.0 } else { value };
            }
            std::mem::swap(&mut now, &mut next);
        }
        now
    }

    /// Returns the grid as one part.
    pub fn all(&self) -> Part {
        Part {
            rows: 0..self.rows,
            columns: 0..self.columns,
        }
    }

    /// From 0 to 1.
    fn x(&self, column: usize) -> f32 {
        (column as f32 + 0.5) / self.columns as f32
    }

    /// In the same unit, and 0 in the middle.
    fn y(&self, row: usize) -> f32 {
        (row as f32 + 0.5 - 0.5 * self.rows as f32) / self.columns as f32
    }
}
