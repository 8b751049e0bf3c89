// SPDX-License-Identifier: MIT OR Apache-2.0
//! The grid, and how it is divided among ranks.

use std::ops::Range;

/// A grid of cells, divided into tiles of almost equal size: `down` times `across` ranks.
#[derive(Clone, Copy)]
pub struct Grid {
    pub rows: usize,
    pub columns: usize,
    pub down: usize,
    pub across: usize,
}

/// The rows and columns of one rank.
#[derive(Clone)]
pub struct Part {
    pub rows: Range<usize>,
    pub columns: Range<usize>,
}

impl Grid {
    /// Divides a grid so that the tiles have the shortest borders.
    ///
    /// # Errors
    ///
    /// When a tile would have fewer than three rows or columns.
    pub fn new(rows: usize, columns: usize, ranks: usize) -> Result<Self, String> {
        let divisors = (1..=ranks).filter(|down| ranks.is_multiple_of(*down));
        let grids = divisors.map(|down| Self {
            rows,
            columns,
            down,
            across: ranks / down,
        });
        let large = grids.filter(|grid| rows / grid.down >= 3 && columns / grid.across >= 3);
        let shortest = large.min_by_key(|grid| rows / grid.down + columns / grid.across);
        shortest.ok_or_else(|| {
            format!("cannot divide {rows} x {columns} cells among {ranks} ranks: each needs 3 x 3")
        })
    }

    /// Returns the cells of `rank`.
    pub fn part(&self, rank: usize) -> Part {
        let cut = |index: usize, parts: usize, cells: usize| {
            index * cells / parts..(index + 1) * cells / parts
        };
        Part {
            rows: cut(rank / self.across, self.down, self.rows),
            columns: cut(rank % self.across, self.across, self.columns),
        }
    }

    /// Returns the ranks above, below, left and right of `rank`.
    pub fn neighbours(&self, rank: usize) -> [Option<usize>; 4] {
        let (row, column) = (rank / self.across, rank % self.across);
        [
            (row > 0).then(|| rank - self.across),
            (row + 1 < self.down).then(|| rank + self.across),
            (column > 0).then(|| rank - 1),
            (column + 1 < self.across).then(|| rank + 1),
        ]
    }
}

impl Part {
    /// Returns the coordinates of all cells, row by row.
    pub fn cells(&self) -> impl Iterator<Item = (usize, usize)> + '_ {
        let row = |row| self.columns.clone().map(move |column| (row, column));
        self.rows.clone().flat_map(row)
    }

    /// Returns where each side is in the edges and in the halo: above, below, left, right.
    pub fn sides(&self) -> [Range<usize>; 4] {
        let (width, height) = (self.columns.len(), self.rows.len());
        [
            0..width,
            width..2 * width,
            2 * width..2 * width + height,
            2 * width + height..2 * (width + height),
        ]
    }
}
